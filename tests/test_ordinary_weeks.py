"""Ordinary life under the default policy: four teams live with one server for weeks, and every promise is kept.

The simulation is `ordinary_weeks.py`, which can also be run by itself. TABELLION_SOAK=1 lives through all twelve weeks, on
three seeds; without it there are two weeks with fewer people.
"""

import os

import pytest

from ordinary_weeks import Weeks
from weeks.figures import PROMISES

SOAK = os.environ.get("TABELLION_SOAK") == "1"
WEEKS, SEEDS = (12, (1, 2, 3)) if SOAK else (2, (1,))
# Promises that this build does not keep yet, with what is missing.
NOT_YET: dict[str, str] = {
    "nobody is held without cause": "in two weeks the lies of the hacked agent are refused one by one, and it may not be held at all",
    "a changed fact is answered with its newest value": "a weekly lesson that moves to another day and hour counts as a second one",
    "a changed fact keeps its history": "the same lesson: what was taken for a second one supersedes nothing",
}
MODEL = os.environ.get("TABELLION_MODEL_DIR")


@pytest.fixture(scope="module", params=SEEDS)
def life(request, bin, tmp_path_factory):
    """The figures of one life, lived once for all promises."""
    weeks = Weeks(bin, tmp_path_factory.mktemp("weeks"), seed=request.param, weeks=WEEKS, model=MODEL if SOAK else None)
    figures = weeks.run()
    figures.close()
    print(figures.table())
    return figures


def marked(promise):
    """The promise, marked if it is known that it is not kept."""
    marks = pytest.mark.xfail(reason=NOT_YET[promise], strict=False) if promise in NOT_YET else ()
    return pytest.param(promise, marks=marks)


@pytest.mark.parametrize("promise", [marked(promise) for promise in PROMISES])
def test_a_promise_of_ordinary_life_is_kept(life, promise, say):
    """AM-1 to AM-8, AM-13, AM-14: honest writes become memory, nobody is held without cause, changed facts have their newest
    value and their history, pins hold, lies are out within a day, nothing leaks, and the logs verify every week."""
    if promise == PROMISES[0]:
        took = life.counts["seconds that it took"]
        say(f"{life.honest_share:.2%} of {life.honest_total} honest writes became memory without a person; {took} s")
    assert promise not in life.broken, "\n".join(map(str, life.broken[promise][:20])) + "\n" + life.table()
