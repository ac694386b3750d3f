"""Other expressions for the words of a question, and what they change in what is delivered."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from thresher.results import fit

WORDS = ["amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "indigo", "jasper"]


def _delivered(question: str, **row: str) -> bool:
    """Whether one row among many alike is delivered for a question."""
    rows = [
        {"id": n, "note": f"{WORDS[n % 10]} {WORDS[n // 10 % 10]} {n * 7919}", "state": "open"} for n in range(2000)
    ]
    rows[1234] |= row
    return '"id":1235' in fit(json.dumps([one | {"id": one["id"] + 1} for one in rows]), 300, question).text


@pytest.mark.parametrize(
    ("question", "state"),
    [
        ("Which one was turned down?", "rejected"),
        ("Which were left out?", "skipped"),
        ("what ran out of memory", "exhausted"),
        ("Does it have a can i use entry?", "caniuse-lite"),
        ("By when must M3 be done?", "M3"),
    ],
)
def test_what_a_result_says_in_other_words_is_found(question: str, state: str) -> None:
    """Expressions of several words, neighbours that are one word, and names of letters and digits."""
    assert _delivered(question, state=state)
    assert not _delivered("Which one is nice?", state=state)


def test_the_words_of_a_question_count_more_than_others_for_them() -> None:
    """A row with the word itself comes before rows with what stands for it."""
    rows = [{"id": n, "state": "declined"} for n in range(300)] + [{"id": 300, "state": "rejected"}]
    text = fit(json.dumps(rows), 150, "Which was rejected?").text

    assert '"/300":{"id":300,"state":"rejected"}' in text


def test_each_group_of_the_table_says_several_things_once() -> None:
    """A line with one expression, or the same one twice, is a mistake."""
    lines = (files("thresher.results") / "synonyms.txt").read_text(encoding="utf-8").splitlines()
    groups = [[one.strip() for one in line.split(",")] for line in lines if not line.startswith("#")]

    assert [group for group in groups if len(group) < 2 or len(set(group)) < len(group) or not all(group)] == []
