"""A family with one assistant: who is where when, what they like, what the meters read, what has to be bought."""

from weeks.phrases import CITIES, WEEKDAYS, joined, one_of, settled, typed

AGENT = "home"
FAMILY = ("mara.h", "jonas.h", "leo.h")
LESSONS = ("piano", "swimming", "judo", "chess club", "pottery", "French", "choir")
LIKES = (
    "pancakes", "olives", "jazz", "rainy days", "old maps", "board games", "mango", "crime novels", "hiking", "cinnamon",
    "trains", "the seaside", "radio plays", "lentil soup", "origami", "cats",
)
GOODS = (
    "milk", "oats", "batteries", "dish soap", "apples", "rice", "stamps", "cat litter", "coffee", "light bulbs", "butter",
    "tea", "printer paper", "onions", "toothpaste", "flour",
)
DISHES = (
    "lentil soup", "lasagne", "fried rice", "pumpkin risotto", "fish pie", "falafel", "potato gratin", "mushroom stew",
    "omelette", "chickpea curry", "noodle salad", "spinach quiche",
)
PLACES = (
    "grandma", "the dentist", "the museum", "the pool", "aunt Ruth", "the library", "the garden centre", "the zoo",
    "the eye doctor", "the market",
)
SHOPS = (
    "Bergmann Heating", "City Waterworks", "Halden Electric", "Roof & Tile Ltd", "Greenline Gardens", "Volt Repairs",
    "Optic House", "Fleet Garage",
)


class Household:
    """The family."""

    def __init__(self, life, people):
        self.life, self.rng = life, life.rng("household")
        life.make_agent(AGENT, specialisation="the household")
        life.share(AGENT)
        self.people = {user: life.make_user(user) for user in FAMILY[:people]}
        self.pairs = {user: life.make_pair(user, AGENT) for user in self.people}
        self.meter, self.kilometres, self.shopping, self.facts, self.said = 48_211.0, 91_340, [], {}, set()
        self.lessons = {}

    def begin(self):
        life, rng = self.life, self.rng
        mara, jonas = self.pairs[FAMILY[0]], self.pairs[FAMILY[1]]
        lines = [
            one_of(
                rng, "Dinner on {date}: {dish}", "We had {dish} for dinner on {date}.", "{date}, dinner: {dish}",
                date=f"{day} December", dish=rng.choice(DISHES),
            ) for day in range(1, 28)
        ]  # fmt: skip
        lines += [
            f"{person}'s birthday is on {rng.randrange(1, 28)} {month}" for person, month in zip(
                ("Grandma", "Aunt Ruth", "Cousin Tim", "Uncle Per"), ("March", "May", "July", "October"),
            )
        ]
        life.write_batch(mara, [{"text": text, "tier": "private"} for text in lines], "household: import of the calendar")
        for person in ("Mara", "Jonas", "Leo"):
            lesson = rng.choice([one for one in LESSONS if one not in self.lessons.values()])
            self.lessons[person] = lesson
            self.facts[person] = life.learn(
                mara, f"{person}'s {lesson} lesson is on {rng.choice(WEEKDAYS[:5])}s at {rng.randrange(14, 18)}:30.",
                f"When is {person}'s {lesson} lesson?", "household: a weekly lesson", tier="private",
            )  # fmt: skip
        self.facts["bins"] = life.learn(
            jonas, "The bins are collected on Tuesdays.", "When are the bins collected?", "household: bins", tier="private",
        )
        self.facts["doctor"] = life.learn(
            jonas, "Our family doctor is Dr. Amsel.", "Who is our family doctor?", "household: doctor", tier="private",
        )
        self.facts["internet"] = life.learn(
            mara, "The internet contract costs 39 euros a month.", "What does the internet contract cost?",
            "household: contract", tier="private",
        )
        # A person may say what holds for good, in their own name.
        for user, text in (
            (FAMILY[0], "I am allergic to hazelnuts."), (FAMILY[1], "I do not eat pork."),
            (FAMILY[1], "The spare key is with the neighbours on the second floor."),
        ):
            life.write(self.people[user], text, "household: said in person, for good", layer="semantic", tier="private")
        steps = "To bleed the radiators: turn the pump off, start on the lowest floor, open the valve until water comes, close it."
        tests = [{"name": "has steps", "expect": {"required": ["text"]}}]
        life.write(
            self.people[FAMILY[1]], steps, "household: said in person, for good", layer="procedural", tier="private",
            tests=tests,
        )
        self._pin_what_matters(mara)
        # Nine numbered lines in a row, as a program writes them.
        for number in range(1, 10):
            life.write(jonas, f"Log line {number}: the heating was checked", "household: numbered lines", tier="private")
        life.pass_time(minutes=11)

    def _pin_what_matters(self, pair):
        """Pinned with lifetimes that end within the weeks, and one in a layer that forgets after hours."""
        for text, ttl in (
            ("The alarm company wants the word heliotrope on the phone.", "P3D"),
            ("Leo had a bad reaction to amoxicillin in 2046.", "P10D"),
            ("The insurance number of the car is AX-4471-K.", "P5D"),
            ("The main water tap is behind the washing machine.", "P30D"),
        ):  # fmt: skip
            item = self.life.write(pair, text, "household: pinned", ttl=ttl, tier="private")
            if item is not None:
                self.life.pin(pair, item)
        item = self.life.write(
            pair, "The plumber's emergency number is 555 0134.", "household: pinned", layer="session", tier="private",
        )
        if item is not None:
            self.life.pin(pair, item)
        self.life.write(
            pair, "The parcel is in the shed until the weekend.", "household: with an end", ttl="P4D", tier="private",
        )

    def act(self, day, hour):
        if hour == 7:
            self._morning(day)
        elif hour == 19:
            self._evening(day)
        elif hour in (11, 15):
            self._in_between(day, hour)
        if day == 1 and hour == 21:
            self.copy_recipes(FAMILY[1])
        if day == 4 and hour == 21:
            self.file_invoices(FAMILY[2])
        self.life.pass_time(minutes=self.rng.randrange(1, 6))

    def _morning(self, day):
        rng, life = self.rng, self.life
        mara, jonas = self.pairs[FAMILY[0]], self.pairs[FAMILY[1]]
        sleepers = (("Mara", mara), ("Jonas", jonas), ("Leo", mara))
        for person, pair in sleepers:
            if rng.random() < 0.7:
                text = one_of(
                    rng, "{p} slept {h} hours last night.", "{p} got {h} hours of sleep", "Sleep of {p} last night: {h} h",
                    p=person, h=rng.choice((5, 6, 6.5, 7, 8, 9, 11)),
                )
                life.write(pair, text, "household: sleep", tier="private", fields=self._now(rng))
        self.meter += rng.uniform(4, 14)
        text = one_of(
            rng, "The electricity meter reads {n:.1f} kWh.", "Meter reading this morning: {n:.1f} kWh",
            "electricity: {n:.1f}", n=self.meter,
        )
        life.write(jonas, text, "household: readings", tier="private", fields=self._now(rng))
        text = one_of(
            rng, "It is {t} degrees outside.", "Thermometer at 7: {t} °C", "Frost this morning, {t} degrees",
            "{t} degrees on the balcony", t=rng.randrange(-8, 14),
        )
        life.write(mara, text, "household: readings", tier="private", fields=self._now(rng))

    def _now(self, rng):
        """Half of the time the moment is written down beside the text."""
        return {"time": self.life.now.isoformat().replace("+00:00", "Z")} if rng.random() < 0.5 else {}

    def _in_between(self, day, hour):
        rng, life = self.rng, self.life
        user = rng.choice(list(self.pairs))
        pair = self.pairs[user]
        if hour == 11:
            life.write(
                pair,
                one_of(
                    rng, "At noon the sensor read {t} degrees", "The freezer is at -{u} degrees",
                    "CO2 in the living room: {c} ppm", t=rng.randrange(15, 27), u=rng.randrange(15, 22),
                    c=rng.randrange(420, 1600),
                ),
                "household: readings", tier="private",
            )
        if rng.random() < 0.8:
            goods = rng.choice(GOODS)
            item = life.write(
                pair,
                one_of(
                    rng, "We need {g}.", "Buy {g}", "{g} is nearly empty, put it on the list",
                    "shopping list: {g}, {n} pieces", g=goods, n=rng.randrange(1, 6),
                ),
                "household: shopping",
            )
            if item is not None:
                self.shopping.append((pair, item))
        if rng.random() < 0.3:
            like = rng.choice(LIKES)
            text = one_of(
                rng, "I like {x}.", "I love {x}", "Leo likes {x}", "Jonas enjoys {x}.", "Mara is fond of {x}",
                "I really like {x} and {y}", x=like, y=rng.choice([one for one in LIKES if one != like]),
            )
            life.write(pair, text, "household: likes", tier="private")
        if rng.random() < 0.3:
            life.search(
                pair,
                rng.choice(
                    (
                        "what do we need to buy", "when is the lesson", "what does Leo like", "what did we eat last week",
                        "is anybody allergic",
                    ),
                ),
            )
        if rng.random() < 0.06:
            self._change()
        self._plan(pair, day)

    def _plan(self, pair, day):
        """Timetables, doses, guests and other things that families write down."""
        rng = self.rng
        period, weekday, guest, week = rng.randrange(1, 8), rng.choice(WEEKDAYS[:5]), rng.choice(
            ("Ada", "Bela", "Cosmo", "Dina", "Ewa", "Finn"),
        ), 1 + day // 7
        text = one_of(
            rng, "Period {p} on {w} is {subject} for Leo", "Leo takes {dose} ml of the syrup at 8:00 and {more} ml at 20:00",
            "{guest} does not eat {food}", "{guest} loves {dish}", "Shelf {p} in the cellar: {good}",
            "Bus {bus} stops at the school at {hour}:{minute}",
            "Box {bus} in the attic holds {things}", "Page {bus} of the album is from {city}",
            "Week {k}: {who} cooks on {w}", "Room {p} of the hotel in {city} looks over the yard",
            "Filter {p} was changed in week {k}", "Locker {bus} at the pool has the goggles",
            "Chapter {bus}: we stopped reading on {w} of week {k}", "the dishwasher takes {dose}0 minutes in programme {p}",
            "{guest} was born in {year}", "{guest} has a {pet}", "Film {bus} on the list is about {things}",
            "The {city} trip cost {bus}0 euros",
            p=period, w=weekday, subject=settled(("maths", "music", "art", "history", "sports", "English"), period, weekday),
            dose=5, more=10, guest=guest, food=settled(("fish", "nuts", "celery"), guest), dish=settled(DISHES, guest),
            good=settled(GOODS, period), bus=(bus := rng.randrange(10, 90)), hour=settled((7, 8, 13), bus),
            minute=settled((12, 27, 44), bus), things=settled(("tents", "old letters", "lamps", "skates", "costumes"), bus),
            city=settled(CITIES, bus), k=week,
            who=settled(("Mara", "Jonas"), week, weekday), year=settled(range(1960, 2040), guest),
            pet=settled(("parrot", "dog", "rabbit"), guest),
        )  # fmt: skip
        if rng.random() < 0.2:
            text = joined(
                rng, text, f"{guest} called on day {day + 1}.", f"Bring {rng.choice(GOODS)} on {weekday}",
                "Leo forgot his gym bag today.", f"Jonas will be late on {self.life.now:%d %B}",
                "ask the neighbours about the ladder",
            )
        self.life.write(pair, text, "household: plans", tier="private")

    def _evening(self, day):
        rng, life = self.rng, self.life
        mara, jonas = self.pairs[FAMILY[0]], self.pairs[FAMILY[1]]
        life.write(
            mara,
            one_of(
                rng, "We ate {d} tonight.", "Dinner: {d}", "{d} for dinner, everyone was happy", "Leo cooked {d} today",
                d=rng.choice(DISHES),
            ),
            "household: meals", fields=self._now(rng),
        )
        if rng.random() < 0.5:
            place = rng.choice(PLACES)
            life.write(
                rng.choice((mara, jonas)),
                one_of(
                    rng, "We visited {p} today.", "Mara went to {p} this afternoon", "Jonas was at {p} with Leo yesterday",
                    "Leo has to go to {p} next week", "{p} at {h} o'clock on {w}", p=place, h=rng.randrange(9, 18),
                    w=rng.choice(WEEKDAYS),
                ),
                "household: visits", tier="private",
            )
        if rng.random() < 0.4:
            self.kilometres += rng.randrange(5, 90)
            life.write(
                jonas,
                one_of(
                    rng, "The car has {k} km.", "Odometer: {k}", "Filled up {l} litres at {k} km", "Cycled {c} km today",
                    k=self.kilometres, l=rng.randrange(20, 50), c=rng.randrange(3, 60),
                ),
                "household: readings", tier="private", fields=self._now(rng),
            )
        if rng.random() < 0.3:
            life.write(
                rng.choice((mara, jonas)),
                one_of(
                    rng, "The window in the hall is open.", "The window in the hall is closed.",
                    "The lamp in the cellar is on", "The lamp in the cellar is off", "The washing machine is broken again",
                    "The washing machine works again", "Leo is ill today", "Leo went back to school today",
                ),
                "household: how things are", tier="private", fields=self._now(rng),
            )
        # Saturdays the list is tidied up: what was bought goes.
        if day % 7 == 5:
            for pair, item in self.shopping:
                if item.ended is None:
                    life.retract(pair, item, "bought")
            self.shopping = []

    def _change(self):
        rng, life = self.rng, self.life
        what = rng.choice(list(self.facts))
        fact = self.facts[what]
        how = rng.choice(("say", "say", "patch", "supersede", "ask", "put"))
        if what in self.lessons:
            text = f"{what}'s {self.lessons[what]} lesson is on {rng.choice(WEEKDAYS[:5])}s at {rng.randrange(14, 18)}:00."
        elif what == "bins":
            text = f"The bins are collected on {rng.choice(WEEKDAYS[:5])}s."
        elif what == "doctor":
            text = f"Our family doctor is Dr. {rng.choice(('Bremer', 'Castell', 'Dorn', 'Ehlers', 'Falk'))}."
        else:
            text = f"The internet contract costs {rng.randrange(25, 60)} euros a month."
        if all(text != value.text for value in fact.values):
            life.change(fact, text, how, tier="private")

    def copy_recipes(self, user):
        """One member of the family copies a cookery book, a page a minute, through the assistant that all use."""
        rng, pair = self.rng, self.pairs[user]
        kitchen = (
            "butter", "garlic", "thyme", "onions", "beans", "cream", "rice", "pepper", "lemon", "dough", "cheese", "mint",
            "oats", "leeks", "plums", "honey",
        )
        for number in range(320):
            a, b, c = rng.sample(kitchen, 3)
            text = one_of(
                rng, "{d} needs {a} and {b}", "Fry the {a} with {b} before the {c}", "Bake the {a} with {c} for {m} minutes",
                "{a} goes well with {b}", "Recipe {n}: simmer {a}, {b} and {c}", "For {d} soak the {a} over night", a=a, b=b,
                c=c, d=rng.choice(DISHES), m=rng.randrange(10, 90), n=number,
            )
            self.life.write(pair, f"{text} (page {number})", "household: a cookery book", tier="private")
            if number % 20 == 19:
                self.life.pass_time(minutes=1)

    def file_invoices(self, user):
        """Another one scans the invoices of a year in one go, through the same assistant."""
        rng, pair = self.rng, self.pairs[user]
        for number in range(17):
            shop = rng.choice(SHOPS)
            text = one_of(
                rng, "Invoice {n} of {s} over {e} euros was paid", "{s} charged {e} euros, invoice {n}",
                "invoice {n}: {s}, {e} EUR, paid by transfer", s=shop, n=7000 + number, e=rng.randrange(20, 900),
            )
            self.life.write(pair, text, "household: invoices", tier="private")
        lines = [
            {
                "text": f"Receipt {number}: {rng.choice(SHOPS)}, {rng.randrange(5, 300)} euros", "tier": "private",
            } for number in range(1, 331)
        ]
        self.life.write_batch(pair, lines, "household: invoices")
        for number in range(20):
            self.life.write(
                pair, f"Looking at receipt {number + 1} for the tax form", "household: a session", layer="session",
                tier="private",
            )
