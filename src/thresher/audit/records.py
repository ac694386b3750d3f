"""One line of the audit log, and what a check of the log finds.

Invariant: frozen. Every field of an entry is under its hash.
"""

from __future__ import annotations

from dataclasses import dataclass
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
class Problem:
    """Something that a check of the log found.

    Attributes:
        kind: `changed`, `gap`, `order`, `cut tail`, `foreign`, `without outcome` ...
        id: Of the entry; 0 where the chain as a whole is meant.
        text: In one sentence.
        fatal: Whether the log was tampered with; a decision without an outcome is not.
    """

    kind: str
    id: int
    text: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check found: how many entries, the head's hash, and problems."""

    entries: int
    head: str
    problems: tuple[Problem, ...]
