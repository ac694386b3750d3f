"""The pattern that conversations are compared with has what they have."""

from __future__ import annotations

from typing import Any

from tests.evaluation.test_chat_figures import SYSTEM, offered, user
from thresher.evaluation import SentPrompt
from thresher.evaluation.chat_standard import setting_of, shown_passages


def passage(text: str, *heading: str) -> dict[str, Any]:
    """A passage as a search gives it."""
    part = {"path": "a.md", "first_line": 1, "last_line": 3, "heading_path": list(heading)}
    return {"repository": "docs", "text": text, "part": part}


def test_passages_are_numbered_and_say_where_they_lie() -> None:
    """Those that do not fit are left out, and the numbers go on."""
    data = {"passages": [passage("short", "One", "Two"), passage("word " * 500), passage("other")]}

    shown = "[1] docs: a.md, lines 1-3 | One > Two\nshort\n\n[2] docs: a.md, lines 1-3\nother"
    assert shown_passages(data, 100) == shown
    assert shown_passages(data, 100, ["other"]) == "[1] docs: a.md, lines 1-3\nother"
    assert shown_passages({}, 100) == "Nothing fits."


def test_tools_and_system_prompt_are_those_of_the_first_request_that_can_answer_the_person() -> None:
    """What is asked beside the answer has none; reading on in results is ours alone."""
    beside = SentPrompt(0, [user("Is it relevant?")])
    first = SentPrompt(0, [SYSTEM, user("x")], [offered("sql_query"), offered("read_result")])

    assert setting_of([beside, first, SentPrompt(0, [SYSTEM], [])]) == ((offered("sql_query"),), [SYSTEM])
    assert setting_of([beside]) == ((), [])
