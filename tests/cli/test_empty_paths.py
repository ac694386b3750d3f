"""An empty path, as a shell makes it of a variable that is not set: refused before anything is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import every_command
from thresher.cli import run


@pytest.mark.parametrize(
    "arguments",
    [
        ("index", "docs", "handbook", ""),
        ("index", "docs", "handbook", " "),
        ("apis", "add", "tracker", "tracker.yaml", ""),
        ("solutions", "add", ""),
        ("solutions", "check", "--round-trip", ""),
        ("packs", "new", "deploy", "--dir", ""),
        ("packs", "lint", ""),
        ("packs", "export", "--skills", ""),
        ("packs", "install", "--client", "agents", "--project", ""),
        ("servers", "add", "git", "--command", "uvx", "--cwd", ""),
        ("servers", "add", "--config", ""),
        ("serve", "--config", ""),
        ("docs", "guide", "handbook", "--set", ""),
        ("prompts", "set", "basic", ""),
        ("prompts", "set", "basic", "", "--dry-run"),
        ("eval", "documents", "--corpus", "", "--questions", "questions.jsonl"),
        ("eval", "tools", "--pool", "", "--queries", "queries.jsonl"),
    ],
    ids=" ".join,
)
def test_an_empty_path_is_not_the_current_folder(
    arguments: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder that the user happens to be in is neither read nor written."""
    monkeypatch.chdir(tmp_path)
    code = run(arguments)

    assert code == 2
    assert "The path is empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_every_path_of_every_command_is_refused_when_it_is_empty() -> None:
    """No option or argument reads a path without looking whether it is one."""
    unread = [
        f"{name} {parameter.name}"
        for name, command in every_command().items()
        for parameter in command.params
        if parameter.type_descriptor.annotation is Path and parameter.type_descriptor.parameter_info.parser is None
    ]

    assert unread == []
