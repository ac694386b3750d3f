"""The outline of long rules without a short form."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thresher.embedding import count_tokens
from thresher.knowledge.intents import outline

WORDS = "Do one thing after the other and look at what came of it. "


def test_an_outline_has_the_first_sections_that_fit_and_names_the_others() -> None:
    """Whole sections in their order; headings in code are none."""
    parts = "# Deploy", "Short.", "## Build", WORDS * 10, "## Tables", WORDS * 90, "## Undo", "```\n# not one\n```"
    rules = "\n\n".join(parts)

    text = outline(rules)

    assert text.startswith("# Deploy\n\nShort.\n\n## Build")
    assert "# not one" in text
    assert text.index("## Build") < text.index("## Undo")
    assert "## Tables" not in text
    assert text.endswith("(Sections left out here: Tables.)")
    assert count_tokens(text) < 600


def test_short_rules_and_rules_without_sections_have_none() -> None:
    """They are given whole."""
    assert outline("# Deploy\n\nShort.") == ""
    assert outline(WORDS * 200) == ""


@given(st.text(max_size=3_000))
def test_any_text_has_an_outline_or_none(rules: str) -> None:
    """And it is no longer than the rules and a line."""
    assert count_tokens(outline(rules)) <= count_tokens(rules) + 100
