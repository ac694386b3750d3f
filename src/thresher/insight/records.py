"""The records of insight.

Invariant: frozen. Days are those of UTC; a time is null if there was nothing to measure.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Usage:
    """The figures of a day, or of a whole period.

    Attributes:
        messages: Answers of `process_prompt` and `get_context`.
        passed: Those of them that delivered nothing.
        message_p50_ms: Half of them took at most this long, in milliseconds.
        message_p95_ms: 95 in 100 of them.
        searches: Answers of `find_tools`, those inside an answer to a message included.
        empty: Those of them that found no tool.
        search_p50_ms: Half of them took at most this long, in milliseconds.
        search_p95_ms: 95 in 100 of them.
        calls: Calls of tools that are not our own.
        failed: Those of them that neither succeeded, nor were cancelled, nor were answered with rules or a signature.
        call_p50_ms: Half of them took at most this long, in milliseconds.
        call_p95_ms: 95 in 100 of them.
        tokens_sent: Tokens of the tools that searches answered with.
        tokens_all: What the definitions of all tools would have cost, once for each of these searches.
        tokens_saved: The difference.
        context_tokens: Tokens of the answers to messages: rules, tools, passages and all else.
    """

    messages: int = 0
    passed: int = 0
    message_p50_ms: float | None = None
    message_p95_ms: float | None = None
    searches: int = 0
    empty: int = 0
    search_p50_ms: float | None = None
    search_p95_ms: float | None = None
    calls: int = 0
    failed: int = 0
    call_p50_ms: float | None = None
    call_p95_ms: float | None = None
    tokens_sent: int = 0
    tokens_all: int = 0
    tokens_saved: int = 0
    context_tokens: int = 0


@dataclass(frozen=True, slots=True)
class UsageDay:
    """A day and its figures.

    Attributes:
        day: The day, in UTC.
        usage: Its figures.
    """

    day: dt.date
    usage: Usage


@dataclass(frozen=True, slots=True)
class ServerUsage:
    """The calls of a server's tools.

    Attributes:
        server: Its name; empty for names that no tool has, or whose tool is gone.
        calls: How many.
        failed: Those of them that failed.
        p50_ms: Half of them took at most this long, in milliseconds.
        p95_ms: 95 in 100 of them.
    """

    server: str
    calls: int
    failed: int
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """The calls of a tool.

    Attributes:
        server: Its server; empty if no tool has the name now.
        tool: The name that it was called by; empty where a name that no tool has may not be kept.
        calls: How many.
        failed: Those of them that failed.
        p50_ms: Half of them took at most this long, in milliseconds.
        p95_ms: 95 in 100 of them.
        last: When it was called last.
    """

    server: str
    tool: str
    calls: int
    failed: int
    p50_ms: float | None
    p95_ms: float | None
    last: dt.datetime


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """The figures of a period.

    Attributes:
        since: Its start; it ends now.
        total: The figures of all of it.
        days: Those of each of its days, the oldest first; a day without anything has zeros.
        servers: The calls by server, most calls first.
        tools: The calls by tool, most calls first; the first 100 of them.
    """

    since: dt.datetime
    total: Usage
    days: tuple[UsageDay, ...]
    servers: tuple[ServerUsage, ...]
    tools: tuple[ToolUsage, ...]


Asked: TypeAlias = Literal["find_tools", "get_context", "process_prompt", "search_api_docs"]
"""The verbs whose answers may be empty."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A message or search that got nothing, with all that equal it.

    Attributes:
        verb: What was asked.
        message: Its text, without secrets; null where texts are not kept.
        message_hash: Its keyed hash in hex, equal for equal messages of a tenant; empty for searches.
        count: How often it came. Searches without a text are counted together.
        first: When it came first in the period.
        last: When it came last.
        trace_id: Names the last one in the log.
    """

    verb: Asked
    message: str | None
    message_hash: str
    count: int
    first: dt.datetime
    last: dt.datetime
    trace_id: str


@dataclass(frozen=True, slots=True)
class UnansweredMessages:
    """Messages and searches that got nothing.

    Attributes:
        since: The start of the period; it ends now.
        messages: The newest first.
        more: How many others there are.
        texts_kept: Whether the settings allow the texts of messages to be kept now.
        hint: What to set so that they are; empty if they are kept.
    """

    since: dt.datetime
    messages: tuple[Unanswered, ...]
    more: int
    texts_kept: bool
    hint: str


@dataclass(frozen=True, slots=True)
class IntentDay:
    """The intents of a day.

    Attributes:
        day: The day, in UTC.
        messages: Messages that were routed.
        passed: Those of them that no intent fitted.
        intents: How often each intent matched, the most frequent first; a message may match several.
    """

    day: dt.date
    messages: int
    passed: int
    intents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class IntentHistory:
    """Intents over time.

    Attributes:
        since: The start of the period; it ends now.
        days: Its days, the oldest first; a day without anything has zeros.
    """

    since: dt.datetime
    days: tuple[IntentDay, ...]


@dataclass(frozen=True, slots=True)
class CallEntry:
    """A call of a tool, without its arguments.

    Attributes:
        id: Its number in the log.
        at: When it ended.
        server: The tool's server; empty if no tool has the name now.
        tool: The name that it was called by; empty where a name that no tool has may not be kept.
        state: How it ended: `ok`, `tool error`, `failed`, `cancelled`, `rules first`, `signature first`.
        failed: Whether it failed.
        duration_ms: Milliseconds from the arguments to the answer.
        rank: The tool's place, from 1, in what the client was last offered; 0 outside it, null if it had not searched.
        user: The user; null where users are not told apart.
        client: The connection.
        trace_id: Names it in the log file.
    """

    id: int
    at: dt.datetime
    server: str
    tool: str
    state: str
    failed: bool
    duration_ms: float
    rank: int | None
    user: str | None
    client: str
    trace_id: str


@dataclass(frozen=True, slots=True)
class CallPage:
    """A page of the log of calls.

    Attributes:
        calls: The newest first.
        next: `before` of the next page; null at the end.
        texts_kept: Whether the settings allow names that no tool has to be kept now.
    """

    calls: tuple[CallEntry, ...]
    next: int | None
    texts_kept: bool


Subject: TypeAlias = Literal["tool", "pack", "job", "server", "repository", "api", "connection"]


@dataclass(frozen=True, slots=True)
class AttentionItem:
    """One thing that waits for a person.

    Attributes:
        kind: What it is.
        name: Its name, a job's number, or a pack's path.
        state: `changed`, `poisoned`, `untrusted`, `sign-in`, `failed` or `stale`.
        sentence: What is the matter.
        hint: What to do; may be empty.
        since: Since when; null if that is not known.
    """

    kind: Subject
    name: str
    state: Literal["changed", "poisoned", "untrusted", "sign-in", "failed", "stale"]
    sentence: str
    hint: str
    since: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Attention:
    """What waits for a person.

    Attributes:
        items: What is dangerous first, then the newest; the first 200 of them.
        count: How many there are.
        unread: Kinds whose listing failed, each with the reason.
    """

    items: tuple[AttentionItem, ...]
    count: int
    unread: Mapping[str, str]
