"""The admin key of the environment: it opens a first start, and lets an admin in again who lost every key, but it brings no
key back to life."""

import pytest

from callers import Caller, admin
from server import ADMIN_KEY, Server

NEW_KEY = "tab_" + "zy2xw3vu4ts5rq6po7nm" * 2 + "lkjihgfedcba"


def key_of(chief):
    """The id of the key that a caller acts with, as an admin sees it."""
    rows = chief.ask("GET", "/v1/keys")["keys"]
    return [row["id"] for row in rows if row.get("revoked_at") is None]


@pytest.fixture
def revoked(bin, tmp_path):
    """A data directory whose admin key was revoked, with nobody else who could make a new one."""
    with Server(bin, tmp_path / "data") as server:
        [id] = key_of(admin(server))
        admin(server).ask("DELETE", f"/v1/keys/{id}")
        assert server.call("GET", "/v1/whoami")[0] == 401
        assert server.stop() == 0
    return tmp_path / "data"


def test_revoked_admin_key_stays_revoked_though_the_environment_names_it(bin, revoked):
    """AM-14: not after one restart, and not after two."""
    with Server(bin, revoked) as server:
        for _ in range(2):
            assert server.call("GET", "/v1/whoami", key=ADMIN_KEY)[0] == 401
            assert server.stop() == 0
            server.start()
        assert "revoked" in server.log and ADMIN_KEY not in server.log


def test_new_value_lets_a_locked_out_admin_in_and_is_audited(bin, revoked):
    """AM-14: a value that was never a key becomes one of the first admin, once; the trail says that the environment made it."""
    with Server(bin, revoked, env={"TABELLION_ADMIN_KEY": NEW_KEY}) as server:
        chief = Caller(server, NEW_KEY)
        assert chief.ask("GET", "/v1/whoami")["user"]["name"] == "admin"
        assert server.call("GET", "/v1/whoami", key=ADMIN_KEY)[0] == 401
        assert server.stop() == 0
        server.start()
        rows = chief.ask("GET", "/v1/audit?limit=100")["rows"]
        [made] = [row for row in rows if row["action"] == "create_key_of_environment"]
        [id] = key_of(chief)
        assert id in made["ids"] and made["user"] is None, made
        assert NEW_KEY not in server.log


def test_revoked_new_value_stays_revoked_as_well(bin, revoked):
    """AM-14: the way in is for values that were never used."""
    with Server(bin, revoked, env={"TABELLION_ADMIN_KEY": NEW_KEY}) as server:
        chief = Caller(server, NEW_KEY)
        [id] = key_of(chief)
        chief.ask("DELETE", f"/v1/keys/{id}")
        assert server.stop() == 0
        server.start()
        assert server.call("GET", "/v1/whoami", key=NEW_KEY)[0] == 401
