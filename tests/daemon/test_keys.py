"""Keys on the faces without HTTP: the stdio bridge and the commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.daemon.home import HELLO, Client, Home, fake_server

pytestmark = pytest.mark.timeout(300)  # several processes import everything, beside other tests

UNKNOWN = "thr_" + "a" * 43
DENIED = 10


def _bridge(home: Home, key: str) -> Client:
    home.environment["THRESHER_KEY"] = key
    try:
        return home.client()
    finally:
        del home.environment["THRESHER_KEY"]


async def test_two_tenants_share_a_daemon_and_see_nothing_of_each_other(light: Home, tmp_path: Path) -> None:
    """Commands and stdio clients act as the holder of their key; without one as the owner."""
    ann = light.json("keys", "add", "ann", "--tenant", "acme")["key"]
    bob = light.json("keys", "add", "bob", "--tenant", "bolt")["key"]
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": fake_server(tmp_path)}))
    added = light.run("servers", "add", "--config", str(config), settings={"THRESHER_KEY": ann})
    tools = {
        who: light.run("tools", "list", "--json", settings={"THRESHER_KEY": key})
        for who, key in {"ann": ann, "bob": bob, "owner": ""}.items()
    }
    status = json.loads(light.run("status", "--json", settings={"THRESHER_KEY": ann}).stdout)
    calls = {}
    for who, key in {"ann": ann, "bob": bob}.items():
        client = _bridge(light, key)
        client.ask(**HELLO)
        answer = client.ask("tools/call", {"name": "call_tool", "arguments": {"name": "fake_echo", "arguments": {}}})
        calls[who] = json.dumps(answer)
        client.leave()

    assert added.returncode == 0, added.stderr
    assert {who: bool(json.loads(done.stdout)) for who, done in tools.items()} == {
        "ann": True,
        "bob": False,
        "owner": False,
    }
    assert (status["tenant"], status["user"]) == ("acme", None)
    assert "There is no tool" not in calls["ann"]
    assert "There is no tool" in calls["bob"]


@pytest.mark.parametrize("key", [UNKNOWN, "nonsense"])
async def test_an_unknown_key_is_refused_everywhere(light: Home, key: str) -> None:
    """It is never taken for the owner's."""
    wrong = {"THRESHER_KEY": key}
    listed = light.run("tools", "list", settings=wrong)
    bridge = _bridge(light, key)
    _, errors = bridge.process.communicate(timeout=60)

    for code, text in ((listed.returncode, listed.stderr), (bridge.process.returncode, errors.decode())):
        assert code == DENIED
        assert "THRESHER_KEY" in text
        assert key not in text
        assert "Traceback" not in text


async def test_the_owner_stays_the_owner_beside_keys(light: Home) -> None:
    """On the local socket, too, with no key and with what stands for none."""
    light.json("keys", "add", "ann", "--tenant", "acme")
    commands = [light.run("status", "--json", settings={"THRESHER_KEY": word}) for word in ("", "none", "EMPTY")]
    bridge = _bridge(light, "sk-no-key-required")
    answer = bridge.ask(**HELLO)

    assert {json.loads(done.stdout)["tenant"] for done in commands} == {"local"}
    assert "result" in answer
    bridge.leave()


async def test_a_holder_of_a_key_manages_no_keys(light: Home) -> None:
    """Nor does he reach another tenant by its name."""
    ann = light.json("keys", "add", "ann", "--tenant", "acme")["key"]
    tries = [("keys", "list"), ("keys", "add", "eve"), ("keys", "revoke", "ann"), ("purge", "--tenant", "local")]

    for arguments in tries:
        done = light.run(*arguments, settings={"THRESHER_KEY": ann})
        assert done.returncode == DENIED, arguments
        assert "THRESHER_KEY" in done.stderr


async def test_a_revoked_key_ends_a_session_over_stdio(light: Home) -> None:
    """The client's process ends and says why; the daemon and others go on."""
    light.json("keys", "add", "ann", "--tenant", "acme")
    other = light.client()
    other.ask(**HELLO)
    key = light.json("keys", "add", "bob", "--tenant", "acme")["key"]
    client = _bridge(light, key)
    client.ask(**HELLO)
    light.json("keys", "revoke", "bob", "--tenant", "acme")
    code = client.process.wait(60)
    assert client.process.stderr is not None
    said = client.process.stderr.read().decode()
    listed = light.json("keys", "list", "--tenant", "acme")
    answered = other.ask("tools/list")

    assert code == DENIED
    assert "revoked" in said
    assert "result" in answered
    assert [(row["name"], row["revoked_at"] is None) for row in listed] == [("ann", True), ("bob", False)]
    assert all(key[8:] not in json.dumps(row) for row in listed)
    other.leave()


async def test_a_daemon_and_its_servers_do_not_inherit_the_key_of_who_started_it(light: Home, tmp_path: Path) -> None:
    """It is one client's alone."""
    light.json("keys", "add", "ann")
    light.json("stop")
    light.run("tools", "list", settings={"THRESHER_KEY": UNKNOWN})

    environment = Path(f"/proc/{light.pid}/environ").read_bytes()

    assert light.pid
    assert UNKNOWN.encode() not in environment
    assert sys.platform == "linux"


async def test_an_empty_name_is_no_tenant(light: Home) -> None:
    """It is what a script gives whose variable is not set; it must not stand for the owner's own tenant."""
    tries = [
        ("keys", "add", "ann"),
        ("keys", "list"),
        ("purge",),
        ("audit", "prune", "--older-than", "1", "--dry-run"),
        ("settings", "floor", "all"),
    ]

    for arguments in tries:
        done = light.run(*arguments, "--tenant", "")
        assert done.returncode == 2, (arguments, done.stdout)
        assert "empty" in done.stderr
    assert light.json("keys", "list") == []
