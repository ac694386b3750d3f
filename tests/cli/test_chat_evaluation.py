"""`thresher eval chat` from a file to figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.fakes.chat_server import ChatServer
from tests.fakes.policy import Policy
from thresher.evaluation import read_scripts

RATIOS = {"prompt_tokens_ratio", "cached_cost_ratio"}
FAULTS = {"stale_documents", "unanswered_tool_calls", "internal_tools_visible"}


@pytest.fixture
def llm() -> Iterator[ChatServer]:
    """The model's service."""
    server = ChatServer()
    yield server
    server.stop()


@pytest.fixture
def file(tmp_path: Path, llm: ChatServer) -> Path:
    """Two conversations, and a model that follows them."""
    path = tmp_path / "scripts.jsonl"
    first = {"name": "greeting", "turns": [{"user": "Hello", "calls": []}, {"user": "Who are you?", "says": "I?"}]}
    path.write_text(f"{json.dumps(first)}\n{json.dumps({'turns': [{'user': 'Good bye'}]})}\n", encoding="utf-8")
    llm.model = Policy(read_scripts(path))
    return path


def test_conversations_are_counted_and_leave_no_thread(command: Command, llm: ChatServer, file: Path) -> None:
    """Every figure has its name; a model that is not registered will do."""
    told = command("eval", "chat", str(file), "--url", llm.url, "--json")
    shown = command("eval", "chat", str(file), "--url", llm.url)

    assert told.code == 0, told.err
    figures = told.json
    assert figures.keys() > RATIOS | FAULTS
    assert [figures[name] for name in sorted(FAULTS)] == [0, 0, 0]
    assert (figures["conversations"], figures["turns"], figures["failed"], figures["quality"]) == (2, 3, 0, None)
    assert [row["conversation"] for row in figures["each"]] == ["greeting", "greeting", "line 2"]
    assert figures["prompt_tokens_ratio"] == figures["prompt_tokens"] / figures["standard_prompt_tokens"]
    assert shown.code == 0, shown.err
    assert "prompt_tokens_ratio" in shown.out
    assert "greeting" in shown.out
    assert llm.authorizations == [None] * len(llm.requests)


def test_what_is_wrong_is_said_before_anything_is_asked(command: Command, llm: ChatServer, file: Path) -> None:
    """No model, an address or a line that is not valid, an unknown model."""
    no_model = command("eval", "chat", str(file))
    no_address = command("eval", "chat", str(file), "--url", "nowhere")
    unknown = command("eval", "chat", str(file), "--model", "nobody")
    file.write_text('{"turns": []}', encoding="utf-8")
    no_turns = command("eval", "chat", str(file), "--url", llm.url)

    assert [one.code != 0 for one in (no_model, no_address, unknown, no_turns)] == [True] * 4
    assert "no model" in no_model.err
    assert "not a valid service address" in no_address.err
    assert "nobody" in unknown.err
    assert "line 1" in no_turns.err
    assert llm.requests == []
