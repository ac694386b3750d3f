"""Answers as text and as structure."""

from __future__ import annotations

from typing import Any

from thresher.calling.meta_tools import describe_content, describe_text, find_content, why_text
from thresher.core import Arm, Scored, Tool, Why
from thresher.knowledge.tools import Definition, Descriptions, FindResult, FoundTool

HYBRID = Why("hybrid", Arm(1, 0.834), Arm(2, 11.25), ("commit", "log", "git", "show"), 1)


def found(name: str, why: Why, score: float = 0.912, **more: Any) -> FoundTool:
    """One tool of an answer."""
    return FoundTool(name, Scored(Tool("s", name), score, why), f"{name}(a: int) - Does it.", 9, **more)


def result(*tools: FoundTool, **more: Any) -> FindResult:
    """An answer."""
    usual: dict[str, Any] = {
        "tools": tools,
        "text": "",
        "total_searched": 40,
        "abstained": False,
        "probability": 0.9,
        "degraded": "",
        "fallback": False,
        "clauses": ("a",),
        "embedding_ms": 1.0,
        "duration_ms": 2.0,
        "trace_id": "abc",
        "tokens_sent": 9,
        "tokens_all": 900,
    }
    return FindResult(**(usual | more))


def test_structure_holds_the_tools_in_their_form_and_the_reasons() -> None:
    """Lean, for many clients hand it to the model: what stands by name has no signature."""
    tools = (
        found("git_log", HYBRID, also=("hub_log",), write=False),
        found("git_add", HYBRID, 0.4, form="name", gist="files staging"),
    )
    content = find_content(result(*tools, clauses=("a", "b")))

    assert content == {
        "tools": [
            {
                "name": "git_log",
                "score": 0.91,
                "signature": "(a: int) - Does it.",
                "why": "meaning #1 0.83, words #2 11.2: commit, log, git, show",
                "query": 1,
                "also": ["hub_log"],
            },
            {"name": "git_add", "gist": "files staging", "write": True},
        ],
        "searched": 40,
        "abstained": False,
        "trace_id": "abc",
    }


def test_what_is_guessed_or_limited_says_so() -> None:
    """In the structure as in the text."""
    fallback = result(found("a", Why("fallback"), 0.0), fallback=True, degraded="not indexed yet")
    limited = result(found("a", Why("lexical", lexical=Arm(1, None))), degraded="words only")

    assert find_content(fallback)["fallback"] is True
    assert find_content(limited)["degraded"] == "words only"


def test_reasons_without_terms_or_arms_are_still_words() -> None:
    """Never an empty reason."""
    assert why_text(Why("semantic", Arm(3, 0.5))) == "meaning #3 0.50"
    assert why_text(Why("lexical", lexical=Arm(1, None), terms=("x",))) == "words #1: x"
    assert why_text(Why("core")) == "core"


def test_a_description_leaves_empty_parts_out() -> None:
    """But never the input schema."""
    one = Definition("s_a", Tool("s", "a", description=" Does it. ", annotations={"readOnlyHint": True}))

    both = Descriptions((one,), {"s_b": ("s_a",), "s_c": ()})

    text = describe_text(both)
    assert text.replace(text[:8], "[]") == (
        "[] s_a\nDoes it.\ninputSchema: {}\n[] Unknown: s_b. Near: s_a.\n[] Unknown: s_c."
    )
    assert describe_content(both)["tools"] == [
        {
            "name": "s_a",
            "server": "s",
            "description": " Does it. ",
            "inputSchema": {},
            "annotations": {"readOnlyHint": True},
        }
    ]
