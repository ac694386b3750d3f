"""Which sentences of a model are in its sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.knowledge.documents.answers.fidelity import ModelSentence, SourceTexts

PROSE = (
    "The option `eager` is off by default.  Switch it\non before the first run, e.g. with Dr. Smith.\n\n"
    "* one item\n* two items (see [12])\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)
CODE = "Run these:\n\n```sh\nmake all\nmake test\n```\n\nNobody says that it is safe."


def judged(text: str) -> list[ModelSentence]:
    """The units of a text against both sources."""
    return [unit for unit in SourceTexts([PROSE, CODE]).units(text) if unit.meaningful]


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("The option eager is off by default.", 1),
        ("the **option** `eager` is off by default", 1),
        ("Switch it on before the first run, e.g. with Dr. Smith.", 1),
        ("- two items (see [12]) [1]", 1),
        ("2. One item", 1),
        ("| 1   |2|", 1),
        ("Run these: [2]", 2),
        ("```\nmake test\n```", 2),
        ("It is safe.", 0),
        ("The option eager is on by default.", 0),
        ("off by default", 0),
        ("| 1 | 3 |", 0),
        ("```\nmake all\nmake clean\n```", 0),
        ("Nobody says that it is safe. It is not.", 2),
    ],
)
def test_a_whole_sentence_is_in_a_source_or_is_not(sentence: str, source: int) -> None:
    """White space, case, emphasis and list marks are ignored; a part of a sentence does not count."""
    assert judged(sentence)[0].source == source


def test_a_citation_counts_if_its_passage_exists() -> None:
    """Before or after the full stop; a passage that does not exist is not a source."""
    first, second, third = judged("Nothing helps. [1, 7] Or so [2]. Or not.")

    assert [unit.text for unit in (first, second, third)] == ["Nothing helps.", "Or so.", "Or not."]
    assert [unit.cited for unit in (first, second, third)] == [(1,), (2,), ()]
    assert all(unit.unsupported for unit in (first, second, third))


def test_rules_and_empty_code_have_no_words() -> None:
    """They need no source."""
    units = SourceTexts([PROSE]).units("---\n\n|---|:--|\n\n```\n\n```")

    assert [unit.meaningful for unit in units] == [False, False, False]


def test_code_without_an_end_gets_one() -> None:
    """An open fence would swallow what follows."""
    (unit,) = judged("```sh\nmake all")

    assert (unit.text, unit.source) == ("```sh\nmake all\n```", 2)


@given(st.lists(st.sampled_from([*"ab \n\t|.[]1,~`#-*>", "```", "\n\n", ". [1] ", "Word"]), max_size=60).map("".join))
def test_nothing_of_a_text_is_lost_but_its_citations(text: str) -> None:
    """Whatever a model writes, its words return in order."""
    units = SourceTexts([text]).units(text)

    def letters(written: str) -> str:
        return "".join(letter for letter in written if letter.isalpha())

    assert letters("".join(unit.lead + unit.text for unit in units)) == letters(text)


@given(st.text(max_size=200))
def test_every_sentence_of_a_text_is_in_it(text: str) -> None:
    """Nothing that is copied counts as an invention."""
    assert [unit for unit in SourceTexts([text]).units(text) if unit.unsupported] == []


def test_a_number_alone_is_not_a_list_mark() -> None:
    """It may be the whole answer."""
    (unit,) = judged("7.")

    assert unit.unsupported
