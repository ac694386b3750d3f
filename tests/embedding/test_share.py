from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.embedding.local import FRAME_CHARACTERS, FRAME_TEXTS, frames
from thresher.embedding.onnx import work_shares


@settings(deadline=None)  # a busy machine is no defect
@given(st.lists(st.integers(0, 1000), max_size=60), st.integers(1, 8))
def test_each_index_is_in_one_share_and_no_share_is_empty(lengths: list[int], count: int) -> None:
    """For any lengths."""
    shares = work_shares(lengths, count)

    assert sorted(index for share in shares for index in share) == list(range(len(lengths)))
    assert all(shares)
    assert len(shares) == min(count, len(lengths))


@settings(deadline=None)  # a busy machine is no defect
@given(st.lists(st.integers(0, 2 * FRAME_CHARACTERS), max_size=300))
def test_frames_hold_each_index_once_within_both_bounds(lengths: list[int]) -> None:
    """A text over the limit gets a frame of its own."""
    groups = frames(lengths)

    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        assert 1 <= len(group) <= FRAME_TEXTS
        assert len(group) == 1 or sum(lengths[index] for index in group) <= FRAME_CHARACTERS
