"""The pages of the command line and of evaluations name what exists."""

from __future__ import annotations

import dataclasses
import re

import typer.main

from tests.architecture.source import ROOT
from thresher.cli.application import application
from thresher.core import errors
from thresher.evaluation import IntentFigures, ToolFigures

CLI_PAGE = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
EVALUATION_PAGE = (ROOT / "docs" / "reference" / "evaluation.md").read_text(encoding="utf-8")


def test_every_command_is_on_its_page() -> None:
    """Groups by their first command, or in a list after it."""
    group = typer.main.get_command(application)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        assert f"`thresher {name}" in CLI_PAGE, name
        for inner in getattr(command, "commands", {}):
            assert re.search(rf"[`|\s\\]{inner}\b", CLI_PAGE), (name, inner)


def test_every_exit_code_is_on_its_page() -> None:
    """Of each error in the tree."""
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", CLI_PAGE, re.MULTILINE)}
    raised = {kind.exit_code for kind in vars(errors).values() if isinstance(kind, type)}

    assert raised | {0, 9, 130, 141} <= documented


def test_every_figure_is_defined() -> None:
    """By its key."""
    keys = set(re.findall(r"`(\w+)`", EVALUATION_PAGE)) | {f"recall_at{part}" for part in ("_3", "_5", "_10")}

    assert {entry.name for kind in (ToolFigures, IntentFigures) for entry in dataclasses.fields(kind)} <= keys
