"""Acronyms, what they stand for, and the terms of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.knowledge.documents.guides.glossary import acronyms_of, joined, terms_of


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("We use singular value decomposition (SVD) here.", "SVD", "singular value decomposition"),
        ("Singular value decomposition (i.e., SVD) is stable.", "SVD", "singular value decomposition"),
        ("the **Latin hypercube sampling** (**LHS**) method", "LHS", "latin hypercube sampling"),
        ("a first-order second-moment (FOSM) analysis", "FOSM", "first-order second-moment"),
        ("the National Institute of Standards (NIS), which", "NIS", "national institute of standards"),
        ("SVD (singular value decomposition) helps", "SVD", "singular value decomposition"),
        ("- **SLA**: service level agreement", "SLA", "service level agreement"),
        ("OKR stands for objectives and key results, which", "OKR", "objectives and key results"),
        ("several pilot point sets (PPSs) are", "PPS", "pilot point sets"),
    ],
)
def test_acronyms_are_learnt_where_they_are_introduced(text: str, short: str, long: str) -> None:
    """After the words, before them, in a list, with a word between."""
    assert acronyms_of(text) == {short: long}


@pytest.mark.parametrize(
    "text",
    [
        "The result (NASA) was late.", "on this line (NOBSGP)", "see the chance constraint (FOSM)",
        "(A) first, (B) second", "Version 2 (BETA) of it", "NOTE: not every thing else", "GET: all of them",
        "the end of an era (AE)",
    ],
)  # fmt: skip
def test_words_that_do_not_match_are_not_an_expansion(text: str) -> None:
    """The letters must begin the words, in order."""
    assert acronyms_of(text) == {}


def test_most_votes_win() -> None:
    """If texts disagree, the majority decides."""
    glossaries = [{"DA": "data assimilation"}, {"DA": "Data Assimilation"}, {"DA": "district attorney"}]

    assert joined(glossaries) == {"DA": "data assimilation"}


def test_terms_recur() -> None:
    """Frequent acronyms, identifiers and phrases; the longer phrase instead of its parts."""
    text = "The parameter ensemble of PESTPP-IES is set by `ies_num_reals`. IMPORTANT: it is important.\n" * 5

    terms = terms_of(text)

    assert {"PESTPP-IES", "ies_num_reals", "parameter ensemble"} <= set(terms)
    assert "IMPORTANT" not in terms
    assert all(count >= 4 for count in terms.values())


@pytest.mark.parametrize("piece", ["A ", "(A", "AB --", "`", "_", "A_", "A-", "Ab (", "[](", "x" * 50])
def test_large_texts_are_read_in_time(piece: str) -> None:
    """Time is linear in the text; the suite's time limit would show otherwise."""
    text = piece * (500_000 // len(piece))

    assert len(acronyms_of(text)) + len(terms_of(text)) < 100


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    """Expansions have at least a word per two letters."""
    assert all(len(long.split()) >= 2 for long in acronyms_of(text).values())
