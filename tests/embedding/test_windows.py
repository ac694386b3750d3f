from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.embedding.windows import Span, cut, keep_ends


def words(count: int, length: int = 1) -> list[Span]:
    """Spans of words of `length` tokens (one character each) with a gap after each word."""
    return [(w * (length + 1) + t, w * (length + 1) + t + 1) for w in range(count) for t in range(length)]


@settings(deadline=None)  # a busy machine is no defect
@given(st.integers(0, 60), st.integers(1, 7), st.integers(1, 40), st.integers(0, 39))
def test_every_token_is_in_a_window_and_no_window_is_too_large(
    count: int, length: int, size: int, overlap: int
) -> None:
    """For any text, size and overlap."""
    offsets = words(count, length)

    spans = cut(offsets, size=size, overlap=min(overlap, size - 1))

    inside = [sum(start <= a and b <= end for a, b in offsets) for start, end in spans]
    assert max(inside, default=0) <= size
    assert all(any(start <= a and b <= end for start, end in spans) for a, b in offsets)
    assert spans == sorted(spans)


def test_windows_overlap_and_end_between_words() -> None:
    """Ten words of four tokens, windows of ten tokens."""
    offsets = words(10, 4)

    spans = cut(offsets, size=10, overlap=4)

    starts = {a for a, _ in words(10, 4)[::4]}
    assert all(start in starts for start, _ in spans)
    assert all(second[0] < first[1] for first, second in itertools.pairwise(spans))


def test_a_word_longer_than_a_window_is_cut_inside() -> None:
    """There is no gap to end at."""
    assert cut([(n, n + 1) for n in range(10)], size=4, overlap=1) == [(0, 4), (3, 7), (6, 10)]
    assert cut([(n, n + 1) for n in range(9)], size=4, overlap=1) == [(0, 4), (3, 7), (5, 9)]


def test_few_windows_are_all_kept() -> None:
    """Nothing is left out unnecessarily."""
    assert keep_ends([(0, 3), (2, 5)], 2) == ([(0, 3), (2, 5)], 0)


def test_head_and_tail_of_many_windows_are_kept_and_the_gap_is_counted() -> None:
    """The head gets the odd one."""
    spans = [(10 * n, 10 * n + 12) for n in range(10)]

    assert keep_ends(spans, 3) == ([(0, 12), (10, 22), (90, 102)], 68)
    assert keep_ends(spans, 1) == ([(0, 12)], 90)
