"""How probably a message needs each kind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thresher.context.probabilities import HEADS, Evidence, probabilities

CHANCE = st.floats(0.02, 0.98)
QUIET = -6.0
"""The log odds of a message that is no small talk."""


@given(CHANCE, CHANCE, st.sampled_from(sorted(HEADS)))
def test_a_better_find_makes_its_kind_more_probable(low: float, high: float, kind: str) -> None:
    """Whatever the kind."""
    low, high = sorted((low, high))

    (less,), (more,) = (probabilities({kind: [Evidence(fits)]}, {}, QUIET)[kind] for fits in (low, high))

    assert 0.0 < less <= more < 1.0


def test_a_kind_without_a_find_is_not_needed() -> None:
    """Not even if the message names where to look."""
    assert probabilities({"endpoints": [Evidence(0.0, named=True)]}, {"apis": 1.0}, QUIET) == {"endpoints": (0.0,)}


def test_what_a_document_answers_is_less_probably_work_for_a_tool() -> None:
    """The kinds see each other's finds."""
    (alone,) = probabilities({"tools": [Evidence(0.5)]}, {}, QUIET)["tools"]
    (beside,) = probabilities({"tools": [Evidence(0.5)], "passages": [Evidence(0.95)]}, {}, QUIET)["tools"]

    assert beside < alone


def test_a_named_api_and_its_rules_make_an_operation_probable() -> None:
    """Each by itself, and both more so."""
    plain, named, ruled, both = (
        probabilities({"endpoints": [Evidence(0.5, named=name)]}, rules, QUIET)["endpoints"][0]
        for name, rules in ((False, {}), (True, {}), (False, {"apis": 0.9}), (True, {"apis": 0.9}))
    )

    assert plain < named < both
    assert plain < ruled < both


def test_each_of_several_tasks_has_its_own_probabilities() -> None:
    """What one task needs says nothing against the other, and rules of another kind do not either."""
    seen = {"tools": [Evidence(0.1), Evidence(0.9)], "passages": [Evidence(0.95), Evidence(0.0)]}

    found = probabilities(seen, {"bob-ross": 0.99}, QUIET)

    assert found["tools"][0] < 0.2 < 0.5 < found["tools"][1]
    assert found["passages"][1] == 0.0 < 0.5 < found["passages"][0]


def test_what_sounds_like_small_talk_is_less_probably_a_question() -> None:
    """So a passage that is near by chance is not given for it."""
    (asked,), (chatted,) = (
        probabilities({"passages": [Evidence(0.5)]}, {}, chat)["passages"] for chat in (QUIET, -1.0)
    )

    assert chatted < asked / 2
