"""Lines that say nearly the same."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thresher.knowledge.intents.nearness import near_by_vectors, near_by_words, plain_line

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=7).map(" ".join)


@given(st.lists(WORDS, max_size=12), st.sampled_from([0.5, 0.8, 1.0]))
def test_every_pair_of_near_lines_is_found(lines: list[str], least: float) -> None:
    """The same as comparing each with each."""
    words = [set(line.split()) for line in lines]
    wanted = {
        (first, second)
        for second in range(len(lines))
        for first in range(second)
        if words[first]
        and words[second]
        and len(words[first] & words[second]) / len(words[first] | words[second]) >= least
    }

    found = near_by_words(lines, least=least)

    assert {(pair.first, pair.second) for pair in found} == wanted
    assert [pair.nearness for pair in found] == sorted((pair.nearness for pair in found), reverse=True)


def test_many_lines_are_compared_in_seconds() -> None:
    """15,000 lines, of which a few are near, without comparing all 112 million pairs."""
    chance = np.random.default_rng(4)
    lines = [" ".join(f"w{word}" for word in chance.integers(0, 20_000, 9)) for _ in range(15_000)]
    lines[77] = lines[9_000] + " please"

    start = time.perf_counter()
    pairs = near_by_words(lines)

    assert [(pair.first, pair.second) for pair in pairs] == [(77, 9_000)]
    assert time.perf_counter() - start < 20


def test_vectors_are_near_on_the_scale_of_their_own_set() -> None:
    """A cosine of .9 is near where others have none, and hardly more than usual where all have .8."""
    chance = np.random.default_rng(4)
    loose = chance.normal(size=(40, 64))
    loose[1] = loose[0] + 0.2 * chance.normal(size=64)
    tight = loose + 2
    unit = [(rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32) for rows in (loose, tight)]

    found = [[(pair.first, pair.second) for pair in near_by_vectors(rows)] for rows in unit]

    assert found == [[(0, 1)], [(0, 1)]]
    assert near_by_vectors(np.empty((0, 0), np.float32)) == []


def test_equal_lines_are_equal_whatever_their_dress() -> None:
    """Case, marks, white space, width of letters."""
    assert plain_line("  Link   THEM, please!") == plain_line("link them please") == plain_line("ｌink them, please")  # noqa: RUF001 - a wide letter
