"""The records of enrichment: what is asked, and what a prompt becomes.

Invariant: frozen; texts of packs and of the person are other people's words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from thresher.core import Rule
from thresher.knowledge.intents import Decision
from thresher.knowledge.tools import FoundTool


@dataclass(frozen=True, slots=True)
class Asked:
    """A message, checked.

    Attributes:
        message: The person's words.
        history: The last turns, oldest first.
        queries: Short action phrases that the calling model wrote for it.
        files: Files that the client says matter, as it names them.
    """

    message: str
    history: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Everything that an answer depends on, so that two questions differ if any part does."""
        groups = ((self.message,), self.history, self.queries, self.files)
        return tuple(word for group in groups for word in (str(len(group)), *group))


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a reader must know of an answer: our words, and after them what they quote of others."""

    said: str
    quoted: str = ""

    def __str__(self) -> str:
        return f"{self.said}: {self.quoted}" if self.quoted else self.said


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool put before a model, and whether it may change something."""

    tool: FoundTool
    write: bool


@dataclass(frozen=True, slots=True)
class Offers:
    """The tools that go with a message.

    Attributes:
        tools: Best first; tools that a pack names and the search did not return stand last.
        servers: Servers of the packs that are connected.
        notes: What is missing, held back or weaker than it could be.
    """

    tools: tuple[Offer, ...] = ()
    servers: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """The context block.

    Attributes:
        project: Name of the active project; empty where it is unknown.
        solution: The active solution; empty where it is unknown.
        servers: Servers of the matched packs that are connected.
    """

    project: str = ""
    solution: str = ""
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The rules for a message, and what was found wanting while they were put together.

    Attributes:
        rules: Of each matched intent, variables filled.
        without_value: Variables without a value, whose lines are left out.
        unknown: Variables that nobody knows, by pack.
        notes: In sentences: which rules were left out, and which variables nobody knows.
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
    """

    intents: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    tools: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message with what a model needs to serve it.

    Attributes:
        request: The message.
        decision: Which rules it needs, and why.
        rules: The rules of every matched intent, best first; empty when the message passes through.
        facts: The context block.
        tools: The tools of those packs, best first.
        notes: What is missing, cut or weaker than it could be.
        text: What a model reads; `PASS_THROUGH`, exactly, when nothing fits.
        without_value: Variables without a value, whose lines are left out.
        unknown: Variables that nobody knows, by pack.
        timings: Milliseconds of each part.
        trace_id: Names the answer in the logs.
    """

    request: str
    decision: Decision
    rules: tuple[Rule, ...] = ()
    facts: Facts = field(default_factory=Facts)
    tools: tuple[Offer, ...] = ()
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
