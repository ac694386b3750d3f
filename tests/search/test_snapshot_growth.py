"""Growing copies: equal to a rebuilt copy, without changing the one before."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.search.test_snapshot import State, rows_of, same
from thresher.search.lexical.bm25 import KindProfile
from thresher.search.snapshot import grown, snapshot_of

PLAIN = KindProfile()


def item(chance: random.Random, vectors: int) -> tuple[str | None, frozenset[str], list[list[float]]]:
    """An owner or none, labels, and a number of vectors."""
    labels = frozenset(chance.sample(["a", "b", "server:1"], 2))
    return (
        chance.choice([None, "ann", "bob"]),
        labels,
        [[chance.uniform(-1, 1) for _ in range(4)] for _ in range(vectors)],
    )


@pytest.mark.parametrize("seed", range(6))
def test_growth_equals_a_rebuild(seed: int) -> None:
    """Items arrive without vectors and get them later, as when a repository is indexed; no copy changes afterwards."""
    chance = random.Random(seed)
    state: State = {number: item(chance, chance.choice([1, 1, 2])) for number in range(20)}
    state |= {20: ("ann", frozenset({"a"}), [[1.0, 0, 0, 0]]), 21: ("bob", frozenset({"b"}), [[0, 1.0, 0, 0]])}
    copy = snapshot_of("m", 1, rows_of(state), PLAIN)
    states = [(copy, dict(state))]
    for version in range(2, 12):
        bare = [number for number in state if not state[number][2]]
        if bare and chance.random() < 0.6:
            changed = {n: (*state[n][:2], item(chance, chance.choice([1, 2]))[2]) for n in bare[: chance.randint(1, 6)]}
        else:
            changed = {max(state) + 1 + step: item(chance, 0) for step in range(chance.randint(1, 5))}
        state = state | changed
        larger = grown(copy, version, rows_of(changed), PLAIN)
        assert larger is not None
        copy = larger
        states.append((copy, dict(state)))

    for kept, was in states:
        assert same(kept, snapshot_of("m", 1, rows_of(was), PLAIN))


def test_two_successors_of_one_copy_do_not_share_room() -> None:
    """The second one gets memory of its own."""
    first = snapshot_of("m", 1, rows_of({1: (None, frozenset(), [[1.0, 0, 0, 0]])}), PLAIN)
    base = grown(first, 2, rows_of({2: (None, frozenset(), [[0, 1.0, 0, 0]])}), PLAIN)
    assert base is not None

    left = grown(base, 3, rows_of({3: (None, frozenset(), [[0, 0, 1.0, 0]])}), PLAIN)
    right = grown(base, 3, rows_of({3: (None, frozenset(), [[0, 0, 0, 1.0]])}), PLAIN)

    assert left is not None
    assert right is not None
    query = np.array([[0, 0, 1, 2]], np.float32)
    assert left.scores(query).tolist() == [[0, 0, 1]]
    assert right.scores(query).tolist() == [[0, 0, 2]]
    assert base.scores(query).tolist() == [[0, 0]]


STANDING: State = {
    1: (None, frozenset({"a"}), [[1.0, 0, 0, 0]]),
    5: (None, frozenset({"a"}), []),
    7: (None, frozenset({"a"}), [[0, 1.0, 0, 0]]),
}


@pytest.mark.parametrize(
    "changed",
    [
        {3: (None, frozenset({"a"}), [[1.0, 0, 0, 0]])},
        {5: (None, frozenset({"a"}), [[1.0, 0, 0, 0]])},
        {7: (None, frozenset({"a"}), [[0, 0, 1.0, 0]])},
        {5: (None, frozenset({"b"}), [])},
        {9: ("eve", frozenset({"a"}), [])},
    ],
)
def test_other_changes_are_left_to_a_merge(changed: State) -> None:
    """Items or vectors in the middle, changed labels, replaced vectors, new owners."""
    copy = snapshot_of("m", 1, rows_of(STANDING), PLAIN)

    assert grown(copy, 2, rows_of(changed), PLAIN) is None


def test_kinds_with_groups_are_left_to_a_merge() -> None:
    """Their groups are numbered again."""
    profile = KindProfile(group_prefix="server:")
    copy = snapshot_of("m", 1, rows_of(STANDING), profile)

    assert grown(copy, 2, rows_of({9: (None, frozenset(), [])}), profile) is None


def test_room_counts_as_memory() -> None:
    """Otherwise the limit would not hold."""
    copy = snapshot_of("m", 1, rows_of(STANDING), PLAIN)
    larger = grown(copy, 2, rows_of({9: (None, frozenset(), [[1.0, 0, 0, 0]])}), PLAIN)

    assert larger is not None
    assert larger.nbytes > copy.nbytes + 1_000 * 4 * 4
