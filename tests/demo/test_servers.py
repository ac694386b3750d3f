"""Which real servers the demo takes, and what they work on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from fastmcp import Client

from thresher.core import Settings, ThresherError
from thresher.demo.catalogue import read_catalogue
from thresher.demo.messages import MESSAGES, local_calls
from thresher.demo.servers import choose_servers, prepare_folder
from thresher.demo.stand_ins import git_server, time_server
from thresher.gateway import clients, own_command
from thresher.upstream import Upstreams, parse_servers

ROOT = Path(__file__).parents[2]


def test_with_everything_present_all_servers_take_part(tmp_path: Path) -> None:
    """Three servers from PyPI and two from npm, each name once."""
    cast = choose_servers(tmp_path, has_module=lambda _: True, which=lambda name: f"/bin/{name}")

    assert [server.name for server in cast.servers] == ["time", "git", "fetch", "filesystem", "memory"]
    assert cast.left_out == ()


def test_without_node_the_npm_servers_are_left_out_by_name(tmp_path: Path) -> None:
    """The reason names the missing program, the hint how to get it."""
    cast = choose_servers(
        tmp_path, has_module=lambda _: True, which=lambda name: None if name == "npx" else f"/bin/{name}"
    )

    assert [server.name for server in cast.servers] == ["time", "git", "fetch"]
    assert [(absent.name, absent.reason, absent.hint) for absent in cast.left_out] == [
        ("filesystem", "npx is not on the PATH", "install Node.js"),
        ("memory", "npx is not on the PATH", "install Node.js"),
    ]


def test_without_git_the_git_server_is_left_out(tmp_path: Path) -> None:
    """The package is not enough."""
    cast = choose_servers(tmp_path, has_module=lambda _: True, which=lambda _: None)

    assert [server.name for server in cast.servers] == ["time", "fetch"]
    assert cast.left_out[0].reason == "git is not on the PATH"


def test_without_the_reference_servers_their_stand_ins_take_part(tmp_path: Path) -> None:
    """Time and git are always there; for what has no stand-in the hint installs the package."""
    cast = choose_servers(tmp_path, has_module=lambda _: False, which=lambda name: name)

    assert [server.name for server in cast.servers] == ["time", "git", "filesystem", "memory"]
    assert [absent.hint for absent in cast.left_out] == ["pip install mcp-server-fetch"]


async def test_a_stand_in_offers_what_the_reference_server_offers(tmp_path: Path) -> None:
    """Each of its tools is there under the same name, and takes no other parameters."""
    prepare_folder(tmp_path / "demo")
    upstreams = Upstreams(Settings())
    listed: list[dict[str, set[str]]] = []
    for installed in (True, False):
        cast = choose_servers(tmp_path / "demo", has_module=lambda _, there=installed: there, which=lambda name: name)
        tools = [tool for config in cast.servers[:2] for tool in (await upstreams.list_tools(config)).tools]
        listed.append({tool.name: set(tool.input_schema["properties"]) for tool in tools})
        for config in cast.servers[:2]:
            await upstreams.disconnect(config.tenant, config.name)
    reference, own = listed

    assert own
    assert own.keys() <= reference.keys()
    assert all(parameters <= reference[name] for name, parameters in own.items())


async def test_the_calls_of_the_demo_succeed_with_the_stand_ins(tmp_path: Path) -> None:
    """A conversion, and the history of the demo's repository; no other folder is read."""
    prepare_folder(tmp_path / "demo")
    repository = tmp_path / "demo" / "repository"
    servers = {"time": time_server(), "git": git_server(repository)}
    said: list[str] = []
    for one in local_calls(repository):
        async with Client(servers[one.server]) as client:
            said.append(str((await client.call_tool(one.tool, dict(one.arguments))).data))
    async with Client(servers["git"]) as client:
        other = await client.call_tool("git_log", {"repo_path": str(tmp_path)}, raise_on_error=False)

    assert "Asia/Tokyo" in said[0]
    assert "Bring in the harvest (3 of 3)" in said[1]
    assert other.is_error


def test_the_folder_holds_a_repository_with_three_commits(tmp_path: Path) -> None:
    """Git's history does not depend on the user's own configuration."""
    prepare_folder(tmp_path / "demo")

    log = subprocess.run(
        ["git", "-C", str(tmp_path / "demo" / "repository"), "log", "--format=%an %s"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert log.stdout.splitlines()[0] == "Thresher demo Bring in the harvest (3 of 3)"
    assert len(log.stdout.splitlines()) == 3


def test_without_git_the_folder_is_prepared_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The repository stays an empty folder."""
    monkeypatch.setenv("PATH", str(tmp_path))

    prepare_folder(tmp_path / "demo")

    assert list((tmp_path / "demo" / "repository").iterdir()) == []


def test_a_failing_git_is_told_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error quotes git's output."""
    (tmp_path / "git").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    with pytest.raises(ThresherError, match="broken"):
        prepare_folder(tmp_path / "demo")


def test_calls_stay_on_this_machine(tmp_path: Path) -> None:
    """Only the clock and the local repository are called."""
    assert {call.server for call in local_calls(tmp_path)} == {"time", "git"}


def test_messages_are_a_handful_and_differ() -> None:
    """Six to eight."""
    assert 6 <= len(MESSAGES) <= 8
    assert len({message.text for message in MESSAGES}) == len(MESSAGES)


def test_wanted_tools_exist() -> None:
    """Each name belongs to the catalogue, or to a tool of a real server."""
    known = {f"{tool.server}_{tool.name}" for tool in read_catalogue().tools}
    live = {"time_convert_time", "git_git_log", "fetch_fetch"}

    assert {name for message in MESSAGES for name in message.wants} <= known | live


def test_printed_configurations_are_ones_that_thresher_itself_can_read() -> None:
    """Cursor's text is an `mcpServers` file; VS Code's command carries one entry."""
    told = {client.name: client.text for client in clients("/opt/my tools/thresher")}

    (server,) = parse_servers(told["Cursor"], {})

    assert (server.command, server.args) == ("/opt/my tools/thresher", ("stdio",))
    assert told["Claude Code"].endswith("-- '/opt/my tools/thresher' stdio")
    assert told["VS Code"].startswith("code --add-mcp '{")


def test_the_command_is_the_one_beside_the_interpreter(tmp_path: Path) -> None:
    """Clients need the full path of a virtual environment's program."""
    assert own_command(str(tmp_path / "python")) == "thresher"
    (tmp_path / "thresher").touch()

    assert own_command(str(tmp_path / "python")) == str(tmp_path / "thresher")


def test_the_howto_shows_configurations_that_can_be_read() -> None:
    """Each JSON block of the page is a file that Thresher reads without a problem."""
    page = (ROOT / "docs" / "howto" / "connect-clients.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in page.split("```json\n")[1:]]

    read = [parse_servers(block, {}) for block in blocks]

    assert len(blocks) >= 6
    assert all(len(servers) == 1 and not servers.problems for servers in read)
    assert {json.loads(block).popitem()[0] for block in blocks} == {"mcpServers", "servers"}
