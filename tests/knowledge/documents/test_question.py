"""Questions to documents, before anything is searched."""

from __future__ import annotations

import pytest

from thresher.core import InvalidInput
from thresher.knowledge.documents.question import checked_question


def test_a_long_question_is_accepted_unchanged() -> None:
    """Nothing of it is cut silently."""
    text = "word " * 4_000

    question = checked_question(text, search_type="hybrid", context=text)

    assert (question.query, question.context) == (text, text)


@pytest.mark.parametrize(("query", "context", "what"), [("x" * 20_001, "", "query"), ("x", "y" * 20_001, "context")])
def test_a_text_longer_than_a_question_is_refused(query: str, context: str, what: str) -> None:
    """The error has its length and the limit."""
    with pytest.raises(InvalidInput, match=f"The {what} has 20,001 characters") as refused:
        checked_question(query, search_type="hybrid", context=context)

    assert "20,000" in refused.value.hint
