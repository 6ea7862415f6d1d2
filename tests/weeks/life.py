"""One server that several teams live with: its time, its people, and every call they make.

Whatever a caller is answered is held against the oracle, whatever an honest caller writes is counted by how it ended.
"""

import http.client
import json
import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from callers import rfc3339
from server import Server, exchange

from weeks.figures import GOOD, Figures
from weeks.moments import plain, speaks_of_its_moment
from weeks.oracle import Item, Oracle, Version

BEGIN = datetime(2050, 1, 3, 3, 0, tzinfo=UTC)  # a Monday
ITEM = re.compile(r"\bitm_[a-z2-7]{26}\b")
PAGE = 500
HOLD_MAX = timedelta(days=1)
LIFETIMES = {"session": timedelta(hours=8)}
# What stops all that a pair writes, whatever it says.
SUSPENDED = "refused: WRITES_SUSPENDED"
STOPPED = {SUSPENDED, "held: ANOMALY"}
# Families whose statements are about how a thing is now: of two, the newer one holds.
STATES = {"household: how things are"}


@dataclass(frozen=True)
class Pair:
    """Somebody who acts: a user, through an agent or as a person."""

    user: str
    agent: str | None
    key: str

    def __str__(self):
        return f"{self.user}/{self.agent or 'in person'}"


@dataclass
class Value:
    """What somebody said about one thing, and from when on it held."""

    text: str
    since: datetime
    ids: set


@dataclass(frozen=True)
class Sent:
    """A write as it was sent, and what it carries."""

    pair: Pair
    body: dict
    family: str
    honest: bool
    origin: tuple
    ends: frozenset
    at: datetime

    def __str__(self):
        return f"{self.at:%a %d %b %H:%M} {self.pair}: {self.body.get('text')!r}"


class Fact:
    """One thing that changes in the course of the weeks, asked for in words of its own."""

    def __init__(self, pair, question, family):
        self.pair, self.question, self.family = pair, question, family
        self.values = []

    @property
    def newest(self):
        return self.values[-1]


class Life:
    """The server, its clock, and who acts there."""

    def __init__(self, bin, directory, seed, size):
        self.bin, self.directory, self.seed, self.size = bin, directory, seed, size
        self.data = directory / "data"
        self.server = Server(bin, self.data, args=["--test-clock"])
        # What nobody sets is what everybody gets: the default policy, whatever it is.
        del self.server.env["TABELLION_GOVERNANCE__POLICY"]
        self.connection = None
        self.now = BEGIN
        self.oracle, self.figures = Oracle(), Figures()
        self.admin = Pair("admin", None, self.server.key)
        self.pairs, self.waiting, self.facts = [], [], []
        self.held_since, self.expected_holds = {}, set()
        self.agent_ids, self.user_ids, self.key_ids = {}, {}, {}
        self.sharing = set()  # agents whose writes are shared unless they say otherwise
        self.pinned = []
        self.away = set()  # users who are disabled
        self.bystanders = set()  # pairs through an agent that is hacked for somebody else
        self.stopped_since = {}  # pair -> when its honest writes began to be stopped, one and all

    def rng(self, name):
        return random.Random(f"{self.seed}/{name}")

    # ---------------------------------------------------------------------------------------------- server and clock

    def start(self):
        self.server.start()
        self.connection = None
        self.set_time(self.now)

    def stop(self):
        self._hang_up()
        code = self.server.stop()
        self.figures.counts["stops"] += 1
        if code != 0:
            self.figures.break_promise("a stop is clean", f"{self.now:%d %b %H:%M}: exit code {code}")

    def kill(self):
        self._hang_up()
        self.server.kill()

    def _hang_up(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def set_time(self, now):
        self.now = now
        self.ask(self.admin, "POST", "/v1/test-clock", {"now": rfc3339(now)})

    def pass_time(self, **period):
        self.set_time(self.now + timedelta(**period))

    # ---------------------------------------------------------------------------------------------- calls

    def call(self, pair, method, path, body=None, raw=None, headers=None):
        """One call: (status, answer). Every item that the answer names must be one that the caller may know."""
        try:
            return self._exchange(pair, method, path, body, raw, headers)
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            # A server may close an idle connection, or one whose last body it did not read.
            self._hang_up()
            return self._exchange(pair, method, path, body, raw, headers)

    def _exchange(self, pair, method, path, body, raw, headers):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        status, answer, _ = exchange(self.connection, method, path, body, pair.key, raw, headers)
        return status, answer

    def ask(self, pair, method, path, body=None, expect=(200, 201), **more):
        """The answer of a call that has to succeed."""
        status, answer = self.call(pair, method, path, body, **more)
        if status not in expect:
            raise AssertionError(f"{pair}: {method} {path}: {status} {answer}")
        return answer

    def watch_leaks(self, pair, answer, what):
        """Holds every id in the answer to a write against the oracle: who is told of another item must be one who may see it."""
        made = {answer.get("id"), answer.get("shared_id")} if isinstance(answer, dict) else set()
        for id in set(ITEM.findall(json.dumps(answer))) - made:
            self.figures.counts["ids held against the oracle"] += 1
            if not self.oracle.may_know(pair, id):
                self.figures.break_promise(
                    "nothing leaks", f"{self.now:%d %b %H:%M} {pair}: {what} names {self.describe(id)}",
                )

    def watch_rows(self, pair, rows, what, at=None):
        """Holds what a read showed against the oracle, as of the moment that was asked for, and notes down who has seen it."""
        for row in rows:
            self.figures.counts["results held against the oracle"] += 1
            promise = self.oracle.fault_of(pair, row, self.now, at)
            if promise is not None:
                past = "" if at is None else f" as of {at:%d %b %H:%M:%S}"
                self.figures.break_promise(
                    promise,
                    f"{self.now:%d %b %H:%M} {pair} {what}{past}: {row['text'][:60]!r} in {self.describe(row['id'])}",
                )
        self.oracle.given(pair, rows, self.now, at)

    def describe(self, id):
        item = self.oracle.items.get(id)
        if item is None:
            return f"{id}, unknown"
        return f"{id} of {item.owner}/{item.agent or 'in person'} ({item.tier}): {item.text[:60]!r}"

    # ---------------------------------------------------------------------------------------------- people

    def make_agent(self, name, **more):
        self.agent_ids[name] = self.ask(self.admin, "POST", "/v1/agents", {"name": name, **more})["id"]
        if more.get("trust_declared"):
            self.oracle.declaring.add(name)

    def make_user(self, name, role="member"):
        """A user with a key of their own."""
        self.user_ids[name] = self.ask(self.admin, "POST", "/v1/users", {"name": name, "role": role})["id"]
        key = self.ask(self.admin, "POST", "/v1/keys", {"user": name})
        return self._pair(name, None, key)

    def make_pair(self, user, agent):
        """A key with which an agent acts for a user; it makes the edge between them."""
        key = self.ask(self.admin, "POST", "/v1/keys", {"user": user, "agent": agent})
        self.oracle.invokes.add((user, agent))
        return self._pair(user, agent, key)

    def _pair(self, user, agent, key):
        pair = Pair(user, agent, key["key"])
        self.pairs.append(pair)
        self.key_ids[pair] = key["id"]
        return pair

    def acting_pairs(self):
        """All whose key works: people, and agents that their user may invoke."""
        return [
            pair for pair in self.pairs
            if pair.user not in self.away and (pair.agent is None or (pair.user, pair.agent) in self.oracle.invokes)
        ]  # fmt: skip

    def grant(self, graph, source, target):
        self.ask(self.admin, "PUT", f"/v1/edges/{graph}/{source}/{target}", {})
        self._edges(graph).add((source, target))

    def revoke(self, graph, source, target):
        self.ask(self.admin, "DELETE", f"/v1/edges/{graph}/{source}/{target}", {"reason": "no longer in the team"})
        self._edges(graph).discard((source, target))

    def _edges(self, graph):
        return self.oracle.invokes if graph == "ua" else self.oracle.uses

    def share(self, agent):
        """What this agent writes is shared from now on, unless it says otherwise."""
        policy = {"kind": "write_shared", "share": "on", "scope": {"agent": agent}}
        self.ask(self.admin, "PUT", f"/v1/policies/share-{agent}", policy)
        self.sharing.add(agent)

    # ---------------------------------------------------------------------------------------------- writes

    def write(self, pair, text, family, honest=True, method="POST", path="/v1/items", ends=(), **fields):
        """One write. `ends` names the items that it is meant to take the place of. Returns the item it became, or None."""
        body = {"text": text, **fields}
        origin = self.oracle.origin(pair, self.now, fields.get("resources"))
        sent = Sent(pair, body, family, honest, origin, frozenset(ends), self.now)
        status, answer = self.call(pair, method, path, body)
        return self._take_in(sent, status, answer)

    def write_batch(self, pair, bodies, family):
        """An import: one write a line."""
        origin = self.oracle.origin(pair, self.now)
        raw = "".join(json.dumps(body) + "\n" for body in bodies)
        answer = self.ask(pair, "POST", "/v1/items:batch", raw=raw, headers={"Content-Type": "application/x-ndjson"})
        lines = [json.loads(line) for line in answer.splitlines()] if isinstance(answer, str) else [answer]
        self.figures.counts["lines of imports"] += len(lines)
        made = []
        for body, line in zip(bodies, lines, strict=True):
            status = {"committed": 201, "deferred": 202, "rejected": 409}.get(line["status"], 200)
            made.append(self._take_in(Sent(pair, body, family, True, origin, frozenset(), self.now), status, line))
        return made

    def _take_in(self, sent, status, answer):
        """Keeps book of one answer to a write; returns the item that it became."""
        item, outcome = None, self._outcome(sent, status, answer)
        if status in (200, 201):
            item = self._record(sent, answer)
        self.watch_leaks(sent.pair, answer, f"the answer to a write ({outcome})")
        if outcome == "queued":
            self.waiting.append((sent, answer["pending_id"]))
        elif sent.honest:
            self._watch_holds(sent.pair, outcome)
            self._count_write(sent, outcome, answer)
        else:
            self.figures.counts[f"lies: {outcome}"] += 1
            self.last_lie = outcome
        return item

    def _count_write(self, sent, outcome, answer):
        of_moment = speaks_of_its_moment(sent.body.get("text", ""), sent.family)
        self.figures.count_write(outcome, sent.family, f"{sent} {tell(answer)}", of_moment)

    def _watch_holds(self, pair, outcome):
        """Notices an honest pair that is stopped for what another one did, or none of whose writes has got through for more than
        a day."""
        if outcome in STOPPED and (outcome == SUSPENDED or pair in self.bystanders):
            self.figures.break_promise("nobody is held without cause", f"{self.now:%a %d %b %H:%M} {pair}: {outcome}")
        if outcome == SUSPENDED or outcome.startswith("held"):
            since = self.stopped_since.setdefault(pair, self.now)
            if self.now - since > HOLD_MAX:
                self.figures.break_promise(
                    "nobody is held without cause",
                    f"{self.now:%a %d %b %H:%M} {pair}: {outcome}, since {since:%a %d %b %H:%M}",
                )
        elif outcome in GOOD:
            self.stopped_since.pop(pair, None)

    def _outcome(self, sent, status, answer):
        """How a write ended, in a few words."""
        if status in (200, 201):
            known = self.oracle.items.get(answer["id"])
            repeats = known is None or answer["status"] == "committed" or self._says_nothing_new(sent, known)
            return answer["status"].replace("_", " ") + ("" if repeats else " with what it does not repeat")
        code = answer.get("code", str(status))
        if status == 202:
            if answer.get("pending_id", "").startswith("def_"):
                return "queued"
            return "kept apart" if code == "CALIBRATION_STAGED" else f"held: {code}"
        if code.endswith("DUPLICATE") and self._is_known(sent, answer):
            return "true duplicate"
        return f"refused: {code}"

    def _is_known(self, sent, answer):
        """Whether the very words stand already where the duplicate is said to be, and say nothing new today."""
        known = self.oracle.items.get(answer.get("existing_ref"))
        if known is None or not (known.unsure or known.stands(self.now)):
            return False
        return self._says_nothing_new(sent, known)

    def _says_nothing_new(self, sent, known):
        """Whether a write only repeats an item: in its words, and on the same day if they speak of their moment."""
        text = sent.body.get("text", known.text)
        if plain(known.text) != plain(text):
            return False
        return known.since.date() == sent.at.date() or not speaks_of_its_moment(text, sent.family)

    def _record(self, sent, answer):
        """Keeps book of what a write became."""
        tier = sent.body.get("tier", "auto")
        superseded = [(self.oracle.items.get(old["id"]), old) for old in answer.get("superseded") or ()]
        wrongly = [known for known, _ in superseded if known is not None and not self._is_new_value(sent, known)]
        wrongly = [(known, known.text) for known in wrongly]  # which may get its next version below
        item = self._made(sent, answer["id"], "shared" if tier == "shared" else "private", answer["version"])
        if "shared_id" in answer:
            twin = self._made(sent, answer["shared_id"], "shared")
            item.twin, twin.twin = twin.id, item.id
        elif sent.pair.agent in self.sharing and tier in ("auto", "both") and answer["status"] == "committed":
            self.figures.counts["shared copies that were not made"] += 1
        self.figures.counts["statements superseded by a newer one"] += len(superseded)
        for known, text in wrongly:
            of_moment = speaks_of_its_moment(text, known.family)
            self.figures.count_as_lost(known.family, f"{text!r} was taken for the old value of {sent}", of_moment)
        for known, old in superseded:
            # A newer value may be the next version of the same item.
            if known is not None and known.id not in (answer["id"], answer.get("shared_id")):
                self.end(known.id, twin_too=True)
        replaced = sent.body.get("supersedes")
        if replaced is not None and replaced != answer["id"]:
            self.end(replaced, twin_too=True)
        return item

    def _made(self, sent, id, tier, version=None):
        """A new item, or the next version of a known one. The version of a shared copy is not told."""
        known, (agents, resources) = self.oracle.items.get(id), sent.origin
        if known is not None:
            old = known.newest
            known.ended, known.unsure = None, False
            if version is None or version != old.id:
                text = sent.body.get("text", old.text)
                known.versions.append(Version(sent.at, old.agents | agents, old.resources | resources, text, version))
            return known
        layer, ttl = sent.body.get("layer", "episodic"), sent.body.get("ttl")
        lasts = period(ttl) if ttl is not None else LIFETIMES.get(layer)
        expires = None if lasts is None else self.now + lasts
        first = Version(sent.at, agents, resources, sent.body.get("text", ""), version)
        made = Item(id, sent.pair.user, sent.pair.agent, tier, layer, [first], expires)
        made.lie, made.family = not sent.honest, sent.family
        return self.oracle.add(made)

    def _is_new_value(self, sent, old):
        """Whether a write may rightly take the place of an item: it is about the same state, or the item had ended anyway."""
        told_anew = old.family == sent.family and sent.family in STATES
        return not sent.honest or old.id in sent.ends or told_anew or old.ended is not None

    def end(self, id, twin_too=False):
        """The item no longer stands: superseded, retracted or taken out."""
        item = self.oracle.items.get(id)
        if item is None:
            return
        item.ended = item.ended or self.now
        twin = self.oracle.items.get(item.twin)
        if twin is not None and twin_too:
            twin.unsure = True

    def settle_waiting(self):
        """Asks what became of writes that had to wait for their turn: the same write once more is answered with it."""
        waiting, self.waiting = self.waiting, []
        for sent, pending in waiting:
            status, answer = self.call(sent.pair, "POST", "/v1/items", sent.body)
            if status == 202 and self.now - sent.at < timedelta(days=1):
                self.waiting.append((sent, pending))
                continue
            if status in (200, 201):
                self._record(sent, answer)
            self.watch_leaks(sent.pair, answer, "the answer to a write that waited")
            outcome = "queued, then committed" if status in (200, 201) else f"queued, then {answer.get('code', status)}"
            if sent.honest:
                self._count_write(sent, outcome, answer)

    def retract(self, pair, item, reason="no longer needed"):
        self.ask(pair, "DELETE", f"/v1/items/{item.id}?reason={quote(reason)}")
        self.end(item.id)
        if item.tier == "private" and item.twin:
            self.end(item.twin)  # what others have of it goes with it
        self.figures.counts["items retracted by their authors"] += 1

    def pin(self, pair, item, reason="must not be lost"):
        self.ask(pair, "POST", f"/v1/items/{item.id}:pin", {"reason": reason})
        item.pinned = True
        self.pinned.append((pair, item))
        self.figures.counts["items pinned"] += 1

    # ---------------------------------------------------------------------------------------------- facts that change

    def learn(self, pair, text, question, family, **fields):
        """The first value of something that will change."""
        item = self.write(pair, text, family, **fields)
        fact = Fact(pair, question, family)
        if item is not None:
            self._note_value(fact, text, item)
            self.facts.append(fact)
        return fact

    def change(self, fact, text, how="say", **fields):
        """A newer value, said in one of the ways in which agents say it: `say` it anew, `supersede` what the agent found by
        its id, `ask` that conflicts be resolved so, `patch` or `put` the item."""
        if not fact.values:
            return None
        old = self._current_item(fact)
        family = f"{fact.family}, changed ({how})"
        self.figures.counts[f"facts changed: {how}"] += 1
        fields["ends"] = {id for value in fact.values for id in value.ids}
        here = f"/v1/items/{old.id}"
        match how:
            case "say":
                item = self.write(fact.pair, text, family, **fields)
            case "supersede":
                item = self.write(fact.pair, text, family, supersedes=old.id, **fields)
            case "ask":
                item = self.write(fact.pair, text, family, on_conflict="supersede", **fields)
            case "patch":
                item = self.write(fact.pair, text, family, method="PATCH", path=here, ends=fields["ends"])
            case "put":
                item = self.write(fact.pair, text, family, method="PUT", path=here, **fields)
        if item is not None:
            self._note_value(fact, text, item)
        return item

    def _current_item(self, fact):
        return next(
            item for id in fact.newest.ids if (item := self.oracle.items[id]).tier != "shared" or len(fact.newest.ids) == 1
        )

    def _note_value(self, fact, text, item):
        ids = {item.id} | ({item.twin} if item.twin else set())
        fact.values.append(Value(text, self.now, ids))

    # ---------------------------------------------------------------------------------------------- reads

    def search(self, pair, query, at=None, **fields):
        """The results of a search, each of which the caller must be allowed to see and which must still stand; with `at`, what
        stood at that moment."""
        moment = {} if at is None else {"as_of": rfc3339(at)}
        results = self.ask(pair, "POST", "/v1/search", {"query": query, **moment, **fields})["results"]
        self.figures.counts["searches"] += 1
        self.watch_rows(pair, results, f"asks {query!r}", at)
        return results

    def get(self, pair, id, at=None):
        """(status, item) of one read, as of a moment if there is one."""
        status, answer = self.call(pair, "GET", f"/v1/items/{id}" + ("" if at is None else f"?as_of={rfc3339(at)}"))
        if status == 200:
            self.watch_rows(pair, [answer], "reads", at)
        return status, answer

    def list_all(self, pair):
        """Every item that a list shows to this pair."""
        found = self._pages(pair, "")
        self.watch_rows(pair, found, "is listed")
        return found

    def list_as_moderator(self, pair, reason):
        """Every shared item, whether the graphs let this person see it or not; nothing private may be among them."""
        found = self._pages(pair, f"&moderate={quote(reason)}")
        for row in found:
            item = self.oracle.items.get(row["id"])
            if item is None or item.tier != "shared":
                self.figures.break_promise("nothing leaks", f"a moderator is shown {self.describe(row['id'])}")
        return found

    def _pages(self, pair, query):
        found, cursor = [], ""
        while cursor is not None:
            more = f"&cursor={cursor}" if cursor else ""
            page = self.ask(pair, "GET", f"/v1/items?limit={PAGE}{query}{more}")
            found += page["items"]
            cursor = page["next"]
        return found


def tell(answer):
    """The part of an answer that says why."""
    if not isinstance(answer, dict):
        return str(answer)[:200]
    against = [row.get("text") or row.get("id") for row in answer.get("contradictions") or ()]
    return f"-> {answer.get('code')} {answer.get('message', '')[:160]}" + (f" against {against}" if against else "")


def period(text):
    """An ISO 8601 duration of days or hours."""
    number = int(re.search(r"\d+", text)[0])
    return timedelta(days=number) if text.endswith("D") else timedelta(hours=number)
