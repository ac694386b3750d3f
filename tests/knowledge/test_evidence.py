"""What uses say about a message: likeness, age, caps, and whose say counts."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pytest

from thresher.core import Caller, Tenant
from thresher.knowledge.tools.learning.evidence import LIKE, OTHERS, OWN, evidence_of, learned_scores
from thresher.knowledge.tools.learning.replay import replay
from thresher.knowledge.tools.learning.uses import OfferedAnswer, OfferedTool, UseTracker, voter_of
from thresher.knowledge.tools.models import Use

NOW = dt.datetime(2026, 1, 31, tzinfo=dt.UTC)
MONTH = 30.0
VECTOR = np.array([1.0, 0.0], np.float32)


def at_cosine(cosine: float) -> np.ndarray:
    """A vector at a cosine with `VECTOR`."""
    return np.array([cosine, np.sqrt(1 - cosine**2)], np.float32)


def used(tool: int, voter: str = "ann", *, days: float = 0.0, **more: object) -> Use:
    """A use after a message at `VECTOR`."""
    use = Use(
        at=NOW - dt.timedelta(days=days),
        owner=voter,
        voter=voter,
        trace_id="",
        model="m",
        vector=VECTOR.astype(np.float16).tobytes(),
        tool_id=tool,
        weight=1.0,
        passed=(),
        failed=(),
        offered=(),
        standings=(),
        message=None,
    )
    return replace(use, **more)


def said(uses: list[Use], voter: str = "ann", cosine: float = 1.0) -> dict[int, float]:
    """What is added to each tool's score."""
    found = learned_scores(at_cosine(cosine)[None], evidence_of(uses), voter, NOW.timestamp(), MONTH)
    return {} if found is None else dict(zip(found.ids.tolist(), found.added[0].tolist(), strict=True))


def test_a_message_that_is_like_none_gains_and_loses_nothing() -> None:
    """At the threshold of likeness already; above it the nearer message gains more."""
    uses = [used(1, passed=(2,)), used(1, passed=(2,))]

    assert said(uses, cosine=LIKE - 0.01) == {}
    assert 0 < said(uses, cosine=0.8)[1] < said(uses, cosine=0.9)[1] < OWN
    assert said(uses, cosine=0.8)[2] < 0


def test_no_number_of_calls_adds_more_than_the_cap() -> None:
    """A thousand of one's own say hardly more than a few, and those of a hundred others no more than theirs."""
    assert said([used(1)] * 1_000)[1] == pytest.approx(OWN, abs=0.01)
    assert said([used(1, f"user{number}") for number in range(100) for _ in range(9)])[1] <= OTHERS


def test_a_use_counts_half_after_the_half_life() -> None:
    """So that what was right once fades."""
    uses = [used(1, days=MONTH, weight=0.1)]

    assert said(uses)[1] == pytest.approx(said([used(1, weight=0.05)])[1], rel=1e-3)


def test_one_other_voter_says_nothing_and_two_say_what_both_do() -> None:
    """The second strongest say counts, so a thousand calls of one lend weight to one call of another, no more."""
    loud = [used(1, "mallory")] * 1_000

    assert said(loud) == {}
    assert said([*loud, used(1, "bob", weight=0.1)])[1] == pytest.approx(
        said([used(1, "carol"), used(1, "bob", weight=0.1)])[1]
    )


def test_others_take_nothing_away() -> None:
    """Whatever they pass over or see fail; one's own history does."""
    uses = [used(1, voter, passed=(2,), failed=(3,)) for voter in ("bob", "carol", "mallory")]

    assert set(said(uses)) == {1}
    assert said([used(1, passed=(2,), failed=(3,))])[3] < said([used(1, passed=(2,), failed=(3,))])[2] < 0


def test_each_text_of_a_message_has_its_own_say() -> None:
    """What was used for one task says nothing about another."""
    texts = np.stack([at_cosine(1.0), at_cosine(0.1)])

    found = learned_scores(texts, evidence_of([used(1)]), "ann", NOW.timestamp(), MONTH)

    assert found is not None
    assert found.added.shape == (2, 1)
    assert found.added[0, 0] > 0
    assert found.added[1, 0] == 0
    assert found.uses.tolist() == [1]


def test_a_replay_looks_at_earlier_uses_alone_and_counts_voters_alike() -> None:
    """One that calls a hundred times weighs as much as one that calls twice."""
    offered = {"offered": (5, 1), "standings": (0.0, -1.0)}
    uses = [used(1, days=1, **offered) for _ in range(100)] + [used(5, "bob", days=1, **offered) for _ in range(2)]

    figures = replay(uses, MONTH, {1: "one", 5: "five"}, "shadow")

    assert (figures.uses, figures.voters, figures.changed, figures.better) == (102, 2, 99, 99)
    assert figures.first_before == pytest.approx(0.5)
    assert figures.first_after == pytest.approx(0.5 + 0.5 * 0.99)
    assert figures.gain == pytest.approx(0.5 * 0.99 * 0.5)
    assert 0 < figures.low < figures.gain < figures.high
    assert figures.helps
    assert [(tool.name, tool.before) for tool in figures.moved] == [("one", 2.0)]


def test_without_uses_a_replay_has_nothing_to_say() -> None:
    """Nor does it help then."""
    figures = replay([], MONTH, {}, "shadow")

    assert (figures.uses, figures.gain, figures.helps, figures.moved) == (0, 0.0, False, ())


def answered(trace: str, *tools: int, minutes: float = 0.0) -> OfferedAnswer:
    """An answer some minutes ago."""
    offered = tuple(OfferedTool(tool, (tool + 100,), 0, -float(place)) for place, tool in enumerate(tools))
    return OfferedAnswer(
        NOW - dt.timedelta(minutes=minutes), trace, "m", VECTOR[None].astype(np.float16), offered, None
    )


def test_a_call_belongs_to_the_newest_search_that_offered_its_tool() -> None:
    """A copy stands for the tool that was shown; searches of an hour ago are over."""
    caller, tracker = Caller(Tenant(1, "t"), "ann", "c"), UseTracker()
    tracker.offered(caller, answered("old", 3, minutes=61))
    tracker.offered(caller, answered("first", 1, 2, minutes=30))
    tracker.offered(caller, answered("second", 7, 8, 9, minutes=20))

    (use,) = tracker.called(caller, 102, "ok", NOW)

    assert (use.trace_id, use.tool_id, use.passed, use.offered, use.standings) == ("first", 2, (1,), (1, 2), (0, -1))
    assert tracker.called(caller, 3, "ok", NOW) == []
    assert tracker.called(Caller(Tenant(1, "t"), "bob", "c"), 7, "ok", NOW) == []
    assert tracker.called(Caller(Tenant(2, "u"), "ann", "c"), 7, "ok", NOW) == []


def test_failed_calls_count_against_a_tool_once_another_one_was_used() -> None:
    """Unless it was called with success since."""
    caller, tracker = Caller(Tenant(1, "t"), "ann", "c"), UseTracker()
    tracker.offered(caller, answered("s", 1, 2, 3))

    assert tracker.called(caller, 1, "tool error", NOW) == tracker.called(caller, 2, "failed", NOW) == []
    assert tracker.called(caller, 3, "cancelled", NOW) == []
    assert [use.failed for use in tracker.called(caller, 2, "ok", NOW)] == [(1,)]
    assert [use.failed for use in tracker.called(caller, 1, "ok", NOW)] == [()]
    assert tracker.called(caller, 1, "ok", NOW) == []


def test_users_keys_and_the_owner_are_different_voters() -> None:
    """A user's keys are one."""
    tenant = Tenant(1, "t")

    callers = (Caller(tenant), Caller(tenant, keyed=True, key=1), Caller(tenant, keyed=True, key=2))
    assert len({voter_of(caller) for caller in (*callers, Caller(tenant, "ann"))}) == 4
    assert voter_of(Caller(tenant, "ann", keyed=True, key=1)) == voter_of(Caller(tenant, "ann", keyed=True, key=2))
