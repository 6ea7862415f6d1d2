"""Search by words, by meaning and by both: what is found, in which order, and what is never shown.

The server compares texts by hashed words here: texts that share words or pieces of words lie close.
"""

import json
import re
import threading
import time

import pytest

from callers import Caller, Clock, new_caller
from grpc_caller import GrpcCaller, Refused
from mcp_caller import McpCaller, over_http
from server import Server

MODES = "hybrid", "dense", "lexical"
HASHED = {"TABELLION_EMBEDDING__PROVIDER": "hashed"}
DIMENSIONS = 384
SECRET = "Unspeakable-Quux"
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def shared_server(bin, tmp_path_factory):
    """As in the other files, with the model that needs nothing; its log must hold neither panics nor what was sent."""
    with Server(bin, tmp_path_factory.mktemp("search") / "data", env=HASHED) as running:
        yield running
        running.stop()
        log = running.log
        assert "panicked" not in log and SECRET not in log and running.key not in log, log[-3000:]


@pytest.fixture
def clock(bin, tmp_path):
    with Server(bin, tmp_path / "clocked", env=HASHED, args=["--test-clock"]) as running:
        yield Clock(running)


def write_all(caller, items):
    """Many items in one batch, all of which must commit; returns their ids and the last token."""
    status, answer, _ = caller.call("POST", "/v1/items:batch", raw="\n".join(map(json.dumps, items)), headers=NDJSON)
    results = [json.loads(line) for line in answer.splitlines()]
    assert status == 200 and {result["status"] for result in results} == {"committed"}, answer[:1000]
    assert len(results) == len(items)
    return [result["id"] for result in results], results[-1]["token"]


def settled(caller):
    """Waits until words and vectors hold all that was written; returns the token of that moment."""
    token = caller.ask("POST", "/v1/search", {"query": "a", "mode": "lexical"})["token"]
    caller.search("a", mode="dense", min_token=token)
    return token


def ranked(caller, query, **fields):
    """What a search says, as far as ranking goes."""
    return [(one["id"], one["version"], one["score"], one["relevance"]) for one in caller.search(query, **fields)]


class Import(threading.Thread):
    """Batches of a user's own, one after the other, until it is told to stop."""

    def __init__(self, caller, lines=400):
        super().__init__(daemon=True)
        self.caller, self.lines = caller, lines
        self.ending, self.batches, self.error = threading.Event(), 0, None

    def run(self):
        try:
            while not self.ending.is_set():
                texts = [f"lighthouse import {self.batches} line {line} of the bulk" for line in range(self.lines)]
                write_all(self.caller, [{"text": text} for text in texts])
                self.batches += 1
        except BaseException as error:
            self.error = error

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.join()
        assert self.error is None, self.error
        assert self.batches > 0


# What was written is found


@pytest.mark.parametrize("mode", MODES)
def test_a_write_is_found_by_the_next_search(ana, mode):
    """Whoever shows the token of a write finds what it wrote, in every mode, 200 times of 200."""
    for number in range(200):
        text = f"parcel{number} lies in room {number * 7} of the depot"
        written = ana.write(text)
        found = ana.found(text, mode=mode, min_token=written["token"], k=3)
        assert found[:1] == [written["id"]], (number, found)


@pytest.mark.parametrize("mode", MODES)
def test_a_write_is_found_during_a_bulk_import(ana, ben, mode):
    """The import of another user does not come between a write and its search."""
    with Import(ben):
        for number in range(40):
            text = f"crate{number} stands on deck {number * 7} of the ferry"
            written = ana.write(text)
            found = ana.found(text, mode=mode, min_token=written["token"], k=3)
            assert found[:1] == [written["id"]], (number, found)




@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_an_item_that_changes_all_the_time_is_found_exactly_once(ana, ben, mode):
    """Each search sees one moment: an item under update is there in one version, never in none or in two."""
    sides = "the lighthouse keeper reads by lamp", "the lighthouse keeper sleeps by day"
    item = ana.write(sides[0])
    ana.found("lighthouse keeper", mode=mode, min_token=item["token"])
    ending, updates, errors = threading.Event(), [], []

    def update():
        try:
            while not ending.is_set():
                updates.append(ana.ask("PUT", f"/v1/items/{item['id']}", {"text": sides[(len(updates) + 1) % 2]}, expect=201))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=update, daemon=True)
    with Import(ben):
        thread.start()
        seen, deadline = [], time.monotonic() + 20
        while len(seen) < 150 or (len(updates) < 30 and not errors and time.monotonic() < deadline):
            seen.append(ana.search("the lighthouse keeper", mode=mode))
        ending.set()
        thread.join()
    assert not errors and len(updates) >= 30, (errors, len(updates))
    counts = [[one["id"] for one in results] for results in seen]
    assert counts == [[item["id"]]] * len(counts), sorted({len(ids) for ids in counts})
    assert len({one["version"] for [one] in seen}) > 5, "the searches met the updates"
    assert {one["text"] for [one] in seen} == set(sides)


@pytest.mark.parametrize("mode", MODES)
def test_search_finds_what_was_there_then(ana, mode):
    """GOV-5.3: at a past token the old texts are found by their old words, and nothing newer."""
    changed = ana.write("the quarry foreman keeps the brass whistle")
    taken = ana.write("the quarry engineer keeps the steel whistle")
    then = taken["token"]
    ana.ask("PUT", f"/v1/items/{changed['id']}", {"text": "the bakery closes on mondays at dusk"}, expect=201)
    ana.ask("DELETE", f"/v1/items/{taken['id']}")
    new = ana.write("the quarry whistle was sold")
    texts = {one["text"] for one in ana.search("quarry whistle", mode=mode, as_of=then, min_token=then)}
    assert texts == {"the quarry foreman keeps the brass whistle", "the quarry engineer keeps the steel whistle"}
    now = ana.search("quarry whistle", mode=mode, min_token=new["token"])
    assert now[0]["id"] == new["id"] and taken["id"] not in [one["id"] for one in now]
    assert "the quarry foreman keeps the brass whistle" not in [one["text"] for one in now]
    if mode != "dense":
        assert [one["id"] for one in now] == [new["id"]]


# What cannot be asked

BAD = {
    "query of 100 kB": ({"query": "word " * 20_000}, "/query"),
    "empty query": ({"query": ""}, "/query"),
    "blank query": ({"query": " \t\n"}, "/query"),
    "neither query nor vector": ({}, "/query"),
    "lexical without words": ({"vector": [1.0] * DIMENSIONS, "mode": "lexical"}, "/query"),
    "k 0": ({"query": SECRET, "k": 0}, "/k"),
    "k 1,000,000": ({"query": SECRET, "k": 10**6}, "/k"),
    "k beyond 64 bits": ({"query": SECRET, "k": 2**70}, "/k"),
    "vector too short": ({"query": SECRET, "vector": [1.0] * (DIMENSIONS - 1)}, "/vector"),
    "vector too long": ({"query": SECRET, "vector": [1.0] * (DIMENSIONS + 1)}, "/vector"),
    "vector of nothing": ({"query": SECRET, "vector": []}, "/vector"),
    "vector of zeros": ({"query": SECRET, "vector": [0.0] * DIMENSIONS}, "/vector"),
    "vector beyond f32": ({"query": SECRET, "vector": [1e39] + [0.0] * (DIMENSIONS - 1)}, "/vector"),
    "vector of words": ({"query": SECRET, "vector": ["a"] * DIMENSIONS}, "/vector"),
    "vector as a word": ({"query": SECRET, "vector": "1,2,3"}, "/vector"),
    "vector with a gap": ({"query": SECRET, "vector": [None] * DIMENSIONS}, "/vector"),
    "unknown mode": ({"query": SECRET, "mode": "telepathy"}, "/mode"),
    "mode of another type": ({"query": SECRET, "mode": 7}, "/mode"),
    "graph mode without words": ({"vector": [1.0] * DIMENSIONS, "mode": "graph"}, "/query"),
    "unknown knob": ({"query": SECRET, "without": ["words", "gravity"]}, "/without/1"),
    "knob of another type": ({"query": SECRET, "without": [3]}, "/without/0"),
    "diversity 2": ({"query": SECRET, "diversity": 2}, "/diversity"),
    "diversity below 0": ({"query": SECRET, "diversity": -0.1}, "/diversity"),
    "diversity as a word": ({"query": SECRET, "diversity": "much"}, "/diversity"),
    "exact as a word": ({"query": SECRET, "exact": "yes"}, "/exact"),
}


@pytest.mark.parametrize("body, path", BAD.values(), ids=BAD)
def test_a_search_that_cannot_be_run_is_refused_with_its_place(ana, body, path):
    """GOV-2.2: 422 and the place of the fault, never a 5xx; what was sent is not repeated."""
    status, answer, _ = ana.call("POST", "/v1/search", body)
    assert status == 422 and answer["code"] in ("SCHEMA_INVALID", "MODE_UNAVAILABLE"), (status, answer)
    # Where a list is of the wrong kind, the fault may lie in its first part.
    places = [error["path"] for error in answer["errors"]]
    assert path in places or f"{path}/0" in places, answer
    assert SECRET not in json.dumps(answer)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "+1", ".5", "0x10"])
def test_what_is_no_number_in_json_is_malformed(ana, number):
    """GOV-1.6: 400 for a vector that JSON cannot say."""
    raw = f'{{"query": "a", "vector": [{", ".join([number] * DIMENSIONS)}]}}'
    status, answer, _ = ana.call("POST", "/v1/search", raw=raw)
    assert status in (400, 422) and answer["code"], answer


def test_every_fault_of_a_search_is_named_at_once(ana):
    """GOV-2.2: a caller need not fix one fault to learn of the next."""
    body = {"query": "", "k": 0, "vector": [1.0], "without": ["gravity"], "diversity": 2, "layers": ["deep"]}
    refusal = ana.refused("POST", "/v1/search", body, status=422, code="SCHEMA_INVALID")
    paths = {error["path"] for error in refusal["errors"]}
    assert paths == {"/query", "/k", "/vector", "/without/0", "/diversity", "/layers/0"}


ELSEWHERE = ["query of 100 kB", "blank query", "neither query nor vector", "k 1,000,000", "vector too short", "vector of zeros",
             "unknown mode", "unknown knob", "diversity 2"]  # fmt: skip


def test_grpc_and_mcp_refuse_the_same_searches(shared_server, ana):
    """SHARE-28: the same rules whatever the way in."""
    with GrpcCaller(shared_server, ana.key) as grpc, McpCaller(over_http(shared_server, ana.key)) as mcp:
        for name in ELSEWHERE:
            body, path = BAD[name]
            with pytest.raises(Refused) as refused:
                grpc.call("Search", body)
            answers = [refused.value.refusal]
            if not {"vector", "without"} & set(body):  # which the tools do not have
                answers.append(mcp.refused("search_items", body))
            assert refused.value.status in ("INVALID_ARGUMENT", "FAILED_PRECONDITION"), (name, refused.value.status)
            for answer in answers:
                assert path in [error["path"] for error in answer["errors"]], (name, answer)
        for number in "NaN", "Infinity", "-Infinity":
            with pytest.raises(Refused) as refused:
                grpc.call("Search", {"query": "a", "vector": [number] * DIMENSIONS})
            assert refused.value.status == "INVALID_ARGUMENT", refused.value
        with pytest.raises(Refused):
            grpc.call("Search", {"query": "a", "diversity": "NaN"})


def one_hot(place, length=1.0):
    return [length if at == place else 0.0 for at in range(DIMENSIONS)]




@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_how_long_a_vector_is_does_not_matter(ana, mode):
    """A vector says a direction: its length changes neither what is found nor its score, and no score leaves 0 to 1."""
    for number in range(30):
        written = ana.write(f"barrel{number} of cider in cellar {number}")
    directions = [[(place * 37 % 19 - 9) / 9 for place in range(DIMENSIONS)], one_hot(3)]
    for direction in directions:
        plain = ranked(ana, "cider", vector=direction, mode=mode, min_token=written["token"])
        assert plain and all(0 <= score <= 1 and 0 <= relevance <= 1 for _, _, score, relevance in plain), plain
        for length in 1e-3, 50.0, 1e30:
            scaled = ranked(ana, "cider", vector=[length * number for number in direction], mode=mode)
            assert [one[:2] for one in scaled] == [one[:2] for one in plain], length
            for one, other in zip(scaled, plain):
                assert one[2:] == pytest.approx(other[2:], abs=1e-4), length


# What is never shown


def test_another_owners_texts_never_show(ana, ben):
    """SHARE-37: two users with the same texts see their own alone, by words, phrase, meaning, vector, and in the past."""
    texts = [f"the harbour master signs form {number} at noon" for number in range(60)]
    mine, _ = write_all(ana, [{"text": text, "fields": {"session": "s", "speaker": "Mira"}} for text in texts[:10]])
    theirs, _ = write_all(ben, [{"text": text, "fields": {"session": "s", "speaker": "Mira"}} for text in texts])
    scratch = ben.write(texts[0], layer="working")
    for caller, own, count in (ana, set(mine), 10), (ben, {*theirs, scratch["id"]}, 60):
        token = caller.ask("POST", "/v1/search", {"query": "form"})["token"]
        for mode in MODES:
            for query in "harbour master form", '"harbour master"', "what did Mira sign", texts[0]:
                for more in {}, {"as_of": token}, {"exact": True}, {"diversity": 0.5}:
                    found = caller.found(query, mode=mode, k=100, min_token=token, **more)
                    assert set(found) <= own and len(found) == len(set(found)), (mode, query, more)
                    if "harbour" in query:
                        assert len(set(found) - {scratch["id"]}) == count, (mode, query, more, len(found))
        for place in range(0, DIMENSIONS, 29):
            found = [one["id"] for one in caller.ask("POST", "/v1/search", {"vector": one_hot(place), "k": 100})["results"]]
            assert set(found) <= own


def test_what_is_hidden_never_takes_a_place(ana, ben):
    """SHARE-37: however many hidden texts lie nearer, the caller's own fill the answer up to `k`."""
    theirs, _ = write_all(ben, [{"text": "the copper kettle whistles", "fields": {"n": n}} for n in range(400)])
    mine, token = write_all(ana, [{"text": f"a kettle, mentioned in passing in letter {n}"} for n in range(12)])
    for mode in MODES:
        assert sorted(ana.found("the copper kettle whistles", mode=mode, k=12, min_token=token)) == sorted(mine), mode
        assert set(ben.found("the copper kettle whistles", mode=mode, k=100)) <= set(theirs)


@pytest.mark.parametrize("mode", MODES)
def test_what_others_write_changes_no_score(clock, mode):
    """SHARE-38: how many texts there are, how many hold a word, how long they are and who speaks in them is taken from what
    the caller sees: scores stay the same to the last bit."""
    ana, ben = new_caller(clock.server), new_caller(clock.server)
    turns = [
        {"text": f"{subject} near the {place} in week {week}", "fields": {"session": f"s{week}", "speaker": speaker}}
        for week, (subject, place, speaker) in enumerate(
            (subject, place, speaker)
            for subject in ("a heron stood", "two otters swam", "the ferry docked", "nobody came")
            for place in ("weir", "mill", "old bridge")
            for speaker in ("Mira", "Tomas")
        )
    ]
    _, token = write_all(ana, turns)
    clock.advance(minutes=1)
    queries = [
        "heron near the weir", '"old bridge" ferry', "what did Mira say about otters", "week 3", "the", "Bridge Otters in May",
    ]  # fmt: skip
    vector = [(place * 31 % 17 - 8) / 8 for place in range(DIMENSIONS)]

    def results():
        asked = [{"query": query, "mode": mode, "k": 20} for query in queries]
        if mode != "lexical":
            asked.append({"query": "heron", "mode": mode, "vector": vector})
        return [ranked(ana, **body) for body in asked]

    ana.found("heron", mode=mode, min_token=token)
    before = results()
    assert all(before), "every query finds something, or nothing could change"
    others = [
        {"text": turns[number % len(turns)]["text"] + (" heron" * (number % 9)),
         "fields": {"session": "s3", "speaker": ("heron", "weir", "Bridge", "Otters")[number % 4], "time": "1999-05-01",
                    "n": number}}
        for number in range(500)
    ]  # fmt: skip
    _, others_token = write_all(ben, others)
    ben.found("heron", mode=mode, min_token=others_token)
    assert results() == before


def test_own_writes_do_change_scores(clock):
    """SHARE-38: the same comparison shows a difference where there should be one."""
    ana = new_caller(clock.server)
    write_all(ana, [{"text": f"a heron stood near weir {number}"} for number in range(10)])
    before = ranked(ana, "heron", mode="lexical")
    write_all(ana, [{"text": f"no bird at all near weir {number}"} for number in range(10)])
    assert ranked(ana, "heron", mode="lexical") != before


# Phrases


def test_a_quoted_phrase_is_found_as_it_stands(ana):
    """A lexical search finds only texts with all phrases, their words in order and side by side; a hybrid one puts
    those first."""
    door = ana.write("the red door opens slowly")["id"]
    both = ana.write("a red door and a blue gate")["id"]
    for other in "the door red with rust", "a red barn door", "red. Then: a wooden door", "doors are red":
        ana.write(other)
    settled(ana)
    assert sorted(ana.found('"red door"', mode="lexical")) == sorted([door, both])
    assert ana.found('"red door" "blue gate"', mode="lexical") == [both]
    assert sorted(ana.found('which "RED Doors" opens', mode="lexical")) == sorted([door, both])
    assert ana.found('"door slowly"', mode="lexical") == ana.found('"red door" "grey gate"', mode="lexical") == []
    assert sorted(ana.found('"red door"')[:2]) == sorted([door, both])
    assert ana.found('"red door" "blue gate"')[0] == both
    rust = ana.found('"red with rust" door opens slowly')
    assert rust[0] not in (door, both), "though the words fit those better"


def test_a_phrase_binds_working_memory_too(ana):
    """Scratch is searched by the same rules as the rest."""
    fitting = ana.write("the red door is open", layer="working")["id"]
    ana.write("the door is red", layer="working")
    assert ana.found('"red door"', mode="lexical") == [fitting]


@pytest.mark.parametrize("mode", MODES)
def test_odd_quotes_are_harmless(ana, mode):
    """An open quote, an empty pair or nothing but quotes demand nothing."""
    ids = {ana.write(text)["id"] for text in ("the green lamp", "a lamp, green")}
    settled(ana)
    for query in 'green "lamp', '"" green lamp', 'green lamp """', '" " green lamp', '"?!" green lamp':
        assert set(ana.found(query, mode=mode)) == ids, query
    for query in '"', '""', '"""""':
        ana.ask("POST", "/v1/search", {"query": query, "mode": mode})


def test_a_phrase_of_small_words_is_a_phrase(ana):
    """Words that say nothing alone say something in a row."""
    late = ana.write("not to be late, or to be early: that was the plan")["id"]
    hamlet = ana.write("that is the question: to be or not to be")["id"]
    ana.write("to be to be not or")
    settled(ana)
    assert ana.found('"to be or not to be"', mode="lexical") == [hamlet]
    hybrid = ana.found('"to be or not to be"')
    assert hybrid.index(hamlet) < hybrid.index(late)
    assert len(ana.found("to be or not to be", mode="lexical")) == 3


# Order


def test_a_named_month_comes_first(ana):
    """Who asks of a time gets that time first, whether as a month, a date or a year."""
    months = ["2022-05", "2023-05", "2023-07", "2023-11", "2024-01", "2024-05"]
    ids = {}
    for month in months:
        for day in "04", "21":
            fields = {"time": f"{month}-{day}"}
            ids[f"{month}-{day}"] = ana.write(f"we walked along the canal with the dogs, {len(ids)}", fields=fields)["id"]
    of = {id: day for day, id in ids.items()}
    settled(ana)
    for query, start in (
        ("what happened in May 2023", "2023-05"),
        ("the canal walk in November 2023", "2023-11"),
        ("walking with dogs in 2022", "2022"),
    ):
        days = [of[id] for id in ana.found(query, k=12)]
        assert days[0].startswith(start) and days[1].startswith(start), (query, days)
    assert of[ana.found("the walk on 21 May 2023")[0]] == "2023-05-21"
    assert of[ana.found("the walk on 2024-01-04")[0]] == "2024-01-04"
    plain = [of[id] for id in ana.found("the canal walk in November 2023", k=12, without=["time"])]
    assert not (plain[0].startswith("2023-11") and plain[1].startswith("2023-11")), "only the time can tell them apart"


def test_last_month_is_before_the_servers_now(clock):
    """What is relative is relative to the moment of the question."""
    ana = new_caller(clock.server)
    of = {}
    for day in "2049-10-10", "2049-11-10", "2049-12-10", "2050-01-10", "2050-02-10":
        written = ana.write(f"rehearsed the play in the hall, {len(of)}", ttl="P365D", fields={"time": day})
        of[written["id"]] = day
    settled(ana)
    seen = []
    clock.advance(days=14)
    for _ in range(3):
        seen.append(of[ana.found("what did we rehearse last month")[0]])
        clock.advance(days=31)
    assert seen == ["2049-12-10", "2050-01-10", "2050-02-10"]


def conversation(ana, turns, session):
    """The turns of a session, in order; returns their ids."""
    return [
        ana.write(text, fields={"session": session, "speaker": speaker, "time": "2026-03-02"})["id"] for speaker, text in turns
    ]


TURNS = [
    ("Mira", "Good morning, lovely weather today."),
    ("Tomas", "Where did you adopt the greyhound?"),
    ("Mira", "From a place in Leeds, back in spring."),
    ("Tomas", "That is a long drive."),
    ("Mira", "We took the train and stayed for lunch."),
]
NOISE = ["Lunch was soup again.", "The train from Leeds was late.", "Spring cleaning took all week.", "A long drive home."]


def test_an_answer_is_found_by_the_words_of_its_question(ana):
    """The turn after a question inherits its words; left out on request, and then it ranks lower."""
    ids = conversation(ana, TURNS, "s1")
    for text in NOISE:
        ana.write(text)
    settled(ana)
    query = "which greyhound was adopted, and where"
    with_context, without = ana.found(query, k=20), ana.found(query, k=20, without=["neighbours"])
    assert ids[2] in with_context[:2], [ids.index(id) if id in ids else id for id in with_context]
    place = without.index(ids[2]) if ids[2] in without else len(without)
    assert place > with_context.index(ids[2])
    assert ids[2] not in ana.found(query, mode="lexical", k=20), "it shares no telling word with the query"


def test_an_updated_turn_keeps_its_place(ana):
    """Whether question or answer is put right later, they still stand side by side."""
    ids = conversation(ana, TURNS, "s2")
    for text in NOISE:
        ana.write(text)
    settled(ana)
    question = {"text": "Where did you buy the accordion?", "fields": {"session": "s2", "speaker": "Tomas"}}
    ana.ask("PUT", f"/v1/items/{ids[1]}", question, expect=201)
    settled(ana)
    assert ids[2] in ana.found("which accordion was bought")[:2]
    answer = {"text": "In a shop in York, back in autumn.", "fields": {"session": "s2", "speaker": "Mira"}}
    ana.ask("PUT", f"/v1/items/{ids[2]}", answer, expect=201)
    settled(ana)
    found = ana.search("which accordion was bought")[:2]
    assert "In a shop in York, back in autumn." in [one["text"] for one in found]
    assert ids[2] not in ana.found("which greyhound was adopted")[:2], "what the question no longer asks"


def test_diversity_keeps_near_duplicates_from_crowding(ana):
    """As asked, one of many likes comes first and then something else."""
    likes = {ana.write(f"the orchard irrigation pump needs a new filter, report {n}")["id"] for n in range(8)}
    others = [ana.write(text)["id"] for text in ("orchard irrigation runs at night", "the pump was bought with the orchard")]
    query = "orchard irrigation pump"
    settled(ana)
    plain, varied = ana.found(query, k=3), ana.found(query, k=3, diversity=0.7)
    assert set(plain) <= likes
    assert len(set(varied) & likes) == 1 and set(varied) & set(others), varied
    assert ana.found(query, k=3, diversity=0) == plain
    assert len(set(ana.found(query, k=10, diversity=1))) == 10, "nothing is lost, only moved"


def test_what_is_better_founded_comes_first(ana):
    """GOV-4.6: of two equal texts, the one with evidence and confidence ranks first, though the other is newer."""
    document = {"source_type": "document", "source_uri": "doc://runbook", "accessed_at": "2026-11-14T00:00:00Z"}
    text = "the boiler is drained in October"
    founded = ana.write(text, confidence=0.9, evidence=[document], fields={"n": 1})["id"]
    bare = ana.write(text, confidence=0.1, fields={"n": 2})["id"]
    settled(ana)
    first, second = ana.search("boiler drained in winter")
    assert (first["id"], second["id"]) == (founded, bare) and first["score"] > second["score"]
    assert first["relevance"] == second["relevance"], "as relevant as each other"
    sure = ana.write("the attic is aired in June", confidence=1.0, fields={"n": 1})["id"]
    unsure = ana.write("the attic is aired in June", confidence=0.0, fields={"n": 2})["id"]
    settled(ana)
    assert ana.found("attic aired")[:2] == [sure, unsure]


def test_what_is_newer_comes_first_among_equals(clock):
    """GOV-4.6, GOV-7.2: age takes from the score, in each layer at its own pace."""
    ana = new_caller(clock.server)
    old = ana.write("the well was cleaned", fields={"n": 1})["id"]
    fleeting = ana.write("the well was cleaned", fields={"n": 1}, layer="session", ttl="P365D")["id"]
    clock.advance(days=60)
    new = ana.write("the well was cleaned", fields={"n": 2})["id"]
    settled(ana)
    assert ana.found("well cleaned") == [new, old, fleeting]


def test_the_age_of_what_is_found_is_measured(clock):
    """GOV-12.4: how stale results are can be read from the metrics."""
    ana = new_caller(clock.server)

    def staleness():
        metrics = clock.server.call("GET", "/metrics", key="")[1]
        line = r"^tabellion_retrieval_staleness_seconds_{}(?:{{.*}})? (\S+)$"
        return [sum(map(float, re.findall(line.format(name), metrics, re.M))) for name in ("sum", "count")]

    ana.write("the kiln is cold")
    clock.advance(hours=1)
    before = staleness()
    assert len(ana.found("kiln", mode="lexical")) == 1
    after = staleness()
    assert after[1] - before[1] == 1 and after[0] - before[0] == pytest.approx(3600, abs=1)


def test_each_knob_can_be_left_out(ana):
    """`without` words and meaning, each finds what the other finds it by."""
    by_words = ana.write("the quince jelly is set")["id"]
    ana.write("nothing of the sort")
    settled(ana)
    assert ana.found("quince", without=["meaning"]) == [by_words]
    assert ana.found("quince", without=["words"]) == [by_words]
    assert ana.found("quince", without=["words", "meaning"]) == []
    assert by_words in ana.found("quinces", without=["neighbours", "session", "speaker", "time", "question"])


def test_without_a_model_search_goes_by_words(bin, tmp_path):
    """A server without a model says so, and finds by words."""
    with Server(bin, tmp_path / "data", env={"TABELLION_EMBEDDING__PROVIDER": "none"}) as server:
        ana = new_caller(server)
        item = ana.write("the ferry leaves at nine")
        for body in {}, {"mode": "hybrid"}, {"mode": "lexical"}:
            answer = ana.ask("POST", "/v1/search", {"query": "ferry", "min_token": item["token"], **body})
            assert answer["mode"] == "lexical" and [one["id"] for one in answer["results"]] == [item["id"]]
        refusal = ana.refused("POST", "/v1/search", {"query": "ferry", "mode": "dense"}, status=422, code="MODE_UNAVAILABLE")
        assert [error["path"] for error in refusal["errors"]] == ["/mode"]
        body = {"query": "ferry", "vector": [1.0] * DIMENSIONS}
        refusal = ana.refused("POST", "/v1/search", body, status=422, code="SCHEMA_INVALID")
        assert [error["path"] for error in refusal["errors"]] == ["/vector"]
        assert Caller(server, ana.key).found("leaves") == [item["id"]]
