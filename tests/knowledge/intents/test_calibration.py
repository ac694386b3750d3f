"""The pieces under the router: the head, the similarity, keywords, and thresholds from lines held out."""

from __future__ import annotations

import numpy as np
import pytest

from tests.knowledge.intents.test_router import DIMENSION, asked, cluster, training
from thresher.knowledge.intents.router.calibration import BOUNDS, quantile
from thresher.knowledge.intents.router.fitted import score
from thresher.knowledge.intents.router.fitting import fit
from thresher.knowledge.intents.router.head import fit_head
from thresher.knowledge.intents.router.lexicon import keywords_of, lexicon_of, score_words
from thresher.knowledge.intents.router.records import EVERYDAY, Training, Vectors, read_lines
from thresher.knowledge.intents.router.similarity import grouped, kernel_cosine


def test_the_head_meets_the_optimum() -> None:
    """Two intents of equal size share the probability, and every line gets its own."""
    vectors = np.vstack([cluster(1, 30, 0), cluster(2, 30, 1)])
    labels = np.repeat([0, 1], 30).astype(np.int32)

    head = fit_head(vectors, labels, 2)

    probabilities = np.exp(head.log_probabilities(vectors))
    assert (probabilities.argmax(axis=1) == labels).all()
    assert abs(float(probabilities[:, 0].mean()) - 0.5) < 0.01


def test_the_head_begun_elsewhere_ends_the_same() -> None:
    """A fit that begins at that of most lines gives the probabilities of one from nothing."""
    vectors = np.vstack([cluster(1, 30, 0), cluster(2, 30, 1), cluster(3, 30, 2)])
    labels = np.repeat([0, 1, 2], 30).astype(np.int32)
    most = np.arange(90) % 5 > 0

    fresh = fit_head(vectors, labels, 3)
    warm = fit_head(vectors, labels, 3, start=fit_head(vectors[most], labels[most], 3))

    assert np.abs(np.exp(fresh.log_probabilities(vectors)) - np.exp(warm.log_probabilities(vectors))).max() < 0.01


def test_a_pack_with_many_lines_does_not_outvote_one_with_few() -> None:
    """Half way between two clusters the head prefers neither, though one has twenty times the lines."""
    fitted = fit(*training(4, 80))
    between = cluster(1, 200, 5) + cluster(2, 200, 6)
    between /= np.linalg.norm(between, axis=1, keepdims=True)

    first = np.exp(fitted.head.log_probabilities(between))[:, 0].mean()
    assert 0.25 < first < 0.75


def test_an_intent_without_lines_is_never_the_best() -> None:
    """A training that names an intent and has no line for it still fits, and nothing matches that intent."""
    given, vectors = training(8, 8)
    named = Training((*given.intents, "silent"), given.lines, given.labels, (), given.negative_labels, ((),) * 3)

    scores = asked(fit(named, vectors), cluster(1, 10, 4))
    assert scores.shape == (10, 3)
    assert scores[:, 2].max() < 0.01


def test_near_misses_lower_the_score_of_what_is_like_them() -> None:
    """Lines that an intent must not match take from messages near them more than from its own."""
    given, vectors = training(20, 20)
    misses = cluster(1, 12, 30) + 1.2 * cluster(9, 12, 31)
    misses = (misses / np.linalg.norm(misses, axis=1, keepdims=True)).astype(np.float32)
    warned = Training(given.intents, given.lines, given.labels, ("no",) * 12, np.zeros(12, np.int32), given.keywords)

    before = fit(given, vectors)
    after = fit(warned, Vectors(vectors.lines, misses, vectors.background))

    own, near = cluster(1, 20, 40), misses[:4]
    assert (asked(after, near)[:, 0] < after.limits[0]).all()
    assert (asked(before, near)[:, 0] - asked(after, near)[:, 0]).mean() > 0.1
    assert (asked(after, own)[:, 0] >= after.limits[0]).mean() > 0.8


@pytest.mark.parametrize("counts", [(1,), (3, 60), (2, 2, 2, 2, 2, 2, 2, 2, 2, 2), (40, 40)])
def test_thresholds_stay_inside_their_bounds(counts: tuple[int, ...]) -> None:
    """Whatever the lines, each intent has a threshold that can be reached and is not free."""
    fitted = fit(*training(*counts))

    assert list(fitted.thresholds) == list(fitted.intents)
    assert all(BOUNDS[0] <= limit <= BOUNDS[1] for limit in fitted.thresholds.values())


def test_fewer_false_alarms_never_lower_a_threshold() -> None:
    """A stricter rate gives thresholds at least as high."""
    given = training(15, 15, 15)

    strict, loose = fit(*given, false_alarms=0.001), fit(*given, false_alarms=0.5)
    assert (strict.limits >= loose.limits).all()


def test_without_everyday_messages_scores_are_numbers() -> None:
    """A fit without a background falls back to what the packaged model usually gives."""
    given, vectors = training(10, 10)

    scores = asked(fit(given, Vectors(vectors.lines, vectors.negatives)), cluster(1, 5, 2))
    assert np.isfinite(scores).all()
    assert (scores.argmax(axis=1) == 0).all()


def test_many_intents_are_compared_where_it_is_worth_it() -> None:
    """Beyond a few intents only the likely ones have a nearest line, unless all are asked for."""
    fitted = fit(*training(*(4,) * 12))
    texts = cluster(3, 2, 8)

    some = score(fitted, texts, ("", ""))
    every = score(fitted, texts, ("", ""), thorough=True)
    assert (some.nearest < 0).any()
    assert (every.nearest >= 0).all()
    assert (some.score.argmax(axis=1) == every.score.argmax(axis=1)).all()


def test_a_text_scores_the_same_alone_and_among_others() -> None:
    """Scores rest on the text alone."""
    fitted = fit(*training(6, 6, 6))
    texts = np.vstack([cluster(1, 2, 1), cluster(3, 300, 2)])

    assert np.allclose(asked(fitted, texts)[:2], asked(fitted, texts[:2]), atol=1e-5)


def test_the_kernel_lies_between_prototype_and_nearest_line() -> None:
    """Flat it is the cosine to the mean, sharp that to the nearest row."""
    rows, vectors = cluster(1, 9, 0), cluster(2, 3, 1)
    cosines = vectors @ rows.T
    mean = rows.mean(axis=0) / np.linalg.norm(rows.mean(axis=0))

    assert np.allclose(kernel_cosine(cosines, rows, vectors, 0.0), vectors @ mean, atol=1e-5)
    assert np.allclose(kernel_cosine(cosines, rows, vectors, 1e6), cosines.max(axis=1), atol=1e-4)


def test_groups_keep_the_place_of_their_rows() -> None:
    """Grouping sorts by label and remembers where each row stood."""
    groups = grouped(np.eye(4, DIMENSION, dtype=np.float32), np.array([2, 0, 2, 0], np.int32), 3)

    assert groups.count == 3
    assert [len(groups.of(group)) for group in range(3)] == [2, 0, 2]
    assert groups.order.tolist() == [1, 3, 0, 2]


def test_a_weighted_quantile_counts_weights() -> None:
    """Half of the weight, not half of the values."""
    assert quantile(np.array([3.0, 1.0, 2.0], np.float32), 0.5, np.array([8.0, 1.0, 1.0], np.float32)) == 3.0


def test_keywords_are_found_as_words_are_compared() -> None:
    """Case, plural, camelCase and blanks make no difference; stop words alone are no keyword."""
    keywords = keywords_of((("relation", "the"), ("valueList", "relation")))

    assert keywords.found("Create RELATIONS for value lists") == {
        0: ("relation",),
        1: ("relation", "valueList"),
    }
    assert keywords.found("the and of") == {}


def test_a_near_miss_of_the_same_words_beats_a_line_without_vectors() -> None:
    """By words alone, a text that is a near miss does not match."""
    given = Training(
        ("git",),
        ("show the commit history of this repository",),
        np.zeros(1, np.int32),
        ("show the history of ancient rome",),
        np.zeros(1, np.int32),
        ((),),
    )

    scores = score_words(lexicon_of(given), ["show the history of ancient rome", "commit history of this repository"])
    assert scores.score[0, 0] < 0.5 <= scores.score[1, 0]
    assert scores.nearest.tolist() == [[0], [0]]


def test_everyday_messages_are_distinct_lines() -> None:
    """There are enough of them to measure against, without remarks."""
    assert len(EVERYDAY) >= 150
    assert not any(line.startswith("#") for line in EVERYDAY)
    assert read_lines("# no\n\n a \na\nb") == ("a", "b")
