"""Fusion, calibration, cut and candidates: the arithmetic between scores and hits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thresher.search.answer import best_columns, candidates, fill_missing
from thresher.search.ranking import (
    BGE_SMALL,
    SIBLINGS,
    UNKNOWN,
    Weights,
    constants_for,
    group_support,
    interleave,
    levelled,
    needs,
    probabilities,
    rank,
)

PLAIN = Weights(dense=1.0, lexical=1.0, group=0.0, context=0.5)
matrices = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 4), st.integers(1, 12)),
    elements=st.floats(-1, 1, width=32, allow_subnormal=False),
)


def no_groups(columns: int) -> np.ndarray:
    """No item belongs to a group."""
    return np.full(columns, -1, np.int64)


@given(matrices, st.booleans())
def test_every_candidate_stands_in_the_order_once(dense: np.ndarray, whole: bool) -> None:
    """No row contributes an item that is ahead of its best."""
    ranking = rank(dense, dense, no_groups(dense.shape[1]), PLAIN, whole=whole)

    assert sorted(ranking.candidates.tolist()) == list(range(dense.shape[1]))
    assert len(ranking.candidates) == dense.shape[1]
    assert (ranking.behind >= 0).all()
    assert ranking.behind[0] == 0


@given(matrices)
def test_interleaving_equals_the_plain_rule(scores: np.ndarray) -> None:
    """Round by round each order offers its next item; a taken one is skipped."""
    orders = np.argsort(-scores, axis=1, kind="stable")
    expected: list[tuple[int, int]] = []
    for depth in range(orders.shape[1]):
        for turn in range(len(orders)):
            if orders[turn, depth] not in {item for _, item in expected}:
                expected.append((turn, int(orders[turn, depth])))

    turns, items = interleave(orders)

    assert list(zip(turns.tolist(), items.tolist(), strict=True)) == expected


@given(matrices, st.data())
def test_group_support_is_the_mean_of_the_best_few(scores: np.ndarray, data: st.DataObject) -> None:
    """Of the candidate's group, row by row; a single item counts by itself."""
    groups = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=scores.shape[1], max_size=scores.shape[1])))

    support = group_support(scores, groups)

    for row in range(len(scores)):
        for column, group in enumerate(groups):
            mates = sorted(scores[row, groups == group])[-SIBLINGS:] if group >= 0 else [scores[row, column]]
            assert support[row, column] == pytest.approx(float(np.mean(mates)), abs=1e-5)


def test_the_whole_message_lends_context_and_brings_nothing() -> None:
    """Its row changes each task's ranking."""
    dense = np.array([[0.0, 1.0], [0.6, 0.5], [0.1, 0.2]], np.float32)

    ranking = rank(dense, np.zeros_like(dense), no_groups(2), PLAIN, whole=True)

    assert ranking.candidates.tolist() == [1, 0]
    assert 0 not in ranking.rows


def test_ties_keep_the_order_of_the_columns() -> None:
    """The same search gives the same answer."""
    dense = np.zeros((1, 5), np.float32)

    assert rank(dense, dense, no_groups(5), PLAIN, whole=True).candidates.tolist() == [0, 1, 2, 3, 4]


@given(hnp.arrays(np.float32, st.integers(0, 30), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.integers(1, 12))
def test_best_columns_are_the_best(row: np.ndarray, most: int) -> None:
    """Highest scores, on ties the lowest columns."""
    expected = sorted(range(len(row)), key=lambda column: (-row[column], column))[:most]

    assert sorted(best_columns(row, most).tolist()) == sorted(expected)


def test_candidates_come_from_both_arms() -> None:
    """The best of each, and no item without a matching word."""
    dense = np.array([[0.9, 0.1, 0.2, 0.3]], np.float32)
    lexical = np.array([[0.0, 0.0, 2.0, 0.0]], np.float32)

    assert candidates(dense, lexical, 1).tolist() == [0, 2]
    assert candidates([], lexical, 3).tolist() == [2]
    assert candidates([], np.zeros((1, 4), np.float32), 3).tolist() == []


def test_items_without_vectors_get_a_likely_score() -> None:
    """Neither the worst nor the best of the others."""
    dense = np.array([[np.nan, 0.1, 0.5, 0.9]], np.float32)

    whole, known = fill_missing(dense)

    assert known.tolist() == [False, True, True, True]
    assert 0.5 < whole[0, 0] < 0.9
    assert fill_missing(dense[:, 1:])[0] is not None


def test_probabilities_grow_with_either_arm_and_stay_within_bounds() -> None:
    """For any scores, however large."""
    dense = np.array([0.2, 0.9, 0.2, 1e6, -1e6], np.float32)
    lexical = np.array([1.0, 1.0, 9.0, 1e6, -5.0], np.float32)

    found = probabilities(dense, lexical, np.zeros(5, np.bool_), BGE_SMALL.head)
    lacking = probabilities(dense, lexical, np.ones(5, np.bool_), BGE_SMALL.head)

    assert found[1] > found[0] < found[2]
    assert lacking[0] < found[0]
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize(
    ("dense", "lexical", "fits"),
    [
        (0.62, 1.56, True),  # "what time is it in Berlin", with the two tools of a time server
        (0.69, 0.0, True),  # "write a mail to my boss", with a tool that sends an email
        (0.42, 2.5, False),  # "Explain in two sentences why the sky is blue": many tags may be blue
        (0.52, 0.0, False),  # "How do I boil an egg?"
    ],
)
def test_the_threshold_parts_what_fits_from_what_does_not(dense: float, lexical: float, fits: bool) -> None:
    """Either arm alone may be enough: a paraphrase without a common word passes, a chance word does not."""
    nothing_lacks = np.zeros(1, np.bool_)
    found = probabilities(np.array([dense]), np.array([lexical]), nothing_lacks, BGE_SMALL.head)

    assert (found[0] >= BGE_SMALL.threshold) == fits


def test_constants_belong_to_the_model_and_the_arms() -> None:
    """An unknown model, or a missing arm, refuses nothing."""
    assert constants_for("bge-small-en-v1.5@0123") is BGE_SMALL
    assert constants_for("other@1") is UNKNOWN
    assert constants_for("bge-small-en-v1.5@0123", dense=False) is UNKNOWN
    assert constants_for("bge-small-en-v1.5@0123", lexical=False).threshold == 0.0


def test_who_is_needed_depends_on_the_rivals() -> None:
    """The best of each text most of all; the closer the others, the less; and nobody where nothing fits."""
    dense = np.array([[0.0, 0.0, 0.0, 0.0], [9.0, 5.0, 4.0, 0.0], [0.0, 4.5, 5.0, 9.0]], np.float32)
    ranking = rank(dense, np.zeros_like(dense), no_groups(4), PLAIN, whole=True)
    sure, unsure = np.full(4, 0.9, np.float32), np.full(4, 0.01, np.float32)

    needed = needs(ranking, sure, BGE_SMALL.need)
    close = rank(dense / 9, np.zeros_like(dense), no_groups(4), PLAIN, whole=True)

    assert ranking.candidates.tolist()[:2] == [0, 3]
    assert min(needed[:2]) > max(needed[2:])
    assert needs(close, sure, BGE_SMALL.need)[0] < needed[0]
    assert max(needs(ranking, unsure, BGE_SMALL.need)) < min(needed[:2]) / 5


@given(matrices, st.data())
def test_an_adapter_takes_no_place_from_an_item_that_it_does_not_know(dense: np.ndarray, data: st.DataObject) -> None:
    """Whatever it adds, no more of its items stand ahead of that one than before; its own order may change."""
    columns = dense.shape[1]
    known = np.array(sorted(data.draw(st.sets(st.integers(0, columns - 1), min_size=1))), np.int64)
    more = data.draw(hnp.arrays(np.float32, (len(dense), len(known)), elements=st.floats(-2, 2, width=32)))
    row = dense[:1]

    levels = levelled(row[:, known], more[:1])

    before, after = row[0].astype(np.float64), row[0].astype(np.float64)
    after[known] += levels[0]
    for unknown in set(range(columns)) - set(known.tolist()):
        assert np.sum(after > before[unknown] + 1e-5) <= np.sum(before > before[unknown])


def test_an_adapter_orders_its_items_and_leaves_alone_how_well_they_fit() -> None:
    """The one that it prefers takes the place of the other; distances without it are the largest that count."""
    dense = np.array([[0.9, 0.8, 0.1, 0.7]], np.float32)
    adapted = (np.array([[0.0, 0.5]], np.float32), np.array([0, 1]))

    ranking = rank(dense, np.zeros_like(dense), no_groups(4), PLAIN, whole=False, adapted=adapted)
    plain = rank(dense, np.zeros_like(dense), no_groups(4), PLAIN, whole=False)

    assert ranking.candidates.tolist() == [1, 3, 0, 2]
    assert ranking.trained.tolist() == pytest.approx([0.1, 0, -0.4, 0])
    assert dict(zip(ranking.candidates.tolist(), ranking.standing.tolist(), strict=True)) == pytest.approx(
        dict(zip(plain.candidates.tolist(), plain.standing.tolist(), strict=True))
    )
    assert (ranking.behind <= -ranking.standing + 1e-6).all()
