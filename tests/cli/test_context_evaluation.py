"""`thresher eval context` over what is indexed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Command

KEYS = {
    *("budget", "messages", "complete", "complete_interval", "complete_by_kind", "wasted_tokens", "nothing_needed"),
    *("nothing_given", "nothing_given_interval", "answerable_lost", "tokens_mean", "budget_violations", "p50_ms"),
    *("p50_without_embedding_ms", "unknown", "wrong"),
}
CASES: list[dict[str, Any]] = [
    {"message": "show the commit log of this repository", "needs": {"tools": ["nobody:has_this"], "tables": ["gone"]}},
    {"message": "thank you, that was helpful!", "needs": {}},
]


def test_every_figure_has_its_name_and_what_nobody_has_is_said(command: Command, tmp_path: Path) -> None:
    """A need that nothing indexed meets is named with its line; thanks get nothing."""
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(map(json.dumps, CASES)), encoding="utf-8")

    figures = command("eval", "context", "--cases", str(file), "--json").json
    shown = command("eval", "context", "--cases", str(file))

    assert set(figures) == KEYS
    assert (figures["budget"], figures["messages"], figures["nothing_needed"]) == (1_500, 1, 1)
    assert (figures["complete"], figures["nothing_given"], figures["budget_violations"]) == (0.0, 1.0, 0)
    assert figures["unknown"] == ["line 1: tools: nobody:has_this", "line 1: tables: gone"]
    assert [line["line"] for line in figures["wrong"]] == [1]
    assert shown.code == 0, shown.err
    assert "nothing_given" in shown.out
    assert "nobody:has_this" in shown.out


def test_a_wrong_case_is_refused_with_its_line(command: Command, tmp_path: Path) -> None:
    """Before anything is asked; so is a file that is not there."""
    file = tmp_path / "cases.jsonl"
    file.write_text('{"message": "hi", "needs": {"tool": []}}', encoding="utf-8")

    failed = command("eval", "context", "--cases", str(file))
    gone = command("eval", "context", "--cases", str(tmp_path / "gone.jsonl"))

    assert (failed.code, gone.code) == (2, 2)
    assert "line 1" in failed.err
    assert 'unknown kind "tool"' in failed.err
