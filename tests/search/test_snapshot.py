"""The copy: scores, filters, and deltas that equal a rebuild."""

from __future__ import annotations

import random

import numpy as np
import pytest

from thresher.search.lexical.bm25 import KindProfile
from thresher.search.snapshot import SnapshotRows, VectorSnapshot, merged, products, snapshot_of

PROFILE = KindProfile(group_prefix="server:")
State = dict[int, tuple[str | None, frozenset[str], list[list[float]]]]


def rows_of(state: State) -> SnapshotRows:
    """Items as they are read."""
    ids = sorted(state)
    holders = [number for number in ids for _ in state[number][2]]
    vectors = [vector for number in ids for vector in state[number][2]]
    return SnapshotRows(
        np.array(ids, np.int64),
        [state[number][0] for number in ids],
        [state[number][1] for number in ids],
        [f"[{number}]" for number in ids],
        np.array(holders, np.int64),
        np.array(vectors, np.float32).reshape(len(vectors), 4 if vectors else 0),
    )


def random_item(chance: random.Random) -> tuple[str | None, frozenset[str], list[list[float]]]:
    """An owner or none, some labels, none to three vectors."""
    vectors = [[chance.uniform(-1, 1) for _ in range(4)] for _ in range(chance.choice([0, 1, 1, 1, 3]))]
    return chance.choice([None, "ann", "bob"]), frozenset(chance.sample(["a", "b", "server:1"], 2)), vectors


def same(left: VectorSnapshot, right: VectorSnapshot) -> bool:
    """Everything that a search can see of two copies."""
    queries = np.eye(4, dtype=np.float32)[:2]
    return (
        left.rows.ids.tolist() == right.rows.ids.tolist()
        and left.rows.slots == right.rows.slots
        and np.allclose(left.scores(queries), right.scores(queries), equal_nan=True)
        and left.groups.tolist() == right.groups.tolist()
        and all(
            np.array_equal(left.allowed(user, facets), right.allowed(user, facets))  # type: ignore[arg-type]
            for user in (None, "ann", "eve")
            for facets in (frozenset({"a"}), frozenset({"b", "server:1"}), frozenset[str]())
        )
    )


@pytest.mark.parametrize("seed", range(8))
def test_deltas_equal_a_rebuild(seed: int) -> None:
    """Whatever was added, changed and removed."""
    chance = random.Random(seed)
    state: State = {number: random_item(chance) for number in chance.sample(range(60), chance.choice([0, 5, 40]))}
    copy = snapshot_of("m", 1, rows_of(state), PROFILE)
    for version in range(2, 8):
        changed = {number: random_item(chance) for number in chance.sample(range(60), chance.randint(0, 9))}
        gone = set(chance.sample(sorted(state), min(len(state), chance.randint(0, 4)))) - set(changed)
        state = {number: item for number, item in (state | changed).items() if number not in gone}
        living = np.array(sorted(state), np.int64) if gone else None
        copy = merged(copy, version, rows_of(changed), living, PROFILE)

        assert same(copy, snapshot_of("m", version, rows_of(state), PROFILE))
        assert copy.version == version


def test_vectors_of_items_that_have_gone_are_dropped() -> None:
    """Several statements read the rows; a vector may arrive without its item."""
    rows = rows_of({1: (None, frozenset(), [[1, 0, 0, 0]]), 2: (None, frozenset(), [[0, 1, 0, 0]])})
    torn = SnapshotRows(rows.ids[1:], rows.owners[1:], rows.facets[1:], rows.slots[1:], rows.vector_ids, rows.vectors)

    assert snapshot_of("m", 1, torn, PROFILE).scores(np.eye(4, dtype=np.float32)[1:2]).tolist() == [[1.0]]


def test_an_item_without_vectors_scores_nan() -> None:
    """An empty copy gives no scores."""
    copy = snapshot_of("m", 1, rows_of({1: (None, frozenset(), []), 2: (None, frozenset(), [[1, 0, 0, 0]])}), PROFILE)
    query = np.eye(4, dtype=np.float32)[:1]

    assert np.isnan(copy.scores(query)[0]).tolist() == [True, False]
    assert snapshot_of("m", 1, rows_of({}), PROFILE).scores(query).shape == (1, 0)
    assert np.isnan(snapshot_of("m", 1, rows_of({1: (None, frozenset(), [])}), PROFILE).scores(query)).all()


@pytest.mark.parametrize("seed", range(8))
def test_some_items_score_as_they_do_among_all(seed: int) -> None:
    """Contiguous or not, with several vectors or none."""
    chance = random.Random(seed)
    copy = snapshot_of("m", 1, rows_of({number: random_item(chance) for number in range(40)}), PROFILE)
    query = np.random.default_rng(seed).standard_normal((chance.choice([1, 3]), 4)).astype(np.float32)
    everything = copy.scores(query)
    first = chance.randrange(30)

    for rows in ([], [7], list(range(first, first + 9)), sorted(chance.sample(range(40), 12)), list(range(40))):
        wanted = np.array(rows, np.int64)
        assert np.allclose(copy.scores(query, wanted), everything[:, wanted], equal_nan=True, atol=1e-6)


@pytest.mark.parametrize("queries", [1, 2, 3, 16])
@pytest.mark.parametrize("vectors", [0, 1, 79, 80, 81, 1000, 40_001])
def test_products_equal_the_plain_matrix_product(queries: int, vectors: int) -> None:
    """For any number of queries and vectors."""
    generator = np.random.default_rng(0)
    left = generator.standard_normal((queries, 32)).astype(np.float32)
    right = generator.standard_normal((vectors, 32)).astype(np.float32)

    assert products(left, right) == pytest.approx(left @ right.T, abs=1e-4)


def test_memory_is_told() -> None:
    """Vectors and keys count."""
    copy = snapshot_of("m", 1, rows_of({1: (None, frozenset(), [[1, 0, 0, 0]])}), PROFILE)

    assert copy.nbytes == 4 * 4 + 8 + 8


def test_without_a_group_prefix_nothing_belongs_together() -> None:
    """Other kinds have no groups."""
    copy = snapshot_of("m", 1, rows_of({1: (None, frozenset({"server:1"}), [])}), KindProfile())

    assert copy.groups.tolist() == [-1]
