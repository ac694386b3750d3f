"""What people see of decisions: every state has words, and text of packs and messages is never taken for markup."""

from __future__ import annotations

from typing import Any

from tests.cli.test_views import text
from thresher.cli import context, evaluation


def score(intent: str, **changes: Any) -> dict[str, Any]:
    """What is said of one intent."""
    usual = {"intent": intent, "score": 0.9, "threshold": 0.5, "margin": 0.4, "similarity": 0.8, "best_line": ""}
    return usual | {"keywords": [], "clause": 0, "matched": True, "why": "line"} | changes


def decision(*scores: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An answer of `explain_intents`."""
    usual = {
        "scores": list(scores),
        "confidence": 0.8,
        "margin": 0.3,
        "clauses": ["all"],
        "clarify": "",
        "degraded": "",
    }
    return usual | {"basis": "head", "duration_ms": 3.0, "embedding_ms": 2.0, "cached": False} | changes


def test_an_explanation_shows_reasons_and_no_markup() -> None:
    """Training lines, keywords, parts, and what the message refuses."""
    shown = text(
        context.explained(
            decision(
                score("git", best_line="[red]commit[/red] it", keywords=["branch"], clause=1),
                score("mail", matched=False, why="negated", margin=-0.2),
                clauses=["commit it, no mail", "commit it", "no mail"],
            )
        )
    )

    for words in ("Rules of: git.", "+0.40", "-0.20", "[red]commit[/red] it", "names branch", "in part 1"):
        assert words in shown
    assert "excluded by the message" in shown
    assert "judged as: 0 commit it, no mail | 1 commit it | 2 no mail" in shown


def test_a_weak_explanation_says_so() -> None:
    """A question to ask, less than the whole router, a remembered decision, more intents than fit."""
    many = [score(f"intent{number}", matched=False) for number in range(30)]
    shown = text(context.explained(decision(*many, clarify="This or that?", degraded="no encoder", cached=True)))

    for words in ("PASS_THROUGH", "ask the user: This or that?", "degraded: no encoder", "from the cache", "10 more"):
        assert words in shown


def test_an_empty_list_says_what_to_do() -> None:
    """And what is found and not used, and why."""
    held = {"name": "[b]x[/b]", "path": "/x", "reason": "poisoned", "hint": "Read it."}
    problem = {"path": "/y", "message": "It is broken.", "hint": "", "severity": "error"}
    shown = text(context.intent_list({"intents": [], "inert": [held], "problems": [problem]}))

    for words in ("packs new", "[b]x[/b] (poisoned, /x). Read it.", "/y: It is broken."):
        assert words in shown


def test_statistics_show_doubts_in_words() -> None:
    """Messages by their text or hash, each kind of signal as a sentence."""
    signals = [{"kind": kind, "decided": ["git"], "pack": "mail", "count": 2} for kind in ("other", "missed", "unread")]
    unsure = [
        {"message": "[do] it", "message_hash": "ab", "count": 3, "confidence": 0.2, "intents": ["git", "mail"]},
        {"message": None, "message_hash": "cd" * 16, "count": 1, "confidence": 0.3, "intents": []},
    ]
    shares = dict.fromkeys(("pass_through_rate", "unsure_share", "clarified_share", "degraded_share"), 0.25)
    shares |= dict.fromkeys(("cached_share", "several_share", "wrong_tool_rate"), None)
    times = dict.fromkeys(("latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "embedding_p50_ms"), 1.5)
    counts = {"intents": [{"intent": "git", "count": 1234, "mean_score": 0.9}], "unused": ["mail"], "lost_rows": 7}
    about = {"since": "2026-01-01T00:00:00", "decisions": 1500, "bases": {"head": 1500, "words": 0}}
    shown = text(context.statistics(about | shares | times | counts | {"unsure": unsure, "signals": signals}))

    for words in (
        "git 1,234 (score 0.90)",
        "25.0 %",
        "“[do] it” 3",
        "perhaps git or mail",
        "cdcdcdcdcdcd",
        "head 1,500",
    ):
        assert words in shown
    assert "a tool of mail was called after git" in shown
    assert "a message that had passed through" in shown
    assert "without its rules" in shown


def test_an_evaluation_shows_figures_side_by_side_and_what_went_wrong() -> None:
    """Only the first wrong lines; a missing figure is a dash."""
    wrong = {
        "line": 7, "text": "[b]where[/b]", "expected": ["a", "b"], "got": [], "kind": "missed", "best": "a",
        "score": 0.3, "threshold": 0.5, "best_line": "there", "expected_score": 0.3, "clauses": ["one", "two"],
    }  # fmt: skip
    other = {"model": "mine", "accuracy": 0.875, "auroc": None, "wrong": []}
    answer = {"model": "packaged", "accuracy": 0.5, "auroc": None, "tests": 100, "wrong": [wrong] * 50}
    shown = text(evaluation.router_figures(answer | {"compared_with": other | {"tests": 100}}))

    for words in ("packaged", "mine", "0.875", "50 of 100 lines", "line 7 missed [b]where[/b]", "and 10 more"):
        assert words in shown
    assert "expected a and b, got none; best a 0.30, below its threshold 0.50, like “there”" in shown
    assert "judged as one | two" in shown
