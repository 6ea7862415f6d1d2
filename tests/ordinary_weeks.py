#!/usr/bin/env python3
"""Twelve ordinary weeks of four teams on one server under the default policy, seen from outside.

    python tests/ordinary_weeks.py [--seed N] [--weeks 12] [--json]

A support desk, a coding agent, a household and a research team write, change, correct, ask and share; there are imports,
restarts, an upgrade of the embedding model, a backup put back by mistake, revocations, and an agent that is hacked in week six
and lies to all until an admin has looked. What must hold meanwhile is in `weeks/operator.py` and `weeks/oracle.py`; the table
at the end gives the figures. Exit code: 0 if every promise was kept, 1 if not.

TABELLION_BIN names the binary, TABELLION_MODEL_DIR the model that the server is upgraded to. With fewer weeks than twelve the
same things happen in less time.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from datetime import timedelta
from pathlib import Path

from server import BIN
from weeks.coding import Coding
from weeks.household import Household
from weeks.life import BEGIN, Life
from weeks.operator import Operator
from weeks.research import HACKED, Research
from weeks.support import Support
from weeks.vectors import BagOfWords

HOURS = (7, 9, 11, 13, 15, 17, 19, 21)
MON, TUE, WED, THU, FRI, SAT, SUN = range(7)
FULL = {"support": 40, "developers": 4, "family": 3}
SHORT = {"support": 8, "developers": 3, "family": 3}


class Weeks:
    """Who does what on which day."""

    def __init__(self, bin, directory, seed=1, weeks=12, size=None, model=None):
        self.weeks, self.size = weeks, size or (FULL if weeks >= 12 else SHORT)
        self.life = Life(bin, Path(directory), seed, self.size)
        self.model, self.endpoint = model, None
        self.events = defaultdict(list)

    def on(self, week, weekday, hour, act):
        """Plans something for a day of the twelve weeks; in a shorter run it comes that much earlier."""
        day = (-(-week * self.weeks // 12) - 1) * 7 + weekday
        self.events[day, hour].append(act)

    def plan(self):
        operator, research = self.operator, self.research
        self.on(2, WED, 13, operator.kill)
        self.on(3, TUE, 15, operator.revoke_edges)
        self.on(3, THU, 11, lambda: operator.revoke_key(self.spare))
        self.on(4, FRI, 11, operator.grant_edges_again)
        self.on(5, FRI, 21, operator.back_up)
        self.on(5, SAT, 21, operator.put_yesterday_back)
        self.on(6, THU, 9, research.hack)
        for hour in (11, 13, 15, 17, 19):
            self.on(6, THU, hour, lambda hour=hour: research.lie(hour))
        self.on(7, MON, 9, self.coding.import_builds)
        self.on(8, TUE, 9, self.import_archive)
        self.on(9, TUE, 17, operator.kill)
        away = self.support.people[1].user
        self.on(10, TUE, 11, lambda: operator.send_away(away))
        self.on(10, WED, 21, operator.restart)
        self.on(10, THU, 13, lambda: operator.take_back(away))
        self.on(11, THU, 21, operator.move)

    def run(self):
        """Lives through the weeks; returns the figures."""
        life, started = self.life, time.monotonic()
        try:
            self._begin()
            for day in range(self.weeks * 7):
                self._live(day)
                if day % 7 == SUN:
                    self._end_week(day // 7 + 1)
        finally:
            if life.server.running():
                life.kill()
            if self.endpoint is not None:
                self.endpoint.__exit__(None, None, None)
        life.figures.counts["items that the oracle is unsure of"] = sum(item.unsure for item in life.oracle.items.values())
        life.figures.counts["seconds that it took"] = round(time.monotonic() - started)
        return life.figures

    def _begin(self):
        life = self.life
        life.start()
        self.support = Support(life, self.size["support"])
        self.coding = Coding(life, self.size["developers"])
        self.household = Household(life, self.size["family"])
        self.research = Research(life)
        self.operator = Operator(life, self.research, self.coding, self.household, self.support)
        life.make_agent("visitor")
        self.spare = life.make_pair(list(self.coding.pairs)[0], "visitor")
        for number, team in enumerate((self.support, self.coding, self.household, self.research)):
            life.set_time(BEGIN + timedelta(hours=3, minutes=30 * number))
            team.begin()
        self.plan()

    def _live(self, day):
        life = self.life
        for hour in HOURS:
            moment = BEGIN + timedelta(days=day, hours=hour - 3)
            life.set_time(max(moment, life.now + timedelta(seconds=1)))
            for act in self.events.pop((day, hour), ()):
                act()
            for team in (self.support, self.coding, self.household, self.research):
                team.act(day, hour)
            life.settle_waiting()
            if self.research.hacked_from is not None:
                self.operator.check_lies_are_out()
            if hour in (9, 21):
                self._look_after(hour)

    def _look_after(self, hour):
        """The admin looks in the morning and in the evening."""
        research, operator = self.research, self.operator
        operator.look_at_holds()
        if research.noticed is not None and operator.moderated_at is None and hour == 21:
            operator.moderate()

    def _end_week(self, week):
        life, operator = self.life, self.operator
        life.set_time(BEGIN + timedelta(days=week * 7 - 1, hours=20, minutes=30))
        operator.end_week(week)
        life.stop()
        operator.verify(week)
        if week == max(1, self.weeks // 3):
            life.server.env.update(self._next_model())
            life.figures.counts["upgrades of the embedding model"] += 1
        life.start()
        life.figures.counts["restarts: clean"] += 1
        operator.check_revoked()

    def _next_model(self):
        """The settings of the model that the server is upgraded to."""
        if self.model:
            return {"TABELLION_EMBEDDING__PROVIDER": "minilm", "TABELLION_EMBEDDING__FOLDER": str(self.model)}
        self.endpoint = BagOfWords().__enter__()
        return self.endpoint.env()

    def import_archive(self):
        """Somebody who may import brings the minutes of ten years."""
        life = self.life
        person = self.research.people["dana.r"]
        status, answer = life.call(life.admin, "PUT", "/v1/roles/importer", {"actions": ["import"]})
        if status != 200:
            life.figures.break_promise("whoever may import is not slowed down", f"the power to import: {answer}")
        else:
            life.ask(life.admin, "PUT", f"/v1/roles/importer/members/{person.user}", {})
        rng, lines = life.rng("archive"), []
        for number in range(1_500 if self.weeks >= 12 else 700):
            topic = rng.choice(("budget", "boat repairs", "permits", "students", "freezers"))
            head = f"Minutes {number + 1} of {2030 + number % 18}, item {rng.randrange(1, 9)}"
            lines.append({"text": f"{head}: {topic} took {rng.randrange(5, 50)} minutes", "tags": ["archive"]})
        waiting = len(life.waiting)
        life.write_batch(person, lines, "research: import of an archive")
        life.figures.counts["lines of the archive"] += len(lines)
        if put_off := len(life.waiting) - waiting:
            life.figures.break_promise("whoever may import is not slowed down", f"{put_off} of {len(lines)} lines wait")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weeks", type=int, default=12)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path, help="live in this directory, and leave it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = args.keep or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        model = os.environ.get("TABELLION_MODEL_DIR")
        figures = Weeks(BIN, directory, args.seed, args.weeks, model=model).run()
    broken = figures.close()
    print(json.dumps(figures.as_dict(), indent=1) if args.json else figures.table())
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
