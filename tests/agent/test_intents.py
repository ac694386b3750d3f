"""What a question wants: by probabilities, and by its words where there is no encoder."""

from __future__ import annotations

import math

import pytest

from thresher.agent.assistant.intents import LEAST, TYPES, UNRECOGNISED, training_lines, weighed, wish_of, wish_of_words


def test_every_type_is_taught_by_lines_of_its_own() -> None:
    """At least sixty each, none in two files."""
    lines = training_lines()

    assert all(len(lines[name]) >= 60 for name in TYPES)
    assert len({line.casefold() for some in lines.values() for line in some}) == sum(map(len, lines.values()))


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [
        ([0.1, 0.7, 0.1, 0.05, 0.05], ("endpoint_info", 0.7)),
        ([0.3, 0.31, 0.2, 0.1, 0.09], ("search", UNRECOGNISED)),
        ([0.1, 0.05, 0.05, 0.05, 0.75], ("search", 0.1)),
        ([0.45, 0.0, 0.0, 0.0, 0.55], ("search", UNRECOGNISED)),
        ([0.25, 0.05, LEAST, 0.05, 0.25], ("analytics", LEAST)),
    ],
)
def test_what_is_not_recognised_is_a_search_with_low_confidence(
    probabilities: list[float], expected: tuple[str, float]
) -> None:
    """Whether no type stands out, or the message wants none of them."""
    wish = wish_of(probabilities)

    assert (wish.type, wish.confidence) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("walk me through creating an issue", "tutorial"),
        ("top queries of the last week", "analytics"),
        ("which parameters does it take", "endpoint_info"),
        ("find the endpoint for users", "search"),
        ("what is wrong with the description of billing?", "analytics"),
        ("hello", "search"),
    ],
)
def test_without_an_encoder_words_decide(text: str, expected: str) -> None:
    """And the answer says why; a word that nothing speaks for is a search with the least confidence."""
    wish = wish_of_words(text, "the model is away")

    assert wish.type == expected
    assert wish.degraded.endswith("the model is away")
    assert (wish.confidence <= UNRECOGNISED) == (text == "hello")


def test_a_question_about_a_description_asks_for_its_review_whatever_the_api_is_called() -> None:
    """The head knows some names of APIs and not others; the words decide where it hesitates."""
    unsure = [math.log(share) for share in (0.15, 0.6, 0.2, 0.02, 0.03)]

    assert wish_of(weighed(unsure, "what is wrong with the description of tmdb?")).type == "analytics"
    assert wish_of(weighed(unsure, "what is the number of tmdb?")).type != "analytics"
