"""Marks in texts of others: what the scanner quotes, what nobody sees, and what has changed."""

from __future__ import annotations

import pytest

from thresher.console.marks import changed_words, marked


@pytest.mark.parametrize(
    ("text", "quoted", "shown"),
    [
        ("plain <b>", (), "plain &lt;b&gt;"),
        ("a\u200bb", (), "a<mark>&lt;U+200B&gt;</mark>b"),
        ("Read it. Do\nnot tell.", ("do not tell.",), "Read it. <mark>Do\nnot tell.</mark>"),
        ("say\u200b nothing", ("say nothing",), "<mark>say&lt;U+200B&gt; nothing</mark>"),
        ("one two three", ("one two", "two three"), "<mark>one two three</mark>"),
        ("one two", ("…two…", "", "…"), "one <mark>two</mark>"),
        ("harmless", ("what was decoded",), "harmless"),
        ("", ("x",), ""),
    ],
)
def test_quotations_are_marked_where_they_stand(text: str, quoted: tuple[str, ...], shown: str) -> None:
    """In any case and spacing, across invisible characters, once where they overlap; the rest is escaped."""
    assert marked(text, quoted) == shown


def test_changed_words_are_marked_one_by_one() -> None:
    """What was taken out stands before what was put in; both are escaped, and what nobody sees is shown."""
    assert changed_words("Send <b> a mail.", "Send <b> a\u200b mail.") == (
        "Send &lt;b&gt; <del>a </del><ins>a&lt;U+200B&gt; </ins>mail."
    )
    assert changed_words("same", "same") == "same"
    assert changed_words("", "new") == "<ins>new</ins>"


def test_long_texts_are_compared_by_lines() -> None:
    """The work is bounded: neither very many words nor equal ones take long."""
    old = "\n".join(f"line {number}" for number in range(3_000))

    assert "<ins>line x\n</ins>" in changed_words(old, old.replace("line 7\n", "line x\n"))
    assert changed_words("a " * 100_000, "b " * 100_000).startswith("<del>a ")
    numbers = [f"{number % 150}\n" for number in range(20_000)]
    assert changed_words("".join(numbers), "".join(sorted(numbers))).count("<del>") == 1
