"""A question to one kind of source, and its findings.

Invariant: frozen; results are data of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from thresher.agent.assistant.questions import Cues, ResolvedQuestion
from thresher.agent.assistant.records import AssistantCall, IntentType, ResultSubject

SHOWN: Final = 10
"""Results in an answer; the next ones come with `more`."""

Item: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question, prepared for tools.

    Attributes:
        type: What it wants.
        asked: The question, completed from the conversation.
        cues: What it says explicitly.
        context: The topic of the conversation, in the asker's words.
        query: The question as asked.
        reviewed: Names of APIs of whose descriptions it wants a review.
    """

    type: IntentType
    asked: ResolvedQuestion
    cues: Cues
    context: str = ""
    query: str = ""
    reviewed: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The question, standing alone."""
        return self.asked.text


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of one kind.

    Attributes:
        results: Best first, each with its `kind` and `tool`.
        total: Their total number.
        relevance: The probability, 0 to 1, that the best fits.
        filters: Providers, methods and the like that were read from the question.
        notes: What is degraded, guessed or left out.
        problems: Calls that failed.
        more: Fetches the next ones.
        subjects: What a later question may be about, in the order of the results.
        named: Whether the question names their source.
        sources: Their sources, the best first.
        kind: The kind that answers: `apis`, `documents`, `databases` or `tools`.
        page: Number of results shown at once: never fewer than `more` skips.
    """

    results: tuple[Item, ...] = ()
    total: int = 0
    relevance: float = 0.0
    filters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    more: AssistantCall | None = None
    subjects: tuple[ResultSubject, ...] = ()
    named: bool = False
    sources: tuple[str, ...] = ()
    kind: str = ""
    page: int = SHOWN


def rows_of(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the records under a name in an answer's structured content; other values are skipped."""
    return [cast("Mapping[str, Any]", one) for one in _list(data, name) if isinstance(one, Mapping)]


def record_of(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the record under a name in an answer's structured content; empty if it has none."""
    value = data.get(name)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def texts_of(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the texts under a name in an answer's structured content."""
    return tuple(one for one in _list(data, name) if isinstance(one, str))


def nonempty(about: Mapping[str, Any]) -> Item:
    """Return a record without empty values."""
    return {name: value for name, value in about.items() if value not in (None, "", [], (), {})}


def _list(data: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = data.get(name)
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()
