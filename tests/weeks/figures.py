"""What the simulation counts, and the bars that the counts have to reach."""

from collections import Counter, defaultdict

HONEST_SHARE_MIN = 0.99
EXAMPLES_MAX = 8
GOOD = {"committed", "merged", "already committed", "queued, then committed"}
# Writes that say again what is known word for word. They are no part of the share.
NOT_COUNTED = {"true duplicate"}

PROMISES = (
    "honest writes become memory", "nobody is held without cause", "a changed fact is answered with its newest value",
    "a changed fact keeps its history", "nothing pinned is lost", "nothing is lost", "what has ended is not found",
    "nothing leaks", "an admin can moderate", "lies are out within a day", "whoever may import is not slowed down",
    "a revoked key stays revoked", "a log that was rolled back is not opened", "a stop is clean", "verify holds",
    "an export can be restored",
)  # fmt: skip
# What must have been counted for a promise to have been put to the test: one that nothing can break says nothing.
PUT_TO_THE_TEST = {
    "nobody is held without cause": ("holds of the hacked agent seen", "writes of others through the hacked agent"),
    "a changed fact is answered with its newest value": ("changed facts asked for",),
    "a changed fact keeps its history": ("older values asked for",),
    "nothing pinned is lost": ("pinned items looked for",),
    "nothing is lost": ("listed items held against the oracle",),
    "what has ended is not found": ("results held against the oracle", "items retracted by their authors"),
    "nothing leaks": ("results held against the oracle", "ids held against the oracle", "edges revoked"),
    "an admin can moderate": ("lies put in quarantine by the admin",),
    "lies are out within a day": ("lies looked for after a day",),
    "whoever may import is not slowed down": ("lines of the archive",),
    "a stop is clean": ("stops",),
    "a revoked key stays revoked": ("keys revoked", "users: disabled"),
    "a log that was rolled back is not opened": ("starts on a rolled back log",),
    "verify holds": ("verify: weeks looked at", "verify_log.py: weeks looked at"),
    "an export can be restored": ("moves to another machine",),
}  # fmt: skip


class Figures:
    """Counters by name, and every promise that was broken."""

    def __init__(self):
        self.honest, self.families = Counter(), defaultdict(Counter)
        self.moments = Counter()  # the same of those that speak of their moment: few enough to be lost in the whole
        self.examples = defaultdict(list)  # how an honest write ended badly -> such writes
        self.counts = Counter()
        self.broken = defaultdict(list)  # promise -> what broke it

    def count_write(self, outcome, family, example, of_moment):
        """Counts one honest write by how it ended."""
        self.honest[outcome] += 1
        self.moments[outcome] += of_moment
        self.families[family][outcome] += 1
        if outcome not in GOOD | NOT_COUNTED:
            self.examples[outcome].append(example)

    def count_as_lost(self, family, example, of_moment):
        """A true statement that was memory is none any more, because another one was taken for its newer value."""
        self.honest["committed"] -= 1
        self.moments["committed"] -= of_moment
        self.count_write("superseded though still true", family, example, of_moment)

    def break_promise(self, promise, what):
        assert promise in PROMISES, promise
        self.broken[promise].append(what)

    @property
    def honest_total(self):
        return sum(count for outcome, count in self.honest.items() if outcome not in NOT_COUNTED)

    @property
    def honest_share(self):
        return share(self.honest)

    def close(self):
        """Judges the shares and whether every promise was put to the test, and returns the broken promises."""
        for promise, names in PUT_TO_THE_TEST.items():
            if missing := [name for name in names if not self.counts[name]]:
                self.break_promise(promise, f"it was not put to the test: {missing} is 0")
        for what, outcomes in (("all", self.honest), ("those that speak of their moment", self.moments)):
            if share(outcomes) < HONEST_SHARE_MIN:
                self.break_promise("honest writes become memory", f"{share(outcomes):.2%} of {what} did: {dict(outcomes)}")
        return self.broken

    def as_dict(self):
        return {
            "honest_writes": self.honest_total,
            "honest_share": round(self.honest_share, 5),
            "honest_share_of_moments": round(share(self.moments), 5),
            "outcomes": dict(self.honest.most_common()),
            "families": {name: dict(counts) for name, counts in sorted(self.families.items())},
            "counts": dict(sorted(self.counts.items())),
            "examples": {name: found for name, found in sorted(self.examples.items())},
            "broken": {name: [str(one) for one in found] for name, found in sorted(self.broken.items())},
        }

    def table(self):
        """The figures for people."""
        rows = [("honest writes", self.honest_total), ("  became memory without a person", f"{self.honest_share:.2%}")]
        rows += [("  of those that speak of their moment", f"{share(self.moments):.2%}")]
        rows += [(f"  {outcome}", count) for outcome, count in self.honest.most_common()]
        rows += sorted(self.counts.items())
        lines = [f"{name:<48}{value:>9}" for name, value in rows]
        for outcome, found in sorted(self.examples.items()):
            lines += [f"{outcome}: {len(found)}", *(f"    {one}" for one in found[:EXAMPLES_MAX])]
        for promise, found in sorted(self.broken.items()):
            lines += [f"BROKEN: {promise}: {len(found)}", *(f"    {one}" for one in found[:EXAMPLES_MAX])]
        return "\n".join(lines)


def share(outcomes):
    """The share of the writes that became memory; what was known word for word is not counted."""
    total = sum(count for outcome, count in outcomes.items() if outcome not in NOT_COUNTED)
    return sum(outcomes[outcome] for outcome in GOOD) / max(1, total)
