"""Postings of recent words are cached, within limits, and change no answer."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.search.lexical.bm25 import ABSENT, Postings, PostingsCache, TermPostings, within_budget

KEY = (1, "tool", None, 0, 9)


def word(documents: int) -> TermPostings:
    """A term in this many items, 13 bytes each."""
    ids = np.arange(documents)
    return TermPostings(documents, Postings(1.0, 1.0, ids, np.ones(documents, np.float32), ids < 0))


def test_what_was_kept_is_known_with_its_version() -> None:
    """Other terms are not."""
    words = PostingsCache(10_000)
    words.keep(KEY, 3, {"open": word(2), "nothing": ABSENT})

    version, get = words.get(KEY, ["open", "nothing", "issue"])

    assert version == 3
    assert set(get) == {"open", "nothing"}


@pytest.mark.parametrize(
    "other",
    [(2, "tool", None, 0, 9), (1, "passage", None, 0, 9), (1, "tool", "ann", 0, 9), (1, "tool", None, 0, 8)],
)
def test_another_tenant_kind_user_or_span_knows_nothing_of_it(other: tuple[int, str, str | None, int, int]) -> None:
    """What one user may see is never returned to another."""
    words = PostingsCache(10_000)
    words.keep(KEY, 3, {"open": word(2)})

    assert words.get(other, ["open"]) == (-1, {})


def test_a_newer_version_replaces_what_was_kept_and_an_older_one_does_not() -> None:
    """A late reader of an old version must not bring it back."""
    words = PostingsCache(10_000)
    words.keep(KEY, 3, {"open": word(2)})
    words.keep(KEY, 4, {"issue": word(1)})
    words.keep(KEY, 3, {"open": word(2)})

    assert words.get(KEY, ["open", "issue"])[0] == 4
    assert set(words.get(KEY, ["open", "issue"])[1]) == {"issue"}


def test_memory_stays_within_the_bound() -> None:
    """The least recently used collection is dropped first; one that exceeds the limit starts again."""
    words = PostingsCache(1_000)
    for tenant in range(20):
        words.keep((tenant, "tool", None, 0, 9), 1, {"open": word(10)})
    for number in range(50):
        words.keep((19, "tool", None, 0, 9), 1, {f"word{number}": word(10)})

    assert words.nbytes <= 1_000
    assert words.get((0, "tool", None, 0, 9), ["open"]) == (-1, {})


def test_words_that_no_item_holds_take_memory_too() -> None:
    """Otherwise every misspelt word of every message would stay permanently."""
    words = PostingsCache(10_000)
    names = [f"word{number}" for number in range(1_000)]
    for name in names:
        words.keep(KEY, 1, {name: ABSENT})

    assert len(words.get(KEY, names)[1]) < 100


def test_no_memory_keeps_nothing() -> None:
    """A limit of 0 switches the cache off."""
    words = PostingsCache(0)
    words.keep(KEY, 1, {"open": word(2)})

    assert words.get(KEY, ["open"]) == (-1, {})


def test_the_rarest_terms_are_taken_until_the_budget_and_the_rarest_always() -> None:
    """The same rule as in the database, over cached and new terms together."""
    words = {"common": word(90), "rare": word(5), "middling": word(20), "nothing": ABSENT}

    assert set(within_budget(words, 1_000, 1_000)) == {"common", "rare", "middling"}
    assert set(within_budget(words, 25, 1_000)) == {"rare", "middling"}
    assert set(within_budget(words, 1, 1_000)) == {"rare"}
    assert set(within_budget(words, 25, 10)) == {"common", "rare", "middling"}
