"""The records of the tools kind: what is asked, what is found, what the catalogue holds.

Invariant: nothing here holds a secret; commands and addresses are masked before they come in.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from thresher.core import Scored, Tool, Why
from thresher.scanner import Finding
from thresher.upstream import ServerConfig

KIND = "tool"
"""The search index's name for this kind."""

META_TOOLS = frozenset(
    {"process_prompt", "get_context", "find_tools", "describe_tools", "call_tool", "call_tool_write"}
)
"""Names that the gateway keeps for itself; no upstream tool may take one."""

STATIC = "static"
"""Transport of a catalogue without a live server: its tools can be found and described, not called."""

LOCAL = "local"
"""Transport of a server inside this process: the face that offers it runs its tools."""

LIMIT_CAP = 10
"""The most tools that one answer holds, core tools included."""

UNCHOSEN_CAP = 1_000
"""The most tools that an answer shows beside the chosen ones."""


@dataclass(frozen=True, slots=True)
class FoundTool:
    """One tool of an answer.

    Attributes:
        name: The name to call it by, `server_tool`.
        scored: Server and name of the tool, with its probability and the reasons; `describe_tools` has the rest.
        line: One line for a model: signature and first sentence.
        tokens: What the line costs (o200k).
        also: Names of exact duplicates on other servers, left out of the answer.
    """

    name: str
    scored: Scored[Tool]
    line: str
    tokens: int
    also: tuple[str, ...] = ()

    @property
    def tool(self) -> Tool:
        """Server and name."""
        return self.scored.item

    @property
    def score(self) -> float:
        """Probability, 0 to 1, that the tool fits; 0 for a core tool that the search did not return."""
        return self.scored.score

    @property
    def why(self) -> Why:
        """The reasons."""
        return self.scored.why


@dataclass(frozen=True, slots=True)
class FindResult:
    """The answer to `find_tools`.

    Attributes:
        tools: Best first; core tools that the search did not return stand last.
        total_searched: Enabled tools inside the server filter.
        abstained: No tool is likely enough; `tools` then holds core tools alone.
        probability: That any tool fits at all.
        degraded: Why the search worked with less than both arms; empty when it did not.
        fallback: The search could not run: these are the first enabled tools, not chosen ones.
        clauses: The parts of the message that were searched.
        embedding_ms: Time in the encoder; 0 from its cache.
        duration_ms: The whole time; the log row is written behind the answer.
        trace_id: What the log line and any error carry.
        tokens_sent: What the lines of `tools` cost a model.
        tokens_all: What the definitions of all enabled tools would cost it.
        held_back: Names of tools that would have been chosen, were they not waiting for a person's approval.
        selection: `on`; `shadow`: clients see all tools, and the choice is recorded; `off`: nothing was chosen.
        embedding_generated: Whether the search went by meaning too, with an embedding of the question.
        unchosen: Where it was asked for and clients see all tools: those inside the filter that were not chosen, oldest
            first, up to `UNCHOSEN_CAP`.
        left_out: How many more of them there are.
    """

    tools: tuple[FoundTool, ...]
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


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool in full, under the name that clients call it by.

    Attributes:
        tokens: What the definition costs a model.
        warnings: How much the scanner has to say of it.
        findings: What that is; empty where the definition is bare.
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
        config: How to reach its server, secrets opened, for this tenant and identity; None for a local server's tool,
            which whoever offered the server runs.
        tool: The approved definition, under the server's own name for it.
        read_only: A trusted server says that the tool changes nothing; what says nothing counts as writing.
        claims: The tool's server says so and is not trusted, so that it counts as writing.
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
        name: Its name in the catalogue: a plain name, a colon and a remainder, such as `deploy:pack`, which no upstream
            server can have. The part before the colon goes before the names of its tools.
        tools: What it offers.
        description: What it is for.
        prefix: Whether the names of its tools begin with its own; else they stand as they are, where they are free.
        aliases: Other names that find its tools, each with the tool's own name. They are never listed, and a tool that
            has such a name comes first.
    """

    name: str
    tools: tuple[Tool, ...]
    description: str = ""
    prefix: bool = True
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Claim:
    """What a tool of a server that is not trusted claims: that it only reads.

    Attributes:
        definition: SHA-256 of the definition that says so, hexadecimal.
        agreed: Whether the caller has agreed to calls of exactly this definition.
    """

    definition: str
    agreed: bool


@dataclass(frozen=True, slots=True)
class Consent:
    """A person's remembered yes to calls of one tool.

    Attributes:
        tool: Its exposed name.
        server: Its server.
        definition: The beginning of the hash of the definition that was agreed to.
        since: When.
        holds: Whether it still holds: the tool has that very definition, and is in use.
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
    """A server as people may see it.

    Attributes:
        name: Its name in the catalogue.
        transport: `stdio`, `http`, `static` (a catalogue without a live server) or `local` (inside this process).
        target: Command line or address, secrets masked.
        state: `new`, `ready`, `stale` (last good list kept) or `failed` (never listed).
        error: What went wrong last; empty after a good listing.
        tools: How many tools it has, disabled and held ones included.
        held: How many of them wait for a person's approval.
        warned: How many of those in use the scanner warns of.
        auto_approve: Whether changes of its tools are taken over without approval.
        trusted: Whether what it claims about its tools, such as that one only reads, is relied on.
        shared: Whether all users of the tenant see it; else it is one user's own.
        sql: The dialect in which the guard reads statements for its tools; empty: it reads none.
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


@dataclass(frozen=True, slots=True)
class HeldTool:
    """A tool that waits for a person.

    Attributes:
        name: Its exposed name.
        server: Its server.
        reason: `changed` (another definition than the one in use), `poisoned` (a dangerous finding) or `rejected`.
        digest: The beginning of the pending definition's hash; a decision names it.
        since: When it was held.
        findings: What the scanner says of the pending definition.
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
    """What a refresh did, over all servers that were asked for.

    Attributes:
        embedded: Tools embedded anew.
        kept: Tools that had not changed.
        removed: Tools that are gone.
        failures: The error of each server that could not be listed.
        held: Tools of these servers that wait for approval now, rejected ones aside, by the names that clients would
            see.
    """

    embedded: int = 0
    kept: int = 0
    removed: int = 0
    failures: Mapping[str, str] = field(default_factory=dict[str, str])
    held: tuple[str, ...] = ()
