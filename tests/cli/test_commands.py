"""Each command: what it prints for people and for programs, and its exit code."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.daemon.home import FAKE, Home, fake_server

WITHOUT_DAEMON = {"tools": ["find"], "servers": ["add"], "eval": ["tools"]}


def added(command: Command, tmp_path: Path) -> None:
    """The fake server is in the catalogue."""
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": fake_server(tmp_path)}))
    assert command("servers", "add", "--config", str(config)).code == 0


def test_tools_are_found_with_reasons(command: Command, tmp_path: Path) -> None:
    """For people a table, for programs every field; filters, bounds and a message beside phrases reach the service."""
    added(command, tmp_path)
    people = command("tools", "find", "echo this text back to me", "--threshold", "0")
    programs = command("tools", "find", "-q", "echo", "-q", "sleep a while", "-s", "fake", "--limit", "3", "--json")
    both = command("tools", "find", "My canyon is quiet.", "-q", "echo this text back to me", "--threshold", "0")

    assert people.code == programs.code == both.code == 0
    assert "fake_echo" in both.out
    assert "fake_echo" in people.out
    assert "tokens" in people.out
    assert programs.json["total_searched"] > 0
    assert len(programs.json["tools"]) <= 3
    assert {"tools", "abstained", "probability", "degraded", "clauses", "tokens_sent", "tokens_all", "trace_id"} <= set(
        programs.json
    )


def test_wrong_questions_are_told_in_one_line(command: Command) -> None:
    """A limit of 0, an unknown server, nothing at all."""
    for arguments, code in [
        (("a", "--limit", "0"), 2),
        (("a", "-s", "nowhere"), 3),
        ((), 2),
    ]:
        ended = command("tools", "find", *arguments)

        assert ended.code == code
        assert ended.err.startswith("thresher: ")
        assert ended.out == ""
        assert command("tools", "find", *arguments, "--json").json["error"]["message"]


def test_tools_are_listed_shown_and_switched(command: Command, tmp_path: Path) -> None:
    """Disabled and core tools are marked; a near name is offered for an unknown one."""
    added(command, tmp_path)
    assert command("tools", "disable", "fake_echo").code == 0
    assert command("tools", "core", "fake_sleep").code == 0
    listed = {tool["name"]: tool for tool in command("tools", "list", "-s", "fake", "--json").json}
    table = command("tools", "list").out
    shown = command("tools", "show", "fake_rich", "fake_nothing")
    unknown = command("tools", "show", "fake_nothing")

    assert (listed["fake_echo"]["enabled"], listed["fake_sleep"]["core"]) == (False, True)
    assert "disabled" in table
    assert "core" in table
    assert "Does rich." in shown.out
    assert "There is no tool 'fake_nothing'" in shown.out
    assert unknown.code == 3
    assert command("tools", "enable", "fake_echo", "--json").json == {"changed": ["fake_echo"], "enabled": True}
    assert command("tools", "core", "--off", "fake_sleep").code == 0
    assert command("tools", "enable", "nothing").code == 3


def test_servers_are_added_listed_switched_refreshed_and_removed(command: Command, tmp_path: Path) -> None:
    """A stdio server by hand; its secret is never printed."""
    secret = "sk-verysecret"
    arguments = ("--env", f"API_TOKEN={secret}", "--env", "PATH", "--description", "for tests")
    first = command("servers", "add", "own", "--command", sys.executable, *arguments, "--", str(FAKE), "good")
    listed = command("servers", "list", "--json")
    own = next(server for server in listed.json if server["name"] == "own")

    assert (first.code, own["state"], own["transport"]) == (0, "ready", "stdio")
    assert own["tools"] > 0
    assert command("servers", "disable", "own").code == 0
    assert "disabled" in command("servers", "list").out
    assert command("servers", "enable", "own").code == 0
    assert command("servers", "refresh", "own", "--json").json["failures"] == {}
    assert command("tools", "refresh", command("tools", "list", "-s", "own", "--json").json[0]["name"]).code == 0
    assert command("tools", "refresh", "own_nothing").code == 3
    assert command("index", "tools", "-s", "own").code == 0
    assert command("index", "tools", "--json").code == 0
    assert command("servers", "remove", "own", "--json").json == {"changed": ["own"], "removed": True}
    assert command("servers", "remove", "own").code == 3
    everything = "".join(
        ended.out + ended.err for ended in (first, listed, command("status"), command("servers", "list"))
    )
    assert secret not in everything


def test_a_server_that_cannot_be_used_is_not_added(command: Command, tmp_path: Path) -> None:
    """A missing program, one that dies at once, an address where nothing listens: exit code 8, and nothing is kept."""
    missing = command("servers", "add", "ghost", "--command", "/nowhere/ghost")
    dying = command("servers", "add", "dying", "--command", sys.executable, "--", "-c", "raise SystemExit(3)")
    remote = command("servers", "add", "far", "--url", "http://127.0.0.1:1/mcp", "--header", "X-Key: k-secret")
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"five": {"command": 5}, "unset": {"command": "${NOT_SET_HERE}"}}}))
    file = command("servers", "add", "--config", str(config))

    assert missing.code == dying.code == remote.code == 8
    assert "Server 'ghost' was not added." in missing.err
    assert "k-secret" not in remote.out + remote.err
    assert (file.code, "'five'" in file.out, "NOT_SET_HERE" in file.out) == (2, True, True)
    assert command("servers", "add", "odd", "--url", "notaurl").code == 2
    names = {server["name"] for server in command("servers", "list", "--json").json}
    assert names.isdisjoint({"ghost", "dying", "far", "five", "unset", "odd"})


def test_a_server_is_kept_untried_where_that_is_wanted(command: Command) -> None:
    """Its failure is said, it offers nothing, and a search that could use nothing else names it."""
    ended = command("servers", "add", "ghost", "--command", "/nowhere/ghost", "--no-test")
    remote = command("servers", "add", "far", "--url", "http://127.0.0.1:1/mcp", "--no-test")
    found = command("tools", "find", "list the ghosts", "-s", "ghost")

    assert ended.code == remote.code == 8
    assert "ghost" in ended.out
    assert "failed: ghost" in found.out
    assert "thresher servers refresh" in found.out
    assert command("servers", "refresh", "ghost").code == 8
    assert "ghost" in command("doctor").out
    assert command("servers", "remove", "ghost", "far").code == 0


def test_a_change_of_several_that_fails_midway_says_what_is_done(command: Command) -> None:
    """The first are removed; a dry run, which removes none, does not say so."""
    for name in ("one", "two"):
        command("servers", "add", name, "--command", "/nowhere/ghost", "--no-test")
    trial = command("servers", "remove", "one", "nosuch", "--dry-run")
    ended = command("servers", "remove", "one", "one", "two", "nosuch", "--json")
    left = {server["name"] for server in command("servers", "list", "--json").json}

    assert (trial.code, ended.code) == (3, 3)
    assert "Done before it" not in trial.err
    assert ended.json["error"]["message"] == "There is no server 'nosuch'. Done before it: one, two."
    assert left.isdisjoint({"one", "two"})


@pytest.mark.parametrize(
    "arguments",
    [
        ("servers", "add"),
        ("servers", "add", "x"),
        ("servers", "add", "x", "--command", "a", "--url", "http://b"),
        ("servers", "add", "x", "--url", "http://b", "--header", "nothing"),
        ("servers", "add", "x", "--command", "a", "--env", "NOT_SET_ANYWHERE"),
        ("servers", "add", "x", "--command", "a", "--header", "A: b"),
        ("servers", "add", "x", "--url", "http://b", "--env", "A=b"),
        ("servers", "add", "x", "--url", "http://b", "--cwd", "."),
        ("servers", "add", "x", "--url", "http://b", "--", "word"),
        ("servers", "add", "x", "--config", "mcp.json"),
        ("servers", "add", "--config", "mcp.json", "--trusted"),
        ("servers", "set", "x", "--trusted", "--sql-tool", "query"),
        ("keys", "add", "z", "--tenant", ""),
        ("keys", "revoke", "z", "--tenant", " "),
        ("purge", "--older-than", "0", "--tenant", "", "--dry-run"),
        ("audit", "prune", "--older-than", "0", "--tenant", "", "--dry-run"),
        ("settings", "floor", "writes", "--tenant", ""),
        ("servers", "login", "x", "--tenant", ""),
        ("apis", "remove", "x", "--version", ""),
        ("servers", "add", "bad name!", "--command", "a"),
        ("servers", "add", "--config", "/nowhere/mcp.json"),
        ("serve", "--config", "/nowhere/mcp.json"),
        ("tools", "frobnicate"),
        ("eval", "tools"),
        ("eval", "tools", "--pool", "/nowhere/pool", "--queries", "/nowhere/queries"),
        ("serve", "--port", "70000"),
    ],
)
def test_a_wrong_command_line_is_exit_code_2(command: Command, arguments: tuple[str, ...]) -> None:
    """With JSON for programs too, and never a traceback."""
    ended, programs = command(*arguments), command(*arguments, "--json")

    assert (ended.code, programs.code) == (2, 2)
    assert "Traceback" not in ended.err
    assert programs.json["error"]["code"] == "invalid_input"


def test_a_config_file_is_imported_with_the_variables_it_names(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come from the user's shell; what is broken is reported and the rest used."""
    monkeypatch.setenv("FAKE_MODE", "good")
    good = {"command": sys.executable, "args": [str(FAKE), "${FAKE_MODE}"]}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"named": good, "unset": {"command": "${NOT_SET_ANYWHERE}"}}}))
    ended = command("servers", "add", "--config", str(config), "--json")

    assert ended.json["added"] == ["named"]
    assert "NOT_SET_ANYWHERE" in ended.json["problems"][0]
    assert command("servers", "add", "--config", str(config)).code == 2
    assert command("servers", "remove", "named").code == 0


def test_relative_paths_mean_the_users_folder(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon runs elsewhere; what exists here is found from there."""
    (tmp_path / "server.py").write_text(FAKE.read_text())
    monkeypatch.chdir(tmp_path)

    assert command("servers", "add", "near", "--command", sys.executable, "--", "server.py", "good").code == 0
    assert command("servers", "add", "near", "--command", sys.executable, "--cwd", ".", "--", "server.py").code == 0
    assert command("servers", "remove", "near").code == 0


def test_status_and_doctor_describe_the_daemon(command: Command, home: Home) -> None:
    """Every check has a name, a state and, where it failed, a fix."""
    checks = command("doctor", "--json")
    status = command("status", "--json").json
    names = {check["name"] for check in checks.json}

    assert checks.code == 0, checks.out
    assert names >= {"data folder", "database programs", "encoder files", "languages", "daemon", "database", "encoder"}
    assert names >= {"port", "git", "node", "servers", "packs", "documents"}
    assert all(check["fix"] for check in checks.json if check["state"] != "ok")
    assert (status["running"], status["pid"], status["data_dir"]) == (True, home.pid, str(home.folder))
    assert str(home.pid) in command("status").out


def test_doctor_says_what_is_wrong(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fault gets its own line with a fix, and exit code 1."""
    (tmp_path / "file").write_text("")
    faults = [
        ("THRESHER_LOG_LEVEL", "LOUD", "settings"),
        ("THRESHER_DATA_DIR", str(tmp_path / "file" / "data"), "data folder"),
        ("THRESHER_MODEL", "no-such-model", "encoder files"),
        ("THRESHER_ENCODER_URL", "http://127.0.0.1:1", ""),
    ]
    for name, value, failing in faults:
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            ended = command("doctor", "--json")

        failed = {check["name"]: check["fix"] for check in ended.json if check["state"] == "failed"}
        assert (failing in failed, ended.code) == ((True, 1) if failing else (False, 0)), ended.out
        assert all(failed.values())


def test_doctor_needs_no_embedded_database_to_say_what_it_lacks(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root without permission: the database programs and the daemon fail, with the same way out."""
    monkeypatch.delenv("THRESHER_DATABASE_URL")
    monkeypatch.delenv("THRESHER_ALLOW_ROOT")
    monkeypatch.setenv("THRESHER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    checks = {check["name"]: check for check in command("doctor", "--json").json}

    assert checks["database programs"]["state"] == "failed"
    assert "THRESHER_ALLOW_ROOT" in checks["database programs"]["fix"]


def test_migrate_needs_its_two_addresses(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With them it tells the revision, without them which are missing."""
    done = command("migrate", "--json")
    monkeypatch.delenv("THRESHER_MIGRATION_URL")
    ended = command("migrate")

    assert done.code == 0, done.out
    assert done.json["revision"]
    assert ended.code == 5
    assert "THRESHER_MIGRATION_URL" in ended.err


def test_help_names_every_command(command: Command) -> None:
    """Also of the groups; `--version` tells the version."""
    everything = command("--help").out + command("tools", "--help").out + command("servers", "--help").out

    for name in ("demo", "serve", "stdio", "stop", "status", "find", "add", "index", "doctor", "eval", "migrate"):
        assert name in everything
    assert command("--version").out.startswith("thresher ")
    assert command().code in (0, 2)


def test_doctor_looks_at_what_lies_around_thresher(
    command: Command, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A taken port, missing programs, a full disk and a busy machine are notes, not failures."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setenv("THRESHER_PORT", str(other.getsockname()[1]))
        monkeypatch.setenv("PATH", "/nowhere")
        usage = shutil.disk_usage("/")
        monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=1))
        monkeypatch.setattr("thresher.cli.installation.SLOW_ENCODER_MS", 0.0)
        ended = command("doctor", "--json")
    notes = {check["name"]: check["fix"] for check in ended.json if check["state"] == "warning"}

    assert ended.code == 0
    assert {"port", "git", "node", "data folder", "encoder"} <= set(notes)
    assert all(notes.values())


def test_demo_has_its_options(command: Command) -> None:
    """The tour itself has tests of its own."""
    assert "--fresh" in command("demo", "--help").out
