//! The words by which the gist of a text is read, as plain text.

/// Words that say little about which thing is meant.
pub(super) const LIGHT: &str = "dr prof professor herr frau madame monsieur sir user client customer team people person day week month year time thing new use using used make \
    get got go want need whatsoever once first second good well every all most please always never only same own back one put take keep \
    set let say know lot bit kind sort number real current regular usual normal general whole full long short \
    big small next last other right left come goes going done doing say says said ask asks asked tell think \
    really still again far end point place case side today tomorrow yesterday daily weekly monthly hour minute second \
    euro dollar pound percent roughly around etc ok per via instead anymore longer more less ahead required require needed necessary known patient patients account accounts everywhere switched switch up down out off on in here there stand bear handle tolerate yet touch family household few several many much any \
    agreed decided since until whenever whatever everything anything nothing something somebody somewhere sure plus \
    now currently already yet just even too also both each another such very quite";

/// Words that tell which part, place, time or sort of a thing a statement is about: two statements with different ones are
/// about different parts.
pub(super) const SCOPES: &str = "staging stage prod production dev development test testing testers local qa canary preview sandbox \
    internal internally external public p50 p75 p90 p95 p99 min max minimum maximum mean median average peak resting monday tuesday \
    wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays \
    weekday weekdays weekend weekends january february march april june july august september october \
    november december spring summer autumn winter morning mornings afternoon afternoons evening evenings night nights lunch lunchtime \
    christmas easter holidays monthly yearly annual annually quarterly eu us apac emea europe asia america north south east west \
    northern southern eastern western back return pro enterprise free premium basic starter trial first second third final \
    draft outbound inbound left right upstairs downstairs front rear upper lower soft hard warning critical \
    gross net junior senior ios android windows macos linux desktop mobile web frontend backend \
    domestic international school express overnight primary secondary replica v1 v2 v3 v4 v5 indoor outdoor \
    wholesale retail older younger elder yaml json unit integration e2e paid unpaid winter-time";

/// Opposites that people use for one another's, wherever they stand in other tables: each line is two sides.
/// An exclamation mark stands before those that say by themselves what they are about.
pub(super) const OPPOSITES: &[&str] = &[
    "on enabled enable enables active activated live|off disabled disable disables inactive deactivated",
    "working works up healthy reachable online operational green stable solid reliable passing passes|\
        down broken unreachable failing fails offline red unhealthy degraded flaky unstable unresponsive unavailable crashing outage",
    "small smaller little|large larger big bigger",
    "!even|odd",
    "allowed permitted welcome fine|forbidden banned prohibited disallowed",
    "mandatory required obligatory compulsory|optional voluntary",
    "!vegetarian vegan|meat chicken beef pork steak salmon bacon",
    "automatic automatically automated|manual manually",
    "open|closed shut",
    "public|private",
    "paid|unpaid",
    "!aisle|window",
    "!fluent|beginner",
    "!married husband wife spouse|single unmarried divorced widowed separated divorce",
    "!remote remotely|onsite on-site",
    "!full-time|part-time",
    "free|paid",
    "short brief concise|long lengthy detailed verbose",
    "hot|cold",
    "light|dark",
    "early|late",
    "armed|disarmed",
    "!tabs|spaces",
    "!diesel petrol gasoline|electric",
    "!rent rents rented renting|bought own owns owner",
    "!window seat|aisle seat",
];

/// Words after which what follows is planned, supposed or only said by somebody.
pub(super) const HEDGED: &str = "plan to|plans to|planned to|planning to|planning on|planning a|plans a|plans for|intend|intends|intended|hope|hopes|hoping|\
    want to|wants to|wanted to|would like to|would love to|thinking of|thinking about|considering|consider|considers|maybe|\
    perhaps|possibly|probably|might|could|would|wonder|wonders|wondering|asked if|asked whether|asks whether|asks if|asked about|joked|jokes|suspects|\
    suspected|suspect|thinks|think|thought|believe|believes|believed|claims|claimed|suggested|suggests|proposes|proposed|if|unless|\
    whether|wish|wishes|dream|dreams|dreaming|tentatively|ideally|tempted|rumour|rumor|allegedly|reportedly|supposedly|toyed|\
    mentioned|expects|expected|looking at|looking into|looking for|try to|tries to|trying to|soon|eventually|someday|one day|\
    interested in|curious about|may move|may switch|tends to|going to|when he|when she|when they";

/// Words by which a statement adds to another, or makes an exception to it.
pub(super) const ADDS: &str = "also|too|additionally|besides|another|as well|exception|exceptionally|temporarily|\
    this week|last week|this time|just for|likewise|furthermore|moreover|extra|sometimes|occasionally|often|either|a second|\
    waived|for once|one-off|stepped in|filled in|covering for|standing in|except|apart from|other than|new patient|this month|this year";

/// What ends or replaces whatever follows it.
pub(super) const ENDS_AFTER: &str = "no longer|not any longer|stopped|stop|quit|gave up|given up|giving up|dropped|ditched|left|abandoned|uninstalled|\
    retired|cancelled|canceled|sold|replaced|replaces|moved off|moved away from|moved out of|moved from|switched from|\
    switched off|switched away from|migrated from|migrated off|migrated away from|got rid of|instead of|rather than|\
    used to|no more|not anymore|outgrew|outgrown|discontinued|swapped|took it over from|took over from|taken over from|takes over from|taken off|fed up with|done with|finished with|sick of|no fan of|came off|come off|went off|gone off|\
    cut ties with|cut loose|we cut|broke up with|split from|divorced|removed|deleted|decommissioned|scrapped|phased out|turned off|closed down|\
    shut down|ended|withdrew|revoked|deprecated|resigned from|stepped down|handed over|handed off|let go of|dumped|\
    changed from|went from|goes from|away with|moved on from|parted ways with|parted with|traded in|gave away|closed the|closed our|closed her|closed his|closed their|moved away|has given up|weaned off|grew out of";

/// What ends or replaces whatever stands before it.
pub(super) const ENDS_BEFORE: &str = "was shut down|was cancelled|was canceled|was retired|was decommissioned|was removed|was replaced|\
    was discontinued|was sold|was dropped|was abandoned|was scrapped|was moved|was taken down|was turned off|was switched off|was deleted|\
    account was closed|contract ended|contract was ended|contract ran out|contract has ended|ended in|ended on|ended at|ended last|was emptied|membership ended|lease ended|subscription ended|was ended|was reassigned|was dissolved|was gone|was dead|was over|was out|was history|was lifted|was revoked|was no more|\
    was obsolete|was relocated|was phased out|was swapped|was superseded|was let go|was off the table|was deprecated|was stopped|was finished|\
    was outdated|was wrong|was invalid|was void|was archived|was withdrawn|was suspended|was rescinded|was broken up|was laid off|\
    has ended|ended in|ended on|ended at|ended last|was emptied|membership ended|lease ended|subscription ended|has expired|expired|has lapsed|lapsed|fell through|no longer exists|went away|has left|cut short|called off|\
    has nothing to do with|have nothing to do with|went off to|left for|days are behind|ran out|has moved|got moved|moved out|\
    moved to another|changed jobs|moved on|switched jobs|stepped down|has retired|resigned|has quit|not any more|not anymore|\
    got dropped|was a thing of the past|came to an end|broke down for good|went bankrupt|closed for good|closed down|shut its doors";

/// Words by which a statement says that something is different from before.
pub(super) const CHANGES: &str = "now|no longer|any more|anymore|moved|switched|changed|as of|instead|since|replaced|raised|lowered|increased|\
    reduced|bumped|cut|extended|shortened|doubled|halved|from now on|migrated|gone over|relocated|became|become|took over|\
    taken over|renamed|rewritten|ported|converted|transferred|reassigned|promoted|swapped|dropped|postponed|pushed back|pushed to|rebooked|stop|from here on|no more|gone|reversed|reverted|renegotiated|from next|since then|retrained|is over|banned|lifted|abolished|ended|retired|quit|sold|lapsed|churned|terminated|withdrawn|scrapped|stepped down|gave up|given up|dissolved|settled|asked us to|went back to|split up|broke up|by now|brought forward|rescheduled|updated|upgraded|downgraded|upgraded to|went up|goes up|rose|dropped|\
    went down|starting|effective|cancelled|shut down|handed|these days|nowadays|finally|actually|correction|currently|at present|has left";

/// Those of the words above that also stand where nothing changed.
pub(super) const WEAK_CHANGES: &str = "currently at starting effective finally actually since cut goes went rose extended these nowadays correction become \
    up settled upgraded updated became retired sold quit ended gone over";

/// Words with one meaning here: the first stands for all.
pub(super) const SAME: &[&str] = &[
    "limit cap ceiling quota maximum allowance",
    "price cost fee pricing charge rate",
    "document documentation doc docs",
    "teach teacher teaches taught lecturer instructor lectures",
    "mother mum mom mama mummy",
    "father dad papa daddy",
    "child kid children kids",
    "licence license licensed licensing mit-licensed",
    "database db databases data",
    "buy purchase bought buying purchased",
    "flat apartment",
    "math maths mathematics",
    "bug issue ticket",
    "allergy allergic allergies reacts anaphylactic",
    "vaccination vaccinated vaccine vaccinate jab",
    "diabetes diabetic",
    "member membership",
    "fast fasting fasted",
    "swim swims swimming swimmer",
    "house household home",
    "interpreter interpreting translator",
    "fear fears afraid scared",
    "vegetable veg veggies",
    "heat heating heated heats",
    "begin begins began",
    "enrol enrolment enrolls enroll enrollment",
    "retry retries retried",
    "reset resets",
    "encourage encouraged",
    "accident accidents",
    "garage garages",
    "answer answers answered reply replies replied response responses respond responds",
    "summary summaries summarise summarize",
    "comment comments commented",
    "translate translated translation",
    "stick cane",
    "lift elevator",
    "insure insurance insured insurer",
    "recycle recycling",
    "swap swaps",
    "bathe bath",
    "breakfast brunch",
    "speak speaks spoke fluent fluently",
    "retrospective retro retros",
    "pay payment payments pays",
    "night nighttime",
    "certificate cert certs certificates",
    "newsletter newsletters",
    "subscriber subscribers",
    "supplier suppliers vendor vendors",
    "oncall on-call pager",
    "standup stand-up standups",
    "author authors authored",
    "store stores storage stored",
    "host hosts hosting hosted",
    "bed bedtime",
    "sleep sleeps sleeping",
    "pupil pupils student students",
    "salary pay-cheque",
    "employ employs employer employed",
    "translate translation translations",
    "test tests tested testing",
    "reach reachable reached unreachable",
    "access accessible accessed inaccessible",
    "school class",
    "mow mows cut",
    "collect collects collection collected pickup",
    "trip trips travel travels",
    "support supports supported",
    "invoice invoices invoicing bill",
    "sync synchronise synchronize syncs",
    "encrypt encrypted encryption",
    "shelve shelved",
    "report reports reporting",
    "bike bicycle cycle cycles cycling bikes",
    "drive drives driving",
    "train trains training",
    "move moves moved moving",
    "monitor monitored monitoring",
    "tea teas",
    "order orders ordering",
    "sponsor sponsors sponsored sponsorship",
    "compile compiles compiler",
    "migrate migration migrations migrated",
    "cancel cancelled canceled cancellation cancellations",
    "open opens opening opened",
    "close closes closing closed shut shuts",
    "flight flights fly flies flying",
    "office offices",
    "contract contracts agreement agreements",
    "nuts nut peanut peanuts almond almonds walnut walnuts cashew cashews",
    "sugar sugary sweets sweet",
    "repository repo repos",
    "deploy deployment deployed rollout",
    "deadline due",
    "phone telephone mobile cell phoning ring rings ringing",
    "mail email e-mail",
    "lead leads led head heads leader",
    "own owner owns owned belongs belong ownership",
    "manage manager manages managed",
    "approve approval sign-off approved",
    "account accounts",
    "meeting meet meets sync",
    "backup backups",
    "alert alerts alarm alarms page pages",
    "session sessions",
    "service services",
    "smoke smoker smoking smokes",
    "vegetarian veggie",
    "wifi wi-fi wlan",
    "review reviewer reviews",
    "refund refunds refundable reimbursement",
    "delivery deliver deliveries delivered",
    "appointment appointments",
    "marry married marriage",
    "run runs running jog jogs",
    "export exports",
    "request requests",
    "retention retain retained retains",
    "expire expires expiry expiration",
    "renew renewal renews",
    "subscription subscribe subscribes subscriber",
    "config configuration configured",
    "log logs logging",
    "staff employee employees personnel workforce",
    "parking park",
    "read reads reader",
    "commute commutes commuting",
    "doctor gp physician",
    "holiday vacation",
    "car vehicle",
    "laptop notebook",
    "cook cooks cooking",
    "gluten gluten-free coeliac celiac",
    "timezone timezones tz",
    "file filed submit submitted",
    "depart departs departure departures leaves",
    "rotate rotation rotations rotating",
    "schedule scheduled schedules scheduling",
    "attend attends attendance",
    "neighbourhood area district quarter",
    "salesperson rep reps",
    "invoice billing",
    "supper dinner",
    "tax taxes",
    "garbage rubbish trash waste bin bins",
    "roommate flatmate housemate",
    "spouse partner",
    "autoscale autoscaling autoscaler scales",
    "colleague coworker teammate",
    "repair repaired repairs fix fixed",
    "ship shipping ships shipped shipment shipments",
    "passcode password passphrase",
    "cellar basement",
    "lawyer solicitor attorney",
    "physio physiotherapist physiotherapy",
    "gym fitness",
    "medicine medication meds drug",
    "jacket coat",
    "trousers pants",
    "sofa couch",
    "fridge refrigerator",
    "hoover vacuum",
    "film movie movies films",
    "salary wage pay",
    "headquarters hq",
];

/// Nouns with one value, whatever thing they are of.
pub(super) const ATTRIBUTES: &str = "password passcode pin code licence deadline branch address phone email own manage maintainer \
    lead contact price capital port timezone birthday colour color editor budget headquarters language seat name \
    title role framework database version broker provider vendor carrier gate hostname url domain region timeout \
    limit threshold size theme currency locale host registry runtime shell font model method allergy weight \
    height dose dosage interval cadence frequency format location venue supervisor boss doctor dentist landlord \
    spouse husband wife teach coach trainer accountant lawyer bank insurer surname nickname breed \
    salary rent retention sla tier status priority severity approve reviewer sponsor captain principal stylist plumber chair chairman treasurer secretary director president ceo cto cfo coordinator organiser organizer \
    representative moderator administrator mayor youngest oldest eldest tallest fastest biggest largest favourite winner tutor \
    therapist physiotherapist pediatrician notary architect nanny babysitter cleaner gardener assistant nurse mentor buyer";

/// Words of things that end on one day.
pub(super) const DUE: &str = "deadline due launch submit submission closes closing expire renew release go-live cutover kickoff \
    wedding exam graduation start starts begin begins moves ends finish hearing surgery delivery ship ships demo birthday birthdate anniversary";

/// Sorts of things: a word on the right is also one of the word on the left.
pub(super) const KINDS: &[(&str, &str)] = &[
    (
        "alcohol",
        "alcohol wine beer whisky whiskey gin riesling rioja champagne cocktail cocktails vodka rum prosecco cider booze drinker",
    ),
    (
        "pet",
        "pet pets cat cats dog dogs rabbit rabbits hamster puppy kitten parrot animal animals guinea beagle terrier",
    ),
    (
        "meat",
        "meat chicken beef pork steak ribeye bacon ham sausage sausages lamb turkey burger burgers schnitzel",
    ),
    ("shellfish", "shellfish prawn prawns shrimp mussels crab lobster oysters"),
    ("fish", "fish salmon tuna cod trout sushi shrimp prawns seafood"),
    ("dairy", "dairy cheese yoghurt yogurt"),
    ("caffeine", "caffeine coffee espresso espressos latte cappuccino"),
    ("smoke", "smoker smokers smokes smoking cigarette cigarettes vape vapes"),
    ("child", "child children kid kids son sons daughter daughters baby twins toddler"),
    ("sweet", "sugar sweets chocolate candy cake cakes dessert desserts"),
];

/// Words that say that something is not eaten, drunk or had: the words of the table above that they deny.
pub(super) const ABSTAINS: &[(&str, &str)] = &[
    ("vegetarian", "meat fish"),
    ("vegan", "meat fish dairy"),
    ("pescatarian", "meat"),
    ("teetotal", "alcohol"),
    ("teetotaller", "alcohol"),
    ("sober", "alcohol"),
    ("childless", "child"),
    ("decaf", "caffeine"),
    ("lactose-intolerant", "dairy"),
];

/// Languages: what is written or said in one is not in another.
pub(super) const LANGUAGES: &str = "english german french spanish italian portuguese dutch polish czech danish swedish norwegian finnish \
    russian ukrainian greek turkish arabic hebrew hindi chinese mandarin japanese korean vietnamese thai hungarian romanian \
    python typescript javascript rust go java kotlin swift ruby scala elixir php perl c++ c# haskell clojure";

/// Whom there are many of: "a friend of mine" is one of them.
pub(super) const PEOPLE: &str = "friend customer user colleague neighbour neighbor client patient guest person man woman student \
    cousin participant reader visitor child teacher doctor developer engineer candidate respondent member";

/// Verbs in their plain form, behind a plural.
pub(super) const BASE_VERBS: &str = "read write run ship send accept expire cost use need have take go come live work store keep hold meet start end open \
    close pay get require allow support handle own manage make sit stand lie happen arrive leave depart eat drink play sleep prefer \
    like love hate want listen talk speak call return fail pass break belong depend report review approve reduce increase improve cause \
    help land fly drive ride walk train study teach learn sell buy rent wear carry share visit attend log track";

/// Verbs of a report, before what is reported.
pub(super) const REPORTS: &str = "shows show says say said found finds confirmed confirms learned learnt told tells means mean reports reported noted notes \
    decided agreed turns turned announced showed discovered proved remember note";

/// Words that open a label which is not what the rest is about.
pub(super) const NOTES: &str = "note update heads-up correction reminder news fyi spoke talked legal finance hr checked confirmed decision change rebooked org \
    learned new status info attention important pharmacy list file card letter email memo handbook today yesterday warning careful beware turns bounce per";
