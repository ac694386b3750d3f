"""Scripted conversations are read, and wrong lines are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thresher.core import InvalidInput
from thresher.evaluation import Script, ScriptedCall, ScriptedTurn, read_scripts


def written(folder: Path, *lines: object) -> Path:
    """A file of these lines."""
    path = folder / "scripts.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return path


def test_a_conversation_has_turns_with_steps_of_calls(tmp_path: Path) -> None:
    """By name or with arguments, alone or at once; an empty list means no call."""
    query = {"tool": "sql_query", "arguments": {"connection": "shop", "sql": "select 1"}}
    turns = [
        {"user": "What and how many?", "calls": [["search_documents", query], "read_result"], "says": "Two [1]."},
        {"user": "Thanks", "calls": []},
        {"user": "And?"},
    ]

    scripts = read_scripts(written(tmp_path, {"name": "both", "turns": turns, "settings": {"top_k": 4}}, ""))

    first = (ScriptedCall("search_documents"), ScriptedCall("sql_query", query["arguments"]))  # type: ignore[arg-type]
    assert scripts == [
        Script(
            "both",
            (
                ScriptedTurn("What and how many?", (first, (ScriptedCall("read_result"),)), "Two [1]."),
                ScriptedTurn("Thanks", ()),
                ScriptedTurn("And?"),
            ),
            {"top_k": 4},
        )
    ]
    assert scripts[0].turns[0].tools == {"search_documents", "sql_query", "read_result"}


def test_a_conversation_without_a_name_goes_by_its_line(tmp_path: Path) -> None:
    """Blank lines count."""
    assert [one.name for one in read_scripts(written(tmp_path, "", {"turns": [{"user": "x"}]}))] == ["line 2"]


TURN: dict[str, Any] = {"user": "x"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not valid JSON"),
        ([], "not a JSON object"),
        ({"turns": []}, "at least one turn"),
        ({"turns": ["x"]}, "turn must be an object"),
        ({"turns": [{"user": " "}]}, '"user" must be text'),
        ({"turns": [{"user": "x", "asks": 1}]}, '"asks" is not a field of a turn'),
        ({"turns": [{"user": "x", "says": 1}]}, '"says" must be text'),
        ({"turns": [{"user": "x", "calls": "sql_query"}]}, '"calls" must be a list'),
        ({"turns": [{"user": "x", "calls": [[]]}]}, "at least one call"),
        ({"turns": [{"user": "x", "calls": [{"tool": "a"}]}]}, "a call is a name"),
        ({"turns": [{"user": "x", "calls": [7]}]}, "a call is a name"),
        ({"turns": [TURN], "name": ""}, '"name" must be text'),
        ({"turns": [TURN], "settings": 1}, '"settings" must be an object'),
        ({"turns": [TURN], "title": "x"}, '"title" is not a field of a conversation'),
    ],
    ids=range(14),
)
def test_a_wrong_line_is_named(tmp_path: Path, line: object, words: str) -> None:
    """With what is wrong in it."""
    with pytest.raises(InvalidInput, match=f"line 1: .*{words}"):
        read_scripts(written(tmp_path, line))


def test_names_are_given_once_and_a_file_says_something(tmp_path: Path) -> None:
    """Figures are listed by name."""
    with pytest.raises(InvalidInput, match="two conversations 'a'"):
        read_scripts(written(tmp_path, {"name": "a", "turns": [TURN]}, {"name": "a", "turns": [TURN]}))
    with pytest.raises(InvalidInput, match="holds no conversations"):
        read_scripts(written(tmp_path, ""))
