"""Calibration on agents that are played: lies stay out, and what is honest comes in.

TABELLION_SOAK=1 plays every case at full size, with every bar.
"""

import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree

from server import BIN

SOAK = os.environ.get("TABELLION_SOAK") == "1"
SECONDS_MAX = 3_600 if SOAK else 300


def played(*words):
    done = subprocess.run(
        [BIN, "eval", "calibration", *words, "--json"], capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_lies_stay_out_and_honest_writes_come_in(tmp_path):
    """CAL-5, CAL-8, CAL-46: the engine keeps magnets out whoever lies, lets honest writes in, and admits what looks honest."""
    picture = tmp_path / "rounds.svg"
    size = [] if SOAK else ["--seeds", "1", "--rounds", "72", "--only", "ship k=0,A1 local k=3,A2 persistent k=3,A3 targeted k=1"]
    code, report = played("--world", "v", *size, "--svg", picture)
    cases = {case["name"]: case for case in report["cases"]}
    mean = lambda name, figure: cases[name][figure]["mean"]  # noqa: E731
    # One seed and a third of the rounds: the bars themselves are for the full size.
    assert mean("ship k=0", "honest_staged") <= 0.2 and mean("ship k=0", "hit") >= 0.9
    for attack in "A1 local", "A2 persistent":
        assert mean(f"ship {attack} k=3", "poison_in") <= 0.25
    # A few of those kept apart, in which of the cases is chance at this size.
    promoted = sum(mean(name, "honest_promoted") for name in cases)
    assert promoted > 0, "what takes nobody's place comes in when it reaches the bar"
    assert mean("vanilla A1 local k=3", "poison_in") == 1
    assert mean("ship without detect A1 local k=3", "poison_in") >= 0.5, "a part that is left out is missed"
    assert mean("ship A3 targeted k=1", "poison_in") > 0.5, "what looks like one honest item is let in, and that is said"
    liars = [cases["ship A2 persistent k=3"]["credibility"][-1][agent] for agent in "135"]
    assert max(liars) < 0.1, "who looks away is believed no more"
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    if SOAK:
        assert code == 0 and report["passed"], [bar for bar in report["bars"] if not bar["met"]]


def test_lies_stay_out_of_the_graph():
    """CAL-6, CAL-8 (acceptance): ties of hubs to what is far away are kept apart; honest relations come in."""
    size = [] if SOAK else ["--seeds", "1", "--rounds", "36", "--only", "ship k=0,ship A1 k=3,A2 persistent k=3,vanilla A1 k=3,s_path"]
    code, report = played("--world", "g", *size)
    cases = {case["name"]: case for case in report["cases"]}
    mean = lambda name, figure: cases[name][figure]["mean"]  # noqa: E731
    assert mean("G ship k=0", "honest_staged") <= 0.25 and mean("G ship k=0", "hit") >= 0.85
    assert mean("G ship A1 k=3", "honest_staged") <= 0.25
    assert mean("G ship A1 k=3", "poison_in") <= 0.06
    assert mean("G vanilla A1 k=3", "poison_in") == 1
    assert mean("G ship without s_path A1 k=3", "poison_in") > mean("G ship A1 k=3", "poison_in")
    liars = [cases["G ship A2 persistent k=3"]["credibility"][-1][agent] for agent in "135"]
    assert max(liars) < 0.1, "who looks away is believed no more"
    if SOAK:
        assert code == 0 and report["passed"], [bar for bar in report["bars"] if not bar["met"]]
