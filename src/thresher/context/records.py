"""The records of enrichment: what is requested, and what a prompt becomes.

Invariant: frozen; texts of packs and of the user are data. Every bound of a request is checked before anything is
embedded, whichever face it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from thresher.core import InvalidInput, LeftOut, Rule
from thresher.embedding import printable
from thresher.knowledge.intents import Decision
from thresher.knowledge.tools import FoundTool
from thresher.search import MAX_QUERIES


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried for one message in place of what holds. Nothing of it is logged, learned from or counted.

    Attributes:
        servers: Only tools of these servers; None for all.
        threshold: The least probability that a tool fits; None for the fitted one.
        thresholds: The least score of intents, by name; `*` for all others.
        kinds: Only pieces of these kinds; None for all.
    """

    servers: Sequence[str] | None = None
    threshold: float | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict[str, float])
    kinds: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class EnrichmentRequest:
    """A checked message.

    Attributes:
        message: The user's words.
        history: The last turns, oldest first.
        queries: Short action phrases that the calling model wrote for it.
        files: Files that the client names as relevant.
        trial: What is tried; None if the message is served.
    """

    message: str
    history: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    trial: Trial | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Everything that an answer depends on; two requests differ here if any part differs."""
        groups = ((self.message,), self.history, self.queries, self.files)
        return tuple(word for group in groups for word in (str(len(group)), *group))


@dataclass(frozen=True, slots=True)
class Note:
    """What a reader must know about an answer: our words, then what they quote of others."""

    text: str
    quoted: str = ""

    def __str__(self) -> str:
        return f"{self.text}: {self.quoted}" if self.quoted else self.text


@dataclass(frozen=True, slots=True)
class MessageTools:
    """The tools for a message.

    Attributes:
        tools: Best first; tools that a pack names and the search did not return come last.
        servers: Connected servers of the packs.
        notes: What is missing, held back or degraded.
        probabilities: The probability, 0 to 1, that the best of those that the search returned fits each task.
        places: The task that each text was searched for that the search names in its reasons; -1 for the whole message.
    """

    tools: tuple[FoundTool, ...] = ()
    servers: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    probabilities: tuple[float, ...] = ()
    places: tuple[int, ...] = ()

    def task_of(self, tool: FoundTool) -> int:
        """Return the task that a tool was found for; of the whole message, the one that some tool fits best."""
        place = self.places[tool.why.query] if tool.why.query < len(self.places) else -1
        return place if place >= 0 else max(range(len(self.probabilities)), key=self.probabilities.__getitem__)


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """The context block.

    Attributes:
        project: Name of the active project; empty if unknown.
        solution: The active solution; empty if unknown.
        servers: Connected servers of the matched packs.
    """

    project: str = ""
    solution: str = ""
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules for a message, and what was missing when they were put together.

    Attributes:
        rules: The rules of each matched intent, variables filled.
        without_value: Variables without a value, whose lines are left out.
        unknown: Undefined variables, by pack.
        notes: In sentences: which rules were left out, and which variables are undefined.
    """

    rules: tuple[Rule, ...] = ()
    without_value: tuple[str, ...] = ()
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Needs:
    """What a message needs, for a caller that writes the prompt itself.

    Attributes:
        intents: Names of the matched packs, best first.
        rules: Of those packs whose rules the caller does not have already.
        tools: Names of tools: those of the matched packs, then those that fit the message, each once.
        notes: What could not be found out, in sentences.
        all_tokens: The tokens of the definitions of all enabled tools; 0 if none were searched.
    """

    intents: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    tools: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    all_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message with what a model needs to serve it.

    Attributes:
        request: The message.
        decision: Which rules it needs, and why.
        rules: The rules of every matched intent, best first; empty if the message passes through.
        facts: The context block.
        tools: The tools of those packs, best first.
        notes: What is missing, cut or degraded.
        text: What a model reads; exactly `PASS_THROUGH` if nothing fits.
        without_value: Variables without a value, whose lines are left out.
        unknown: Undefined variables, by pack.
        timings: Milliseconds of each part.
        trace_id: Identifies the answer in the logs.
    """

    request: str
    decision: Decision
    rules: tuple[Rule, ...] = ()
    facts: ContextBlock = field(default_factory=ContextBlock)
    tools: tuple[FoundTool, ...] = ()
    notes: tuple[Note, ...] = ()
    text: str = ""
    without_value: tuple[str, ...] = ()
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    trace_id: str = ""

    @property
    def passes_through(self) -> bool:
        """Whether no rules fit."""
        return not self.rules


Listing: TypeAlias = tuple[LeftOut, ...]


MESSAGE_CHARACTERS = 200_000
HISTORY_TURNS = 20
QUERY_CHARACTERS = 2_000
FILES, FILE_CHARACTERS = 1_000, 4_096
LARGEST_BUDGET = 1_000_000
DEFAULT_BUDGET = 4_000
"""Tokens of a context: the rules of one or two packs with their tools."""


def context_request(
    message: object, history: object = (), queries: object = (), files: object = (), *, named: str = "message"
) -> EnrichmentRequest:
    """Return a checked request; lone surrogates, which no answer can contain, become question marks.

    Args:
        message: The user's words.
        history: The last turns, oldest first; only the last `HISTORY_TURNS` count.
        queries: Short action phrases.
        files: Relevant files.
        named: The name of the message argument, for error messages.

    Raises:
        InvalidInput: Something is missing, of another type, or too long.
    """
    if not isinstance(message, str):
        raise InvalidInput(f"{named} must be a text.", hint="Give the person's words.")
    if not message.strip():
        raise InvalidInput(f"{named} is empty.", hint="Give the person's words.")
    if len(message) > MESSAGE_CHARACTERS:
        raise InvalidInput(
            f"{named} has {len(message)} characters; the limit is {MESSAGE_CHARACTERS}.",
            hint="Leave out pasted files and logs.",
        )
    turns = _texts("history", history, None, MESSAGE_CHARACTERS)[-HISTORY_TURNS:]
    phrases = _texts("queries", queries, MAX_QUERIES, QUERY_CHARACTERS)
    return EnrichmentRequest(printable(message.strip()), turns, phrases, _texts("files", files, FILES, FILE_CHARACTERS))


def checked_budget(budget: object) -> int:
    """Return a valid budget in tokens.

    Raises:
        InvalidInput: It is not a whole number from 1 to `LARGEST_BUDGET`.
    """
    if not isinstance(budget, int) or isinstance(budget, bool) or not 0 < budget <= LARGEST_BUDGET:
        raise InvalidInput(
            f"budget must be a whole number of tokens, 1 to {LARGEST_BUDGET:,}.",
            hint=f"{DEFAULT_BUDGET:,} holds the rules of one or two packs with their tools.",
        )
    return budget


def checked_cursor(cursor: object) -> str:
    """Return a cursor without white space around it; empty for none.

    Raises:
        InvalidInput: It is not a text.
    """
    if not isinstance(cursor, str | None):
        raise InvalidInput("cursor must be a text.", hint="Give a cursor as the last answer wrote it.")
    return (cursor or "").strip()


def _texts(name: str, value: object, most: int | None, characters: int) -> tuple[str, ...]:
    """The texts that are not blank, in order."""
    if isinstance(value, str):
        value = (value,)
    entries = cast("Sequence[object]", value) if isinstance(value, list | tuple) else None
    if entries is None or not all(isinstance(entry, str) for entry in entries):
        raise InvalidInput(f"{name} must be a list of texts.")
    texts = tuple(text for entry in cast("Sequence[str]", entries) if (text := printable(entry.strip())))
    if most is not None and len(texts) > most:
        raise InvalidInput(f"{len(texts)} {name} are more than {most}.", hint="Give the ones that matter.")
    if texts and (longest := max(map(len, texts))) > characters:
        raise InvalidInput(f"An entry of {name} has {longest} characters; the limit is {characters}.")
    return texts
