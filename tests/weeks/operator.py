"""Who runs the server and looks after the shared memory: restarts, an upgrade, a mistake with a backup, moderation, checks."""

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from urllib.parse import quote

from server import ROOT, NotReady

from weeks.life import HOLD_MAX

VERIFY_LOG = ROOT / "tools" / "verify_log.py"
BEST = 5  # how far down a newest value may stand in what a search finds
QUESTIONS_A_WEEK_MAX = 150


class Operator:
    """The one with the admin key."""

    def __init__(self, life, research, coding, household, support):
        self.life, self.rng = life, life.rng("operator")
        self.research, self.coding, self.household, self.support = research, coding, household, support
        self.moderated_at = None
        self.revoked = []

    # ---------------------------------------------------------------------------------------------- restarts

    def restart(self):
        """A clean stop and a start."""
        life = self.life
        life.stop()
        life.start()
        life.figures.counts["restarts: clean"] += 1
        self.check_revoked()

    def kill(self):
        """The power goes, after which what was acknowledged must still be there."""
        life = self.life
        life.kill()
        life.start()
        life.figures.counts["restarts: killed"] += 1
        # What was read in the last second may not be in the trail: nobody goes on with that work.
        life.pass_time(minutes=31)
        self.check_revoked()

    def back_up(self):
        """Yesterday's copy, made while the server was down for a minute."""
        life = self.life
        life.stop()
        self.copy = life.directory / "yesterday"
        shutil.copytree(life.data / "tenants", self.copy)
        life.start()

    def put_yesterday_back(self):
        """Somebody puts yesterday's tenants under today's keys: the start must refuse, and `doctor` must say the same."""
        life, tenants = self.life, self.life.data / "tenants"
        life.stop()
        today = life.directory / "today"
        tenants.rename(today)
        shutil.copytree(self.copy, tenants)
        life.figures.counts["starts on a rolled back log"] += 1
        try:
            life.server.start()
        except NotReady as refused:
            life.figures.counts["starts on a rolled back log that were refused"] += 1
            self.refusal = str(refused)
        else:
            life.figures.break_promise(
                "a log that was rolled back is not opened", "the server started on yesterday's tenants",
            )
            life.kill()
        doctor = self._run("doctor")
        if doctor.returncode == 0:
            life.figures.break_promise(
                "a log that was rolled back is not opened", f"doctor found nothing: {doctor.stdout[:300]}",
            )
        shutil.rmtree(tenants)
        today.rename(tenants)
        life.start()

    def move(self):
        """The server moves to another machine: what `export` wrote is restored there, and life goes on from it."""
        life, out = self.life, self.life.directory / "moving.export"
        life.stop()
        new = life.directory / "moved"
        for command, args in (("export", ["--data", life.data, "--out", out]), ("restore", ["--from", out, "--data", new])):
            done = subprocess.run([life.bin, command, *args], capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                life.figures.break_promise("an export can be restored", f"{command}: {done.stderr[-300:]}")
                return life.start()
        life.data = life.server.data_dir = new
        life.start()
        life.figures.counts["moves to another machine"] += 1
        self.check_revoked()

    def _run(self, command, *args):
        life = self.life
        return subprocess.run(
            [life.bin, command, "--data", life.data, *args], capture_output=True, text=True, timeout=300,
            env={**os.environ, **life.server.env},
        )  # fmt: skip

    # ---------------------------------------------------------------------------------------------- people and edges

    def revoke_edges(self):
        """Two people leave a project: what its agents taught is hidden from them from the next read on."""
        for source, target in self._project():
            self.life.revoke("ua", source, target)
            self.life.figures.counts["edges revoked"] += 1
        for pair in self._people_of_project():
            self.audit(pair)

    def grant_edges_again(self):
        for source, target in self._project():
            self.life.grant("ua", source, target)
        for pair in self._people_of_project():
            self.audit(pair)

    def _project(self):
        developers = list(self.coding.pairs)
        return [(developers[1], "build-server"), ("bilal.r", "sensors"), ("bilal.r", "reader")]

    def _people_of_project(self):
        users = {source for source, _ in self._project()}
        return [pair for pair in self.life.acting_pairs() if pair.user in users]

    def revoke_key(self, pair):
        """A key is withdrawn, for good."""
        life = self.life
        life.ask(life.admin, "DELETE", f"/v1/keys/{life.key_ids[pair]}")
        self.revoked.append(pair)
        life.pairs.remove(pair)
        life.figures.counts["keys revoked"] += 1
        self.check_revoked()

    def send_away(self, user):
        """Somebody takes a leave of some days: none of their keys counts meanwhile."""
        self._set_status(user, "disable")
        self.life.away.add(user)
        self.check_revoked()

    def take_back(self, user):
        """All that they had is theirs again."""
        self._set_status(user, "enable")
        self.life.away.discard(user)
        for pair in self.life.acting_pairs():
            if pair.user == user:
                self.audit(pair)

    def _set_status(self, user, verb):
        self.life.ask(self.life.admin, "POST", f"/v1/users/{user}:{verb}", {"reason": "leave of absence"})
        self.life.figures.counts[f"users: {verb}d"] += 1

    def check_revoked(self):
        """Keys that were withdrawn, and those of people who are away, are taken by nobody."""
        for pair in self.revoked + [pair for pair in self.life.pairs if pair.user in self.life.away]:
            status, _ = self.life.call(pair, "GET", "/v1/whoami")
            if status != 401:
                self.life.figures.break_promise("a revoked key stays revoked", f"{pair}: {status}")

    # ---------------------------------------------------------------------------------------------- moderation

    def moderate(self):
        """What the hacked agent shared is taken out, item by item, and its key is withdrawn."""
        life, hacked = self.life, self.research.pairs["egon.r"]
        reason = "the agent was hacked, reported by the team"
        seen = self._moderated_list(reason)
        for item in self.research.standing_lies():
            if seen is not None and item.id not in seen:
                life.figures.break_promise(
                    "an admin can moderate", f"the moderator's list does not show {life.describe(item.id)}",
                )
            status, answer = life.call(life.admin, "POST", f"/v1/items/{item.id}:quarantine", {"reason": reason})
            if status == 200:
                item.ended = life.now
                life.figures.counts["lies put in quarantine by the admin"] += 1
                if item.twin:
                    life.oracle.items[item.twin].unsure = True
            else:
                life.figures.break_promise(
                    "an admin can moderate", f"quarantine of {life.describe(item.id)}: {status} {answer.get('code')}",
                )
        if hacked not in self.revoked:
            self.revoke_key(hacked)
        self.moderated_at = life.now

    def _moderated_list(self, reason):
        """The ids that a moderator is listed; None if the list is refused."""
        life = self.life
        status, _ = life.call(life.admin, "GET", f"/v1/items?limit=1&moderate={quote(reason)}")
        if status != 200:
            life.figures.break_promise("an admin can moderate", f"the list for moderators: {status}")
            return None
        return {row["id"] for row in life.list_as_moderator(life.admin, reason)}

    def check_lies_are_out(self):
        """A day after the first contradiction or report, no lie is found or listed any more."""
        life, research = self.life, self.research
        due = research.noticed is not None and life.now - research.noticed >= timedelta(days=1)
        if not due or research.ended:
            return
        research.ended = True
        lies = {item.id for item in research.lies}
        for user, pair in research.pairs.items():
            if pair in self.revoked:
                continue
            found = {row["id"] for row in life.list_all(pair)}
            for item in self.rng.sample(research.lies, min(12, len(research.lies))):
                found |= {row["id"] for row in life.search(pair, item.text, k=20)}
            life.figures.counts["lies looked for after a day"] += len(lies)
            for id in found & lies:
                life.figures.break_promise("lies are out within a day", f"{user} still finds {life.describe(id)}")
        # The one who was hacked goes on with a new key.
        old, new = research.pairs["egon.r"], life.make_pair("egon.r", "scout")
        research.pairs["egon.r"] = new
        for fact in life.facts:
            fact.pair = new if fact.pair == old else fact.pair
        life.call(life.admin, "POST", "/v1/agents/scout:resume", {"reason": "the machine was set up anew", "user": "egon.r"})
        research.hacked_from = None

    # ---------------------------------------------------------------------------------------------- checks

    def look_at_holds(self):
        """Who is suspended or held, and since when: none but the hacked one, and nobody else for more than a day."""
        life = self.life
        agents = life.ask(life.admin, "GET", "/v1/agents")["agents"]
        users = {id: name for name, id in life.user_ids.items()}
        held = {}
        for agent in agents:
            if agent.get("status") not in (None, "active"):
                held[agent["name"], "everybody"] = agent["status"]
            if agent.get("suspended") or agent.get("writes_suspended"):
                held[agent["name"], "everybody"] = "suspended"
            for hold in agent.get("holds") or ():
                user = hold["user"] if isinstance(hold["user"], str) else hold["user"].get("name")
                held[agent["name"], users.get(user, user)] = hold.get("reason", "held")
        for key in set(self.life.held_since) - set(held):
            del life.held_since[key]
        for key, reason in held.items():
            since = life.held_since.setdefault(key, life.now)
            if key == ("scout", "egon.r"):
                life.figures.counts["holds of the hacked agent seen"] += 1
                continue
            life.figures.counts["holds without cause seen"] += 1
            is_of_another = key[1] == "everybody" or key in {(pair.agent, pair.user) for pair in life.bystanders}
            if is_of_another or life.now - since > HOLD_MAX:
                life.figures.break_promise(
                    "nobody is held without cause", f"{life.now:%a %d %b %H:%M}: {key[0]} for {key[1]}: {reason}",
                )

    def check_facts(self):
        """Every changed fact is answered with its newest value, its older ones with the time when they held."""
        life = self.life
        acting = set(life.acting_pairs())
        changed = [fact for fact in life.facts if len(fact.values) > 1 and fact.pair in acting]
        hidden = {id(fact) for fact in changed if not self._is_seen(fact.pair, fact.newest)}
        life.figures.counts["changed facts that an edge hides"] += len(hidden)
        changed = [fact for fact in changed if id(fact) not in hidden]
        for fact in self.rng.sample(changed, min(len(changed), QUESTIONS_A_WEEK_MAX)):
            self._check_newest(fact)
            self._check_history(fact)

    def _is_seen(self, pair, value, at=None):
        """Whether the graphs let the pair see the item of a value, as it was at a moment."""
        items = [self.life.oracle.items[id] for id in value.ids]
        return any(self.life.oracle.is_admitted(pair, item, item.version_at(at)) for item in items)

    def _check_newest(self, fact):
        life = self.life
        life.figures.counts["changed facts asked for"] += 1
        results = life.search(fact.pair, fact.question, k=10)
        texts = [row["text"] for row in results]
        newest, older = fact.newest.text, {value.text for value in fact.values[:-1]} - {fact.newest.text}
        if newest not in texts[:BEST]:
            return life.figures.break_promise(
                "a changed fact is answered with its newest value",
                f"{fact.pair} asks {fact.question!r}: {newest!r} is not among {texts[:BEST]}",
            )
        if texts[0] == newest:
            life.figures.counts["changed facts answered first of all"] += 1
        if stale := older & set(texts):
            life.figures.break_promise(
                "a changed fact is answered with its newest value",
                f"{fact.pair} asks {fact.question!r}: {stale} beside {newest!r} (family {fact.family})",
            )

    def _check_history(self, fact):
        """As of a moment at which an older value held, that value is the answer, and its versions can be listed."""
        life = self.life
        at = self.rng.randrange(len(fact.values) - 1)
        old, new = fact.values[at], fact.values[at + 1]
        if old.text in {value.text for value in fact.values if value is not old} or new.since <= old.since:
            return
        moment = old.since + (new.since - old.since) / 2
        if not self._is_seen(fact.pair, old, moment):
            life.figures.counts["older values that an edge hides"] += 1
            return
        life.figures.counts["older values asked for"] += 1
        texts = [row["text"] for row in life.search(fact.pair, fact.question, at=moment, k=10)]
        if old.text not in texts or new.text in texts:
            life.figures.break_promise(
                "a changed fact keeps its history",
                f"{fact.pair} as of {moment}: {old.text!r} and not {new.text!r} in {texts[:BEST]} (family {fact.family})",
            )
        # And by its id, read as of that moment and among the versions.
        for id in sorted(old.ids):
            self._check_version(fact, old, id, moment)

    def _check_version(self, fact, old, id, moment):
        life, item = self.life, self.life.oracle.items[id]
        was = item.version_at(moment)
        if was is None or not life.oracle.is_admitted(fact.pair, item, was):
            return
        status, shown = life.get(fact.pair, id, at=moment)
        if status != 200 or shown["text"] != old.text:
            life.figures.break_promise(
                "a changed fact keeps its history",
                f"{fact.pair} reads {id} as of {moment}: {status} {shown.get('text')!r}, not {old.text!r}",
            )
            return
        # The version that was read is among the versions, and something has replaced it since.
        rows = life.ask(fact.pair, "GET", f"/v1/items/{id}/versions")["versions"]
        if [row["status"] for row in rows if row["version"] == shown["version"]] != ["superseded"]:
            life.figures.break_promise(
                "a changed fact keeps its history",
                f"{id}: {old.text!r} is not superseded in {[(row['version'], row['status']) for row in rows]}",
            )

    def check_pins(self):
        for pair, item in self.life.pinned:
            life = self.life
            life.figures.counts["pinned items looked for"] += 1
            status, _ = life.get(pair, item.id)
            found = status == 200 and any(row["id"] == item.id for row in life.search(pair, item.text, k=10))
            if not found:
                life.figures.break_promise("nothing pinned is lost", f"{life.now:%d %b}: {item.text!r}: {status}")

    def audit(self, pair):
        """A list shows what the oracle says: nothing more, nothing less."""
        life = self.life
        listed = {row["id"] for row in life.list_all(pair)}
        life.figures.counts["listed items held against the oracle"] += len(listed)
        due = life.oracle.must_see(pair, life.now)
        for id, item in due.items():
            # Of two copies, the one that is one's own may stand for both.
            if id not in listed and not (item.twin in listed and item.owner == pair.user):
                life.figures.break_promise(
                    "nothing is lost",
                    f"{life.now:%d %b} {pair} is not listed {life.describe(id)} ({item.family}, {item.layer})",
                )

    def end_week(self, week):
        """Sunday night: every list, every changed fact and every pin is looked at, then the logs."""
        life = self.life
        life.settle_waiting()
        for pair in life.acting_pairs():
            self.audit(pair)
        life.pass_time(minutes=40)
        self.check_facts()
        self.check_pins()
        life.pass_time(minutes=40)

    def verify(self, week):
        """The server is down: both verifiers look at its directory."""
        life = self.life
        for name, result in (("verify", self._run("verify")), ("verify_log.py", _python(VERIFY_LOG, life.data))):
            life.figures.counts[f"{name}: weeks looked at"] += 1
            if result.returncode != 0:
                life.figures.break_promise(
                    "verify holds", f"week {week}, {name}: {result.stdout[-300:]} {result.stderr[-300:]}",
                )


def _python(script, data):
    return subprocess.run([sys.executable, script, str(data)], capture_output=True, text=True, timeout=600)
