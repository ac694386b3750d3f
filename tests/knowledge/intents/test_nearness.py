"""Lines that say nearly the same."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thresher.knowledge.intents.line_checks import near_by_vectors, near_by_words, plain_line

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=7).map(" ".join)


@given(st.lists(st.tuples(WORDS, st.integers(0, 1)), max_size=12), st.sampled_from([0.5, 0.8, 1.0]))
def test_the_nearest_earlier_line_of_each_group_is_found(given_lines: list[tuple[str, int]], least: float) -> None:
    """The same nearness as comparing each with each."""
    lines, groups = [line for line, _ in given_lines], [group for _, group in given_lines]
    words = [set(line.split()) for line in lines]
    wanted: dict[tuple[int, int], float] = {}
    for second in range(len(lines)):
        for first in range(second):
            if union := words[first] | words[second]:
                overlap = len(words[first] & words[second]) / len(union)
                if overlap >= least:
                    key = (second, groups[first])
                    wanted[key] = max(wanted.get(key, 0.0), overlap)

    found = near_by_words(lines, groups, least=least)

    assert {(pair.second, groups[pair.first]): pair.nearness for pair in found} == wanted
    assert [pair.nearness for pair in found] == sorted((pair.nearness for pair in found), reverse=True)


def test_many_lines_are_compared_in_seconds() -> None:
    """6,000 different lines, and as many that are all alike, without comparing all 18 million pairs."""
    chance = np.random.default_rng(4)
    lines = [" ".join(f"w{word}" for word in chance.integers(0, 20_000, 9)) for _ in range(6_000)]
    lines[77] = lines[4_000] + " please"

    start = time.thread_time()
    pairs = near_by_words(lines, [0] * len(lines))
    equal = near_by_words(["the same line again"] * 6_000, [0] * 6_000)
    alike = near_by_words(
        [f"link the order number {number} to its customer in the books" for number in range(3_000)], [0] * 3_000
    )

    assert [(pair.first, pair.second) for pair in pairs] == [(77, 4_000)]
    assert len(equal) == 5_999
    assert len(alike) == 2_999
    assert time.thread_time() - start < 30


def test_vectors_are_near_on_the_scale_of_their_own_set() -> None:
    """A cosine of .9 is near where others have none, and hardly more than usual where all have .8."""
    chance = np.random.default_rng(4)
    loose = chance.normal(size=(40, 64))
    loose[1] = loose[0] + 0.2 * chance.normal(size=64)
    tight = loose + 2
    unit = [(rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32) for rows in (loose, tight)]

    found = [[(pair.first, pair.second) for pair in near_by_vectors(rows, [0] * 40)] for rows in unit]

    assert found == [[(0, 1)], [(0, 1)]]
    assert near_by_vectors(np.empty((0, 0), np.float32), []) == []


def test_equal_lines_are_equal_whatever_their_dress() -> None:
    """Case, marks, white space, width of letters."""
    assert plain_line("  Link   THEM, please!") == plain_line("link them please") == plain_line("ｌink them, please")  # noqa: RUF001 - a wide letter
