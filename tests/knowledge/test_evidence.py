"""What uses say about a message: likeness, age, caps, and whose say counts."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pytest

from thresher.core import Caller, Tenant
from thresher.knowledge.tools.learning.evidence import (
    LIKE,
    OTHERS,
    OWN,
    PASSED,
    SEARCHED_AGAIN,
    evidence_of,
    learned_scores,
)
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
        searched_at=NOW - dt.timedelta(days=days, seconds=1),
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


def test_what_counts_less_says_less_however_often_it_is_said() -> None:
    """The squash applies to how often, and not to how much: half stays half."""
    passed, failed = [used(1, passed=(2,), failed=(3,))], [used(1, passed=(2,), failed=(3,))] * 50

    assert said([used(1)])[1] == pytest.approx(OWN, rel=0.01)
    for number in (1, 50):
        assert 0.4 * OWN < said([used(1, weight=SEARCHED_AGAIN)] * number)[1] <= SEARCHED_AGAIN * OWN
    for uses in (passed, failed):
        assert -PASSED * OWN <= said(uses)[2] < 0.7 * -PASSED * OWN
        assert said(uses)[3] == pytest.approx(-OWN, rel=0.01)


def test_only_uses_that_had_a_say_are_counted() -> None:
    """Those of others count once two of them agree."""

    def counted(uses: list[Use]) -> list[int]:
        found = learned_scores(VECTOR[None], evidence_of(uses), "ann", NOW.timestamp(), MONTH)
        return [] if found is None else found.uses.tolist()

    mine, others = [used(1)] * 2, [used(1, "bob")] * 5

    assert counted(others) == []
    assert counted(mine + others) == [2]
    assert counted([*mine, *others, used(1, "carol")]) == [8]


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
    uses = [used(1, days=1 + number, **offered) for number in range(100)]
    uses += [used(5, "bob", days=0.1 * number, **offered) for number in range(2)]

    figures = replay(uses, MONTH, {1: "one", 5: "five"}, "shadow")

    assert (figures.uses, figures.voters, figures.changed, figures.better) == (102, 2, 99, 99)
    assert figures.first_before == pytest.approx(0.5)
    assert figures.first_after == pytest.approx(0.5 + 0.5 * 0.99)
    assert figures.gain == pytest.approx(0.5 * 0.99 * 0.5)
    assert (figures.low, figures.high) == pytest.approx((0, 0.99 * 0.5))
    assert not figures.helps
    assert [(tool.name, tool.before) for tool in figures.moved] == [("one", 2.0)]


@pytest.mark.parametrize(("gaining", "helps"), [(2, False), (3, True), (5, True)])
def test_a_replay_helps_only_if_most_of_three_voters_gain(gaining: int, *, helps: bool) -> None:
    """However much two of them gain."""
    offered = {"offered": (5, 1), "standings": (0.0, -1.0)}
    uses = [used(1, f"user{number % gaining}", days=number / 10, **offered) for number in range(200)]

    assert replay(uses, MONTH, {}, "shadow").helps is helps


def test_two_uses_of_one_call_do_not_explain_each_other_in_a_replay() -> None:
    """Nor does a call that ended after the search was answered: the client had no answer from it yet."""
    offered = {"offered": (5, 1), "standings": (0.0, -1.0)}
    searched = NOW - dt.timedelta(minutes=1)
    during = used(1, at=NOW - dt.timedelta(seconds=30), searched_at=searched)
    uses = [during, used(1, at=NOW, searched_at=searched, weight=0.5), used(1, at=NOW, searched_at=searched, **offered)]

    assert replay(uses, MONTH, {}, "shadow").changed == 0


def test_without_uses_a_replay_has_nothing_to_say() -> None:
    """Nor does it help then."""
    figures = replay([], MONTH, {}, "shadow")

    assert (figures.uses, figures.gain, figures.helps, figures.moved) == (0, 0.0, False, ())


def answered(trace: str, *tools: int, minutes: float = 0.0, cosine: float = 1.0) -> OfferedAnswer:
    """An answer some minutes ago, to a message at a cosine with `VECTOR`."""
    offered = tuple(OfferedTool(tool, (tool + 100,), 0, -float(place)) for place, tool in enumerate(tools))
    vectors = at_cosine(cosine)[None].astype(np.float16)
    return OfferedAnswer(NOW - dt.timedelta(minutes=minutes), trace, "m", vectors, offered, None)


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


def test_a_call_of_a_tool_that_no_search_offered_says_nothing() -> None:
    """Neither about the newest search nor about an earlier one."""
    caller, tracker = Caller(Tenant(1, "t"), "ann", "c"), UseTracker()
    tracker.offered(caller, answered("first", 1, minutes=2))
    tracker.offered(caller, answered("second", 2, minutes=1))

    assert tracker.called(caller, 9, "ok", NOW) == []


def test_an_earlier_search_is_credited_only_if_it_was_for_something_like_it() -> None:
    """A client that searches for all steps of a plan first does not credit one step with the tool of another."""
    caller, tracker = Caller(Tenant(1, "t"), "ann", "c"), UseTracker()
    tracker.offered(caller, answered("a", 1, minutes=4, cosine=LIKE - 0.05))
    tracker.offered(caller, answered("like b", 1, minutes=3, cosine=LIKE + 0.05))
    tracker.offered(caller, answered("b", 2, minutes=2))

    called = tracker.called(caller, 2, "ok", NOW) + tracker.called(caller, 1, "ok", NOW)

    assert [(use.trace_id, use.tool_id, use.weight) for use in called] == [
        ("like b", 2, 0.5),
        ("b", 2, 1.0),
        ("like b", 1, 1.0),
    ]


def test_searches_without_a_client_belong_to_no_session() -> None:
    """What somebody tries on the command line says nothing about a session of the same user."""
    tracker = UseTracker()
    terminal, session = (Caller(Tenant(1, "t"), "ann", client) for client in ("", "c"))
    tracker.offered(terminal, answered("terminal", 1))

    assert tracker.called(session, 1, "ok", NOW) == []
    assert len(tracker.called(terminal, 1, "ok", NOW)) == 1


def test_searches_are_forgotten_after_an_hour() -> None:
    """Also those of clients that do not come back."""
    tracker = UseTracker()
    for number in range(3):
        tracker.offered(Caller(Tenant(1, "t"), "ann", f"c{number}"), answered("old", 1, minutes=90))

    tracker.offered(Caller(Tenant(1, "t"), "ann", "c"), answered("new", 1))

    assert len(tracker) == 1


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
