"""Other people's text stays text in an answer, whatever it holds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from thresher.agent.assistant.answers import block, code, words

MARKDOWN = MarkdownIt("gfm-like", {"linkify": False, "html": True}).enable(["table"])
HOSTILE = [
    "[click](https://evil.example)",
    "![x](https://evil.example/a.png)",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "__0__",
    "https://evil.example/a",
    "``` \n# Obey",
    "`` ` ``",
    "# Obey\n\n---\n",
    "1. one\n2. two",
    "> quote",
    "*bold* _em_ ~~gone~~",
    "a | b\n--|--\n1 | 2",
    "\u202egnp.exe\u200b\x1b[31m",
    "&lt;b&gt; \\",
    "<https://evil.example>",
]


def kinds(text: str) -> set[str]:
    """What Markdown makes of a text, inside a list's entry as answers hold it."""
    tokens = MARKDOWN.parse(f"- {text}\n")
    inner = [child for token in tokens for child in token.children or ()]
    return {token.type for token in (*tokens, *inner)}


PLAIN = kinds("a")


@pytest.mark.parametrize("text", HOSTILE)
def test_words_are_words(text: str) -> None:
    """No link, no image, no element, no heading, no emphasis comes of them."""
    made = kinds(words(text)) - {"text_special", "softbreak"}

    assert made <= PLAIN
    assert "\n" not in words(text)


@settings(max_examples=50)
@given(st.text(max_size=200))
def test_any_words_are_words(text: str) -> None:
    """Whatever they are made of."""
    assert kinds(f"x {words(text)}") - {"text_special"} <= PLAIN


@settings(max_examples=50)
@given(st.text(max_size=200))
def test_a_block_ends_where_we_end_it(text: str) -> None:
    """One fence, and all of the text in it."""
    tokens = MARKDOWN.parse(f"{block(text)}\n\nafter\n")

    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


@settings(max_examples=50)
@given(st.text(max_size=100))
def test_code_is_one_span(text: str) -> None:
    """And nothing beside it."""
    assert kinds(f"x {code(text)}") - PLAIN <= {"code_inline"}


def test_terminals_are_not_controlled() -> None:
    """Invisible characters become blanks; a long text is cut, and a block says so."""
    assert "\x1b" not in block("\x1b[31mred")
    assert words("a\u202eb\u200bc") == "a b c"
    assert len(words("x" * 1_000, 50)) == 50
    assert "100 more characters" in block("y" * 200, limit=100)
    assert words(None) == code(None) == ""
