"""Who may see what, worked out a second time: from the edges that the simulation granted and the items that it wrote.

It shares no code with the server. `may_know` and `fault_of` say what is allowed at most, `must_see` what has to be there: they
differ only for items of which the simulation cannot know whether they still stand. What is read of the past is judged by the
version that is shown: an item may carry agents since that it did not carry then.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

TRACE = timedelta(minutes=30)
# What agents without a role of their own read of what others share.
SHARED_LAYERS_OF_AGENTS = {"episodic", "semantic", "procedural"}


@dataclass(frozen=True)
class Version:
    """What an item said from a moment on, and the class that it had then."""

    since: datetime
    agents: frozenset
    resources: frozenset
    text: str
    id: str | None = None  # the answers to writes name no version of a shared copy


@dataclass
class Item:
    """One item as the simulation wrote it."""

    id: str
    owner: str
    agent: str | None
    tier: str
    layer: str
    versions: list
    expires: datetime | None = None
    pinned: bool = False
    ended: datetime | None = None
    unsure: bool = False  # whether it stands depends on something that no answer told
    lie: bool = False
    twin: str | None = None  # the shared copy of a private item, or the other way round
    family: str = ""

    @property
    def newest(self):
        return self.versions[-1]

    @property
    def text(self):
        return self.newest.text

    @property
    def since(self):
        return self.newest.since

    def version_at(self, at=None):
        """The version that held at a moment, by default the newest one; None if the item was not written yet."""
        return self.newest if at is None else next((one for one in reversed(self.versions) if one.since <= at), None)

    def version_shown(self, id, at=None):
        """The version of this id, else the one that held at a moment."""
        return next((one for one in self.versions if id is not None and one.id == id), None) or self.version_at(at)

    def stands(self, now):
        expired = self.expires is not None and self.expires <= now and not self.pinned
        return self.ended is None and not expired

    def stood(self, at):
        """Whether it stood at a moment of the past."""
        expired = self.expires is not None and self.expires <= at and not self.pinned
        return (self.ended is None or self.ended > at) and not expired


@dataclass
class Trace:
    """What a pair was given since it last paused for half an hour."""

    last: datetime | None = None
    agents: set = field(default_factory=set)
    resources: set = field(default_factory=set)


class Oracle:
    """Edges, items and traces."""

    def __init__(self):
        self.invokes, self.uses = set(), set()
        self.items, self.traces = {}, {}
        self.declaring = set()  # agents that are believed about what they used

    def add(self, item):
        self.items[item.id] = item
        return item

    def resources_of(self, agent):
        return {resource for one, resource in self.uses if one == agent}

    def origin(self, pair, now, declared=None):
        """The agents and resources that a write of this pair carries."""
        if pair.agent is None:
            return frozenset(), frozenset(declared or ())
        if pair.agent in self.declaring:
            used = self.resources_of(pair.agent) if declared is None else declared
            return frozenset({pair.agent}), frozenset(used)
        trace = self._trace(pair, now)
        used = self.resources_of(pair.agent) | set(declared or ())
        return frozenset({pair.agent} | trace.agents), frozenset(used | trace.resources)

    def given(self, pair, rows, now, at=None):
        """Notes down what a pair was shown: the class of each version, which is not always that of the item now."""
        if pair.agent is None:
            return
        trace = self._trace(pair, now)
        trace.last = now
        for row in rows:
            item = self.items.get(row["id"])
            shown = item and item.version_shown(row.get("version"), at)
            if shown:
                trace.agents |= shown.agents
                trace.resources |= shown.resources

    def _trace(self, pair, now):
        trace = self.traces.setdefault((pair.user, pair.agent), Trace())
        if trace.last is not None and now - trace.last >= TRACE:
            trace = self.traces[(pair.user, pair.agent)] = Trace()
        return trace

    def is_admitted(self, pair, item, version=None):
        """Whether the edges of this moment and the tier let this pair see the item, or a version of its past."""
        version = version or item.newest
        if item.tier == "private" and item.owner != pair.user:
            return False
        if any((pair.user, agent) not in self.invokes for agent in version.agents):
            return False
        if pair.agent is not None:
            if item.tier == "shared" and item.layer not in SHARED_LAYERS_OF_AGENTS:
                return False
            return (pair.user, pair.agent) in self.invokes and version.resources <= self.resources_of(pair.agent)
        reach = [set()] + [self.resources_of(agent) for user, agent in self.invokes if user == pair.user]
        return any(version.resources <= resources for resources in reach)

    def may_know(self, pair, id):
        """Whether an answer to this pair may name this item, which need not stand any more."""
        item = self.items.get(id)
        return item is not None and self.is_admitted(pair, item)

    def fault_of(self, pair, row, now, at=None):
        """The promise that showing this row to this pair breaks, or None; `at` is the moment of the past that was asked for."""
        item = self.items.get(row["id"])
        shown = item and item.version_shown(row.get("version"), at)
        if item is None or not self.is_admitted(pair, item, shown):
            return "nothing leaks"
        # What is shared is redacted, so that only what is kept can be held against what was said.
        if shown is not item.version_at(at) or shown is None or (item.tier == "private" and row["text"] != shown.text):
            is_past = at is not None
            return "a changed fact keeps its history" if is_past else "a changed fact is answered with its newest value"
        return None if item.unsure or item.stood(at or now) else "what has ended is not found"

    def must_see(self, pair, now):
        """The ids of all items that a list of this pair has to show: of two copies either one."""
        return {
            item.id: item for item in self.items.values()
            if not item.unsure and item.stands(now) and self.is_admitted(pair, item)
        }  # fmt: skip
