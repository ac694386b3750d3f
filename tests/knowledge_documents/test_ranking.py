"""From the scores of both arms to an order of chunks and documents."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.knowledge.documents.answers import ranking
from thresher.knowledge.documents.models import chunk_id
from thresher.search import Floats


def floats(*values: float) -> Floats:
    """A column."""
    return np.array(values, np.float32)


def test_both_arms_count() -> None:
    """The sum of weighted scores; without vectors the words alone."""
    assert np.argmax(ranking.fuse(floats(0.7, 0.8), floats(0.0, 0.0))) == 1
    assert np.argmax(ranking.fuse(floats(0.8, 0.7), floats(0.0, 9.0))) == 1
    assert np.argmax(ranking.fuse(None, floats(1.0, 2.0))) == 1
    assert np.argmax(ranking.fuse(floats(np.nan, np.nan), floats(1.0, 2.0))) == 1


def test_a_chunk_without_vector_and_words_counts_as_near_as_the_median() -> None:
    """The question's words say nothing about it."""
    scores = ranking.fuse(floats(0.2, 0.6, np.nan, 0.8), floats(0.0, 0.0, 0.0, 0.0))

    assert scores[2] == scores[1]


def test_a_chunk_without_vector_is_as_near_as_its_words_suggest() -> None:
    """From the median of the others to the nearest of them, by its share of the best words."""
    dense, words = floats(0.5, 0.6, 0.8, np.nan, np.nan, np.nan), floats(0, 1, 3, 8, 4, 0)
    scores = ranking.fuse(dense, words)

    assert scores[3] == ranking.fuse(floats(0.8), floats(8.0))[0]
    assert scores[4] == pytest.approx(ranking.fuse(floats(0.7), floats(4.0))[0])
    assert scores[5] == ranking.fuse(floats(0.6), floats(0.0))[0]


def test_the_only_chunk_with_the_word_of_the_question_comes_first_before_it_is_embedded() -> None:
    """Chunks that have a vector and nothing of the question's words do not outrank it."""
    scores = ranking.fuse(floats(0.50, 0.55, 0.60, 0.75, np.nan), floats(0, 0, 0, 0, 7))

    assert np.argmax(scores) == 4


def test_a_chunk_without_vector_can_be_all_that_fits() -> None:
    """By a good share of the question's words, whatever is far in meaning beside it."""
    dense = floats(0.4, np.nan)

    assert not ranking.nothing_fits(dense, floats(0.0, ranking.UNEMBEDDED_WORDS + 0.1))
    assert ranking.nothing_fits(dense, floats(ranking.UNEMBEDDED_WORDS + 0.1, 0.0))
    assert ranking.nothing_fits(dense, floats(0.0, ranking.UNEMBEDDED_WORDS - 0.1))


def test_nearness_must_be_greater_in_an_unnamed_repository() -> None:
    """Among many repositories, one is always near by chance."""
    near, held = floats(ranking.THRESHER_SMALL.near + ranking.UNNAMED / 2), floats(0.0)

    assert not ranking.nothing_fits(near, held)
    assert ranking.nothing_fits(near, held, unnamed=True)


def test_neighbours_of_relevant_chunks_rank_higher() -> None:
    """More so under the same heading; a chunk that must not be chosen never does."""
    scores = floats(0, 0, 9, 0, 0, 0, -np.inf)

    seen = ranking.among_neighbours(scores, np.array([0, 0, 0, 1, 1, 1, 1]))

    assert seen[2] > seen[1] > seen[3] > seen[5]
    assert seen[6] == -np.inf


def test_a_hole_between_two_good_chunks_is_filled() -> None:
    """It is raised towards the lower of both."""
    scores = floats(0, 0, 9, 0, 9, 0, 0, 4, 0)

    seen = ranking.among_neighbours(scores, np.zeros(9, np.int64))

    assert seen[3] > seen[7]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_short_documents_have_few_neighbours(count: int) -> None:
    """Equal scores stay equal, however short the document."""
    seen = ranking.among_neighbours(np.full(count, 3.0, np.float32), np.zeros(count, np.int64))

    assert seen.tolist() == pytest.approx([3.0] * count)


def test_a_document_is_chosen_by_its_best_chunk() -> None:
    """Neither by the number of chunks nor by their mean."""
    ids = np.array([chunk_id(1, 0), chunk_id(1, 1), *(chunk_id(2, place) for place in range(50))], np.int64)
    scores = np.array([9.0, 0.0, *([3.0] * 50)], np.float32)
    words = np.zeros_like(scores)

    assert ranking.best_documents(ids, scores, words) == [1, 2]
    assert ranking.best_documents(ids[:0], scores[:0], words[:0]) == []


def test_of_documents_whose_best_chunks_are_equally_near_the_opening_decides() -> None:
    """It says what a document is about; where the words of the question stand counts less than what is meant."""
    ids = np.array([chunk_id(key, place) for key in (1, 2, 3) for place in range(2)], np.int64)
    words = np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0], np.float32)
    meant = np.array([10.0, 14.0, 13.0, 14.0, 12.0, 14.0], np.float32)

    assert ranking.best_documents(ids, meant + words, words) == [2, 3, 1]


def test_nothing_fits_if_neither_meaning_nor_words_do() -> None:
    """Nearness, or a good part of the words, or a little of both."""
    assert ranking.nothing_fits(floats(0.5, 0.4), floats(0.1, 0.0))
    assert not ranking.nothing_fits(floats(0.75, 0.4), floats(0.0, 0.0))
    assert not ranking.nothing_fits(floats(0.6, 0.4), floats(0.9, 0.0))
    assert ranking.nothing_fits(None, floats(0.1))
    assert not ranking.nothing_fits(None, floats(0.5))
    assert ranking.nothing_fits(None, floats())


def test_an_unknown_model_is_weighed_by_how_far_its_scores_lie_apart() -> None:
    """One whose scores lie close together counts as much as one whose scores do not, within bounds."""
    lexical = np.array([0.0, 1.0, 2.0], np.float32)
    wide = np.array([0.8, 0.7, 0.6], np.float32)
    close = np.array([0.84, 0.82, 0.80], np.float32)
    same = np.full(3, 0.8, np.float32)

    spreads = [np.ptp(ranking.fuse(dense, 0 * lexical, "unheard-of@1")) for dense in (wide, close, same)]

    assert spreads[0] == pytest.approx(20 * 0.2, rel=0.5)
    assert spreads[1] == pytest.approx(spreads[0], rel=0.5)
    assert spreads[2] == 0
    assert ranking.fuse(same, lexical, "unheard-of@1").argmax() == 2


def test_an_unknown_model_refuses_nothing() -> None:
    """The scale of its scores is unknown."""
    assert not ranking.nothing_fits(floats(0.1), floats(0.0), "some-model@1")


def test_the_cross_encoder_moves_what_it_read() -> None:
    """A chunk that it judges relevant rises above its equals, and above those that it did not read."""
    judged = ranking.reranked(floats(5, 5, 5), np.array([0, 2]), floats(-11.0, 4.0))

    assert judged[2] > judged[0] >= judged[1]


def test_the_nearest_chunks_get_places_whatever_their_words() -> None:
    """A chunk far below in score takes the fourth place if none is nearer."""
    scores, nearness = floats(9, 8, 7, 6, 5, 1), floats(0.3, 0.3, 0.2, 0.2, 0.1, 0.9)

    assert np.argsort(-ranking.with_nearest(scores, nearness), kind="stable").tolist() == [0, 1, 2, 3, 5, 4]
    assert ranking.with_nearest(scores, None) is scores


def test_a_chunk_that_must_not_be_chosen_stays_last_however_near() -> None:
    """A chunk without a vector keeps its place by score."""
    merged = ranking.with_nearest(floats(9, -np.inf, 7), floats(np.nan, 0.9, 0.1))

    assert merged[0] > merged[2] > merged[1] == -np.inf


def test_documents_keep_their_standing_when_a_question_is_narrowed() -> None:
    """The best chunk of each document has the score that the whole question gave to the document."""
    ids = np.array([chunk_id(1, 0), chunk_id(1, 1), chunk_id(2, 0)], np.int64)

    inside = ranking.inside_documents(floats(9, 5, 7), floats(1, 4, 4), ids)

    assert inside.tolist() == [6, 9, 7]


def test_a_search_of_which_one_chunk_holds_all_words_fits() -> None:
    """A code that stands in a chunk is found however little its meaning says; half of the words are not enough."""
    assert not ranking.nothing_fits(floats(0.5), floats(1.0))
    assert ranking.nothing_fits(floats(0.5), floats(0.5))
