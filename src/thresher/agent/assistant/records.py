"""The assistant's answers, and its memory of a conversation.

Invariant: frozen; results are data of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

IntentType: TypeAlias = Literal["search", "endpoint_info", "analytics", "tutorial"]


@dataclass(frozen=True, slots=True)
class Intent:
    """What a question wants.

    Attributes:
        type: A search, with low confidence, if nothing is recognised.
        confidence: 0 to 1.
        tools: The tools that were called for it, in order.
    """

    type: IntentType
    confidence: float
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The results of a question.

    Attributes:
        type: The intent's, or `error`.
        results: One mapping per result, each with its `kind` and `tool`.
        total: Their total number, including those not shown.
        query: As understood, completed from the conversation.
        filters_applied: Providers, methods and the like that were read from the question.
        text: The formatted answer, Markdown.
        notes: What is degraded, guessed or left out.
    """

    type: IntentType | Literal["error"]
    results: tuple[Mapping[str, Any], ...] = ()
    total: int = 0
    query: str = ""
    filters_applied: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantAnswer:
    """The answer to one question.

    Attributes:
        query: As asked.
        intent: What it wants.
        response: The results.
        session_id: Identifies the conversation; a new one if none was given.
    """

    query: str
    intent: Intent
    response: Reply
    session_id: str


@dataclass(frozen=True, slots=True)
class AssistantCall:
    """A tool call of the assistant."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ResultSubject:
    """A result that a later question may be about.

    Attributes:
        kind: Of the result.
        name: Its name for people: `POST /issues (jira)`.
        read: The call that reads it in full.
        sources: Its source: an API, a database, a repository, a server.
    """

    kind: str
    name: str
    read: AssistantCall
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RememberedTurn:
    """A question and the content of its answer, as the conversation remembers them.

    Attributes:
        query: As asked.
        understood: As understood, standing alone.
        type: What it wanted.
        subjects: The results, in the order in which they were shown.
        sources: The sources of the answer.
        more: The call that fetches the next page; None on the last one.
        kind: The kind of the answer: `apis`, `documents`, `databases` or `tools`; empty if nothing was found.
    """

    query: str
    understood: str
    type: IntentType
    subjects: tuple[ResultSubject, ...] = ()
    sources: tuple[str, ...] = ()
    more: AssistantCall | None = None
    kind: str = ""
