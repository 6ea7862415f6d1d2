"""Fixtures of the black-box tests: the binary under test and a server on a fresh data directory."""

import os
import random
import sys

import pytest

from callers import Clock, admin, new_caller
from governed import alone, open_world, standard_world, strict_world  # noqa: F401, they are fixtures
from server import BIN, ROOT, Server

sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture(scope="session")
def bin():
    if not BIN.exists():
        missing = pytest.fail if "TABELLION_BIN" in os.environ else pytest.skip
        missing(f"no binary at {BIN}; set TABELLION_BIN")
    return BIN


@pytest.fixture
def server(bin, tmp_path):
    """A running server on a fresh data directory; `server.key` is the admin's."""
    with Server(bin, tmp_path / "data") as running:
        yield running


@pytest.fixture(scope="module")
def shared_server(bin, tmp_path_factory):
    """One running server for all tests of a file that keep out of each other's way: each uses its own users."""
    with Server(bin, tmp_path_factory.mktemp("shared") / "data") as running:
        yield running


@pytest.fixture
def ana(shared_server):
    """A new member of the shared server."""
    return new_caller(shared_server)


@pytest.fixture
def ben(shared_server):
    """Another new member of the shared server."""
    return new_caller(shared_server)


@pytest.fixture
def chief(shared_server):
    """The admin of the shared server."""
    return admin(shared_server)


@pytest.fixture
def clock(bin, tmp_path):
    """The clock of a fresh server whose time only moves when it is told to; `clock.server` is that server."""
    with Server(bin, tmp_path / "clocked", args=["--test-clock"]) as running:
        yield Clock(running)


@pytest.fixture
def rng():
    """Chance that differs from run to run; a failed test shows the seed that repeats it."""
    seed = int(os.environ.get("TABELLION_SEED", random.SystemRandom().randrange(2**32)))
    print(f"TABELLION_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def say(capsys):
    """Prints a closing line that shows even when the test passes."""

    def show(line):
        with capsys.disabled():
            print(f"\n{line}")

    return show
