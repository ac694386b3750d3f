"""An empty path, as a shell makes it of a variable that is not set: refused before anything is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

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
        ("eval", "documents", "--corpus", "", "--questions", "questions.jsonl"),
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
