"""What all commands share: slow starts, variables without effect, hints, lists in a pipe."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from typer.main import get_command

from tests.cli.conftest import Command
from tests.daemon.home import FAKE, THRESHER, Home
from thresher.calling import SCHEMAS
from thresher.cli.application import application
from thresher.cli.output import COMMANDS, for_command_line, progress_bar
from thresher.core import Settings, differing
from thresher.daemon import later

SOURCE = Path(__file__).parent.parent.parent / "src" / "thresher"
TOOLS = re.compile(r"\b(?:sql|list|find|get|search|describe|open|update|delete|retrieve|read|suggest)_[a-z_]+\b")


def test_variables_of_a_command_that_have_no_effect_are_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value other than the daemon's, a mistyped name, a wrong value; with --json nothing is said."""
    command("db", "list")
    monkeypatch.setenv("THRESHER_FIND_BUDGET", "150")
    monkeypatch.setenv("THRESHER_LLM_KYE", "sk-very-secret")
    monkeypatch.setenv("THRESHER_LOG_DAYS", "many")
    people = command("db", "list")
    programs = command("db", "list", "--json")

    assert "THRESHER_FIND_BUDGET has no effect" in people.err
    assert "thresher stop" in people.err
    assert "THRESHER_LLM_KYE is not a setting. Did you mean 'THRESHER_LLM_KEY'?" in people.err
    assert "THRESHER_LOG_DAYS is not valid: it must be a whole number." in people.err
    assert "sk-very-secret" not in people.err + people.out
    assert programs.err == ""


def test_a_variable_that_says_what_is_so_anyway_is_not_named() -> None:
    """The default by its value, and variables of tests."""
    settings = Settings(find_budget=300)

    assert differing(settings, {"THRESHER_FIND_BUDGET": "300", "THRESHER_BENCH_DATA": "/data"}) == ()


def test_a_server_starts_with_the_path_of_the_shell_that_it_was_added_from(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand and from a file: the daemon was started where the program was not to be found."""
    program = tmp_path / "bin" / "my-server"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {FAKE} good\n", encoding="utf-8")
    program.chmod(0o755)
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"filed": {"command": "my-server"}}}), encoding="utf-8")
    command("db", "list")
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    by_hand = command("servers", "add", "mine", "--command", "my-server")
    from_file = command("servers", "add", "--config", str(config))
    states = {server["name"]: server["state"] for server in command("servers", "list", "--json").json}
    command("servers", "remove", "mine", "filed")

    assert (by_hand.code, from_file.code) == (0, 0)
    assert (states["mine"], states["filed"]) == ("ready", "ready")


def test_tools_are_listed_for_programs_with_descriptions_and_schemas(command: Command) -> None:
    """A table for people has names only."""
    command("servers", "add", "own", "--command", sys.executable, "--", str(FAKE), "good")
    tools = {tool["name"]: tool["tool"] for tool in command("tools", "list", "-s", "own", "--json").json}
    command("servers", "remove", "own")

    assert tools["own_echo"]["description"]
    assert tools["own_echo"]["input_schema"]["type"] == "object"


def test_a_limit_is_refused_in_the_same_words_everywhere(command: Command) -> None:
    """As over HTTP: it is not lowered in silence."""
    for arguments, most in [
        (("tools", "find", "x", "--limit", "99"), 50),
        (("apis", "search", "x", "--limit", "99"), 50),
        (("docs", "search", "x", "--limit", "99"), 50),
        (("db", "find", "x", "--limit", "99"), 50),
        (("jobs", "list", "--limit", "9999"), 1000),
        (("threads", "list", "--limit", "9999"), 200),
        (("audit", "log", "--limit", "9999"), 500),
    ]:
        ended = command(*arguments)

        assert ended.code == 2
        assert f"limit is {arguments[-1]}; it must be 1 to {most:,}." in ended.err


def test_hints_name_commands_in_the_place_of_tools() -> None:
    """A user of the command line knows commands, not tools."""
    assert for_command_line("Call find_tools again.") == "Call `thresher tools find` again."
    assert for_command_line("`sql_explain` shows it.") == "`thresher db explain` shows it."
    assert for_command_line("open_relation_of is no tool.") == "open_relation_of is no tool."
    assert for_command_line("then call again with confirm: true.") == "then call again with --confirm."


def hints_in(folder: Path) -> list[str]:
    """All hints that are written in the source below a folder."""
    nodes = (node for file in folder.rglob("*.py") for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    hints = (node for node in nodes if isinstance(node, ast.keyword) and node.arg == "hint")
    parts = (part.value for hint in hints for part in ast.walk(hint) if isinstance(part, ast.Constant))
    return [text for text in parts if isinstance(text, str)]


def test_every_tool_that_a_hint_names_has_a_command() -> None:
    """Of all hints that are written in the source."""
    named = {name for text in hints_in(SOURCE) for name in TOOLS.findall(text)}

    tools = {name for name in named if name in SCHEMAS or name in COMMANDS or name.startswith(("sql_", "list_"))}
    assert tools
    assert tools <= set(COMMANDS)


def test_hints_about_solutions_name_options_in_the_place_of_arguments() -> None:
    """Hints list options; no name of an argument is left that the command line does not have."""
    said = for_command_line("Say custom_values, or datasource and display_column, or relation and display_column.")
    group = cast("Any", get_command(application)).commands["solutions"].commands.values()
    options = {option[2:] for command in group for each in command.params for option in each.opts if "--" in option}
    arguments = {"custom_values", *(option.replace("-", "_") for option in options if "-" in option)}
    hints = [for_command_line(text) for text in hints_in(SOURCE / "knowledge" / "solutions")]

    assert said == "Say --value, or --datasource and --display-column, or --relation and --display-column."
    assert "display_column" in arguments
    assert not {word for text in hints for word in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", text)} & arguments


def test_completion_knows_the_commands(home: Home) -> None:
    """As the shell asks for it, with what `--install-completion` puts into its start-up file."""
    words = {"_THRESHER_COMPLETE": "complete_bash", "COMP_WORDS": "thresher servers re", "COMP_CWORD": "2"}
    asked = home.run(settings=words)
    inside = ("bash", "-c", '"$@"; exit $?', "bash", *THRESHER, "--show-completion")  # it asks which shell runs it
    shown = subprocess.run(inside, env=home.environment, capture_output=True, text=True, timeout=60, check=False)

    assert sorted(asked.stdout.split()) == ["refresh", "remove"]
    assert "_THRESHER_COMPLETE=complete_bash" in shown.stdout


def test_stages_are_lines_where_no_terminal_shows_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    """Only of what takes longer, and never for programs."""
    with progress_bar("Adding", as_json=False) as follow:
        follow({"stage": "Waiting for own", "done": 0, "total": 1})
    quick = capsys.readouterr().err

    assert quick == ""


def test_what_takes_longer_than_a_moment_is_reported_once() -> None:
    """Quicker work is not mentioned."""
    told: list[str] = []
    with later(60.0, lambda: told.append("late")):
        pass
    with later(0.0, lambda: told.append("slow")):
        while not told:
            pass

    assert told == ["slow"]
