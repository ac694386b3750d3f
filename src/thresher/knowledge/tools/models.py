"""The records of the tools kind: requests, results, and what the catalogue contains.

Invariant: nothing here contains a secret; commands and addresses are masked before they get here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from thresher.core import Scored, Tool, Why
from thresher.scanner import Finding
from thresher.upstream import ServerConfig

Form: TypeAlias = Literal["full", "name"]
"""How a tool stands in an answer: in full, or by its name and a few words."""

KIND = "tool"
"""The search index's name for this kind."""

META_TOOLS = frozenset(
    ("process_prompt", "get_context", "find_tools", "describe_tools", "call_tool", "call_tool_write", "run_code")
) | {"run_code_write"}
"""Names that the gateway keeps for itself; no upstream tool may take one."""

STATIC = "static"
"""Transport of a catalogue without a live server: its tools can be found and described, not called."""

LOCAL = "local"
"""Transport of a server inside this process: the face that offers it runs its tools."""

LIMIT_CAP = 50
"""The maximum number of tools that a caller may limit an answer to, core tools included."""

LEAST_BUDGET, MOST_BUDGET = 50, 4_000
"""Bounds of the tokens of an answer."""

UNCHOSEN_CAP = 1_000
"""The maximum number of tools that an answer shows next to the chosen ones."""


@dataclass(frozen=True, slots=True)
class FoundTool:
    """One tool of an answer.

    Attributes:
        name: The name to call it by, `server_tool`.
        scored: Server and name of the tool, with its probability and the reasons; `describe_tools` has the rest.
        line: One line for a model: signature and what it does. Types of plain strings are left out.
        tokens: The cost (o200k) of the tool in the answer's text.
        form: Whether the text has the line, or only the name and the gist.
        gist: A few words that tell it from others.
        write: Whether it may change something.
        also: Names of its copies, left out of the answer: exact ones on other servers, other names on its own.
        need: The probability, 0 to 1, that it is needed: of several that fit, one is.
    """

    name: str
    scored: Scored[Tool]
    line: str
    tokens: int
    form: Form = "full"
    gist: str = ""
    write: bool = True
    also: tuple[str, ...] = ()
    need: float = 0.0

    @property
    def tool(self) -> Tool:
        """Server and name."""
        return self.scored.item

    @property
    def score(self) -> float:
        """The probability, 0 to 1, that the tool fits; 0 for a core tool that the search did not return."""
        return self.scored.score

    @property
    def why(self) -> Why:
        """The reasons."""
        return self.scored.why


@dataclass(frozen=True, slots=True)
class ToolInspection:
    """Which tools an answer names besides the chosen ones; one that is inspected is not logged.

    Attributes:
        limit: The best so many that are not in the answer.
        expected: Further ones by exposed name, or as `server/tool`, whatever their rank.
    """

    limit: int
    expected: tuple[str, ...] = ()


ToolFate: TypeAlias = Literal[
    "given", "floor", "budget", "copy", "limit", "need", "threshold", "abstained", "candidates",
    "held", "disabled", "server", "category", "unindexed", "off", "unknown",
]  # fmt: skip
"""What became of a tool. It is in the answer; or it brings less than its tokens are worth, found no room, is folded
into another one, is beyond the limit, is needed or fits too improbably, nothing fits, or no arm has it among its best.
Or it was not searched: it waits for approval, is disabled, is outside a filter, is not indexed yet, does not exist, or
selection is off."""


@dataclass(frozen=True, slots=True)
class RankedTool:
    """A tool that was considered for an answer, or is expected in it.

    Attributes:
        name: The name to call it by.
        server: Its server; empty for an unknown one.
        rank: Its place in the fused order of the search, from 1; None if it has none.
        score: The probability, 0 to 1, that it fits.
        need: The probability, 0 to 1, that it is needed.
        why: Rank and score in each arm, and the other reasons.
        standing: Its fused score less that of the best tool for the same text, both without what use has taught.
        fate: What became of it.
        reason: The same as a sentence, with the numbers that decided.
        form: Its form in the answer; None if it is not in it.
        tokens: What it costs there, or would cost in full.
        copy_of: The tool that it is folded into; empty if it is no copy.
        expected: Whether it was asked for by name.
    """

    name: str
    server: str
    rank: int | None
    score: float
    need: float
    why: Why
    standing: float
    fate: ToolFate
    reason: str
    form: Form | None = None
    tokens: int = 0
    copy_of: str = ""
    expected: bool = False


@dataclass(frozen=True, slots=True)
class FindResult:
    """The answer to `find_tools`.

    Attributes:
        tools: Best first; core tools that the search did not return come last.
        text: The answer as a model reads it, inside the budget.
        total_searched: The number of enabled tools inside the server filter.
        abstained: No tool is likely enough; `tools` then contains only core tools.
        probability: The probability that any tool fits.
        degraded: Why the search ran with less than both arms; empty if it did not.
        fallback: The search could not run: these are the first enabled tools, not chosen ones.
        clauses: The parts of the message that were searched.
        embedding_ms: Time in the encoder; 0 from its cache.
        duration_ms: The total time; the log row is written after the answer.
        trace_id: The id in the log line and in any error.
        tokens_sent: What `text` costs a model.
        tokens_all: What the definitions of all enabled tools would cost it.
        held_back: Names of tools that would have been chosen if they were approved.
        selection: `on`; `shadow`: clients see all tools, and the choice is only recorded; `off`: nothing was chosen.
        embedding_generated: Whether the search used an embedding of the question.
        unchosen: On request, if clients see all tools: those inside the filter that were not chosen, oldest first, up
            to `UNCHOSEN_CAP`.
        left_out: The number of further ones.
        budget: The most tokens of `text`.
        threshold: The probability below which no tool fits.
        ranked: With an inspection the tools and the others that it names, by rank; those without one come last.
    """

    tools: tuple[FoundTool, ...]
    text: str
    total_searched: int
    abstained: bool
    probability: float
    degraded: str
    fallback: bool
    clauses: tuple[str, ...]
    embedding_ms: float
    duration_ms: float
    trace_id: str
    tokens_sent: int
    tokens_all: int
    held_back: tuple[str, ...] = ()
    selection: str = "on"
    embedding_generated: bool = False
    unchosen: tuple[FoundTool, ...] = ()
    left_out: int = 0
    budget: int = 0
    threshold: float = 0.0
    ranked: tuple[RankedTool, ...] = ()


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool in full, under the name that clients call it by.

    Attributes:
        tokens: What the definition costs a model.
        warnings: The number of the scanner's findings.
        findings: The findings; empty if only names and switches were requested.
    """

    name: str
    tool: Tool
    enabled: bool = True
    core: bool = False
    tokens: int = 0
    warnings: int = 0
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a call of one tool needs.

    Attributes:
        id: The tool's row.
        config: How to reach its server, secrets opened, for this tenant and identity; None for a tool of a local
            server, which the offering face runs.
        tool: The approved definition, under the server's own name for it.
        read_only: Whether a trusted server says that the tool changes nothing; otherwise it counts as writing.
        claims: Whether the tool's server says so and is not trusted, so that it counts as writing.
    """

    id: int
    config: ServerConfig | None
    tool: Tool
    read_only: bool
    claims: bool = False


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server inside this process.

    Attributes:
        name: Its name in the catalogue: a plain name, a colon and a suffix, such as `deploy:pack`, which no upstream
            server can have. The part before the colon prefixes the names of its tools.
        tools: Its tools.
        description: What it is for.
        prefix: Whether the names of its tools begin with its own; otherwise they stay as they are, if they are free.
        aliases: Other names that find its tools, each with the tool's own name. They are never listed, and a tool with
            such a name takes precedence.
    """

    name: str
    tools: tuple[Tool, ...]
    description: str = ""
    prefix: bool = True
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of a tool on an untrusted server that it only reads.

    Attributes:
        definition: SHA-256 of the definition that says so, hexadecimal.
        agreed: Whether the caller has agreed to calls of exactly this definition.
    """

    definition: str
    agreed: bool


@dataclass(frozen=True, slots=True)
class Consent:
    """A user's remembered consent to calls of one tool.

    Attributes:
        tool: Its exposed name.
        server: Its server.
        definition: The beginning of the hash of the definition that the user agreed to.
        since: When.
        holds: Whether it is still valid: the tool has that definition and is in use.
    """

    tool: str
    server: str
    definition: str
    since: dt.datetime
    holds: bool


@dataclass(frozen=True, slots=True)
class Descriptions:
    """The answer to `describe_tools`: definitions, and for each unknown name the nearest known ones."""

    tools: tuple[Definition, ...]
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """A server as users may see it.

    Attributes:
        name: Its name in the catalogue.
        transport: `stdio`, `http`, `static` (a catalogue without a live server) or `local` (inside this process).
        target: Command line or address, secrets masked.
        state: `new`, `ready`, `stale` (last good list kept) or `failed` (never listed).
        error: The last error; empty after a good listing.
        tools: The number of its tools, disabled and held ones included.
        held: How many of them wait for approval.
        warned: How many of those in use have findings of the scanner.
        auto_approve: Whether changes of its tools are accepted without approval.
        trusted: Whether its claims about its tools, such as that one only reads, are relied on.
        shared: Whether all users of the tenant see it; otherwise it belongs to one user.
        sql: The dialect in which the guard reads statements for its tools; empty if it reads none.
        sign_in: `done`, `needed`, or empty where no sign-in is known to be needed, or nobody has looked.
    """

    name: str
    transport: str
    target: str
    description: str
    enabled: bool
    state: str
    error: str
    tools: int
    listed_at: dt.datetime | None
    held: int = 0
    warned: int = 0
    auto_approve: bool = False
    trusted: bool = False
    shared: bool = True
    sql: str = ""
    sign_in: str = ""


@dataclass(frozen=True, slots=True)
class HeldTool:
    """A tool that waits for approval.

    Attributes:
        name: Its exposed name.
        server: Its server.
        reason: `changed` (another definition than the one in use), `poisoned` (a dangerous finding) or `rejected`.
        digest: The beginning of the pending definition's hash; a decision names it.
        since: When it was held.
        findings: The scanner's findings on the pending definition.
        approved: The definition that was in use; None for a tool that never was.
        pending: The definition that waits.
        difference: Lines of a unified diff, hidden characters written out.
    """

    name: str
    server: str
    reason: str
    digest: str
    since: dt.datetime
    findings: tuple[Finding, ...]
    approved: Tool | None
    pending: Tool
    difference: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did, over all requested servers.

    Attributes:
        embedded: Tools that were embedded.
        kept: Tools that had not changed.
        removed: Tools that are gone.
        failures: The error of each server that could not be listed.
        held: Tools of these servers that now wait for approval, except rejected ones, by their exposed names.
        lapsed: Tools of these servers whose rewrite is not used, since their definition has changed.
        findings: Of added servers: how many tools each rule of `tools health` names for their definitions alone.
    """

    embedded: int = 0
    kept: int = 0
    removed: int = 0
    failures: Mapping[str, str] = field(default_factory=dict[str, str])
    held: tuple[str, ...] = ()
    lapsed: tuple[str, ...] = ()
    findings: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class ToolWords:
    """The words that the owner of a server gave one of its tools, for the search alone.

    Attributes:
        name: The tool's exposed name; `server/tool` while it is not there.
        server: Its server.
        words: Words, phrases or example messages, oldest first.
        there: Whether the tool is there now.
    """

    name: str
    server: str
    words: tuple[str, ...]
    there: bool = True


@dataclass(frozen=True, slots=True)
class ToolQuestions:
    """Questions that a model wrote for one definition of a tool, for the search alone.

    Attributes:
        name: The tool's exposed name; `server/tool` while it is not there.
        server: Its server.
        questions: The questions, oldest first.
        model: The model's name.
        holds: Whether they are used: `THRESHER_TOOL_QUESTIONS` is on, and the tool is there with that definition.
        there: Whether the tool is there now.
    """

    name: str
    server: str
    questions: tuple[str, ...]
    model: str
    holds: bool
    there: bool = True


@dataclass(frozen=True, slots=True)
class ToolRewrite:
    """A description that the search reads of a tool in place of its server's.

    Attributes:
        name: The tool's exposed name; `server/tool` while it is not there.
        server: Its server.
        description: The description.
        since: When it was approved.
        holds: Whether it is used: the tool is there, with the definition that it was approved for.
        there: Whether the tool is there now.
    """

    name: str
    server: str
    description: str
    since: dt.datetime
    holds: bool
    there: bool = True


@dataclass(frozen=True, slots=True)
class ToolCategory:
    """Tools that belong together.

    Attributes:
        name: Its name.
        tools: Its enabled tools, by name.
        servers: Their servers.
        chosen: How many of the tools their owner has put into it; the others were found to be near.
    """

    name: str
    tools: tuple[str, ...]
    servers: tuple[str, ...]
    chosen: int


@dataclass(frozen=True, slots=True)
class Use:
    """One successful call after a search, from which the ranking learns: a row of `tool_use`.

    Attributes:
        at: When the tool was called.
        searched_at: When the search was answered.
        owner: The user; None for callers without one.
        voter: Whose say it is: a user, a key, or empty for the owner of the data folder.
        trace_id: The search, as its log row names it.
        model: The model of the vector.
        vector: The searched text's vector as float16 bytes.
        tool_id: The tool that was called.
        weight: How much it counts.
        passed: Tools that were offered before it and not called.
        failed: Tools whose calls failed before it.
        offered: All tools that were offered for the text, best first.
        standings: Their scores without what use had taught, less that of the best one.
        message: The text, where the setting allows it.
    """

    at: dt.datetime
    searched_at: dt.datetime
    owner: str | None
    voter: str
    trace_id: str
    model: str
    vector: bytes
    tool_id: int
    weight: float
    passed: Sequence[int]
    failed: Sequence[int]
    offered: Sequence[int]
    standings: Sequence[float]
    message: str | None


def plain_name(server: str) -> str:
    """Return a server's name as users write it: that of a local one, `deploy:pack`, without its suffix."""
    return server.partition(":")[0]
