"""The packed layout of a document, its twins, and the table of its contents."""

from __future__ import annotations

import numpy as np
import pytest

from tests.knowledge_documents.passages import Text, sections
from thresher.embedding import count_tokens
from thresher.knowledge.documents.answers import outline
from thresher.knowledge.documents.layout import DocumentLayout, twins_of


def test_a_layout_survives_its_bytes() -> None:
    """All columns and all headings, whatever characters they contain."""
    layout = Text("# Größe 日本 \U0001f600\n\nText.\n\n## Zweite\n\nMehr.\n" + sections(5)).layout

    again = DocumentLayout.unpacked(layout.packed())

    assert again.paths == layout.paths
    assert all(
        np.array_equal(getattr(again, name), getattr(layout, name))
        for name in ("starts", "ends", "tokens", "headings", "twins", "head_starts", "path_tokens", "first_lines")
    )


@pytest.mark.parametrize("cut", [0, 3, -1])
def test_bytes_of_anything_else_than_a_layout_are_refused(cut: int) -> None:
    """They are not read as another document."""
    packed = Text(sections(2)).layout.packed()

    with pytest.raises((ValueError, Exception), match=r"layout|buffer"):
        DocumentLayout.unpacked(packed[:cut] if cut else b"\x09" + packed[1:])


def test_copies_are_twins_and_another_number_makes_another_text() -> None:
    """Spaces and case make no difference; a number, or half of the words, does."""
    text = "The valve opens when the pressure of the boiler rises above 20 bar, and closes again soon after that."
    others = [text.upper(), text.replace("20", "30"), "A wholly different sentence about cats.", f"  {text}\n"]

    assert twins_of([text, *others]).tolist() == [0, 0, 2, 3, 0]


def test_many_equal_texts_cost_little() -> None:
    """The first stands for all; chunks are not compared pairwise."""
    assert set(twins_of(["same words here"] * 5_000).tolist()) == {0}
    assert twins_of(["", "", "x"]).tolist() == [0, 0, 2]


def test_a_table_of_contents_goes_as_deep_as_its_room() -> None:
    """With little room, neighbours are joined from the first to the last; the lines cover all that is missing."""
    layout = Text(sections(30)).layout
    missing = np.ones(len(layout), np.bool_)

    wide, narrow = (outline.table(layout, missing, tokens) for tokens in (600, 60))

    assert wide.count("\n") > 28
    assert 2 <= narrow.count("\n") <= 6
    assert " … Section 30" in narrow
    assert count_tokens(narrow) <= 60


def test_entries_cover_what_is_missing() -> None:
    """Their tokens add up, in the document's order, never more than the limit."""
    layout = Text(sections(90)).layout
    missing = np.arange(len(layout)) % 5 != 0

    entries = outline.left_out(layout, missing, 20)

    assert sum(one.tokens for one in entries) == int(layout.tokens[missing].sum())
    assert [one.first_line for one in entries] == sorted(one.first_line for one in entries)
    assert len(entries) <= 20


def test_a_text_without_headings_has_no_table() -> None:
    """One entry says how much is missing."""
    layout = Text("Plain words without any heading. " * 100).layout
    missing = np.ones(len(layout), np.bool_)

    assert outline.table(layout, missing, 500) == ""
    assert len(outline.left_out(layout, missing)) == 1
