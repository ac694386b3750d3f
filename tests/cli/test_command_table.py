"""A command imports its own module only; help and completion come from the table."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any, cast

import pytest
from typer.main import get_command

from thresher.cli import run
from thresher.cli.application import COMMANDS, application
from thresher.cli.command_table import CommandEntry

ROOT = cast("Any", get_command(application))


def imported_by(*arguments: str) -> set[str]:
    """The modules that a process has imported when it has run a command."""
    program = "import sys; from thresher.cli import run; run(sys.argv[1:]); print('|'.join(sys.modules))"
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return set(done.stdout.splitlines()[-1].split("|"))


@pytest.mark.parametrize("name", [name for name, entry in COMMANDS.items() if hasattr(ROOT.commands[name], "callback")])
def test_the_table_says_of_each_command_what_its_help_says(name: str) -> None:
    """The summary is the first line of a command's docstring; a group has no other help."""
    assert COMMANDS[name].summary == inspect.cleandoc(ROOT.commands[name].help).splitlines()[0]


@pytest.mark.parametrize("group", ["packs", "solutions"])
def test_commands_of_a_groups_table_have_its_summary(group: str) -> None:
    """Such commands need more than a daemon."""
    table = cast("dict[str, CommandEntry]", vars(ROOT.commands[group].commands)["_table"])

    assert table
    for name, entry in table.items():
        assert entry.summary == inspect.cleandoc(ROOT.commands[group].commands[name].help).splitlines()[0]


def test_the_help_imports_no_command() -> None:
    """Nor anything to show answers with."""
    modules = imported_by("--help")

    assert not {name for name in modules if name.startswith("thresher.cli.knowledge.")}
    assert not {"rich.table", "pydantic", "thresher.core", "thresher.verbs"} & modules


def test_a_command_imports_neither_other_commands_nor_converters(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that were not given, texts and defaults are taken as they are."""
    monkeypatch.setenv("THRESHER_DATA_DIR", str(tmp_path))
    modules = imported_by("status", "--json")

    assert "thresher.cli.daemon" in modules
    assert not {"thresher.cli.operation", "thresher.cli.context", "thresher.core", "pydantic"} & modules


def test_a_value_of_another_type_is_still_converted(capsys: pytest.CaptureFixture[str]) -> None:
    """With the message of the command line for one that is not valid."""
    code = run(["tools", "stats", "--days", "many"])

    assert code == 2
    assert "a valid number" in capsys.readouterr().err


def test_a_mistyped_command_is_answered_with_a_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    """The table knows all names without importing their commands."""
    code = run(["serverz", "list"])

    assert code == 2
    assert "'servers'" in capsys.readouterr().err
