"""Findings about a tool, and what the scanner knows of the tools around it.

Invariant: a finding quotes at most one line, in visible characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["warning", "danger"]
"""`danger`: the tool is held back until a person approves it. `warning`: a person should know."""

Kind: TypeAlias = Literal["hidden", "instruction", "exfiltration", "override", "command"]
"""`hidden`: text that a person does not see. `instruction`: orders to the model. `exfiltration`: secrets or the
conversation are sent elsewhere. `override`: another tool is shadowed, replaced or steered. `command`: a shell command,
or behaviour that changes after approval.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason not to trust a tool's definition.

    Attributes:
        kind: Its kind.
        severity: `warning` or `danger`.
        where: JSON pointer into the definition, such as `/inputSchema/properties/path/description`.
        excerpt: The suspicious text, with hidden characters written out.
        why: One sentence for a person.
    """

    kind: Kind
    severity: Severity
    where: str
    excerpt: str
    why: str


@dataclass(frozen=True, slots=True)
class PeerTool:
    """A tool of another server, reduced to what comparisons need."""

    server: str
    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class PeerTools:
    """The tools of other servers by name, the names of the server's own tools, and the names of the other servers."""

    others: Mapping[str, Sequence[PeerTool]] = field(default_factory=dict[str, Sequence[PeerTool]])
    own: frozenset[str] = frozenset()
    servers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, others: Iterable[PeerTool], own: Iterable[str]) -> PeerTools:
        """Group the other servers' tools by name."""
        by_name: dict[str, list[PeerTool]] = {}
        for peer in others:
            by_name.setdefault(peer.name, []).append(peer)
        servers = frozenset(peer.server for peers in by_name.values() for peer in peers)
        return cls(by_name, frozenset(own), servers)


ALONE = PeerTools()
"""No other servers are known."""
