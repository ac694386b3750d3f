"""One line of the audit log, and what a check of the log finds.

Invariant: frozen. Every field of an entry is under its hash.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["ok", "error", "timeout", "cancelled", "truncated"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is noted before a statement runs: the decision.

    Attributes:
        actor: Who: the user, or the name of the key.
        client: The client's name and version, if known.
        model: If known.
        thread: The conversation or session, if known.
        connection: Name of the connection or of the upstream server.
        dialect: Of the engine.
        sql: The statement, whole.
        allowed: The verdict.
        rule: What it broke; empty where it is allowed.
        tool: Which tool was called.
    """

    actor: str
    client: str
    model: str
    thread: str
    connection: str
    dialect: str
    sql: str
    allowed: bool
    rule: str
    tool: str


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of it: noted after.

    Attributes:
        outcome: How it ended.
        rows: Rows that were given.
        ms: How long it took.
        error: The database's message, without credentials; empty where there is none.
    """

    outcome: Outcome
    rows: int
    ms: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A decision and its outcome, as the log shows them.

    Attributes:
        id: Of the decision: its place in the tenant's chain, counted from 1.
        at: When it was decided.
        attempt: What was asked and decided.
        ended: What came of it; None: refused, still running, or its process died.
        trace_id: Of the request.
    """

    id: int
    at: datetime
    attempt: Attempt
    ended: Ended | None
    trace_id: str


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entries are wanted; what is empty or None asks for nothing.

    Attributes:
        since: Decided at this moment or later; UTC where it has no zone.
        connection: Its name, exactly.
        actor: Exactly.
        allowed: Whether it was.
        text: Part of the statement, whatever the case of its letters.
    """

    since: datetime | None = None
    connection: str = ""
    actor: str = ""
    allowed: bool | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Entries:
    """A page of the log.

    Attributes:
        entries: Newest first.
        next: The cursor of the next page; empty where there is none.
    """

    entries: tuple[Entry, ...]
    next: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a check of the log found.

    Attributes:
        kind: `changed`, `gap`, `order`, `cut tail`, `added`, `head`, `foreign`, `anchor`, `expected`, `outcome`,
            `without outcome`, `restarted` or `pruned`.
        id: Of the link; 0 where the chain as a whole is meant.
        text: In one sentence.
        fatal: Whether the log was tampered with; a decision without an outcome is not.
    """

    kind: str
    id: int
    text: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check found.

    Attributes:
        links: How many links the chain has: a decision is one, its outcome another.
        entries: How many of them are decisions.
        head: The place and hash of the last link, `place:hash`; `0:` where there is none. Kept elsewhere, it proves
            later that nothing up to here was changed or cut.
        anchored: The place of the last link that was also noted outside of the database; 0: none was.
        problems: In the order of the chain, those of the whole first.
        sound: Whether nothing was tampered with.
    """

    links: int
    entries: int
    head: str
    anchored: int
    problems: tuple[Problem, ...]
    sound: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sound", not any(problem.fatal for problem in self.problems))
