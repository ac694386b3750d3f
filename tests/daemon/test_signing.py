"""Signing in and out on the command line, with a real daemon and a real guarded server."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.daemon.home import Home
from tests.upstream.oauth.guarded import Guarded, browse, redirected


@pytest.fixture
def guarded() -> Iterator[Guarded]:
    """A guarded server of a test's own."""
    server = Guarded.start()
    yield server
    server.stop()


def invited(login: subprocess.Popen[bytes]) -> str:
    """The address that a person is asked to open."""
    assert login.stderr is not None
    for line in login.stderr:
        if line.strip().startswith(b"http"):
            return line.strip().decode()
    raise AssertionError("no address was shown")


def state_of(home: Home) -> tuple[str, str]:
    """How the server is listed."""
    (server,) = home.json("servers", "list")
    return server["state"], server["sign_in"]


async def test_a_person_signs_in_and_out_on_the_command_line(light: Home, guarded: Guarded) -> None:
    """Added, refused, signed in, listed, called, signed out."""
    added = light.run("servers", "add", "guarded", "--url", guarded.url)
    before = state_of(light)
    login = light.start("servers", "login", "guarded", "--no-browser", "--json")
    await browse(invited(login))
    out, _ = login.communicate(timeout=60)
    signed_in = state_of(light)
    tools = [tool["name"] for tool in light.json("tools", "list")]
    client = light.client()
    client.greet()
    answer = client.call("call_tool_write", name="guarded_whoami", arguments={})
    left = light.json("servers", "logout", "guarded")

    assert added.returncode == 8
    assert "thresher servers login guarded" in added.stdout
    assert before == ("failed", "needed")
    assert json.loads(out)["scope"] == "read"
    assert signed_in == ("ready", "done")
    assert tools == ["guarded_whoami"]
    assert "ada" in json.dumps(answer)
    assert left == {"name": "guarded", "revoked": True}
    assert "thresher servers login guarded" in json.dumps(
        client.call("call_tool_write", name="guarded_whoami", arguments={})
    )
    issued = (await guarded.story())["issued"]
    assert [secret for secret in issued if secret in light.log_tail()] == []


async def test_the_address_at_which_a_browser_elsewhere_ends_can_be_pasted(light: Home, guarded: Guarded) -> None:
    """A wrong one is refused and asked for again."""
    light.run("servers", "add", "guarded", "--url", guarded.url)
    login = light.start("servers", "login", "guarded", "--no-browser", "--json")
    back = await redirected(invited(login))
    assert login.stdin is not None
    login.stdin.write(f"http://127.0.0.1/callback?code=x&state=y\n{back}\n".encode())
    login.stdin.flush()

    out, error = login.communicate(timeout=60)

    assert login.returncode == 0, error
    assert json.loads(out)["renewable"]
    assert b"belongs to no sign-in" in error


async def test_ctrl_c_leaves_nothing_behind(light: Home, guarded: Guarded) -> None:
    """The port is free again and nobody is signed in."""
    light.run("servers", "add", "guarded", "--url", guarded.url)
    login = light.start("servers", "login", "guarded", "--no-browser")
    back = await redirected(invited(login))
    login.send_signal(signal.SIGINT)
    login.communicate(timeout=60)

    assert login.returncode == 130
    assert state_of(light)[1] == "needed"
    with pytest.raises(ConnectionRefusedError):
        await browse(back)


def test_signing_in_at_what_takes_no_sign_in_says_so(light: Home) -> None:
    """An unknown server, and one that is a program."""
    unknown = light.run("servers", "login", "nobody")

    assert unknown.returncode == 3
    assert "nobody" in unknown.stderr
