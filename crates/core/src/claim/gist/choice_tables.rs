//! Products, tools and vendors of which one is used at a time for one purpose, as plain text.

/// What a person or an organisation uses one of at a time, by what it is used for.
pub(super) const CHOICES: &[&str] = &[
    "circleci | jenkins | github actions | gitlab ci, gitlab pipelines | travis | buildkite | teamcity | \
        drone | azure pipelines | bitbucket pipelines | bamboo",
    "jira | linear | trello | asana | clickup | monday.com | shortcut | youtrack | github issues, github \
        projects | basecamp | redmine | bugzilla | todoist | ticktick | things | notion | plane",
    "slack | teams, microsoft teams, ms teams | discord | mattermost | zulip | rocket.chat",
    "aws, amazon web services | azure | gcp, google cloud | hetzner | digitalocean | linode | ovh | \
        fly.io | heroku | vercel | netlify | render | railway | scaleway | cloudflare pages | github pages",
    "postgres, postgresql | mysql | mariadb | mongodb, mongo | sqlite | dynamodb | oracle | cassandra | \
        cockroachdb | aurora | mssql, sql server | scylladb | couchdb | neo4j | firestore | redis",
    "rabbitmq | kafka | sqs | nats | pulsar | activemq | redis | kinesis | pub/sub",
    "celery | sidekiq | airflow | dagster | prefect | temporal | cron | argo",
    "neovim, vim, nvim, vi | emacs | vscode, vs code, visual studio code | intellij, jetbrains, pycharm, \
        webstorm, goland, rider | helix | zed | sublime, sublime text | nano | cursor | atom | eclipse | \
        xcode | kakoune | notepad++",
    "git | mercurial, hg | svn, subversion | perforce | jj, jujutsu",
    "github | gitlab | bitbucket | gitea | forgejo | codeberg",
    "npm | yarn | pnpm | bun",
    "pip | poetry | uv | pipenv | conda | pdm",
    "webpack | vite | esbuild | rollup | parcel | turbopack",
    "maven | gradle | bazel | buck | sbt | cmake | make | meson",
    "django | flask | fastapi | rails, ruby on rails | express | spring, spring boot | laravel | phoenix \
        | axum | actix | nestjs",
    "react | vue, vue.js | angular | svelte, sveltekit | solidjs | htmx | ember | jquery",
    "react native | flutter | swiftui | ionic | kotlin multiplatform",
    "jest | vitest | mocha | jasmine",
    "pytest | unittest | nose",
    "cypress | playwright | selenium | puppeteer",
    "prettier | biome",
    "ruff | black | flake8 | pylint",
    "terraform | pulumi | opentofu | cloudformation | ansible | chef | puppet | cdk",
    "kubernetes, k8s | nomad | ecs | docker swarm | docker compose, docker-compose",
    "docker | podman",
    "datadog | grafana | new relic | dynatrace | zabbix | nagios | cloudwatch | honeycomb | prometheus | \
        splunk | elk | loki",
    "sentry | rollbar | bugsnag",
    "pagerduty | opsgenie | victorops | incident.io | rootly",
    "gmail | outlook | protonmail, proton mail | fastmail | thunderbird",
    "sendgrid | mailgun | postmark | ses | mailchimp | brevo | resend | klaviyo | mailjet",
    "stripe | adyen | paypal | braintree | square | klarna | mollie | worldpay | sumup",
    "salesforce | hubspot | pipedrive | zoho | attio | close.io | dynamics",
    "zendesk | freshdesk | intercom | help scout, helpscout | gorgias | front | kayako",
    "confluence | notion | google docs | sharepoint | obsidian | evernote | onenote | roam | logseq | \
        apple notes | bear | wiki | paprika | paper notebook",
    "zoom | teams | google meet, meet | webex | skype | jitsi | facetime",
    "figma | sketch | adobe xd | penpot | framer",
    "quickbooks | xero | freshbooks | datev | sage | lexoffice | netsuite",
    "gusto | adp | personio | workday | deel | bamboohr | rippling | paychex",
    "launchdarkly | unleash | flagsmith | split.io",
    "auth0 | okta | keycloak | cognito | clerk | entra, azure ad",
    "mixpanel | amplitude | google analytics, ga4 | plausible | matomo | posthog | segment | fathom",
    "snowflake | bigquery | redshift | databricks | clickhouse | duckdb | synapse",
    "tableau | looker | metabase | power bi | superset | qlik | redash",
    "s3 | azure blob, blob storage | gcs | minio | backblaze | wasabi | nas | dropbox | google drive, \
        drive | onedrive | icloud | nextcloud | box | synology",
    "elasticsearch, elastic | opensearch | solr | algolia | meilisearch | typesense | lucene",
    "pinecone | weaviate | qdrant | milvus | pgvector | chroma | faiss",
    "memcached | redis | varnish | valkey",
    "nginx | caddy | traefik | haproxy | envoy | apache | kong",
    "cloudflare | fastly | akamai | cloudfront | bunny",
    "docker hub | ecr | ghcr | harbor | artifactory | nexus | quay",
    "1password | bitwarden | lastpass | keepass, keepassxc | dashlane | vault | doppler | infisical | \
        proton pass | secrets manager",
    "monzo | starling | revolut | n26 | hsbc | barclays | chase | wells fargo | ing | dkb | sparkasse | \
        commerzbank | santander | lloyds | natwest | citi, citibank | bank of america | halifax | wise | \
        mercury",
    "lufthansa | klm | ryanair | easyjet | british airways, ba | united | delta | american airlines | air \
        france | emirates | swiss | qantas | southwest | sas | finnair | eurowings",
    "spotify | apple music | tidal | deezer | youtube music | qobuz | amazon music",
    "iphone | android, pixel, samsung, galaxy | fairphone",
    "windows | macos, macbook, mac, imac | linux, ubuntu, fedora, arch, debian, mint, nixos, thinkpad | \
        chromeos, chromebook",
    "ubuntu | fedora | arch, arch linux | debian | nixos | opensuse | rhel | alpine | mint | centos | \
        rocky",
    "chrome | firefox | safari | edge | brave | arc | vivaldi | opera",
    "garmin | fitbit | apple watch | whoop | oura | polar | suunto | coros",
    "bash | zsh | fish | powershell | nushell",
    "iterm, iterm2 | alacritty | kitty | wezterm | ghostty | warp",
    "dhl | ups | fedex | hermes | dpd | gls | usps | royal mail | postnl",
    "vodafone | o2 | t-mobile | verizon | at&t | ee | telekom | giffgaff | sprint",
    "gpt-4, gpt-4o, gpt-5, openai, gpt | claude, anthropic, sonnet, opus, haiku | gemini | llama | \
        mistral | qwen | deepseek",
    "playstation, ps5 | xbox | nintendo switch | steam deck",
    "kindle | kobo | tolino",
    "tesla | volvo | toyota | honda | bmw | audi | skoda | vw, volkswagen, golf, passat | ford | renault \
        | peugeot | fiat | kia | hyundai, kona | mazda | subaru | mercedes | nissan | opel | seat",
    "arial | helvetica | times new roman | source sans | inter | roboto | calibri | georgia | open sans | \
        comic sans | lato | montserrat",
    "nylas | calendly | doodle | cal.com",
    "net 30, 30 days net | net 60, 60 days net | net 14, 14 days net | net 15 | net 45 | net 90",
    "netgear | fritzbox | unifi, ubiquiti | eero | tp-link",
    "mit, mit-licensed | apache 2.0, apache-2.0 | gpl, gplv3, gpl-3.0, gplv2 | agpl, agpl-3.0 | bsd | mpl \
        | proprietary | business source",
];

/// Products whose version in use is one at a time.
pub(super) const VERSIONED: &str = "node python java postgres postgresql mysql ubuntu debian php ruby kubernetes k8s react angular vue django \
    rails spring windows macos ios android redis kafka elasticsearch terraform dotnet jdk openjdk llvm gcc clang xcode fedora mongodb \
    mariadb laravel symfony wordpress drupal go rust rustc typescript electron flutter alpine npm helm gradle maven kotlin scala swift \
    airflow spark hadoop nginx pytorch tensorflow cuda pandas numpy firmware openssl sdk tls grafana";
