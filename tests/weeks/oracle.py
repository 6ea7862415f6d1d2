"""Who may see what, worked out a second time: from the edges that the simulation granted and the items that it wrote.

It shares no code with the server. `may_see` says what is allowed at most, `must_see` what has to be there: they differ
only for items of which the simulation cannot know whether they still stand.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

TRACE = timedelta(minutes=30)
# What agents without a role of their own read of what others share.
SHARED_LAYERS_OF_AGENTS = {"episodic", "semantic", "procedural"}


@dataclass
class Item:
    """One item as the simulation wrote it."""

    id: str
    owner: str
    tier: str
    layer: str
    agents: frozenset
    resources: frozenset
    text: str
    since: datetime
    expires: datetime | None = None
    pinned: bool = False
    ended: datetime | None = None
    unsure: bool = False  # whether it stands depends on something that no answer told
    lie: bool = False
    twin: str | None = None  # the shared copy of a private item, or the other way round
    family: str = ""

    def stands(self, now):
        expired = self.expires is not None and self.expires <= now and not self.pinned
        return self.ended is None and not expired


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

    def origin(self, pair, now, declared=()):
        """The agents and resources that a write of this pair carries."""
        if pair.agent is None:
            return frozenset(), frozenset(declared)
        trace = self._trace(pair, now)
        used = set(declared) if pair.agent in self.declaring else self.resources_of(pair.agent)
        return frozenset({pair.agent} | trace.agents), frozenset(used | set(declared) | trace.resources)

    def given(self, pair, items, now):
        """Notes down what a pair was shown."""
        if pair.agent is None:
            return
        trace = self._trace(pair, now)
        trace.last = now
        for item in items:
            trace.agents |= item.agents
            trace.resources |= item.resources

    def _trace(self, pair, now):
        trace = self.traces.setdefault((pair.user, pair.agent), Trace())
        if trace.last is not None and now - trace.last >= TRACE:
            trace = self.traces[(pair.user, pair.agent)] = Trace()
        return trace

    def is_admitted(self, pair, item):
        """Whether the edges of this moment and the tier let this pair see the item."""
        if item.tier == "private" and item.owner != pair.user:
            return False
        if any((pair.user, agent) not in self.invokes for agent in item.agents):
            return False
        if pair.agent is not None:
            if item.tier == "shared" and item.layer not in SHARED_LAYERS_OF_AGENTS:
                return False
            return (pair.user, pair.agent) in self.invokes and item.resources <= self.resources_of(pair.agent)
        reach = [set()] + [self.resources_of(agent) for user, agent in self.invokes if user == pair.user]
        return any(item.resources <= resources for resources in reach)

    def may_see(self, pair, id, now, history=False):
        """Whether an answer to this pair may name this item at all; with `history` also once it no longer stands."""
        item = self.items.get(id)
        if item is None or not self.is_admitted(pair, item):
            return False
        return history or item.unsure or item.stands(now)

    def must_see(self, pair, now):
        """The ids of all items that a list of this pair has to show: of two copies either one."""
        return {
            item.id: item for item in self.items.values()
            if not item.unsure and item.stands(now) and self.is_admitted(pair, item)
        }  # fmt: skip
