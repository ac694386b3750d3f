"""What the assistant answers, and what it remembers of a conversation.

Invariant: frozen; results are other people's data.
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
        type: Nothing recognised is a search, with low confidence.
        confidence: 0 to 1.
        tools: The tools that were called for it, in order.
    """

    type: IntentType
    confidence: float
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What was found.

    Attributes:
        type: The intent's, or `error`.
        results: One mapping a result, each with its `kind` and `tool`.
        total: How many there are, also those not shown.
        query: As it was understood, with what the conversation adds.
        filters_applied: Providers, methods and the like that were read out of the question.
        text: The formatted answer, Markdown.
        notes: What is degraded, guessed or left out.
    """

    type: str
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
        response: What was found.
        session_id: Names the conversation; a new one where none was given.
    """

    query: str
    intent: Intent
    response: Reply
    session_id: str


@dataclass(frozen=True, slots=True)
class AssistantCall:
    """A call of a tool."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ResultSubject:
    """A result that a later question may be about.

    Attributes:
        kind: Of the result.
        name: What people are told it is: `POST /issues (jira)`.
        read: The call that reads it in full.
        sources: Where it comes from: an API, a database, a repository, a server.
    """

    kind: str
    name: str
    read: AssistantCall
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RememberedTurn:
    """A question and what its answer held, as the conversation remembers them.

    Attributes:
        query: As asked.
        understood: As it was understood, standing on its own.
        type: What it wanted.
        subjects: The results, in the order in which they were shown.
        sources: Where it was answered from.
        more: The call that fetches the next page; None where there is none.
        kind: What it was answered from: `apis`, `documents`, `databases` or `tools`; empty where nothing was found.
    """

    query: str
    understood: str
    type: IntentType
    subjects: tuple[ResultSubject, ...] = ()
    sources: tuple[str, ...] = ()
    more: AssistantCall | None = None
    kind: str = ""
