"""News of held writes, by server-sent events and by webhook; and writes that wait for a person longer than a request may take."""

import hashlib
import hmac
import http.client
import json
import queue
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from callers import TESTS, YES, Caller, Clock, admin, new_caller, rfc3339
from server import Server

SECRET = "a secret of these tests"
WAIT_SECONDS_MAX = 20


def said(text, at=None):
    """Evidence that bears a text out."""
    read_at = at or rfc3339(datetime.now(UTC))
    return [{"source_type": "human_input", "source_uri": "chat://1", "accessed_at": read_at, "excerpt": text}]


def pair(server):
    """A person, and an agent that writes for them."""
    chief, person = admin(server), new_caller(server)
    agent = f"bot-of-{person.name}"
    chief.ask("POST", "/v1/agents", {"name": agent}, expect=201)
    made = chief.ask("POST", "/v1/keys", {"user": person.name, "agent": agent}, expect=201)
    bot = Caller(server, made["key"], name=agent, user=person.user)
    bot.key_id = made["id"]
    return person, bot


def held(bot, text, at=None, **more):
    """A write that must wait for a person: the id of its review."""
    body = {"text": text, "layer": "semantic", "evidence": said(text, at), **more}
    return bot.ask("POST", "/v1/items", body, expect=202)["pending_id"]


class Listener:
    """One connection to the events; what comes is in `heard`, each as (event, data), comments as (None, text)."""

    def __init__(self, caller):
        self.connection = http.client.HTTPConnection("127.0.0.1", caller.server.port, timeout=60)
        headers = {"Authorization": f"Bearer {caller.key}"}
        self.connection.request("GET", "/v1/reviews:events", headers=headers)
        self.response = self.connection.getresponse()
        assert self.response.status == 200
        assert self.response.getheader("content-type") == "text/event-stream"
        self.heard, self.raw, self.ended = queue.Queue(), [], threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        event = None
        try:
            for line in iter(self.response.readline, b""):
                self.raw.append(line.decode())
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    event = value
                elif name == "data":
                    self.heard.put((event, json.loads(value)))
                elif name == "":
                    if value:
                        self.heard.put((None, value))
        except (OSError, http.client.HTTPException):
            pass
        self.ended.set()

    def next(self, seconds=WAIT_SECONDS_MAX):
        """The next event that is no comment."""
        while True:
            event, data = self.heard.get(timeout=seconds)
            if event is not None:
                assert event == "review"
                return data

    def silent(self, seconds=2.5):
        with pytest.raises(queue.Empty):
            self.next(seconds)

    def close(self):
        self.connection.close()


def test_events_tell_of_reviews_and_never_what_they_say(server):
    """GOV-6.4: staged and decided are told at once, to those who may see the review and nobody else."""
    (ana, bot), (ben, _) = pair(server), pair(server)
    hers, his = Listener(ana), Listener(ben)
    assert hers.heard.get(timeout=WAIT_SECONDS_MAX) == (None, "listening")
    one, two = held(bot, "the crane lifts 40 tons"), held(bot, "the quay is 90 metres long")
    first = hers.next()
    review = ana.ask("GET", f"/v1/reviews/{one}")
    expected = {name: review[name] for name in ("layer", "hold", "risk", "deadline")}
    assert first == {"what": "staged", "review": one, **expected}
    assert hers.next()["review"] == two
    ana.ask("POST", f"/v1/reviews/{one}:decide", YES)
    ana.ask("POST", f"/v1/reviews/{two}:decide", {"decision": "reject", "reason": "too long", "category": "FACTUAL_ERROR"})
    told = [hers.next() for _ in range(2)]
    assert [(notice["what"], notice["review"]) for notice in told] == [("approved", one), ("rejected_as_false", two)]
    his.silent(1)
    assert "crane" not in "".join(hers.raw) and "quay" not in "".join(hers.raw)
    # A reviewer hears from the moment that they are one.
    chief = admin(server)
    chief.ask("PUT", "/v1/policies/ben-reviews", {"kind": "reviewer", "reviewer": ben.name, "user": ana.name})
    three = held(bot, "the lock opens at dawn")
    assert his.next()["review"] == three
    hers.close()
    his.close()


def test_a_revoked_key_hears_nothing_more(server):
    """SHARE-28: the credential is asked for again with each event."""
    ana, bot = pair(server)
    listener = Listener(bot)
    held(bot, "the ferry takes 12 cars")
    assert listener.next()["what"] == "staged"
    admin(server).ask("DELETE", f"/v1/keys/{bot.key_id}")
    second = Caller(server, admin(server).ask("POST", "/v1/keys", {"user": ana.name, "agent": bot.name}, expect=201)["key"])
    held(second, "the ferry leaves at noon")
    assert listener.ended.wait(WAIT_SECONDS_MAX)
    assert listener.heard.empty()


def test_listeners_do_not_hold_up_the_end(server):
    """A server that is told to stop does not wait for those who only listen."""
    listener = Listener(pair(server)[0])
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 10
    assert listener.ended.wait(WAIT_SECONDS_MAX)


def test_what_nobody_decides_on_is_escalated_once(clock):
    """GOV-6.4: past its deadline a review is announced, once; it stays open."""
    ana, bot = pair(clock.server)
    listener = Listener(ana)
    review = held(bot, "the mast is 30 metres high", clock.text)
    assert listener.next()["what"] == "staged"
    clock.advance(hours=48)
    listener.silent()
    clock.advance(minutes=2)
    assert listener.next() == {**listener_notice(ana, review), "what": "escalated"}
    clock.advance(minutes=5)
    listener.silent()
    seen = ana.ask("GET", f"/v1/reviews/{review}")
    assert (seen["state"], seen["overdue"]) == ("pending", True)
    ana.ask("POST", f"/v1/reviews/{review}:decide", YES)
    assert listener.next()["what"] == "approved"
    listener.close()


def listener_notice(caller, id):
    review = caller.ask("GET", f"/v1/reviews/{id}")
    return {"review": id, **{name: review[name] for name in ("layer", "hold", "risk", "deadline")}}


class Hook:
    """A server that takes notices: `got` has each with its signature. It answers as `answers` says, then 204."""

    def __init__(self, answers=(), delay=0):
        self.got, answers = queue.Queue(), iter(answers)
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                hook.got.put((body, dict(self.headers)))
                time.sleep(delay)
                self.send_response(next(answers, 204))
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def env(self):
        url = f"http://127.0.0.1:{self.http.server_port}/notices?from=tabellion"
        return {"TABELLION_GOVERNANCE__WEBHOOK_URL": url, "TABELLION_WEBHOOK_SECRET": SECRET}


def test_the_webhook_is_told_and_can_tell_who_speaks(bin, tmp_path):
    """GOV-6.4: a notice is posted, signed, tried again when it is not taken, and holds no content."""
    hook = Hook(answers=[500, 204])
    with Server(bin, tmp_path / "data", env=hook.env) as server:
        ana, bot = pair(server)
        review = held(bot, "the beacon burns oil")
        bodies = [hook.got.get(timeout=WAIT_SECONDS_MAX) for _ in range(2)]
        assert bodies[0][0] == bodies[1][0], "the second is the first once more"
        body, headers = bodies[1]
        names = {name.lower(): value for name, value in headers.items()}
        expected = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert names["x-tabellion-signature"] == expected and names["content-type"] == "application/json"
        notice = json.loads(body)
        assert notice == {"tenant": ana.ask("GET", "/v1/whoami")["tenant"], "what": "staged", **listener_notice(ana, review)}
        assert b"beacon" not in body
        ana.ask("POST", f"/v1/reviews/{review}:decide", YES)
        assert json.loads(hook.got.get(timeout=WAIT_SECONDS_MAX)[0])["what"] == "approved"
        metrics = server.call("GET", "/metrics", key="")[1]
        assert 'tabellion_webhook_notices_total{outcome="delivered"}' in metrics


def test_a_webhook_that_hangs_delays_nobody(bin, tmp_path):
    """A write depends on nobody who is only told of it."""
    hook = Hook(delay=30)
    with Server(bin, tmp_path / "data", env=hook.env) as server:
        _, bot = pair(server)
        began = time.monotonic()
        for number in range(20):
            held(bot, f"berth {number} lies {number} metres from the crane", namespace=f"n{number}")
        assert time.monotonic() - began < 10
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 10


def later(call):
    """A call in a thread of its own: where its answer will be, and when it took."""
    answer = queue.Queue()

    def run():
        began = time.monotonic()
        result = call()
        answer.put((result, time.monotonic() - began))

    threading.Thread(target=run, daemon=True).start()
    return answer


@pytest.mark.parametrize("transport", ["POST", "reopen"])
def test_a_write_may_wait_longer_than_a_request(bin, tmp_path, transport):
    """GOV-6.5: the limit of requests does not cut off a writer whom a person lets wait."""
    env = {"TABELLION_LIMITS__REQUEST_SECONDS_MAX": "1", "TABELLION_LIMITS__IN_FLIGHT_MAX": "2"}
    with Server(bin, tmp_path / "data", env=env, args=["--test-clock"]) as server:
        clock = Clock(server)
        ana, bot = pair(server)
        old, new = "Heronport pier is 70 metres long", "Heronport pier is 90 metres long"
        body = {"layer": "procedural", "tests": TESTS}
        known = held(bot, old, clock.text, confidence=0.3, **body)
        ana.ask("POST", f"/v1/reviews/{known}:decide", YES)
        official = {"kind": "official_sources", "prefixes": ["https://docs.example.org/"]}
        source = {**said(new, clock.text)[0], "source_type": "document", "source_uri": "https://docs.example.org/pier"}
        better = {"text": new, "confidence": 0.9, "evidence": [source], "deadline": "2099-01-01T00:00:00Z", **body}
        if transport == "reopen":
            refused = bot.call("POST", "/v1/items", better)[1]
            admin(server).ask("PUT", "/v1/policies/official", official)
            answer = later(lambda: bot.call("POST", f"/v1/writes/{refused['refusal_id']}:reopen"))
        else:
            admin(server).ask("PUT", "/v1/policies/official", official)
            answer = later(lambda: bot.call("POST", "/v1/items", better))
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while not (pending := ana.ask("GET", "/v1/reviews?state=pending")["reviews"]):
            assert time.monotonic() < deadline and answer.empty(), answer.get_nowait()
            time.sleep(0.05)
        assert pending[0]["hold"] == "sync"
        time.sleep(2.5)
        # Whoever waits for a person holds no place: two others find room.
        two = [later(lambda: ana.call("GET", "/v1/whoami")) for _ in range(2)]
        assert [one.get(timeout=WAIT_SECONDS_MAX)[0][0] for one in two] == [200, 200]
        assert answer.empty()
        made = ana.ask("POST", f"/v1/reviews/{pending[0]['id']}:decide", YES)
        (status, written, _), took = answer.get(timeout=WAIT_SECONDS_MAX)
        assert (status, written["status"], written["version"]) == (201, "committed", made["version"])
        assert took > 2.5
