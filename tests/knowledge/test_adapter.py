"""What training fits and measures: scores of uses, weights of voters, parts, and the figures."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np
import pytest

from thresher.knowledge.tools.learning.adapter import (
    PARTS,
    AdapterFigures,
    Samples,
    figures,
    fitted,
    places,
    samples_of,
)
from thresher.knowledge.tools.models import Use
from thresher.search import Floats, ItemVectors

NOW = dt.datetime(2026, 1, 31, tzinfo=dt.UTC)
TOOLS = np.array([3, 5, 7, 9], np.int64)
SCALE = 10.0


@pytest.fixture
def one_suffices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool gets an offset for one message."""
    monkeypatch.setattr("thresher.knowledge.tools.learning.adapter.LEAST_EACH", 1)


def stored(dimension: int = 8) -> ItemVectors:
    """Four tools at right angles."""
    return ItemVectors("m", TOOLS, np.eye(4, dimension, dtype=np.float32), SCALE)


def used(tool: int, vector: Floats, *, voter: str = "", standings: Sequence[float] = (), **more: object) -> Use:
    """A use; with standings, of an answer that offered the first tools."""
    values: dict[str, object] = {"model": "m", "trace_id": str(id(vector)), "weight": 1.0, **more}
    return Use(
        at=NOW,
        searched_at=NOW,
        owner=None,
        voter=voter,
        vector=vector.astype(np.float16).tobytes(),
        tool_id=tool,
        passed=(),
        failed=(),
        offered=tuple(TOOLS[: len(standings)].tolist()),
        standings=tuple(standings),
        message=None,
        **values,  # pyright: ignore[reportArgumentType]
    )


def messages(count: int, seed: int = 0, dimension: int = 8) -> Floats:
    """Unlike messages, of length 1."""
    found = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def swapped(count: int, seed: int = 0) -> list[Use]:
    """Uses of the second tool where the search puts the first ahead, and the other way round."""
    uses: list[Use] = []
    for vector in messages(count, seed):
        first = vector[4] > 0
        uses.append(used(3 if first else 5, vector, standings=(-1.0, 0.0, -3.0) if first else (0.0, -1.0, -3.0)))
    return uses


def held_out(samples: Samples) -> AdapterFigures:
    """The figures, as a training computes them."""
    measured: dict[int, np.ndarray] = {}
    for part in range(PARTS):
        rest = samples.part != part
        seen = np.isin(np.arange(len(samples.tools)), samples.target[rest])
        measured[part] = places(samples, ~rest, fitted(samples, rest), seen)
    return figures(samples, measured)


@pytest.mark.usefixtures("one_suffices")
def test_scores_are_the_standings_of_what_was_offered() -> None:
    """What was not offered stood below it; a tool that nobody needs competes, and has no offset."""
    one, two = messages(2)
    uses = [used(3, one, standings=(-1.0, 0.0)), used(9, two, standings=(0.0, -2.0, -4.0, -5.0))]

    samples = samples_of(uses, stored())

    assert samples.tools.tolist() == [3, 9]
    assert samples.scores[0, 0] == -1
    assert samples.scores[0, 1] <= -1
    assert samples.scores[1].tolist() == [0, -5]
    assert sorted(samples.others[0].tolist())[-1] == 0
    assert sorted(samples.others[1].tolist()) == [-4, -2]


@pytest.mark.usefixtures("one_suffices")
def test_only_uses_of_the_stored_model_and_of_tools_that_are_there_count() -> None:
    """A tool that has gone has no vector to add to."""
    one, two, three = messages(3)

    samples = samples_of([used(3, one), used(4, two), used(5, three, model="older")], stored())

    assert (len(samples), samples.tools.tolist()) == (1, [3])


def test_a_tool_that_was_called_for_two_messages_only_gets_no_offset() -> None:
    """However often: those calls may be mistakes, or one key's; it counts as a rival of the others."""
    two = messages(2, seed=9)
    mistakes = [used(7, two[row % 2], standings=(0.0, -1.0, -2.0)) for row in range(20)]
    uses = [used(3, vector, standings=(-1.0, -2.0, 0.0)) for vector in messages(4)]

    samples = samples_of([*uses, *mistakes], stored())

    assert (len(samples), samples.tools.tolist()) == (4, [3])
    assert samples.others.max(axis=1).tolist() == [0] * 4


def test_without_any_use_there_is_nothing_to_fit() -> None:
    """And nothing helps."""
    samples = samples_of([], stored())

    assert len(samples) == 0
    assert not figures(samples, {}).helps


def test_no_voter_counts_more_than_the_median_one() -> None:
    """The lesser of two in the middle, so that of two the busier one does not decide."""
    voters = ["mallory"] * 60 + ["ann"] * 10 + ["bob"] * 4 + ["eve"] * 2
    uses = [used(3, vector, voter=voter) for vector, voter in zip(messages(len(voters)), voters, strict=True)]

    samples = samples_of(uses, stored())

    totals = np.bincount(samples.voter, samples.weight)
    assert sorted(totals.round(3).tolist()) == [2, 4, 4, 4]


def test_messages_that_are_nearly_the_same_are_measured_in_one_part() -> None:
    """Else a message would be measured with what it has taught."""
    vectors = messages(7)
    near = vectors + 0.02 * messages(7, seed=1)

    samples = samples_of([used(3, vector) for vector in (*vectors, *near, *vectors)], stored())

    assert samples.part.tolist() == [0, 1, 2, 3, 4, 0, 1] * 3
    assert len(np.unique(samples.message)) == 7


def test_what_carries_over_gains_on_what_was_left_out() -> None:
    """And the tool that nobody needed has no offset."""
    samples = samples_of(swapped(200), stored())

    found = held_out(samples)

    assert found.helps
    assert found.first_before == 0
    assert found.first_after > 0.8
    assert found.low <= found.gain <= found.high
    assert fitted(samples, samples.target == 0)[1].tolist() == [0] * 8


def test_what_follows_no_rule_gains_nothing() -> None:
    """Though it is learned by heart where it was fitted."""
    random = np.random.default_rng(3)
    uses = [
        used(int(random.choice([3, 5])), vector, standings=(0.0, -0.5) if random.random() < 0.5 else (-0.5, 0.0))
        for vector in messages(200)
    ]

    found = held_out(samples_of(uses, stored()))

    assert not found.helps


@pytest.mark.usefixtures("one_suffices")
def test_few_messages_decide_nothing_however_often_they_are_repeated() -> None:
    """Ten that gain, each 20 times, are ten."""
    uses = swapped(10) * 20

    found = held_out(samples_of(uses, stored()))

    assert (found.samples, found.messages, found.helps) == (200, 10, False)


def test_it_does_not_help_if_as_many_voters_lose_as_gain() -> None:
    """Though the mean over all of them gains."""
    voters = ("ann", "bob")
    uses = [used(3, vector, voter=voters[row % 2], standings=(0.0,)) for row, vector in enumerate(messages(120))]
    samples = samples_of(uses, stored())
    moved = np.array([[4.0, 1.0], [1.0, 1.25]])
    gained = {part: moved[samples.voter[samples.part == part]] for part in range(PARTS)}

    found = figures(samples, gained)

    assert found.low > 0
    assert (found.better, found.worse, found.helps) == (1, 1, False)


@pytest.mark.usefixtures("one_suffices")
def test_other_tools_that_a_message_needs_do_not_count_against_it() -> None:
    """A message that needs two tools has each of them first."""
    vector = messages(1)[0]
    uses = [used(tool, vector, standings=(0.0, -1.0)) for tool in (3, 5)]

    samples = samples_of(uses, stored())
    found = places(samples, np.ones(2, np.bool_), np.zeros((2, 8), np.float32), np.ones(2, np.bool_))

    assert found.tolist() == [[1, 1], [1, 1]]


@pytest.mark.usefixtures("one_suffices")
@pytest.mark.parametrize("count", [1, 2])
def test_one_tool_alone_can_be_fitted(count: int) -> None:
    """It has no rival to be told from."""
    samples = samples_of([used(3, vector, standings=(0.0,)) for vector in messages(count)], stored())

    assert not fitted(samples, np.ones(count, np.bool_)).any()
