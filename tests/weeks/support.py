"""A support desk: many people, each with customers of their own, work through one assistant. Nothing is shared."""

from dataclasses import dataclass, field

from weeks.phrases import CITIES, COMPANIES, FIRST, LAST, joined, one_of, settled, typed

AGENT = "helpdesk"
CHANNELS = {"email": "emailed", "phone": "called", "chat": "messaged in chat", "video call": "invited to a video call"}
PLANS = ("Starter", "Team", "Business", "Enterprise")
SUBJECTS = (
    "the invoice PDF is blank", "exports stop at 10,000 rows", "two-factor codes arrive late", "the webhook fires twice",
    "SSO login loops back to the start page", "charts are empty in Firefox", "the mobile app forgets the filter",
    "a refund has not arrived",
    "CSV import drops the last column", "the API returns 429 during the night job", "dates show in the wrong time zone",
    "password reset mail goes to spam",
)  # fmt: skip
TOPICS = (
    "renewal", "onboarding", "the price list", "data residency", "an audit request", "training", "the outage report",
    "seat management",
)
SHIFTS = ((6, 14), (7, 15), (8, 16), (9, 17), (10, 18), (12, 20))
DEVICES = (
    "an iPhone 15", "a ThinkPad", "a Pixel tablet", "a MacBook Air", "a Windows desktop", "an old iPad", "a Chromebook",
)


@dataclass
class Customer:
    number: int
    name: str
    company: str
    channel: str
    plan: str
    seats: int
    facts: dict = field(default_factory=dict)


class Support:
    """The desk and its people."""

    def __init__(self, life, users):
        self.life, self.rng = life, life.rng("support")
        life.make_agent(AGENT, specialisation="customer support")
        self.people, self.pairs, self.customers, self.tickets, self.own = [], [], {}, {}, {}
        self.numbers = self.rng.sample(range(1000, 9999), users * 12)
        self.ticket = 20_000
        for number in range(users):
            user = f"{FIRST[number % len(FIRST)].lower()}.{LAST[number % len(LAST)].lower().replace(chr(39), '')}{number}"
            self.people.append(life.make_user(user))
            pair = life.make_pair(user, AGENT)
            self.pairs.append(pair)
            self.customers[pair], self.tickets[pair], self.own[pair] = self._customers(), [], {}

    def _customers(self):
        made = []
        for _ in range(8):
            name = f"{self.rng.choice(FIRST)} {self.rng.choice(LAST)}"
            company = f"{self.rng.choice(COMPANIES)} {self.rng.choice(('Ltd', 'GmbH', 'Inc', 'AB', 'SpA', 'BV'))}"
            channel, plan = self.rng.choice(list(CHANNELS)), self.rng.choice(PLANS)
            made.append(Customer(self.numbers.pop(), name, company, channel, plan, self.rng.randrange(3, 400)))
        # One person's customers are told apart by their companies.
        return list({one.company.rsplit(" ", 1)[0]: one for one in made}.values())

    def begin(self):
        """The first morning: each imports what the old system knew of their customers, and says how they like to work."""
        for pair in self.pairs:
            bodies = []
            for one in self.customers[pair]:
                texts = [self._contact(one), self._plan(one), *self._trivia(one)]
                bodies += [{"text": text, "tags": ["crm"], "fields": {"customer": one.number}} for text in texts]
            self.life.write_batch(pair, bodies, "support: import of customers")
            self._introduce(pair)
        self.life.pass_time(minutes=7)

    def _contact(self, one):
        return one_of(
            self.rng, "Customer {n} prefers {channel}.", "{name} (customer {n}) would rather be {contacted}.",
            "Cust #{n}: best reached by {channel}",
            "{name} from {company} likes {channel} best", "preferred contact of customer {n} is {channel}",
            n=one.number, name=one.name, company=one.company, channel=one.channel, contacted=CHANNELS[one.channel],
        )  # fmt: skip

    def _plan(self, one):
        return one_of(
            self.rng, "{company} is on the {plan} plan.", "Customer {n} has the {plan} plan with {seats} seats",
            "{company}: {plan}, {seats} seats",
            "{company} ({n}) pays for {seats} seats on {plan}", n=one.number, company=one.company, plan=one.plan,
            seats=one.seats,
        )  # fmt: skip

    def _trivia(self, one):
        """Two other things that are known of a customer, each said once."""
        rng = self.rng
        known = {
            "{name} is our contact for billing at {company}": {},
            "{company} renewed in {month}": {"month": rng.choice(("January", "March", "May", "September", "November"))},
            "{name} uses {device}": {"device": rng.choice(DEVICES)},
            "Customer {n} is in the {zone} time zone.": {
                "zone": rng.choice(("Central European", "Eastern", "Pacific", "Gulf")),
            },
            "{company} has an office in {city}": {"city": rng.choice(CITIES)},
            "{name} asked for a demo of the {thing}": {"thing": rng.choice(("API", "reports", "mobile app", "audit log"))},
            "{company} was referred to us by {other}": {"other": rng.choice(COMPANIES)},
            "Customer {n} came to us from a fair in {city}.": {"city": rng.choice(CITIES)},
        }
        chosen = rng.sample(sorted(known), 2)
        return [form.format(n=one.number, name=one.name, company=one.company, **known[form]) for form in chosen]

    def _introduce(self, pair):
        """Facts about the person, which will change some day."""
        rng, life, own = self.rng, self.life, self.own[pair]
        own["city"] = rng.choice(CITIES)
        life.learn(pair, f"I live in {own['city']}.", "Where do I live?", "support: where the person lives")
        own["hours"] = rng.choice(SHIFTS)
        own["fact:hours"] = life.learn(
            pair, "My shift is from {} to {}.".format(*own["hours"]), "When is my shift?", "support: shift",
        )
        own["tone"] = rng.choice(("short", "friendly", "formal"))
        own["fact:tone"] = life.learn(
            pair, f"I want my replies to sound {own['tone']}.", "How do I want my replies to sound?",
            "support: tone of replies",
        )
        own["fact:city"] = next(fact for fact in reversed(life.facts) if fact.pair == pair and fact.family.endswith("lives"))
        one = rng.choice(self.customers[pair])
        own["vip"] = one
        own["fact:vip"] = life.learn(
            pair, f"{one.company} prefers {one.channel} for anything urgent.",
            f"How does {one.company} want to be reached when it is urgent?", "support: a customer's wish",
        )  # fmt: skip

    def act(self, day, hour):
        """One working hour of those who are on duty."""
        if day % 7 >= 5 or hour not in (9, 11, 13, 15):
            return
        for pair in self.pairs:
            if pair.user in self.life.away:
                continue
            if self.rng.random() < 0.55:
                self._log(pair, day, hour)
            if self.rng.random() < 0.12:
                self._tell(pair, day)
            if self.rng.random() < 0.08:
                self._summarise(pair, hour)
            if self.rng.random() < 0.03:
                self._transcribe(pair, day, hour)
            if self.rng.random() < 0.15:
                self._ask(pair)
            if self.rng.random() < 0.02:
                self._change(pair)
        self.life.pass_time(minutes=self.rng.randrange(2, 9))

    def _log(self, pair, day, hour):
        """What happens at a desk."""
        rng, one = self.rng, self.rng.choice(self.customers[pair])
        tickets = self.tickets[pair]
        if rng.random() < 0.35 or not tickets:
            return self._open(pair, one)
        if rng.random() < 0.55:
            return self._move(pair, rng.choice(tickets[-6:]))
        part = "morning" if hour < 12 else "afternoon"
        text = one_of(
            rng, "Spoke to {name} for {minutes} minutes about {topic}.",
            "Call with {company} this {part}: {topic}, {minutes} min", "{name} wrote again about {topic}",
            "{open} tickets in my queue at {hour}:00.", "Queue at {hour} o'clock: {open} open, {late} overdue",
            "First response for customer {n} at {hour}:{minutes:02} after {late} minutes.",
            "Refunded {euros} euros to customer {n} for a double charge.",
            "{name} sounded annoyed about {topic}; be careful",
            "{company} asked whether we can talk about {topic} next week",
            "Sent {name} the article on {topic} this {part}.", "Satisfaction score on day {day}: {score}",
            "The call with {name} did not happen, no answer", "{name} was happy with how fast we were",
            "Lunch was late, took over {late} chats from a colleague.",
            "Customer {n} reported that login was down at {hour}:{minutes:02}",
            "Login worked again for customer {n} by the end of the {part}.",
            "{name} cannot attend the webinar on {weekday}", "Escalated customer {n} to level 2 at {hour}:{minutes:02}.",
            name=one.name, company=one.company, n=one.number, minutes=rng.randrange(3, 59), topic=rng.choice(TOPICS),
            part=part, open=rng.randrange(4, 70), late=rng.randrange(0, 9),
            hour=hour, euros=rng.randrange(5, 400), score=("4.2", "4.6", "3.9", "4.8", "4.4")[day % 5], day=day + 1,
            weekday=rng.choice(("Tuesday", "Thursday")),
        )  # fmt: skip
        return self.life.write(pair, typed(rng, text), "support: daily log", tags=["log"])

    def _summarise(self, pair, hour):
        """A longer note after a call, and things that hold of a customer's product."""
        rng, one = self.rng, self.rng.choice(self.customers[pair])
        first = one.name.split()[0]
        if rng.random() < 0.4:
            region, kind = rng.choice(("EU", "US", "APAC")), rng.choice(("invoices", "exports", "reports", "backups"))
            text = one_of(
                rng, "{company} keeps {kind} in {region} for {months} months",
                "Retention of {kind} at {company}: {months} months in {region}",
                "Minimum seats for {company}: {low}. Maximum: {high}.",
                "{company} pays in {month}, {company} gets the invoice in {before}",
                "Macro {k} is for {kind}", "Extension {k} rings the {region} desk",
                "Error {k} means that the {kind} queue is full", "{company} is closed on {day} afternoons",
                "SLA for {company}: {low} h on weekdays, {high} h at weekends",
                company=one.company, kind=kind, region=region, months=settled((6, 12, 24, 36), one.company, kind, region),
                low=settled((2, 3, 4, 5), one.company), high=settled((12, 24, 48), one.company),
                k=(k := rng.randrange(100, 999)),
                month=settled(("January", "April", "July"), one.company),
                before=settled(("December", "March", "June"), one.company),
                day=settled(("Wednesday", "Friday"), one.company),
            )  # fmt: skip
            if f"{k}" in text:
                # What a number stands for is said the same way each time.
                text = f"{' '.join(text.split()[:2])} belongs to {settled(('billing', 'exports', 'logins', 'the mobile app'), k)}"
        else:
            text = joined(
                rng, f"Talked to {one.name} at {hour}:{rng.randrange(60):02} about {rng.choice(TOPICS)}.",
                f"{first} is fine with the price but not with the {rng.choice(('notice period', 'support hours', 'setup fee'))}.",
                f"They tried the export {rng.choice(('twice', 'three times'))} and it stopped at row {rng.randrange(100, 99999)}",
                f"Next step: send the {rng.choice(('offer', 'contract', 'checklist'))} until {rng.choice(('Friday', 'the end of the month'))}.",
                f"{first} will be away for {rng.randrange(2, 15)} days.",
                f"Mood: {rng.choice(('relaxed', 'in a hurry', 'a bit cross', 'friendly'))}",
                f"Asked {first} not to share the beta link.", "No need to call back.",
            )  # fmt: skip
        self.life.write(pair, text, "support: summaries", confidence=0.7)

    def _transcribe(self, pair, day, hour):
        """A chat as it was: who said what, in order."""
        rng, one = self.rng, self.rng.choice(self.customers[pair])
        session, customer = f"chat-{day}-{hour}-{one.number}", one.name.split()[0]
        said = [
            (
                customer,
                rng.choice(("Hi, my export is empty.", "Hello, I cannot log in", "Hey, the total on my invoice is wrong")),
            ),
            ("agent", "Hi! Let me have a look."), ("agent", f"I see {rng.randrange(2, 9)} attempts today."),
            (customer, rng.choice(("It worked yesterday.", "It never worked", "It works on my phone"))),
            ("agent", "Could you try again?"),
            (customer, rng.choice(("Now it works, thanks", "Still the same", "No, it does not work"))),
        ]  # fmt: skip
        bodies = [
            {
                "text": text, "fields": {"session": session, "speaker": who, "turn": turn},
            } for turn, (who, text) in enumerate(said)
        ]
        self.life.write_batch(pair, bodies, "support: transcripts")

    def _open(self, pair, one):
        rng = self.rng
        self.ticket += rng.randrange(1, 9)
        subject = rng.choice(SUBJECTS)
        text = one_of(
            rng, "Ticket {t}: {subject}. Opened by {name} today.", "New ticket {t} from {company}, {subject}",
            "{name} opened ticket {t} because {subject}.", "#{t} ({company}): {subject}",
            t=self.ticket, subject=subject, name=one.name, company=one.company,
        )  # fmt: skip
        self.life.write(pair, typed(rng, text), "support: new ticket", fields={"ticket": self.ticket})
        fact = None
        if rng.random() < 0.5:
            fact = self.life.learn(
                pair, f"Ticket {self.ticket} is waiting for {rng.choice(('the customer', 'engineering', 'billing'))}.",
                f"What is the state of ticket {self.ticket}?", "support: state of a ticket",
            )  # fmt: skip
        self.tickets[pair].append((self.ticket, fact, one))

    def _move(self, pair, ticket):
        rng, (number, fact, one) = self.rng, ticket
        if fact is not None and fact.values and len(fact.values) < 3 and rng.random() < 0.6:
            self.tickets[pair].remove(ticket)
            state = rng.choice(("resolved", "closed as a duplicate", "in testing", "on hold"))
            return self.life.change(fact, f"Ticket {number} is {state}.", rng.choice(("patch", "put", "supersede")))
        text = one_of(
            rng, "Ticket {t}: sent {name} a workaround at {clock}.", "{name} replied on ticket {t}, logs attached",
            "Ticket {t} needs a developer.", "asked {name} for a HAR file on ticket {t}",
            "Ticket {t} got priority {p} in triage.", "Could not reproduce ticket {t} on my machine.",
            "Reproduced ticket {t} with {name}'s account.",
            t=number, name=one.name, clock=f"{rng.randrange(9, 17)}:{rng.randrange(10, 59)}", p=number % 3 + 1,
        )  # fmt: skip
        return self.life.write(pair, typed(rng, text), "support: a ticket goes on", fields={"ticket": number})

    def _tell(self, pair, day):
        """What people tell their assistant about themselves and their customers, besides the daily log."""
        rng, one = self.rng, self.rng.choice(self.customers[pair])
        text = one_of(
            rng, "I like to get the queue summary before {hour}.", "I also like the {colour} theme",
            "Please do not suggest macros for {company}.", "{name} uses {device}",
            "{name} also has {device}", "{company} opened an office in {city}", "I was in {city} for the team day",
            "I had {meal} with the team today", "I visited {company} in {city} this week.",
            "Customer {n} bought {count} more licences today", "I slept {sleep} hours last night, so keep it simple",
            "my headset is broken, calls on mobile today", "My new headset arrived",
            hour=8 + len(pair.user) % 3, colour=rng.choice(("dark", "light", "contrast")), company=one.company,
            name=one.name, device=rng.choice(DEVICES), city=rng.choice(CITIES),
            meal=rng.choice(("pizza", "ramen", "tacos", "soup")), n=one.number, count=rng.randrange(2, 40),
            sleep=(6, 8, 5, 7, 9)[(day + len(pair.user)) % 5],
        )  # fmt: skip
        self.life.write(pair, typed(rng, text), "support: told in passing")

    def _ask(self, pair):
        one = self.rng.choice(self.customers[pair])
        self.life.search(
            pair,
            self.rng.choice(
                (
                    f"What do we know about {one.company}?", f"customer {one.number}", f"How should I contact {one.name}?",
                    "open tickets",
                ),
            ),
            k=8,
        )

    def _change(self, pair):
        """Something about the person or a customer is different from now on."""
        rng, own, life = self.rng, self.own[pair], self.life
        what = rng.choice(("city", "city", "hours", "tone", "vip"))
        match what:
            case "city":
                own["city"] = rng.choice([city for city in CITIES if city != own["city"]])
                life.change(own["fact:city"], f"I live in {own['city']}.", rng.choice(("say", "say", "patch")))
            case "hours":
                own["hours"] = rng.choice([shift for shift in SHIFTS if shift != own["hours"]])
                life.change(
                    own["fact:hours"], "My shift is from {} to {}.".format(*own["hours"]), rng.choice(("say", "put", "ask")),
                )
            case "tone":
                own["tone"] = rng.choice(
                    [tone for tone in ("short", "friendly", "formal", "warm", "precise") if tone != own["tone"]],
                )
                life.change(
                    own["fact:tone"], f"From now on my replies should be {own['tone']}.", rng.choice(("supersede", "patch")),
                )
            case _:
                one = own["vip"]
                one.channel = rng.choice([channel for channel in CHANNELS if channel != one.channel])
                life.change(
                    own["fact:vip"], f"{one.company} now prefers {one.channel} for anything urgent.",
                    rng.choice(("supersede", "ask", "patch")),
                )
