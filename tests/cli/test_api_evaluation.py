"""`thresher eval apis` from files to figures."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.conftest import Command
from tests.support.tracker import TRACKER

SHARES = {"hit_at_1", "hit_at_5", "hit_at_10", "recall_at_5", "recall_at_10", "mrr"}
KEYS = SHARES | {"p50_ms", "p50_without_embedding_ms", "operations", "questions", "failed", "warnings"}
WATCH = {"query": "add a watcher to an issue", "relevant": ["post /issues/{key}/watchers"]}
QUESTIONS = [WATCH, {"query": "list the issues of a project", "relevant": ["GET /issues", "GET /users/{id}"]}]


def written(folder: Path, *lines: object) -> tuple[str, ...]:
    """The arguments for the tracker and these questions."""
    (folder / "tracker.yaml").write_text(TRACKER, encoding="utf-8")
    (folder / "queries.jsonl").write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return ("eval", "apis", "--spec", str(folder / "tracker.yaml"), "--queries", str(folder / "queries.jsonl"))


def test_operations_are_found_and_the_users_own_left_alone(command: Command, tmp_path: Path) -> None:
    """Every figure has its name; one of two relevant operations is a hit; files of one name are descriptions apart."""
    arguments = written(tmp_path, *QUESTIONS)
    own = [one["id"] for one in command("apis", "list", "--json").json]
    figures = command(*arguments, "--json").json
    twin = tmp_path / "twin" / "tracker.yaml"
    twin.parent.mkdir()
    twin.write_text(TRACKER, encoding="utf-8")
    shown = command(*arguments, "--spec", str(twin), "--spec", str(twin))
    kept = [one["id"] for one in command("apis", "list", "--json").json]

    assert set(figures) == KEYS
    assert (figures["operations"], figures["questions"], figures["failed"]) == (5, 2, [])
    assert all(0 < figures[name] <= 1 for name in SHARES)
    assert figures["hit_at_5"] == 1.0
    assert 0 < figures["p50_without_embedding_ms"] <= figures["p50_ms"]
    assert shown.code == 0, shown.err
    assert "recall_at_10" in shown.out
    assert re.search(r"operations +10\n", shown.out)
    assert kept == own


def test_a_wrong_question_is_named_with_its_line(command: Command, tmp_path: Path) -> None:
    """Whatever is wrong with it, before anything is indexed."""
    wrong = [
        ({"query": "who watches"}, '"relevant" must be a list'),
        ({"query": " ", "relevant": ["GET /issues"]}, '"query" must be text'),
        ({"query": "who watches", "relevant": ["watchers"]}, "'watchers' is not a method and a path"),
    ]
    for line, said in wrong:
        failed = command(*written(tmp_path, WATCH, line))

        assert failed.code == 2, failed
        assert "line 2" in failed.err.lower()
        assert said in failed.err


def test_an_operation_that_no_description_has_counts_as_not_found(command: Command, tmp_path: Path) -> None:
    """With a warning that names its line, and the nearest operation."""
    arguments = written(tmp_path, WATCH, {"query": "list the issues", "relevant": ["GET /issue", "get /teams"]})
    figures = command(*arguments, "--json").json
    shown = command(*arguments)

    assert (figures["questions"], figures["hit_at_5"], [one["line"] for one in figures["failed"]]) == (2, 0.5, [2])
    assert figures["warnings"][0].startswith("Line 2: no description has 'GET /issue'. Did you mean 'GET /issues'")
    assert figures["warnings"][1].startswith("Line 2: no description has 'GET /teams'.")
    assert "2 relevant operations are in no description" in shown.out
    assert "Line 2: no description has 'GET /issue'" in shown.out


def test_files_that_are_not_valid_are_named(command: Command, tmp_path: Path) -> None:
    """Missing descriptions or questions, and a description that is not valid."""
    arguments = written(tmp_path, *QUESTIONS)
    (tmp_path / "tracker.yaml").write_text("just: words\n", encoding="utf-8")
    other = command(*arguments)
    (tmp_path / "tracker.yaml").unlink()
    no_description = command(*arguments)
    (tmp_path / "queries.jsonl").unlink()
    no_questions = command(*arguments)

    assert [one.code for one in (other, no_description, no_questions)] == [2, 2, 2]
    assert "tracker.yaml" in other.err
    assert "tracker.yaml cannot be read" in no_description.err
    assert "queries.jsonl cannot be read" in no_questions.err
