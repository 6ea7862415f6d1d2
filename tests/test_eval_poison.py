"""`tabellion eval poison` and `tabellion bench calibrate`: small runs of each, and the whole ones when there is time.

TABELLION_SOAK=1 plays every conversation and measures at full size.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from server import ROOT

SOAK = os.environ.get("TABELLION_SOAK") == "1"
SECONDS_MAX = 3_600 if SOAK else 600

# The published conversations, and the model: neither is part of this repository.
LOCOMO = Path(os.environ.get("TABELLION_LOCOMO") or ROOT.parent / "shared" / "data" / "locomo")
MODEL = Path(os.environ.get("TABELLION_MODEL_DIR") or os.environ.get("TABELLION_MODEL") or ROOT / "target" / "model")


@pytest.fixture
def run(bin, tmp_path):
    """Runs a command that answers with JSON; tells its exit code too."""

    def run(*words):
        plain = {name: value for name, value in os.environ.items() if not name.startswith("TABELLION_")}
        command = [str(word) for word in (bin, *words, "--json")]
        done = subprocess.run(
            command, env=plain, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
        )
        assert done.stdout and "panicked" not in done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout)

    return run


def team(report):
    """The cases of a report, by what is lied, how many lie and what keeps them out."""
    return {(case["sort"], case["liars"], case["gates"]): case for case in report["cases"]}


def invented(tmp_path):
    """A conversation written here: forty facts about two people, and a question about each."""
    places = "Oslo Lima Kyoto Quito Perth Tunis Graz Bergen Cusco Malaga".split()
    things = "kite canoe lantern trombone".split()
    facts = [f"Ada bought a {thing} in {place}." for thing in things for place in places]
    turns = [{"dia_id": f"D1:{number}", "speaker": "Ada", "text": fact} for number, fact in enumerate(facts, 1)]
    numbered = [(f"D1:{number}", fact) for number, fact in enumerate(facts, 1)]
    qa = [{"question": f"Is it true? {fact}", "evidence": [turn], "category": 4} for turn, fact in numbered]
    noted = [{"session": 1, "speaker": "Ada", "fact": fact, "evidence": [turn]} for turn, fact in numbered]
    session = {"session": 1, "date_time": "7:48 pm on 21 May, 2023", "turns": turns}
    folder = tmp_path / "conversations"
    folder.mkdir()
    (folder / "0.json").write_text(json.dumps({"sessions": [session], "qa": qa, "observations": noted}))
    return folder


def test_what_is_measured_is_no_probe_and_lies_are_counted(run, tmp_path):
    """CAL-26, CAL-46: questions are split; without gates every lie is in, and each is counted where it is found."""
    data = invented(tmp_path)
    size = ["--embedder", "hashed", "--seeds", 1, "--liars", "0,3"]
    _, report = run("eval", "poison", "--data", data, *size)
    assert report["questions"]["measured"] == 20 and report["questions"]["probes"] == 20
    cases = team(report)
    assert set(cases) == {(None, 0, gates) for gates in ("off", "calibration", "others", "all")} | {
        (sort, 3, gates) for sort in ("lies", "magnets", "questions", "copies")
        for gates in ("off", "calibration", "others", "all")
    }
    for (sort, liars, gates), case in cases.items():
        for figure in "poison_top5 poison_top10 gold_recall5 gold_recall10 poison_in honest_out honest_staged audited_out".split():
            assert 0 <= case[figure]["mean"] <= 1, (figure, case)
        assert case["poison_top5"]["mean"] <= case["poison_top10"]["mean"], case
        assert case["gold_recall5"]["mean"] <= case["gold_recall10"]["mean"], case
        if gates == "off":
            assert case["honest_out"]["mean"] == 0 and (not sort or case["poison_in"]["mean"] > 0.6), case
    assert cases[None, 0, "all"]["poison_top10"]["mean"] == 0
    assert cases["lies", 3, "off"]["poison_top5"]["mean"] > 0
    names = {bar["what"] for bar in report["bars"]}
    assert any("magnets" in name for name in names) and any("gold recall" in name for name in names), names


def test_conversations_without_observations_are_refused(run, tmp_path):
    """What there is nothing to remember of is not measured."""
    data = invented(tmp_path)
    whole = json.loads((data / "0.json").read_text())
    (data / "0.json").write_text(json.dumps(whole | {"observations": []}))
    code, told = run("eval", "poison", "--data", data, "--embedder", "hashed")
    assert code == 1 and "observations" in told["message"], told


def test_lies_on_labelled_conversations(run, say):
    """CAL-46: on real conversations rules catch changed facts, honest writes come in, and what is missed is said."""
    for what, path in (("labelled conversations", LOCOMO), ("embedding model", MODEL / "model.safetensors")):
        if not path.exists():
            say(f"NOT MEASURED: no {what} at {path}; how far liars get in real conversations stays unchecked")
            pytest.skip(f"no {what}")
    # How soon liars are noticed in one conversation is a matter of chance: with one seed the gates may help nothing.
    small = ["--conversations", 1, "--seeds", 3, "--liars", "0,3", "--gates", "off,all"]
    args = ["--data", LOCOMO.resolve(), "--embedder", "minilm", "--model", MODEL.resolve()]
    _, report = run("eval", "poison", *args, *([] if SOAK else small))
    cases = team(report)
    for sort in "lies", "magnets", "copies":
        off, on = cases[sort, 3, "off"], cases[sort, 3, "all"]
        figures = {name: round(case["poison_top5"]["mean"], 3) for name, case in (("off", off), ("on", on))}
        say(f"{sort}: {figures}, recall {on['gold_recall10']['mean']:.3f}, honest out {on['honest_out']['mean']:.3f}")
        assert on["honest_out"]["mean"] <= 0.2 and on["gold_recall10"]["mean"] >= 0.6, on
        assert on["poison_top5"]["mean"] < (0.4 if sort == "magnets" else 1) * off["poison_top5"]["mean"], (off, on)
    assert cases["lies", 3, "all"]["poison_in"]["mean"] < 0.7 < cases["lies", 3, "off"]["poison_in"]["mean"]
    missed = [f"{bar['what']}: {bar['found']:.3f}" for bar in report["bars"] if not bar["met"]]
    say(f"bars missed: {missed or 'none'}")
    assert not (SOAK and missed)


def test_what_calibration_costs_is_told(run):
    """CAL-35, CAL acceptance 16: reads with and without trust, a score and its parts, and its share of memory's time."""
    size = [] if SOAK else ["--items", 300, "--nodes", 200, "--queries", 40, "--rounds", 12]
    _, report = run("bench", "calibrate", *size)
    graph = report["graph"]
    assert (graph["nodes"], graph["relations"]) == ((100_000, 500_000) if SOAK else (200, 1_000))
    for place in report["baseline"], report["weighed"], report["delta"]["vector"], *report["stages"].values(), graph["walk"], graph["delta"]:
        assert 0 < place["p50_ms"] <= place["p95_ms"] <= place["p99_ms"], report
    assert set(report["stages"]) == {"density", "alignment", "gate"} and report["auditors"] == 5
    assert report["delta"]["scored"] == (300 if SOAK else 12), "every write of the team that calibrates is scored once"
    assert 0 < report["memory"]["calibration_share"] < 1
    assert len(report["bars"]) == 4 and all({"what", "found", "at_most", "met"} <= set(bar) for bar in report["bars"])
    if SOAK:
        assert all(bar["met"] for bar in report["bars"]), report["bars"]
