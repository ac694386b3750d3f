"""Records that cross packages, and the caller and the conversation of the work under way.

Invariant: records are frozen values without behaviour of their own. A task started inside a block keeps that block's
caller and conversation, whatever happens elsewhere at the same time. A conversation is set inside this process, never
by what a client sends: it has no schema, so no caller can pass one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NoReturn, TypeAlias, TypeVar
from uuid import UUID

from thresher.core.errors import ConfigurationError

T = TypeVar("T")

FINGERPRINT = "client:"
"""How `Caller.client` begins where requests come one by one, without a session."""

JSON: TypeAlias = Mapping[str, Any]
"""A decoded JSON object. Values come from other people's servers: treat them as data."""

Expose: TypeAlias = Literal["meta", "own", "all"]
"""What `tools/list` shows: the meta-tools and core tools; also the tools of packs; also every tool of every server."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """Whose rows a transaction sees.

    Attributes:
        id: The integer key carried by every tenant row.
        name: The name people use; `local` in single-user mode.
    """

    id: int
    name: str


ASSISTANT = "assistant:"
"""What the connections of the assistant begin with, before the name of the conversation."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        tenant: Whose rows it may see.
        user: The user inside the tenant; None where users are not told apart.
        client: The connection it asks over, such as an MCP session. For requests without a session: `FINGERPRINT` and
            a hash of what tells the client from others (its key, its address, the names it gives itself). Empty where
            neither is known. It is no identity: two connections of one user see the same.
        project: Absolute path of the folder that the client works in, as a client on this machine told it; empty where
            none did. It is no identity either.
        keyed: Whether a key names the caller. What belongs to the machine's user and not to a tenant, such as the packs
            of the home folder, is for callers without one.
        expose: What `tools/list` shows to the client; None: what the setting says. It is no identity.
        key: The number of the key that names the caller; None without one. It tells apart callers without a user.
    """

    tenant: Tenant
    user: str | None = None
    client: str = field(default="", compare=False)
    project: str = field(default="", compare=False)
    keyed: bool = False
    expose: Expose | None = field(default=None, compare=False)
    key: int | None = field(default=None, compare=False)

    @property
    def assisted(self) -> bool:
        """Whether the assistant asks: it searches everywhere at once, so its calls are no model's choice."""
        return self.client.startswith(ASSISTANT)

    @property
    def place(self) -> tuple[int, str | None, str, bool]:
        """Callers with equal places see the same packs, and the same tools of packs."""
        return self.tenant.id, self.user, self.project, self.keyed


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool definition as an MCP server listed it."""

    server: str
    name: str
    title: str = ""
    description: str = ""
    input_schema: JSON = field(default_factory=dict[str, Any])
    output_schema: JSON | None = None
    annotations: JSON = field(default_factory=dict[str, Any])

    @property
    def key(self) -> str:
        """The name people and evaluations use: `server/name`."""
        return f"{self.server}/{self.name}"


@dataclass(frozen=True, slots=True)
class Arm:
    """What one arm of a search said of a hit.

    Attributes:
        rank: 1 for the best; None when the arm did not return the item.
        score: The arm's own score (cosine, or BM25); None when unknown.
    """

    rank: int | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Why:
    """The reasons behind one hit.

    Attributes:
        source: `semantic`, `lexical`, `hybrid`, `written` (the message has its name), `core` or `fallback`.
        dense: The dense arm's rank and cosine.
        lexical: The lexical arm's rank and BM25 score.
        terms: Query terms that the item matched, strongest first.
        query: Index of the clause or query that found it best; 0 is the first.
        own_words: Those of the terms that are among the words which the item's owner gave it.
        minor_terms: Those of the terms that it has only in fields of small weight; a tool has words there that people
            probably use for it.
        question_terms: Others of these, which are words of questions that a model wrote for a tool.
        learned: What earlier use adds to its score in the ranking; 0 without any.
        uses: How often it was used after like messages.
        trained: What training on the tenant's own messages adds to its score; 0 without any.
    """

    source: str
    dense: Arm = Arm(None, None)
    lexical: Arm = Arm(None, None)
    terms: tuple[str, ...] = ()
    query: int = 0
    own_words: tuple[str, ...] = ()
    minor_terms: tuple[str, ...] = ()
    question_terms: tuple[str, ...] = ()
    learned: float = 0.0
    uses: int = 0
    trained: float = 0.0


@dataclass(frozen=True, slots=True)
class Scored(Generic[T]):
    """An item with its calibrated score and the reasons for it.

    Attributes:
        item: The thing found.
        score: Probability, 0 to 1, that it fits.
        why: The reasons.
    """

    item: T
    score: float
    why: Why


@dataclass(frozen=True, slots=True)
class Rule:
    """The rules of one pack, as a model is given them.

    Attributes:
        intent: Name of the pack.
        text: The rules, variables filled; other people's text, which a model is meant to follow.
        source: Where the pack was found: `built-in`, `entry point`, `configured`, `user` or `project`.
        tokens: What the text costs a model (o200k).
        whole: The rules in full, where `text` is the pack's short form; else None.
        cursor: Has `get_context` give the rules in full; empty where `text` is all there is.
    """

    intent: str
    text: str
    source: str
    tokens: int = 0
    whole: Rule | None = None
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that may be shown to a model, such as a tool or the rules of a pack; every kind has this form.

    Attributes:
        kind: `rules`, `tools`, or whatever else can be known.
        name: Its name inside the kind.
        text: What a model reads of it, without its heading.
        heading: What stands above it, one line; neighbours with one heading share it.
        data: The same as data.
        value: Probability, 0 to 1, that the message needs it.
        why: The reason for it, in a few words.
        tokens: About how many tokens it costs (o200k), in the longer of its two forms.
        content: The part that must stay the same for a cursor to remain valid; empty for the text.
        whole: The full form, if this is the short one; used instead if the budget allows.
    """

    kind: str
    name: str
    text: str
    heading: str
    data: JSON
    value: float
    why: str = ""
    tokens: int = 0
    content: str = ""
    whole: Piece | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What fits the message and is not in the answer.

    Attributes:
        kind: As of a `Piece`.
        name: Its name; empty where the entry stands for all of its kind.
        why: `budget`.
        tokens: What it would cost about.
        cursor: Fetches just this; empty where the entry stands for all of its kind.
        count: For how many the entry stands.
    """

    kind: str
    name: str
    why: str
    tokens: int
    cursor: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class KindShare:
    """A kind's share of a context, and the reason for it.

    Attributes:
        kind: As of a `Piece`.
        offered: How many pieces its search offered.
        taken: How many were delivered.
        probability: The probability, 0 to 1, that the message needs the kind.
        tokens: What the delivered ones cost about.
        why: Why it got as much, in a few words.
    """

    kind: str
    offered: int
    taken: int
    probability: float
    tokens: int
    why: str


@dataclass(frozen=True, slots=True)
class ContextPack:
    """What a message needs of everything that is known, inside one token budget.

    Attributes:
        message: The message.
        intents: The intents that it has, with their probabilities, best first.
        pieces: What was taken, in the order in which a model reads it.
        left_out: What fits the message too, and found no room; none of it is lost while there is `next`.
        next: The cursor that fetches what was left out; empty where nothing was.
        text: What a model reads.
        data: The same as data.
        budget: Tokens that neither `text` nor `data` as JSON exceeds.
        spent: Tokens of the larger of the two.
        confidence: Probability, 0 to 1, that the choice of rules is right.
        clarify: A question for the person where two intents are too close; else empty.
        degraded: Why the answer is weaker than it could be; empty when it is not.
        timings: Milliseconds of each part.
        trace_id: Names the answer in the logs.
        shares: What each kind that was searched got, and why.
    """

    message: str
    intents: Mapping[str, float]
    pieces: tuple[Piece, ...]
    left_out: tuple[LeftOut, ...]
    next: str
    text: str
    data: JSON
    budget: int
    spent: int
    confidence: float = 0.0
    clarify: str = ""
    degraded: str = ""
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    trace_id: str = ""
    shares: tuple[KindShare, ...] = ()


_acting: ContextVar[Caller | None] = ContextVar("thresher_caller", default=None)


@contextmanager
def acting_for(caller: Caller) -> Generator[None]:
    """Do everything inside the block, and in tasks and pack tools started there, for this caller."""
    token = _acting.set(caller)
    try:
        yield
    finally:
        _acting.reset(token)


def acting_caller() -> Caller:
    """Return the caller of the request under way; in a pack's tool, of this call.

    Raises:
        ConfigurationError: The code does not run inside a request.
    """
    if (caller := _acting.get()) is None:
        raise ConfigurationError("There is no caller outside of a request.", hint="Ask inside the tool's function.")
    return caller


def acting_or(other: Caller) -> Caller:
    """Return the caller of the request under way, or another one outside of a request."""
    return _acting.get() or other


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as tools see it, under the name `Thread`; empty outside of a conversation.

    Attributes:
        id: The thread's id; None outside of a conversation, and in one that is not kept.
        title: As its owner wrote it.
        settings: Effective settings by name: the thread's, else its owner's, else the defaults.
        model_name: The name of the model that answers in it; empty without a model.
        model: That model as a `thresher.llm.Chat`; None if it cannot be asked.
    """

    id: UUID | None = None
    title: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model_name: str = ""
    model: Any = None

    @property
    def connection(self) -> str:
        """The default database connection; empty if none is set."""
        return str(self.settings.get("connection") or "")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> NoReturn:
        """Refuse to be part of a tool's input or output schema.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a thread is given to a parameter that is annotated `Thread`, with nothing around it")


_NONE = Talk()
_talk: ContextVar[Talk] = ContextVar("thresher_talk", default=_NONE)


@contextmanager
def talking_in(talk: Talk | None) -> Generator[None]:
    """Make everything inside the block, and in tasks and sessions started there, part of a conversation.

    Args:
        talk: The conversation; None for no conversation.
    """
    token = _talk.set(_NONE if talk is None else talk)
    try:
        yield
    finally:
        _talk.reset(token)


def current_talk() -> Talk:
    """Return the conversation of the work under way, with a copy of its settings that may be changed."""
    talk = _talk.get()
    return replace(talk, settings=dict(talk.settings))
