"""Arguments are read out of a question by the tool's schema; what it does not say is missing, and never made up."""

from __future__ import annotations

from typing import Any

import pytest

from thresher.agent.assistant.catalogue import FilledArguments, fill

ZONE = {"type": "string", "description": "IANA timezone name"}
TEXT = {"type": "string"}


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    """A tool's schema."""
    return {"type": "object", "properties": properties, "required": list(required)}


@pytest.mark.parametrize(
    ("question", "tool", "arguments"),
    [
        ("what time is it in Tokyo?", schema("timezone", timezone=ZONE), {"timezone": "Asia/Tokyo"}),
        ("the time in America/Sao_Paulo", schema("timezone", timezone=ZONE), {"timezone": "America/Sao_Paulo"}),
        (
            "convert 3pm New York time to Berlin",
            schema("source_timezone", "time", "target_timezone", source_timezone=ZONE, time=TEXT, target_timezone=ZONE),
            {"source_timezone": "America/New_York", "time": "15:00", "target_timezone": "Europe/Berlin"},
        ),
        ("how is the weather in New York?", schema("city", city=TEXT), {"city": "New York"}),
        (
            "show the last 5 commits of /srv/project",
            schema("repo_path", repo_path=TEXT, max_count={"type": "integer"}),
            {"repo_path": "/srv/project", "max_count": 5},
        ),
        (
            "rename notes.txt to old/notes.txt",
            schema("source_path", "target_path", source_path=TEXT, target_path=TEXT),
            {"source_path": "notes.txt", "target_path": "old/notes.txt"},
        ),
        ("search for 'blue whale'", schema("query", query=TEXT), {"query": "blue whale"}),
        ("weather in metric", schema("units", units={"enum": ["metric", "imperial"]}), {"units": "metric"}),
        ("fetch https://example.com/a?b=1", schema("url", url=TEXT), {"url": "https://example.com/a?b=1"}),
    ],
)
def test_what_a_question_says_becomes_arguments(question: str, tool: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Zones by their cities, times of day, places, paths, counts, quoted texts, values of an enumeration."""
    assert fill(tool, question) == FilledArguments(arguments)


@pytest.mark.parametrize(
    ("question", "tool", "missing"),
    [
        ("what time is it?", schema("timezone", timezone=ZONE), ("timezone",)),
        ("send a mail to Anna", schema("to", "body", to=TEXT, body=TEXT), ("to", "body")),
        ("compare 3 with 4", schema("count", count={"type": "integer"}), ("count",)),
        ("metric or imperial?", schema("units", units={"enum": ["metric", "imperial"]}), ("units",)),
    ],
)
def test_what_is_not_said_for_certain_is_missing(question: str, tool: dict[str, Any], missing: tuple[str, ...]) -> None:
    """Two numbers, two values or none at all are no argument."""
    assert fill(tool, question) == FilledArguments({}, missing)


def test_a_broken_schema_gives_nothing() -> None:
    """Whatever a server lists, reading it ends."""
    assert fill({"properties": [], "required": ["x"]}, "what time is it in Tokyo?") == FilledArguments({}, ("x",))
