"""What people see: every state has words, and text from servers is never taken for markup."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from rich.console import Console, RenderableType

from thresher.cli import daemon, evaluation, installation
from thresher.cli.knowledge import servers, tools
from thresher.cli.output import progress_bar


def text(value: RenderableType) -> str:
    """What it prints, without colours."""
    console = Console(file=io.StringIO(), width=200)
    console.print(value)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def arm(rank: int | None) -> dict[str, Any]:
    """An arm's part in the reasons."""
    return {"rank": rank, "score": 0.5}


def answer(**changes: Any) -> dict[str, Any]:
    """An answer to `find_tools`."""
    why = {"source": "hybrid", "dense": arm(1), "lexical": arm(None), "terms": ["mail"], "query": 0}
    why |= {"own_words": [], "minor_terms": [], "question_terms": []}
    tool = {"name": "mail_send", "line": "mail_send(to) - Sends [bold]mail[/bold].", "score": 0.91, "why": why}
    tool |= {"form": "full", "gist": "mail"}
    usual = {"tools": [tool], "abstained": False, "probability": 0.9, "fallback": False, "degraded": "", "clauses": []}
    return usual | {"tokens_sent": 10, "tokens_all": 100, "total_searched": 5, "duration_ms": 1.0} | changes


def test_found_tools_show_their_reasons() -> None:
    """Name, probability, arms and terms; brackets of a description stay brackets."""
    shown = text(tools.found(answer()))

    assert "mail_send" in shown
    assert "0.91" in shown
    assert "hybrid, dense #1, mail" in shown
    assert "your words" not in shown
    assert "[bold]mail[/bold]" in shown
    assert "10 tokens in place of 100" in shown


def test_an_answer_that_is_less_than_usual_says_so() -> None:
    """Abstained, degraded, fallback, several clauses."""
    shown = text(
        tools.found(answer(tools=[], abstained=True, degraded="no encoder", fallback=True, clauses=["one", "two"]))
    )

    for words in ("No tool fits", "degraded: no encoder", "fallback", "one | two"):
        assert words in shown


def test_empty_catalogues_say_what_to_do() -> None:
    """No tools, no servers, no daemon."""
    assert "servers add" in text(tools.tool_list([]))
    assert "servers add" in text(servers.server_list([]))
    assert "No daemon" in text(daemon.status_table({"running": False, "data_dir": "/x"}))


def test_definitions_show_schema_and_annotations() -> None:
    """And what was perhaps meant by an unknown name."""
    tool = {"description": "Sends.", "input_schema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    shown = text(
        tools.definitions(
            {"tools": [{"name": "mail_send", "tool": tool}], "unknown": {"mail_sent": ["mail_send"], "x": []}}
        )
    )

    for words in ("mail_send", '"type": "object"', "readOnlyHint", "perhaps mail_send", "There is no tool 'x'."):
        assert words in shown


def test_a_refresh_names_its_failures() -> None:
    """With the reason of each."""
    shown = text(
        servers.refreshed(
            {"embedded": 1, "kept": 2, "removed": 3, "failures": {"far": "timed out"}, "held": ["near_a"]}
            | {"lapsed": ["near_b"]}
        )
    )

    assert "1 embedded, 2 kept, 3 removed" in shown
    assert "far: timed out" in shown
    assert "1 held back until you approve: near_a." in shown
    assert "Rewrites that are not used, since the definitions have changed: near_b." in shown


def test_checks_and_figures_and_status_have_a_line_each() -> None:
    """Failures carry their fix; a figure without data is a dash."""
    check = {"name": "port", "state": "failed", "detail": "taken", "fix": "take another"}

    assert "take another" in text(installation.checks([check]))
    assert "-" in text(evaluation.tool_figures({"auc": None, "recall": 0.5, "tools": 3}))
    assert "mcp 2" in text(daemon.status_table({"running": True, "clients": {"mcp": 2}, "pid": 7}))


def test_long_texts_are_shortened_visibly_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, with an ellipsis; in a pipe they are whole."""
    server = {"name": "s", "transport": "stdio", "target": "x" * 200, "enabled": True, "state": "ready"}
    rows = [server | {"tools": 1, "error": "q" * 500}]
    monkeypatch.setattr("sys.stdout", io.StringIO())
    piped = text(servers.server_list(rows))
    monkeypatch.setattr("sys.stdout", Terminal())
    shown = text(servers.server_list(rows))

    assert piped.count("q") == 500
    assert "x" * 59 + "…" in shown
    assert "q" * 101 not in shown


class Terminal(io.StringIO):
    """A standard error that a person looks at."""

    def isatty(self) -> bool:
        """It is a terminal."""
        return True


def test_progress_shows_where_a_person_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a bar that follows the events; in a pipe and for programs nothing."""
    for terminal, as_json, shown in (
        (Terminal(), False, True),
        (io.StringIO(), False, False),
        (Terminal(), True, False),
    ):
        monkeypatch.setattr(sys, "stderr", terminal)
        with progress_bar("Indexing", as_json) as follow:
            follow({"stage": "Embedding", "done": 1, "total": 2})
            follow({})

        assert bool(terminal.getvalue()) == shown
