"""The messages of the training data, as records, and the checks that every line must pass.

Invariant: a message stands for one tool, a request for several, and neither for a server that `heldout.txt` names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MESSAGES = FOLDER / "messages"
REQUESTS = FOLDER / "requests.jsonl"
NO_TOOL = FOLDER / "no_tool.jsonl"
PASSAGES = FOLDER / "passages.jsonl"
INTENTS = FOLDER / "intents.jsonl"
HELD_OUT = FOLDER / "heldout.txt"
_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody types, and the tool that does it.

    Attributes:
        text: The message.
        tool: `server/name`.
    """

    text: str
    tool: str

    @property
    def server(self) -> str:
        """The server of the tool."""
        return self.tool.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Request:
    """A request that needs several tools.

    Attributes:
        text: The whole request.
        tools: The tools, `server/name`, in the order of their mention.
        parts: For each tool the words of the request that ask for it.
    """

    text: str
    tools: tuple[str, ...]
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of an invented document, and what is asked of it.

    Attributes:
        document: The document's short name.
        text: Title, heading and text, as the product embeds a chunk.
        questions: Questions that this passage of the document answers, and no other.
    """

    document: str
    text: str
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Intent:
    """What somebody may want in one field, in several wordings.

    Attributes:
        domain: The field.
        name: The intent's name in it.
        lines: The wordings.
    """

    domain: str
    name: str
    lines: tuple[str, ...]


def read_messages() -> list[Message]:
    """Every message for a tool, in the order of the files."""
    return [
        Message(text, entry["tool"])
        for path in sorted(MESSAGES.glob("*.jsonl"))
        for entry in _lines(path)
        for text in entry["messages"]
    ]


def read_requests() -> list[Request]:
    """Every request that needs several tools."""
    return [Request(entry["request"], tuple(entry["tools"]), tuple(entry["parts"])) for entry in _lines(REQUESTS)]


def read_no_tool() -> list[str]:
    """Every message that needs no tool."""
    return [entry["message"] for entry in _lines(NO_TOOL)]


def read_passages() -> list[Passage]:
    """Every passage with its questions."""
    return [
        Passage(entry["document"], f"{entry['title']} > {entry['heading']}\n{entry['text']}", tuple(entry["questions"]))
        for entry in _lines(PASSAGES)
    ]


def read_intents() -> list[Intent]:
    """Every intent with its lines."""
    return [Intent(entry["domain"], entry["intent"], tuple(entry["lines"])) for entry in _lines(INTENTS)]


def validating(names: Iterable[str]) -> frozenset[str]:
    """The documents or fields that no encoder is trained on: every tenth by name."""
    return frozenset(sorted(set(names))[::10])


def held_out() -> frozenset[str]:
    """The servers that no message may be written for, in lower case."""
    lines = HELD_OUT.read_text().splitlines()
    return frozenset(line.strip().casefold() for line in lines if line.strip() and not line.startswith("#"))


def defects(known: Iterable[str]) -> list[str]:
    """Return what is wrong with the data, one sentence each; empty if nothing is.

    Args:
        known: The keys of all tools, `server/name`.
    """
    tools, barred = frozenset(known), held_out()
    found: list[str] = []
    seen: dict[tuple[str, str], str] = {}
    for message in read_messages():
        if message.server.casefold() in barred:
            found.append(f"{message.tool} is held out and has a message.")
        elif message.tool not in tools:
            found.append(f"{message.tool} is not a tool of the training data.")
        normal = " ".join(_WORDS.findall(message.text.casefold()))
        if not normal:
            found.append(f"{message.tool} has an empty message.")
        elif (other := seen.setdefault((message.server, normal), message.tool)) != message.tool:
            found.append(f"{message.tool} and {other} share the message {message.text!r}.")
    for request in read_requests():
        if len(request.tools) != len(request.parts) or not all(part in request.text for part in request.parts):
            found.append(f"The parts of {request.text[:60]!r} are not its words.")
        found += [f"{tool} is not a tool of the training data." for tool in request.tools if tool not in tools]
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)
