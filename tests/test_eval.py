"""`tabellion eval`: on a conversation written here, and on labelled ones where they are at hand."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from server import ROOT

MEASURES = ("turn_r5", "turn_r10", "turn_r20", "session_r5", "session_r10")
KNOBS = {"words", "meaning", "neighbours", "session", "speaker", "time", "question", "trust"}
CATEGORIES = {"multi-hop", "temporal", "single-hop"}
SECONDS_MAX = 60
# Vectors of some thousand turns are made on whatever cores the machine has.
LABELLED_SECONDS_MAX = 1_800

# The published conversations, and the model: neither is part of this repository.
LOCOMO = Path(os.environ.get("TABELLION_LOCOMO") or ROOT.parent / "shared" / "data" / "locomo")
MODEL = Path(os.environ.get("TABELLION_MODEL") or ROOT / "target" / "model")

SESSIONS = {
    "7:48 pm on 21 May, 2023": [
        ("Ada", "I bought a crimson kite at the harbour market."),
        ("Bo", "Lovely! My trombone lessons begin on Tuesday."),
        ("Ada", "Then we both have something to practise."),
    ],
    "12:05 am on 2 June, 2023": [
        ("Bo", "The lighthouse keeper let me climb the stairs."),
        ("Ada", "I baked rhubarb crumble for the neighbours."),
    ],
    "9:30 am on 14 July, 2023": [
        ("Ada", "Our canoe capsized near the old mill."),
        ("Bo", "What a fright; the ferry never capsized."),
    ],
}
QUESTIONS = [
    ("Who bought a crimson kite?", ["D1:1"], 4),
    ("When do the trombone lessons begin?", ["D1:2"], 2),
    ("Who baked rhubarb crumble and climbed the lighthouse stairs?", ["D2:1", "D2:2"], 1),
    ("What capsized near the old mill?", ["D3:1", "D8:6; D9:17", "D"], 4),
    ("A question whose labels name no turn?", ["D7:7"], 3),
    ("A question without labels?", [], 5),
]


def conversation():
    """The file, as the published ones are made."""
    sessions = [
        {
            "session": number,
            "date_time": date,
            "turns": [
                {"dia_id": f"D{number}:{place}", "speaker": speaker, "text": text}
                for place, (speaker, text) in enumerate(turns, 1)
            ],
        }
        for number, (date, turns) in enumerate(SESSIONS.items(), 1)
    ]
    sessions[0]["turns"][0]["image_caption"] = "a kite over the sea"
    qa = [
        {"question": question, "answer": "left unread", "evidence": evidence, "category": category}
        for question, evidence, category in QUESTIONS
    ]
    return {"id": "0", "speaker_a": "Ada", "speaker_b": "Bo", "sessions": sessions, "qa": qa, "observations": []}


@pytest.fixture
def data(tmp_path):
    """A folder with one conversation."""
    folder = tmp_path / "conversations"
    folder.mkdir()
    (folder / "0.json").write_text(json.dumps(conversation()))
    return folder


@pytest.fixture
def evaluate(bin, tmp_path):
    """Runs `eval locomo`; the exit code must be the expected one."""

    def run(data, *args, code=0, seconds_max=SECONDS_MAX):
        plain = {name: value for name, value in os.environ.items() if not name.startswith("TABELLION_")}
        command = [bin, "eval", "locomo", "--data", data, *args]
        done = subprocess.run(
            list(map(str, command)), env=plain, cwd=tmp_path, capture_output=True, text=True, timeout=seconds_max
        )
        assert done.returncode == code, f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "panicked" not in done.stderr, done.stderr
        return done

    return run


def test_the_report_has_every_mode_and_every_ablation(evaluate, data):
    report = json.loads(evaluate(data, "--embedder", "hashed", "--json").stdout)
    assert {*MEASURES, "questions", "conversations", "model", "modes", "ablations", "timings"} <= set(report)
    # Labels that name no turn are ignored, and questions that have no other are not asked.
    assert (report["questions"], report["conversations"]) == (4, 1)
    assert report["model"].startswith("hashed")
    assert set(report["modes"]) == {"hybrid", "lexical", "dense"}
    assert set(report["ablations"]) == KNOBS
    for score in [*report["modes"].values(), *report["ablations"].values()]:
        assert all(0 <= score[measure] <= 100 for measure in MEASURES), score
        assert score["p50_ms"] <= score["p95_ms"]
        assert set(score["categories"]) == CATEGORIES
        assert sum(category["questions"] for category in score["categories"].values()) == 4
    assert [report[measure] for measure in MEASURES] == [report["modes"]["hybrid"][measure] for measure in MEASURES]
    timings = report["timings"]
    assert timings["items"] == 7 and timings["ingest_items_per_s"] > 0 and timings["vectors_per_s"] > 0, timings


def test_questions_in_the_words_of_their_turns_find_them(evaluate, data):
    report = json.loads(evaluate(data, "--embedder", "hashed", "--json").stdout)
    for mode in ("hybrid", "lexical"):
        score = report["modes"][mode]
        assert {measure: score[measure] for measure in MEASURES} == dict.fromkeys(MEASURES, 100), mode


def test_conversations_are_kept_apart(evaluate, data):
    """A second conversation of the same words changes nothing: each is found by its own user alone."""
    alone = json.loads(evaluate(data, "--embedder", "hashed", "--modes", "hybrid", "--json").stdout)
    (data / "1.json").write_text(json.dumps(conversation()))
    both = json.loads(evaluate(data, "--embedder", "hashed", "--modes", "hybrid", "--json").stdout)
    assert (both["conversations"], both["questions"]) == (2, 8)
    assert [both[measure] for measure in MEASURES] == [alone[measure] for measure in MEASURES]


def test_a_quick_look_asks_less(evaluate, data, tmp_path):
    found = tmp_path / "found.ndjson"
    args = ["--embedder", "hashed", "--modes", "hybrid", "--questions", 2, "--found", found, "--json"]
    report = json.loads(evaluate(data, *args).stdout)
    assert report["questions"] == 2 and set(report["modes"]) == {"hybrid"} and report["ablations"] == {}
    rows = [json.loads(line) for line in found.read_text().splitlines()]
    assert [row["evidence"] for row in rows] == [["D1:1"], ["D1:2"]]
    assert rows[0]["found"][0] == "D1:1"


def test_without_a_model_words_are_measured(evaluate, data):
    report = json.loads(evaluate(data, "--embedder", "none", "--json").stdout)
    assert report["model"] is None and set(report["modes"]) == {"lexical"} and report["turn_r10"] == 100


def test_people_get_tables(evaluate, data):
    shown = evaluate(data, "--embedder", "hashed").stdout
    for part in ("4 questions", "turn@10", "session@10", "hybrid without neighbours", "temporal", "vectors made"):
        assert part in shown, shown


def test_what_cannot_be_measured_is_refused(evaluate, data, tmp_path):
    absent = evaluate(tmp_path / "nowhere", code=1).stderr
    assert "nowhere" in absent and "--data" in absent
    (tmp_path / "empty").mkdir()
    assert "no .json file" in evaluate(tmp_path / "empty", code=1).stderr
    whole = conversation()
    broken = {
        "no JSON": ("{", "not a conversation"),
        "no questions": (json.dumps({"sessions": whole["sessions"]}), "qa"),
        "a strange date": (json.dumps(whole).replace("7:48 pm on 21 May, 2023", "a while ago"), "date_time"),
        "an id twice": (json.dumps(whole).replace("D1:2", "D1:1"), "D1:1"),
        "nothing to ask": (json.dumps(whole | {"qa": []}), "nothing to measure"),
    }
    for name, (text, part) in broken.items():
        (data / "0.json").write_text(text)
        done = evaluate(data, "--embedder", "hashed", "--json", code=1)
        assert part in done.stderr, (name, done.stderr)
        assert json.loads(done.stdout)["code"] == "FAILED", name
    (data / "0.json").write_text(json.dumps(whole))
    without_model = evaluate(data, "--embedder", "minilm", "--model", tmp_path / "nowhere", code=1)
    assert "fetch_model.py" in without_model.stderr and without_model.stdout == ""


def test_recall_on_labelled_conversations(evaluate, say):
    """GOV-12.4: a sweep of recall over labelled data, with the bars that search has to reach."""
    for what, path in (("labelled conversations", LOCOMO), ("embedding model", MODEL / "model.safetensors")):
        if not path.exists():
            say(f"NOT MEASURED: no {what} at {path}; recall on labelled conversations stays unchecked")
            pytest.skip(f"no {what}")
    args = ["--embedder", "minilm", "--model", MODEL.resolve(), "--modes", "hybrid", "--json"]
    report = json.loads(evaluate(LOCOMO.resolve(), *args, seconds_max=LABELLED_SECONDS_MAX).stdout)
    say("recall: " + ", ".join(f"{measure} {report[measure]}" for measure in MEASURES))
    bars = {"turn_r10": 78, "turn_r20": 84, "session_r5": 90, "session_r10": 96}
    missed = {measure: report[measure] for measure, bar in bars.items() if report[measure] < bar}
    assert not missed, f"below the bars {bars}: {missed}"
