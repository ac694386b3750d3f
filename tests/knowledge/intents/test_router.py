"""The router on made-up embeddings: clusters on a sphere stand for intents, a far one for everyday messages."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.core import InvalidInput
from thresher.knowledge.intents.router.fitted import Fitted, score, unpacked
from thresher.knowledge.intents.router.fitting import fit
from thresher.knowledge.intents.router.lexicon import lexicon_of, score_words
from thresher.knowledge.intents.router.records import Training, Vectors

DIMENSION = 32


def cluster(centre: int, count: int, seed: int) -> np.ndarray:
    """Unit vectors about one axis, with a share of another that all texts have in common."""
    rows = np.random.default_rng(seed).normal(0, 0.12, (count, DIMENSION)).astype(np.float32)
    rows[:, 0] += 1.0
    rows[:, centre] += 0.8
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def training(*counts: int, keywords: tuple[tuple[str, ...], ...] | None = None) -> tuple[Training, Vectors]:
    """As many intents as counts, each about an axis of its own."""
    labels = np.repeat(np.arange(len(counts)), counts).astype(np.int32)
    lines = [cluster(1 + index, count, index) for index, count in enumerate(counts)]
    vectors = np.vstack(lines) if lines else np.empty((0, DIMENSION), np.float32)
    names = tuple(f"intent-{index}" for index in range(len(counts)))
    texts = tuple(f"line {number}" for number in range(len(labels)))
    empty = np.empty((0, DIMENSION), np.float32)
    return (
        Training(names, texts, labels, (), np.empty(0, np.int32), keywords or ((),) * len(counts)),
        Vectors(vectors, empty, cluster(20, 40, 99)),
    )


def asked(fitted: Fitted, vectors: np.ndarray, text: str = "") -> np.ndarray:
    """The scores of some vectors."""
    return score(fitted, vectors, (text,) * len(vectors)).score


def test_a_message_gets_the_intent_whose_lines_it_is_like() -> None:
    """Unseen messages of each cluster score highest for its intent, above the threshold."""
    fitted = fit(*training(12, 12, 12))

    for intent in range(3):
        scores = asked(fitted, cluster(1 + intent, 20, 50 + intent))
        assert (scores.argmax(axis=1) == intent).all()
        assert (scores[:, intent] >= fitted.limits[intent]).mean() > 0.8


def test_an_everyday_message_matches_nothing() -> None:
    """A message of the everyday cluster stays below every threshold."""
    fitted = fit(*training(12, 12, 12))

    assert (asked(fitted, cluster(20, 30, 7)) < fitted.limits).all()


def test_an_intent_of_few_lines_stands_beside_one_of_many() -> None:
    """What looks a little like the lines of a large intent still gets the small one that it is meant for."""
    lines, vectors = training(1_000, 8)
    near = cluster(1, 400, 60) + 0.4 * cluster(2, 400, 61)
    near = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    vectors.lines[1_000:] = near[:8]
    fitted = fit(lines, vectors)

    found = asked(fitted, near[8:]).argmax(axis=1)

    assert found.mean() > 0.75


@pytest.mark.parametrize("counts", [(1,), (1, 1), (12,), (1, 40)])
def test_few_lines_are_enough_to_work(counts: tuple[int, ...]) -> None:
    """One line an intent, and one intent alone, are told from everyday messages."""
    fitted = fit(*training(*counts))

    own = asked(fitted, cluster(1, 20, 3))
    assert fitted.basis == "prototype"
    assert own[:, 0].mean() > asked(fitted, cluster(20, 20, 4))[:, 0].mean() + 0.3


def test_no_intents_give_no_scores() -> None:
    """A fit of nothing scores any text with nothing."""
    fitted = fit(*training())

    assert asked(fitted, cluster(1, 3, 0)).shape == (3, 0)


def test_no_texts_give_no_rows() -> None:
    """Zero texts are fine."""
    assert asked(fit(*training(3, 3)), np.empty((0, DIMENSION), np.float32)).shape == (0, 2)


def test_a_fit_read_back_scores_the_same() -> None:
    """Packing loses nothing, bit by bit."""
    fitted = fit(*training(6, 9))
    again = unpacked(fitted.packed())
    texts = cluster(2, 10, 5)

    assert np.array_equal(asked(fitted, texts), asked(again, texts))
    assert again.thresholds == fitted.thresholds


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 nonsense", b"\x80\x04pickle"])
def test_bytes_that_are_no_fit_are_refused(data: bytes) -> None:
    """Damaged bytes are an error of ours, with a hint."""
    with pytest.raises(InvalidInput, match="cannot be read"):
        unpacked(data)


def test_a_keyword_raises_its_intent() -> None:
    """The name of a thing in the domain adds to the score, in any case and number."""
    fitted = fit(*training(6, 6, keywords=(("value list",), ())))
    between = (cluster(1, 1, 5) + cluster(2, 1, 6) + cluster(20, 1, 8)) / 3
    between /= np.linalg.norm(between)

    held = score(fitted, between.astype(np.float32), ("show the Value Lists",))
    assert held.keywords == ({0: ("value list",)},)
    assert held.score[0, 0] > asked(fitted, between)[0, 0]


def test_words_alone_find_an_intent() -> None:
    """Without vectors the line that shares the rare words decides, and everyday words match nothing."""
    given, _ = training(1, 1)
    lines = ("create a relation between orders and customers", "deploy the solution to production")
    lexicon = lexicon_of(Training(given.intents, lines, given.labels, (), given.negative_labels, given.keywords))

    scores = score_words(lexicon, ["relation from orders to customers", "how do I boil an egg", ""]).score
    assert scores[0].argmax() == 0
    assert scores[0, 0] >= 0.5
    assert scores[1:].max() < 0.5
