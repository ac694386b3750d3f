"""What the scanner says of a tool, and what it is told of the tools beside it.

Invariant: a finding quotes what was found in characters that can be seen, and never more than a line of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["warning", "danger"]
"""`danger`: the tool is held back until a person approves it. `warning`: a person should know."""

Kind: TypeAlias = Literal["hidden", "instruction", "exfiltration", "override", "command"]
"""`hidden`: text that a person does not see. `instruction`: orders to the model. `exfiltration`: secrets or the
conversation are to go elsewhere. `override`: another tool is shadowed, replaced or steered. `command`: a shell command,
or a behaviour that changes after approval."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason not to trust a tool's definition.

    Attributes:
        kind: What it is.
        severity: `warning` or `danger`.
        where: JSON pointer into the definition, such as `/inputSchema/properties/path/description`.
        excerpt: The text in question, hidden characters written out.
        why: One sentence for a person.
    """

    kind: Kind
    severity: Severity
    where: str
    excerpt: str
    why: str


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool of another server, as far as a comparison needs it."""

    server: str
    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class Peers:
    """The tools of the other servers by name, the names of the server's own, and those of the other servers."""

    others: Mapping[str, Sequence[Peer]] = field(default_factory=dict[str, Sequence[Peer]])
    own: frozenset[str] = frozenset()
    servers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, others: Iterable[Peer], own: Iterable[str]) -> Peers:
        """Sort the others by name."""
        by_name: dict[str, list[Peer]] = {}
        for peer in others:
            by_name.setdefault(peer.name, []).append(peer)
        servers = frozenset(peer.server for peers in by_name.values() for peer in peers)
        return cls(by_name, frozenset(own), servers)


ALONE = Peers()
"""No other server is known."""
