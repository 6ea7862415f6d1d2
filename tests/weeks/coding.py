"""A team of developers with one coding agent that shares what it learns of the repository, and a build server."""

from weeks.phrases import joined, one_of, settled, typed

AGENT, BUILDS = "builder", "build-server"
DEVELOPERS = ("priya.n", "tomas.k", "wei.l", "lena.s")
SERVICES = ("billing", "search", "gateway", "mailer", "importer", "auth", "reports", "scheduler", "uploads", "webhooks")
PLACES = ("staging", "production", "the test cluster")
CRATES = ("tokio", "serde", "axum", "sqlx", "rustls", "clap", "tracing", "hyper")
AREAS = (
    "retry webhooks", "cache invoices", "drop the old API", "rename columns", "split the worker", "faster cold start",
    "typed errors", "paging in the list", "audit trail", "fewer locks",
)
CHOICES = (
    ("Postgres", "Kafka", "the event store"), ("gRPC", "REST", "calls between services"),
    ("Terraform", "scripts", "the infrastructure"), ("feature flags", "long branches", "releases"),
    ("OpenTelemetry", "our own tracer", "traces"), ("SQLite", "files", "local state"),
    ("weekly releases", "daily releases", "the mobile app"), ("Playwright", "Selenium", "browser tests"),
)  # fmt: skip


class Coding:
    """The repository and who works on it."""

    def __init__(self, life, developers):
        self.life, self.rng = life, life.rng("coding")
        life.make_agent(AGENT, specialisation="coding")
        life.make_agent(BUILDS, specialisation="builds", trust_declared=True)
        life.ask(
            life.admin, "POST", "/v1/resources", {"name": "repository", "kind": "repository", "description": "the code"},
        )
        life.share(AGENT)
        self.people, self.pairs, self.facts = {}, {}, {}
        for user in DEVELOPERS[:developers]:
            self.people[user] = life.make_user(user)
            self.pairs[user] = life.make_pair(user, AGENT)
        self.builds = life.make_pair(DEVELOPERS[0], BUILDS)
        life.share(BUILDS)
        for user in DEVELOPERS[1:developers]:
            life.grant("ua", user, BUILDS)
        life.grant("ar", AGENT, "repository")
        self.build, self.pull, self.ports = 1_800, 500, {}
        self.open_pulls = []

    def begin(self):
        """The agent reads the repository: ports, versions, settings. The build server imports its history."""
        rng, pair = self.rng, self.pairs[DEVELOPERS[0]]
        ports = rng.sample(range(2000, 9900), len(SERVICES) * 2)
        bodies = []
        for number, service in enumerate(SERVICES):
            port, metrics = ports[2 * number], ports[2 * number + 1]
            self.ports[service] = port
            bodies += [
                one_of(
                    rng, "Port {p} is open on the {s} service.", "port {p} serves {s}", "The {s} service listens on {p}.",
                    s=service, p=port,
                ),
                one_of(rng, "Port {p} has the metrics of {s}.", "metrics of {s} are on port {p}", s=service, p=metrics),
                one_of(
                    rng, "{s} needs {m} MB of memory on staging and {n} MB in production",
                    "Memory of {s}: staging {m} MB, production {n} MB", s=service, m=64 * rng.randrange(2, 9),
                    n=512 * rng.randrange(2, 9),
                ),
                one_of(
                    rng, "p50 of {s} is {a} ms, p99 {b} ms",
                    "Latency of {s}: {a} ms at the median and {b} ms at the 99th percentile", s=service,
                    a=rng.randrange(2, 30), b=rng.randrange(80, 900),
                ),
                f"Minimum pool size of {service} is {rng.randrange(1, 4)}, maximum is {rng.randrange(8, 40)}.",
                f"Step {number + 1} of the release script restarts {service}.",
            ]
        bodies += [f"{crate} is pinned to {rng.randrange(0, 3)}.{rng.randrange(1, 40)}" for crate in CRATES]
        bodies += [
            f"Fact about module {number}: it has {rng.randrange(200, 4000)} lines and {rng.randrange(1, 30)} tests" for number in range(1, 9)
        ]
        self.life.write_batch(
            pair, [{"text": text, "tags": ["repo"]} for text in bodies], "coding: import of the repository",
        )
        history = []
        for number in range(40):
            result = rng.choice(("passed", "passed", "failed"))
            time = self.life.now.replace(hour=1).isoformat().replace("+00:00", "Z")
            history.append(
                {
                    "text": f"Build {1700 + number} {result} after {rng.randrange(200, 900)} s",
                    "fields": {"build": 1700 + number, "time": time},
                },
            )
        self.life.write_batch(self.builds, history, "coding: import of builds")
        for user, pair in self.pairs.items():
            self._introduce(user, pair)
        self.life.pass_time(minutes=6)

    def import_builds(self):
        """The builds of another repository come in at once: more lines than a minute has room for."""
        rng, lines = self.rng, []
        for number in range(640):
            result = rng.choice(("passed", "failed", "timed out"))
            text = f"Build {9_000 + number} of the old repository {result} after {rng.randrange(60, 900)} s"
            lines.append({"text": text, "tier": "private", "fields": {"build": 9_000 + number}})
        self.life.write_batch(self.builds, lines, "coding: import of more lines than a minute takes")
        self.life.pass_time(minutes=2)

    def _introduce(self, user, pair):
        rng, life = self.rng, self.life
        mine = SERVICES[list(self.pairs).index(user)::len(self.pairs)][:2]
        for service in mine:
            self.facts[service, "toolchain"] = life.learn(
                pair, f"The {service} service is built with Rust 1.8{rng.randrange(0, 5)}.",
                f"Which Rust builds the {service} service?", "coding: toolchain of a service",
            )  # fmt: skip
            self.facts[service, "replicas"] = life.learn(
                pair, f"{service} runs with {rng.randrange(2, 5)} replicas in production.",
                f"How many replicas of {service} run in production?", "coding: replicas",
            )  # fmt: skip
        self.facts[user, "editor"] = life.learn(
            pair, f"I use {rng.choice(('vim', 'emacs', 'helix'))} as my editor.", "Which editor do I use?",
            "coding: a person's editor", tier="private",
        )  # fmt: skip
        self.facts[user, "reviewer"] = life.learn(
            pair, f"My pull requests about {mine[0]} go to {rng.choice(('Sam', 'Ola', 'Ines'))} for review.",
            f"Who reviews my pull requests about {mine[0]}?", "coding: reviewer", tier="private",
        )  # fmt: skip

    def act(self, day, hour):
        if day % 7 >= 5 or hour not in (9, 11, 13, 15, 17):
            return
        for user, pair in self.pairs.items():
            if self.rng.random() < 0.8:
                self._log(pair, hour)
            if self.rng.random() < 0.35:
                self._pull(pair)
            if self.rng.random() < 0.3:
                self._remember(pair, hour)
            if self.rng.random() < 0.25:
                self.life.search(
                    pair,
                    self.rng.choice(
                        (
                            "which port does {} use", "latency of {}", "why did the build of {} fail",
                            "what did we decide about {}",
                        ),
                    ).format(self.rng.choice(SERVICES)),
                )
            if self.rng.random() < 0.03:
                self._change(user)
        self._build(hour)
        self.life.pass_time(minutes=self.rng.randrange(2, 9))

    def _build(self, hour):
        rng = self.rng
        for _ in range(rng.randrange(1, 4)):
            self.build += 1
            text = one_of(
                rng, "Build {b} passed in {s} seconds", "Build {b} failed: {n} tests red in {v}", "build {b} of {v}: ok",
                "The deploy of {v} to {place} failed at {hour}:{m:02}.",
                "The deploy of {v} to {place} succeeded at {hour}:{m:02}.",
                "Build {b} was cancelled", "Nightly benchmark of {v}: {n} ms", "Coverage after build {b} is {c} %",
                b=self.build, s=rng.randrange(200, 900), n=rng.randrange(1, 60), v=rng.choice(SERVICES),
                place=rng.choice(PLACES), hour=hour, m=rng.randrange(60), c=rng.randrange(70, 93),
            )  # fmt: skip
            self.life.write(
                self.builds, text, "coding: builds",
                fields={"time": self.life.now.isoformat().replace("+00:00", "Z"), "build": self.build},
            )

    def _log(self, pair, hour):
        rng = self.rng
        service, other = rng.sample(SERVICES, 2)
        chosen, refused, what = rng.choice(CHOICES)
        text = one_of(
            rng, "The deploy failed", "The deploy succeeded", "Flaky test in {s}: it failed {n} times today",
            "{s} calls {o} for logins", "Profiled {s} at {hour}:{m:02}: {p} % of the time goes into JSON",
            "Rolled back {s} on staging at {hour}:{m:02}",
            "We decided to use {c} instead of {r} for {w}, see the meeting of {date}",
            "The cache of {s} was empty after the restart at {hour}:{m:02}",
            "{s} crashed at {hour}:{m:02} with a timeout to {o}", "{s} is healthy again since {hour}:{m:02}",
            "TODO {n}: document the retry rules of {s}", "Migration {n} adds an index to {s}",
            "Error E{n} in {s} means that the queue is full",
            "Reading the code of {s}: it has no limit on uploads",
            "Tried to upgrade the driver of {s}, tests took {n} minutes", "Pairing with a colleague on {s} this morning",
            "Load test at {hour}:{m:02}: {s} took {n} requests a second",
            "Paired on {s} yesterday, continued today", "Issue {n} is about {o}, not about {s}",
            "The logs of {s} show {n} warnings an hour since noon", "Main was red for {n} minutes at {hour}:{m:02}",
            s=service, o=other, p=rng.randrange(5, 70), n=rng.randrange(2, 4000), hour=hour, m=rng.randrange(60), c=chosen,
            r=refused, w=what, date=f"{self.life.now:%d %B}",
        )  # fmt: skip
        layer = {"layer": "session"} if rng.random() < 0.15 else {}
        self.life.write(pair, typed(rng, text), "coding: daily log", task_id=f"task-{rng.randrange(99)}", **layer)

    def _remember(self, pair, hour):
        """What an agent keeps of a repository besides events: settings by place, limits, steps, conventions, reviews."""
        rng, service = self.rng, self.rng.choice(SERVICES)
        place, flag = rng.choice(PLACES), rng.choice(
            ("dark_mode", "bulk_export", "new_parser", "lazy_index", "soft_delete", "fast_retry"),
        )
        step, module = rng.randrange(1, 30), rng.randrange(1, 60)
        text = one_of(
            rng, "{flag} is {state} on {place}", "MAX_RETRIES={small} in {service}.env for {place}",
            "{service}: at least {small} and at most {large} connections",
            "Timeout of {service} is {large} s for reads on {place}",
            "Step {step} of the runbook: {todo}", "crate m{module} belongs to {owner}",
            "Module {module} is covered by {tests} tests", "Version 2.{module} of the API dropped {field}",
            "Rule {step} of the style guide: {rule}",
            "schema v{module} added the column {field}", "{service} uses {store} for {use}",
            "The {service} image is {large}0 MB", "Endpoint /v1/{field}s takes at most {large} rows a page",
            "HTTP {code} from {service} means {meaning}",
            "Workers of {service}: {small} in the EU, {large} in the US", "ADR {module}: {rule}",
            "Log level of {service} on {place}: {level}", "Cron job {step} runs at {clock} every night",
            "{service} writes to topic {field}-{module}",
            flag=flag, state=settled(("on", "off"), flag, place), place=place, small=settled((2, 3, 4, 5), service, place),
            large=settled((20, 30, 40, 60), service, place), service=service, step=step,
            todo=settled(
                ("drain the queue", "take a snapshot", "tell the support desk", "switch the alias", "run the smoke tests"),
                step,
            ),
            module=module, owner=settled(("the platform team", "the data team", "nobody yet"), module),
            tests=settled(range(3, 90), module),
            field=settled(("region", "label", "score", "owner", "token", "cursor"), module),
            rule=settled(
                ("no locks across await", "errors name the file", "one writer a log", "no globals", "tests first"), step,
                module,
            ),
            store=settled(("Redis", "Postgres", "files"), service), use=settled(("sessions", "jobs", "caches"), service),
            code=(code := rng.choice((409, 422, 429, 503))),
            meaning=settled(("a conflict", "bad input", "too many calls", "a restart"), code),
            level=settled(("info", "warn", "debug"), service, place), clock=f"{settled(range(1, 6), step)}:15",
        )  # fmt: skip
        if rng.random() < 0.3:
            text = joined(
                rng, text,
                f"Review of PR {self.pull - rng.randrange(9)} at {hour}:{rng.randrange(60):02}: {rng.choice(('two nits', 'naming'))}.",
                f"`cargo test -p {service}` took {rng.randrange(9, 99)} s just now",
                f"Left off at {service}/src/lib.rs line {rng.randrange(20, 900)}.",
                f"thread 'main' panicked at {service}/src/main.rs:{rng.randrange(10, 400)}: connection closed",
                "Nothing was pushed.",
            )  # fmt: skip
        self.life.write(pair, text, "coding: remembered")

    def _pull(self, pair):
        rng = self.rng
        if self.open_pulls and rng.random() < 0.5:
            number = self.open_pulls.pop(rng.randrange(len(self.open_pulls)))
            text = one_of(
                rng, "PR {n} was merged at {t}", "Merged PR {n}.", "PR {n} was closed without merging",
                "PR {n} got {k} comments and an approval", n=number, t=f"{self.life.now:%H:%M}", k=rng.randrange(1, 20),
            )
        else:
            self.pull += 1
            self.open_pulls.append(self.pull)
            text = one_of(
                rng, "PR {n} was opened: {a} in {s}", "Opened PR {n} ({a}, {s})",
                "PR {n}: {a}. It touches {k} files of {s}.", n=self.pull, a=rng.choice(AREAS), s=rng.choice(SERVICES),
                k=rng.randrange(1, 50),
            )
        self.life.write(pair, typed(rng, text), "coding: pull requests", fields={"pull": self.pull})

    def _change(self, user):
        rng, life = self.rng, self.life
        subject, what = rng.choice([key for key, fact in self.facts.items() if fact.pair.user == user])
        fact = self.facts[subject, what]
        match what:
            case "toolchain":
                life.change(
                    fact, f"The {subject} service is built with Rust 1.{85 + len(fact.values)}.",
                    rng.choice(("say", "patch", "supersede")),
                )
            case "replicas":
                life.change(
                    fact, f"{subject} runs with {4 + len(fact.values)} replicas in production.",
                    rng.choice(("say", "ask", "put")),
                )
            case "editor":
                new = rng.choice([name for name in ("vim", "emacs", "helix", "zed") if name not in fact.newest.text])
                life.change(fact, f"I use {new} as my editor.", rng.choice(("ask", "patch")), tier="private")
            case _:
                new = rng.choice([name for name in ("Sam", "Ola", "Ines", "Bo") if name not in fact.newest.text])
                life.change(
                    fact, fact.values[0].text.split(" go to ")[0] + f" go to {new} for review.",
                    rng.choice(("patch", "supersede")), tier="private",
                )
