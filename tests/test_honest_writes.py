"""AM-2: what an honest assistant writes under the default policy is no contradiction. Statements about different times and
about differently labelled things pass; a changed state is still seen."""

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from callers import Clock, new_caller, rfc3339
from server import Server

NDJSON = {"Content-Type": "application/x-ndjson"}
IMPORTED = 2_000


@pytest.fixture(scope="module")
def honest(bin, tmp_path_factory):
    """A server under the default policy, whose clock is set by the tests: a new person at each call."""
    env = {"TABELLION_GOVERNANCE__POLICY": "standard"}
    with Server(bin, tmp_path_factory.mktemp("honest") / "data", env=env, args=["--test-clock"]) as server:
        yield Clock(server)


def said(clock, person, statements, days=2, **fields):
    """The statuses and codes of writes, each some days after the one before."""
    answers = []
    for text in statements:
        status, answer, _ = person.call("POST", "/v1/items", {"text": text, **fields})
        answers.append((status, answer.get("code")))
        clock.advance(days=days)
    return answers


LABELS = [
    ("Customer 8774 prefers email.", "Customer 5456 prefers email.", "Customer 1203 prefers phone."),
    ("Port 6274 is open on the gateway.", "Port 3220 is open on the gateway.", "Port 99 is closed on the gateway."),
    ("Fact about topic 1: nothing special.", "Fact about topic 2: nothing special."),
    ("PR 7 is merged.", "PR 8 is not merged."),
    ("Step 4 is mandatory.", "Step 5 is optional."),
    ("Room A is free on Fridays.", "Room B is not free on Fridays."),
    ("Version 2.1 supports ARM.", "Version 2.2 does not support ARM."),
]
TIMES = [
    ("Ben slept 8 hours last night.", "Ben slept 11 hours last night."),
    ("At noon the sensor read 17 degrees.", "At noon the sensor read 21 degrees."),
    ("The deploy failed.", "The deploy succeeded."),
    ("The nightly build passed this morning.", "The nightly build failed this morning."),
    ("Yesterday the office was closed.", "Yesterday the office was open."),
    ("Disk usage of db-1 is 71%.", "Disk usage of db-1 is 83%."),
]


@pytest.mark.parametrize("statements", LABELS, ids=lambda found: found[0][:12])
def test_numbers_that_name_their_noun_tell_things_apart(honest, statements):
    """AM-2: customer 12, topic 3, port 8080 in "port 8080 is open", PR 7, step 4, version 2.1, room B."""
    found = said(honest, new_caller(honest.server), statements)
    assert [status for status, _ in found] == [201] * len(statements), found


@pytest.mark.parametrize("statements", TIMES, ids=lambda found: found[0][:12])
def test_statements_about_different_times_do_not_contradict(honest, statements):
    """AM-2: a past event, a reading or "last night" speaks of its own moment."""
    found = said(honest, new_caller(honest.server), statements)
    assert [status for status, _ in found] == [201] * len(statements), found


def test_relative_times_are_resolved_against_the_field_time(honest):
    """AM-2: two diary lines of two nights, imported in the same minute."""
    person = new_caller(honest.server)
    for day, hours in [(3, 8), (4, 11)]:
        fields = {"time": f"2049-05-0{day}T07:00:00Z"}
        person.ask(
            "POST", "/v1/items", {"text": f"Ben slept {hours} hours last night.", "fields": fields}, expect=201
        )


def test_a_changed_state_is_still_seen(honest):
    """AM-2: what lasts is compared however much later the second statement is."""
    person = new_caller(honest.server)
    person.write("The spare key is in the drawer.")
    honest.advance(days=9)
    status, answer, _ = person.call("POST", "/v1/items", {"text": "The spare key is in the car."})
    seen = answer.get("code") == "CONTRADICTION" or answer.get("superseded")
    assert seen, (status, answer)


NAMES = "Ana Ben Carla Dmitri Elif Farid Grace Hugo Ines Jonas Kemal Lena Mateo Nora Omar Priya Quinn Rosa Sven Tara".split()
SERVICES = "checkout billing search auth gateway ingest mailer scheduler catalog reports".split()
PLACES = "Lisbon Oslo Leeds Graz Lyon Porto Ghent Turin Bergen Krakow".split()
FOODS = "lentil soup,pad thai,risotto,ramen,falafel,pancakes,goulash,tacos,a salad,dumplings".split(",")
TEMPLATES = [
    lambda r: f"{r.choice(NAMES)} ran {r.randint(3, 21)} km {r.choice(['this morning', 'after work', 'by the river'])}.",
    lambda r: f"{r.choice(NAMES)} slept {r.randint(4, 10)} hours last night.",
    lambda r: f"{r.choice(NAMES)} called about invoice {r.randint(1000, 9999)}.",
    lambda r: f"{r.choice(NAMES)} had {r.choice(FOODS)} for {r.choice(['lunch', 'dinner'])}.",
    lambda r: f"{r.choice(NAMES)} visited {r.choice(PLACES)}.",
    lambda r: f"The deploy of {r.choice(SERVICES)} {r.choice(['failed', 'succeeded', 'was rolled back'])}.",
    lambda r: f"{r.choice(SERVICES)} p{r.choice([50, 95, 99])} latency was {r.randint(20, 900)} ms.",
    lambda r: f"Order {r.randint(10000, 99999)} was {r.choice(['shipped', 'delivered', 'returned', 'cancelled'])}.",
    lambda r: f"Ticket #{r.randint(100, 999)} was {r.choice(['opened', 'closed', 'reopened', 'escalated'])}.",
    lambda r: f"At {r.randint(6, 22)}:{r.randint(10, 59)} the greenhouse sensor read {r.randint(12, 34)} degrees.",
    lambda r: f"Disk usage of {r.choice(SERVICES)}-db is {r.randint(40, 96)}%.",
    lambda r: f"Meeting with {r.choice(NAMES)} about {r.choice(SERVICES)} took {r.randint(15, 90)} minutes.",
    lambda r: f"{r.choice(NAMES)} paid {r.randint(5, 400)} euros for {r.choice(['books', 'parking', 'groceries', 'fuel'])}.",
    lambda r: f"The {r.choice(SERVICES)} tests {r.choice(['passed', 'failed', 'were flaky'])} on main.",
    lambda r: f"{r.choice(NAMES)} weighed {r.randint(55, 99)} kg this morning.",
    lambda r: f"Merged PR {r.randint(1, 4000)} into {r.choice(SERVICES)}.",
    lambda r: f"Customer {r.randint(1000, 9999)} {r.choice(['called', 'asked for a refund', 'renewed', 'complained'])}.",
    lambda r: f"Backup of {r.choice(SERVICES)} finished with {r.randint(0, 9)} warnings.",
    lambda r: f"{r.choice(NAMES)} felt {r.choice(['tired', 'fine', 'great', 'sick'])} today.",
    lambda r: f"It {r.choice(['rained', 'snowed', 'was sunny', 'was windy'])} in {r.choice(PLACES)} yesterday.",
    lambda r: f"Batch {r.randint(1, 300)} {r.choice(['passed', 'failed'])} inspection with {r.randint(0, 12)} defects.",
    lambda r: f"Bus {r.randint(1, 99)} was {r.randint(2, 40)} minutes late.",
    lambda r: f"{r.choice(NAMES)} {r.choice(['did', 'did not do'])} the stretching exercises today.",
    lambda r: f"Signups on {r.choice(['Monday', 'Tuesday', 'Friday'])}: {r.randint(10, 900)}.",
    lambda r: f"Sensor {r.randint(1, 40)} went {r.choice(['online', 'offline'])}.",
    lambda r: f"Lap {r.randint(1, 30)}: {r.randint(60, 99)} seconds.",
    lambda r: f"{r.choice(NAMES)} {r.choice(['won', 'lost'])} the chess game against {r.choice(NAMES)}.",
    lambda r: f"Incident {r.randint(100, 999)} in {r.choice(SERVICES)} was resolved after {r.randint(3, 300)} minutes.",
    lambda r: f"Blood pressure of {r.choice(NAMES)}: {r.randint(105, 150)}/{r.randint(60, 95)}.",
    lambda r: f"{r.choice(NAMES)} watched {r.randint(1, 5)} episodes of the series with {r.choice(NAMES)}.",
]


def test_an_import_of_event_lines_passes(honest):
    """AM-2: of 2,000 plausible lines at most 1 % are taken for contradictions."""
    person, chance = new_caller(honest.server), random.Random(20)
    start = datetime(2049, 1, 1, 6, tzinfo=UTC)
    lines, refused = set(), Counter()
    while len(lines) < IMPORTED:
        lines.add(chance.choice(TEMPLATES)(chance))
    times = sorted(start + timedelta(minutes=chance.randint(0, 300 * 1440)) for _ in lines)
    items = [
        {"text": text, "layer": "episodic", "fields": {"time": rfc3339(at)}}
        for text, at in zip(chance.sample(sorted(lines), IMPORTED), times, strict=True)
    ]
    examples = []
    for at in range(0, IMPORTED, 100):
        part = items[at : at + 100]
        raw = "\n".join(map(json.dumps, part))
        status, answer, _ = person.call("POST", "/v1/items:batch", raw=raw, headers=NDJSON, timeout=240)
        assert status == 200, answer
        rows = [json.loads(line) for line in answer.splitlines()] if isinstance(answer, str) else answer
        for item, row in zip(part, rows, strict=True):
            code = (row.get("error") or row).get("code")
            refused[code] += 1
            if code == "CONTRADICTION":
                examples.append((item["text"], row))
        honest.advance(hours=1)
    print(refused, sorted(text for text, _ in examples))
    assert refused["CONTRADICTION"] <= IMPORTED // 100, (refused, examples[:10])
    assert refused[None] >= IMPORTED // 2, refused
