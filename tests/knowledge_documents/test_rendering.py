"""Answers: verbatim passages under marks, inside a budget, with what was left out and a cursor."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.knowledge_documents.passages import QUESTION, Text, cut_every, sections
from thresher.embedding import count_tokens
from thresher.knowledge.documents.answers import cursors, rendering
from thresher.knowledge.documents.models import Chunk, Chunked

TABLE = "| Name | Use |\n| --- | --- |\n"
ROWS = "".join(f"| part-{number} | holds the lid of machine {number} in its place |\n" for number in range(120))


@settings(deadline=None, max_examples=100)
@given(
    st.one_of(
        st.text(st.sampled_from("ab c.\r\n#|`/\t日é [1]'"), min_size=1, max_size=1_500),
        st.text(st.characters(), min_size=1, max_size=300),
    ),
    st.integers(1, 60),
    st.integers(0, 400),
    st.randoms(use_true_random=False),
)
def test_no_answer_is_ever_one_token_over_the_budget(text: str, length: int, budget: int, random: object) -> None:
    """For any text and chunks: counted exactly, each part verbatim, and at the lines that it names."""
    chunked = cut_every(text, length, [place % 3 for place in range(len(text) // length + 1)])
    document = Text(text, chunked)
    scores = np.random.default_rng(len(text) * length).normal(size=len(document.layout))

    answer = document.answer(scores.tolist(), budget)

    assert answer.tokens == count_tokens(answer.text) <= budget
    assert all(text[part.start : part.end] in answer.text for part in answer.parts)
    assert all(text.count("\n", 0, part.start) + 1 == part.first_line for part in answer.parts)


def test_neighbours_share_one_mark_that_names_lines_and_headings() -> None:
    """A sentence across two chosen chunks stays whole; the heading is named once."""
    document = Text(sections(4))
    first = document.holding("Fact 2")

    answer = document.answer(document.favouring("Fact 2", document.chunk_text(first + 1)[:60]), 260)

    part = answer.parts[0]
    assert answer.text.startswith(f"[guide.md, lines {part.first_line}-{part.last_line} | Guide > Section 2]\n")
    assert document.chunk_text(first) + document.chunk_text(first + 1).rstrip("\n") in answer.text


def test_the_answer_names_what_was_left_out_with_headings_and_a_cursor() -> None:
    """The end of the text names the tokens, the cursor, and the sections by their lines."""
    document = Text(sections(12))

    answer = document.answer(document.favouring("Fact 3"), 1_000)

    ending = answer.text[answer.text.index("[left out: ") :]
    assert f"; cursor {answer.cursor}]\n" in ending
    assert "Section 12" in ending
    assert sum(one.tokens for one in answer.left_out) + sum(
        int(document.layout.tokens[place])
        for place in np.flatnonzero(cursors.decode(answer.cursor, QUESTION).mask(len(document.layout)))
    ) == int(document.layout.tokens.sum())


def test_cursors_lead_through_the_whole_document() -> None:
    """Each answer contains something new; in the end everything was delivered once, and there is no cursor."""
    document = Text(sections(10))
    held = np.zeros(len(document.layout), np.bool_)
    scores = document.favouring("Fact 5", "Fact 9")
    answer = document.answer(scores, 600, held)
    seen = answer.text

    while answer.cursor:
        held = cursors.decode(answer.cursor, QUESTION).mask(len(document.layout))
        answer = document.answer(scores, 600, held)
        assert answer.parts
        seen += answer.text

    assert not answer.left_out
    assert all(seen.count(f"Fact {number} is") == 1 for number in range(1, 11))


def test_rows_of_a_table_are_below_its_header() -> None:
    """The header is copied above rows that are chosen without it, and its lines are named."""
    document = Text(f"# Parts\n\n{TABLE}{ROWS}")

    answer = document.answer(document.favouring("| part-90 |"), 300)

    mark, header, rule, row = answer.text.splitlines()[:4]
    assert mark.startswith("[guide.md, lines 3-4, ")
    assert (f"{header}\n{rule}\n", row[:7]) == (TABLE, "| part-")


def test_a_passage_that_is_too_large_is_cut_to_whole_sentences_around_the_words() -> None:
    """No worse passage takes its place, and the answer says what is missing."""
    fact = "The pump starts when the tank holds less than nine litres."
    filler = " ".join(f"Remark {number} is of no use to anybody at all." for number in range(9))
    document = Text(f"# Guide\n\n{filler} {fact} {filler}\n\n" + sections(3))

    answer = document.answer(document.favouring(fact), 90)

    assert fact in answer.text
    assert answer.tokens <= 90
    assert "too large for this budget: lines " in answer.text


def test_a_code_block_is_never_cut() -> None:
    """A block that is too large is named with its lines, and others fill the budget."""
    code = "```python\n" + "".join(f"value_{number} = compute({number})\n" for number in range(150)) + "```\n"
    document = Text(f"# Guide\n\nThe code:\n\n{code}\n" + sections(4))

    answer = document.answer(document.favouring("value_7 ="), 500)

    assert "```" not in answer.text
    assert "too large for this budget: lines " in answer.text
    assert len(answer.parts) > 0


@pytest.mark.parametrize("budget", [0, 1, 5, 20])
def test_a_budget_too_small_for_anything_returns_nothing(budget: int) -> None:
    """No passage, but a table of what there is; no cursor, which would lead to the same answer again and again."""
    document = Text(sections(4))

    answer = document.answer(document.favouring("Fact 2"), budget)

    assert answer.tokens <= budget
    assert answer.parts == ()
    assert answer.left_out
    assert answer.cursor == ""
    assert "cursor" not in answer.text


def test_a_whole_document_is_returned_unchanged() -> None:
    """Nothing is added to it, so that it costs its own tokens."""
    document = Text(sections(2))

    answer = rendering.whole(document.document, document.layout, document.text)

    assert (answer.text, answer.tokens, answer.cursor) == (document.text, document.document.tokens, "")


def test_a_copy_of_a_passage_is_not_returned_twice() -> None:
    """As long as there is something else, one of two equal passages is enough."""
    notice = "This notice stands below every chapter and says the same each time it stands there."
    text = "\n".join([notice, "Alpha is a letter.", notice, "Beta is one as well.", notice]) + "\n"
    starts = [0, *(place + 1 for place, sign in enumerate(text) if sign == "\n")]
    chunks = [
        Chunk(start, end, line, line, count_tokens(text[start:end]), "paragraph")
        for line, (start, end) in enumerate(pairwise(starts), 1)
    ]
    document = Text(text, Chunked(tuple(chunks), ((),)))

    answer = document.answer([9.0, 1.0, 8.0, 1.0, 8.0], document.document.tokens + 5)

    assert answer.text.count(notice) == 1
    assert "Beta" in answer.text
