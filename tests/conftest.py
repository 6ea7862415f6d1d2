"""Fixtures of the black-box tests: the binary under test and a server on a fresh data directory."""

import pytest

from server import BIN, Server


@pytest.fixture(scope="session")
def bin():
    if not BIN.exists():
        pytest.skip(f"no binary at {BIN}; set TABELLION_BIN")
    return BIN


@pytest.fixture
def server(bin, tmp_path):
    """A running server on a fresh data directory; `server.key` is the admin's."""
    with Server(bin, tmp_path / "data") as running:
        yield running
