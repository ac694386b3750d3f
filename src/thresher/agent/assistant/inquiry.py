"""What a kind is asked, and what it gives back.

Invariant: frozen; results are other people's data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from thresher.agent.assistant.questions import Cues, ResolvedQuestion
from thresher.agent.assistant.records import AssistantCall, IntentType, ResultSubject

SHOWN: Final = 10
"""Results of an answer; the next ones come with `more`."""

Item: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question, ready to be put to tools.

    Attributes:
        type: What it wants.
        asked: The question with what the conversation adds to it.
        cues: What it says outright.
        context: What the conversation is about, in the asker's words.
        query: The question as it was asked.
        reviewed: APIs whose descriptions it asks to have reviewed, by their names.
    """

    type: IntentType
    asked: ResolvedQuestion
    cues: Cues
    context: str = ""
    query: str = ""
    reviewed: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The question, standing on its own."""
        return self.asked.text


@dataclass(frozen=True, slots=True)
class Findings:
    """What one kind has found.

    Attributes:
        results: Best first, each with its `kind` and `tool`.
        total: How many there are.
        relevance: The probability, 0 to 1, that the best fits.
        filters: Providers, methods and the like that were read out of the question.
        notes: What is degraded, guessed or left out.
        problems: Calls that failed.
        more: Fetches the next ones.
        subjects: What a later question may be about, in the order of the results.
        named: Whether the question names where they were found.
        sources: Where they were found, the best first.
        kind: What answers: `apis`, `documents`, `databases` or `tools`.
        page: How many results are shown at once: never fewer than `more` passes over.
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
    """The records under a name in an answer's structured content; what is no record is passed over."""
    return [cast("Mapping[str, Any]", one) for one in _list(data, name) if isinstance(one, Mapping)]


def record_of(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The record under a name in an answer's structured content; an empty one where there is none."""
    value = data.get(name)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def texts_of(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The texts under a name in an answer's structured content."""
    return tuple(one for one in _list(data, name) if isinstance(one, str))


def given(about: Mapping[str, Any]) -> Item:
    """A record without what is empty."""
    return {name: value for name, value in about.items() if value not in (None, "", [], (), {})}


def _list(data: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = data.get(name)
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()
