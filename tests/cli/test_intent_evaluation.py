"""`thresher eval intents` from files to figures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from thresher.core import Settings
from thresher.embedding import locate

KEYS = {
    "accuracy", "macro_f1", "out_of_scope_recall", "auroc", "exact_match", "multi_f1", "p50_ms", "p95_ms",
    "fit_seconds", "accuracy_at_threshold",
}  # fmt: skip
LINES = {
    "card": ["where is my card", "my card has not arrived", "when will the card come", "card still missing", "no card"],
    "pin": ["change my pin", "I forgot my pin", "set a new pin", "how do I reset the pin", "pin is blocked"],
    "rate": ["what is the exchange rate", "how many euros for a dollar", "rate of the pound", "convert 5 yen", "fx"],
}
TESTS: list[dict[str, Any]] = [
    {"text": "the card did not come", "intent": "card"},
    {"text": "I want another pin", "intent": ["pin"]},
    {"text": "where is my card, and how do I reset the pin", "intent": ["card", "pin"]},
    {"text": "sing me a song about the sea", "intent": None},
    {"text": "what is the exchange rate today", "intent": "card"},
]


def written(folder: Path, name: str, lines: list[dict[str, Any]]) -> str:
    """A file of JSON lines; returns its path."""
    (folder / name).write_text("\n".join(map(json.dumps, lines)))
    return str(folder / name)


@pytest.fixture
def train(tmp_path: Path) -> str:
    """Training lines, one of them of no intent."""
    lines = [{"text": text, "intent": intent} for intent, texts in LINES.items() for text in texts]
    return written(tmp_path, "train.jsonl", [*lines, {"text": "tell me a joke", "intent": None}])


def test_the_figures_have_their_names_and_bounds(command: Command, tmp_path: Path, train: str) -> None:
    """A line that is labelled wrongly shows up with its number and the reason."""
    arguments = ("eval", "intents", "--train", train, "--test", written(tmp_path, "test.jsonl", TESTS))
    answer = command(*arguments, "--json").json
    shown = command(*arguments).out

    assert set(answer) >= KEYS
    assert (answer["lines"], answer["tests"]) == (16, 5)
    assert (answer["tests_out_of_scope"], answer["tests_with_several"]) == (1, 1)
    shares = KEYS - {"p50_ms", "p95_ms", "fit_seconds"}
    assert all(0 <= answer[name] <= 1 for name in shares)
    mislabelled = next(line for line in answer["wrong"] if line["line"] == 5)
    assert (mislabelled["expected"], mislabelled["best"]) == (["card"], "rate")
    assert mislabelled["best_line"] == "what is the exchange rate"
    assert "line 5" in shown
    assert "out_of_scope_recall" in shown


def test_cross_validation_needs_no_test_file(command: Command, train: str) -> None:
    """Every line but an intent's only one is asked once."""
    answer = command("eval", "intents", "--train", train, "--cv", "--json").json

    assert (answer["tests"], answer["tests_out_of_scope"]) == (16, 1)
    assert answer["accuracy"] is not None


def test_another_encoder_is_compared_on_the_same_lines(command: Command, tmp_path: Path, train: str) -> None:
    """A folder with a model of the user's own; here it is a copy, so that the figures are alike."""
    located = locate(Settings().model, None)
    folder = tmp_path / "mine"
    folder.mkdir()
    for file in (located.model, located.tokenizer):
        shutil.copy(file, folder / file.name)
    tests = written(tmp_path, "test.jsonl", TESTS)
    arguments = ("eval", "intents", "--train", train, "--test", tests, "--encoder", str(folder))

    answer = command(*arguments, "--json").json

    other = answer["compared_with"]
    assert set(other) >= KEYS
    assert other["accuracy"] == answer["accuracy"]
    assert "wrong lines" in command(*arguments).out


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        (("--cv", "--test", "x"), 2, "--cv"),
        ((), 2, "--cv"),
        (("--test", "/nowhere/test.jsonl"), 2, "cannot be read"),
        (("--cv", "--encoder", "/nowhere/model"), 7, "/nowhere/model"),
    ],
)
def test_wrong_arguments_are_refused(
    command: Command, train: str, change: tuple[str, ...], code: int, named: str
) -> None:
    """Before anything is embedded."""
    ended = command("eval", "intents", "--train", train, *change)

    assert (ended.code, named in ended.err) == (code, True), ended.err


def test_a_wrong_line_is_named_with_its_number(command: Command, tmp_path: Path) -> None:
    """The file, the line, and what it should look like."""
    path = written(tmp_path, "train.jsonl", [{"text": "a", "intent": "x"}, {"text": "b", "intent": ["x", "y"]}])
    ended = command("eval", "intents", "--train", path, "--cv")

    assert ended.code == 2
    assert "train.jsonl, line 2: a training line has one intent" in ended.err
