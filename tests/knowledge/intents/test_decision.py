"""From scored pieces to the intents that a message asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from thresher.knowledge.intents.models import Decision
from thresher.knowledge.intents.router.decision import decide
from thresher.knowledge.intents.router.pieces import pieces_of
from thresher.knowledge.intents.router.records import TextScores

INTENTS: tuple[str, ...] = ("git", "relations", "value-lists")
LINES = ("commit my work", "relate orders to customers", "a list of countries to choose from")
THRESHOLDS: dict[str, float] = dict.fromkeys(INTENTS, 0.5)


def scored(*rows: tuple[float, float, float]) -> TextScores:
    """Scores of texts, one row each."""
    score = np.array(rows, np.float32).reshape(-1, len(INTENTS))
    nearest = np.tile(np.arange(len(INTENTS), dtype=np.int32), (len(score), 1))
    return TextScores(score, score, score, nearest, tuple({} for _ in rows))


def decided(
    message: str,
    table: Mapping[str, tuple[float, float, float]],
    *,
    by_hand: Mapping[str, float] | None = None,
    applied: Mapping[str, str] | None = None,
    history: Sequence[str] = (),
    queries: Sequence[str] = (),
) -> Decision:
    """A decision with the scores that a table gives to texts; a text that it does not hold scores nothing."""
    pieces = pieces_of(message, history=history, queries=queries)
    scores = scored(*(table.get(text, (0.01, 0.01, 0.01)) for text in pieces.texts))
    return decide(INTENTS, THRESHOLDS, pieces, scores, lines=LINES, by_hand=by_hand, applied=applied)


def matched(decision: Decision) -> list[tuple[str, str]]:
    """The intents that matched, by name, each with its reason."""
    return sorted((row.intent, row.why) for row in decision.matched)


def test_two_tasks_match_two_intents() -> None:
    """Each task of a message brings the rules of its own intent."""
    decision = decided(
        "commit my work and relate orders to customers",
        {
            "commit my work and relate orders to customers": (0.5, 0.45, 0.02),
            "commit my work": (0.95, 0.01, 0.01),
            "relate orders to customers": (0.01, 0.95, 0.02),
        },
    )

    assert {row.intent for row in decision.matched} == {"git", "relations"}
    assert decision.clauses[1:] == ("commit my work", "relate orders to customers")


def test_a_task_that_holds_an_and_stays_whole() -> None:
    """A message is not cut where its parts say less than the whole."""
    decision = decided(
        "relate orders and customers",
        {
            "relate orders and customers": (0.01, 0.95, 0.02),
            "relate orders": (0.01, 0.8, 0.1),
            "customers": (0.01, 0.1, 0.3),
        },
    )

    assert [row.intent for row in decision.matched] == ["relations"]
    assert decision.clauses == ("relate orders and customers",)


def test_a_threshold_set_by_hand_goes_before_the_fitted_one() -> None:
    """What a person sets is obeyed."""
    decision = decided("commit my work", {"commit my work": (0.7, 0.1, 0.1)}, by_hand={"git": 0.9})

    assert decision.pass_through
    assert decision.scores[0].threshold == 0.9


def test_a_message_that_surely_asks_for_one_of_two_gets_the_likelier() -> None:
    """Where all intents together reach the threshold, the best one matches, and the person is asked."""
    decision = decided("put it away", {"put it away": (0.4, 0.35, 0.01)})

    assert matched(decision) == [("git", "line")]
    assert decision.clarify


def test_many_small_scores_ask_for_nothing() -> None:
    """The best intent must reach half its threshold itself."""
    decision = decided("put it away", {"put it away": (0.24, 0.2, 0.2)})

    assert decision.pass_through


def test_a_threshold_set_by_hand_holds_where_two_intents_share_a_message() -> None:
    """What a person sets is obeyed, whatever the others reach."""
    decision = decided("put it away", {"put it away": (0.4, 0.35, 0.01)}, by_hand={"git": 0.5})

    assert decision.pass_through


def test_a_blank_message_passes_through() -> None:
    """Nothing is asked, so nothing fits."""
    assert decided("  \n", {}).pass_through


def test_what_a_message_refuses_does_not_match() -> None:
    """The refused intent is shown with its reason."""
    decision = decided(
        "not a relation, a value list",
        {
            "not a relation, a value list": (0.01, 0.9, 0.8),
            "a relation": (0.01, 0.95, 0.02),
            "a value list": (0.01, 0.05, 0.9),
        },
    )

    assert matched(decision) == [("value-lists", "line")]
    assert [row.why for row in decision.scores if row.intent == "relations"] == ["negated"]
    assert "a relation" in decision.clauses


def test_what_is_refused_and_asked_for_matches() -> None:
    """Two tasks of one intent: the other still needs its rules."""
    table = {"just show me the diff": (0.9, 0.01, 0.01), "commit": (0.95, 0.01, 0.01)}

    assert matched(decided("don't commit, just show me the diff", table)) == [("git", "line")]


def test_a_refused_phrase_that_names_no_intent_takes_nothing_away() -> None:
    """Then the message counts as it stands."""
    message = "undo the last one without losing my changes"

    decision = decided(message, {message: (0.9, 0.01, 0.01), "undo the last one": (0.3, 0.01, 0.01)})

    assert matched(decision) == [("git", "line")]


def test_a_message_that_only_refuses_passes_through() -> None:
    """A mere "not a relation" asks for no rules."""
    assert decided("not a relation", {"not a relation": (0, 0.9, 0), "a relation": (0, 0.9, 0)}).pass_through


def test_a_message_that_leans_inherits() -> None:
    """The task before holds on, with its reason."""
    table = {"relate orders to customers": (0.01, 0.95, 0.02), "now the same for products": (0.01, 0.1, 0.55)}

    decision = decided("now the same for products", table, history=["relate orders to customers"])

    assert matched(decision) == [("relations", "history")]


def test_a_message_that_only_agrees_asks_for_nothing_of_its_own() -> None:
    """What its words happen to be near does not count."""
    table = {"relate orders to customers": (0.01, 0.95, 0.02), "yes, do it": (0.9, 0.1, 0.1)}

    decision = decided("yes, do it", table, history=["relate orders to customers"])

    assert matched(decision) == [("relations", "history")]


def test_a_change_of_topic_does_not_inherit() -> None:
    """A message that names its own task leaves the one before."""
    table = {"relate orders to customers": (0.01, 0.95, 0.02), "what about my last commit?": (0.9, 0.01, 0.02)}

    decision = decided("what about my last commit?", table, history=["relate orders to customers"])

    assert matched(decision) == [("git", "line")]


def test_the_same_as_another_thing_gives_both() -> None:
    """What is surely asked for is added to what is inherited."""
    table = {"relate orders to customers": (0.01, 0.95, 0.02), "now the same as a value list": (0.01, 0.1, 0.9)}

    decision = decided("now the same as a value list", table, history=["relate orders to customers"])

    assert matched(decision) == [("relations", "history"), ("value-lists", "line")]


def test_a_refused_intent_is_not_inherited() -> None:
    """A refusal goes before the turn before."""
    table = {"relate orders to customers": (0.01, 0.95, 0.02), "a relation": (0.01, 0.9, 0.02)}

    decision = decided("again, but not a relation", table, history=["relate orders to customers"])

    assert decision.pass_through


def test_each_query_brings_its_intent() -> None:
    """The calling model may say what it is about to do, one task each."""
    table = {"commit": (0.9, 0.01, 0.01), "make a value list": (0.01, 0.1, 0.9)}

    decision = decided("do the usual things", table, queries=["commit", "make a value list"])

    assert matched(decision) == [("git", "line"), ("value-lists", "line")]


def test_two_close_intents_are_asked_about() -> None:
    """The question names both, each with its nearest line."""
    decision = decided("connect countries", {"connect countries": (0.01, 0.55, 0.5)})

    assert decision.clarify == (
        'Do you mean relations (as in "relate orders to customers") '
        'or value-lists (as in "a list of countries to choose from")?'
    )


def test_a_clear_message_is_not_asked_about() -> None:
    """A clear lead needs no question, nor do two tasks that are each clear."""
    table = {"commit my work": (0.95, 0.01, 0.01), "relate orders to customers": (0.01, 0.95, 0.02)}

    assert decided("commit my work", table).clarify == ""
    assert decided("commit my work and relate orders to customers", table).clarify == ""


def test_nothing_near_is_not_asked_about() -> None:
    """Two intents that are both far off are no choice."""
    assert decided("what is the weather", {"what is the weather": (0.1, 0.09, 0.02)}).clarify == ""


def test_rules_that_always_apply_are_matched_with_their_reason() -> None:
    """A pack without lines may apply too."""
    decision = decided(
        "commit my work", {"commit my work": (0.9, 0.0, 0.0)}, applied={"style": "always", "relations": "file"}
    )

    assert matched(decision) == [("git", "line"), ("relations", "file"), ("style", "always")]


def test_confidence_falls_where_the_answer_is_open() -> None:
    """A score near one half says little, either way."""
    sure = decided("commit my work", {"commit my work": (0.97, 0.01, 0.01)})
    unsure = decided("commit my work", {"commit my work": (0.55, 0.4, 0.01)})
    none = decided("what is the weather", {})

    assert sure.confidence > 0.9 > 0.6 > unsure.confidence
    assert none.confidence > 0.9
    assert sure.margin > unsure.margin


def test_no_intents_at_all_pass_everything_through() -> None:
    """An empty router decides as well."""
    pieces = pieces_of("commit and push")
    empty = np.zeros((len(pieces.texts), 0), np.float32)
    scores = TextScores(empty, empty, empty, empty.astype(np.int32), tuple({} for _ in pieces.texts))

    assert decide((), {}, pieces, scores).pass_through


def test_beside_a_task_of_ours_less_is_needed() -> None:
    """Who asks for one thing more probably asks for another; alone the same words would not be enough."""
    table = {"commit my work": (0.95, 0.01, 0.01), "the list of lands": (0.01, 0.02, 0.3)}

    assert matched(decided("commit my work and then the list of lands", table)) == [
        ("git", "line"),
        ("value-lists", "line"),
    ]
    assert decided("the list of lands", table).pass_through


def test_a_threshold_set_by_hand_holds_beside_others_too() -> None:
    """What a person sets is obeyed to the letter."""
    table = {"commit my work": (0.95, 0.01, 0.01), "the list of lands": (0.01, 0.02, 0.3)}

    decision = decided("commit my work and then the list of lands", table, by_hand={"value-lists": 0.5})

    assert matched(decision) == [("git", "line")]


def test_a_decision_that_tells_of_few_intents_is_the_whole_one_cut_short() -> None:
    """Of two hundred intents, what matched, what is refused, what applies anyway, and the best others are told."""
    names = tuple(f"intent-{number}" for number in range(200))
    thresholds, applied = dict.fromkeys(names, 0.6), {"intent-150": "file", "style": "always"}
    random = np.random.default_rng(5)
    for message in ("commit it and deploy it", "not a relation, just commit it", "commit it"):
        pieces = pieces_of(message, queries=("ship it",))
        score = random.uniform(0, 0.9, (len(pieces.texts), 200)).astype(np.float32)
        nearest = np.zeros(score.shape, np.int32)
        scores = TextScores(score, score, score, nearest, tuple({} for _ in pieces.texts))

        whole = decide(names, thresholds, pieces, scores, lines=LINES, applied=applied)
        few = decide(names, thresholds, pieces, scores, lines=LINES, applied=applied, others=5)

        kept = [row for row in whole.scores if row.matched or row.why == "negated"]
        others = [row for row in whole.scores if row not in kept][:5]
        assert sorted(few.scores, key=lambda row: row.intent) == sorted([*kept, *others], key=lambda row: row.intent)
        assert (few.matched, few.confidence, few.margin) == (whole.matched, whole.confidence, whole.margin)
        assert (few.clauses, few.clarify) == (whole.clauses, whole.clarify)
