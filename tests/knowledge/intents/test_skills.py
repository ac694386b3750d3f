"""Skills without training lines, on made-up embeddings: each view is an axis of its own."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.knowledge.intents.router.fitted import Fitted, score, unpacked
from thresher.knowledge.intents.router.fitting import fit
from thresher.knowledge.intents.router.records import SkillText, Training, Vectors
from thresher.knowledge.intents.router.skills import THRESHOLD, skill_text

DIMENSION = 32
EVERYDAY = 20


def near(*axes: int, count: int = 1, share: float = 1.0, seed: int = 0) -> np.ndarray:
    """Unit vectors about some axes, with a share of another that all texts have in common."""
    rows = np.random.default_rng(seed).normal(0, 0.02, (count, DIMENSION)).astype(np.float32)
    rows[:, 0] += 1.0
    for axis in axes:
        rows[:, axis] += share
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def fitted(*, alone: bool = False) -> Fitted:
    """Two intents with lines on the axes 1 and 2; the skills `maps` on 5 and 6 and `songs` on 8 and 9.

    A skill's first axis is that of gist and line, the second that of its only passage; `songs` refuses axis 12.
    """
    own = 0 if alone else 12
    skills = (
        SkillText("maps: draws maps", ("how maps are drawn",), {"map": 3, "shapefil": 2}),
        SkillText("songs: writes songs", ("how songs are written",), {"song": 3, "chord": 2}),
    )
    names = ("maps", "songs") if alone else ("orders", "returns", "maps", "songs")
    labels = np.array([*([0] * own), *([1] * own), len(names) - 2, len(names) - 1], np.int32)
    training = Training(
        names,
        tuple(f"line {number}" for number in range(len(labels))),
        labels,
        ("operas",),
        np.array([len(names) - 1], np.int32),
        ((),) * len(names),
        skills,
    )
    lines = [near(1, count=own, seed=1), near(2, count=own, seed=2), near(5), near(8)]
    views = np.vstack([near(5), near(8), near(6), near(9)])
    return fit(training, Vectors(np.vstack(lines), near(12), near(EVERYDAY, count=40, seed=3), views))


def asked(router: Fitted, vector: np.ndarray, text: str = "") -> dict[str, float]:
    """The score of each intent."""
    return dict(zip(router.intents, score(router, vector, (text,)).score[0].tolist(), strict=True))


@pytest.mark.parametrize("alone", [False, True])
def test_a_message_gets_the_skill_that_says_so(*, alone: bool) -> None:
    """A message near line and gist passes the threshold of its skill, and no other skill's."""
    scores = asked(fitted(alone=alone), near(5, seed=9))

    assert scores["maps"] > THRESHOLD > scores["songs"]


def test_passages_and_words_speak_for_a_skill() -> None:
    """What the description does not say may stand in the rules; each raises the score by itself."""
    router = fitted()
    plain = asked(router, near(5, share=0.3))["maps"]

    assert asked(router, near(5, 6, share=0.3))["maps"] > plain
    assert asked(router, near(5, share=0.3), "these shapefiles")["maps"] > plain
    assert asked(router, near(5, share=0.3), "these chords")["maps"] < plain


def test_what_a_description_refuses_is_taken_off() -> None:
    """A message nearer to what a skill is not for than to its lines is not for it."""
    router = fitted()

    assert asked(router, near(8, 12))["songs"] < asked(router, near(8, 13))["songs"]
    assert asked(router, near(12, seed=4))["songs"] < THRESHOLD


def test_an_everyday_message_gets_no_skill() -> None:
    """Small talk is near nothing that a skill says of itself."""
    scores = asked(fitted(), near(EVERYDAY, seed=7))

    assert max(scores["maps"], scores["songs"]) < 0.1


def test_intents_with_lines_are_still_told_from_skills() -> None:
    """Their messages are theirs, a skill's are not, and probabilities sum to one."""
    router = fitted()

    assert max(own := asked(router, near(1, seed=9)), key=lambda name: own[name]) == "orders"
    assert asked(router, near(5, seed=9))["orders"] < 0.1
    assert score(router, near(1, 5), ("",)).probability.sum() == pytest.approx(1.0, abs=1e-5)


def test_the_nearest_line_of_a_skill_is_named_by_its_place_among_all() -> None:
    """Explanations quote the line of the description."""
    assert score(fitted(), near(5), ("",)).nearest[0].tolist()[2:] == [24, 25]


def test_a_stored_fit_scores_skills_alike() -> None:
    """Unpacked, it gives the same scores bit by bit."""
    router = fitted()
    again = unpacked(router.packed())

    for vector, text in ((near(5), "a map"), (near(9), "song"), (near(1), "")):
        assert score(again, vector, (text,)).score.tolist() == score(router, vector, (text,)).score.tolist()


def test_rules_are_read_as_passages_without_code() -> None:
    """Pieces of bounded length, so many at most; fenced code and marks are left out; without rules the gist stands."""
    rules = "# Maps\n\n```python\nsecret()\n```\n\n" + "Draw **coasts** first. " * 2_000

    skill = skill_text("draw-maps", "Draws maps.", rules, {})

    assert len(skill.passages) == 16
    assert all(len(passage) <= 700 for passage in skill.passages)
    assert skill.passages[0].startswith("Maps Draw coasts first.")
    assert "secret" not in " ".join(skill.passages)
    assert skill_text("draw-maps", "Draws maps.", "", {}).passages == ("draw maps: Draws maps.",)
