"""Records that cross packages: frozen values without behaviour of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

T = TypeVar("T")

JSON: TypeAlias = Mapping[str, Any]
"""A decoded JSON object. Values come from other people's servers: treat them as data."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """Whose rows a transaction sees.

    Attributes:
        id: The integer key carried by every tenant row.
        name: The name people use; `local` in single-user mode.
    """

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        tenant: Whose rows it may see.
        user: The user inside the tenant; None where users are not told apart.
        client: The connection it asks over, such as an MCP session; empty where there is none. It is no identity: two
            connections of one user see the same.
        project: Absolute path of the folder that the client works in, as a client on this machine told it; empty where
            none did. It is no identity either.
    """

    tenant: Tenant
    user: str | None = None
    client: str = field(default="", compare=False)
    project: str = field(default="", compare=False)


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
        source: `semantic`, `lexical`, `hybrid`, `core` or `fallback`.
        dense: The dense arm's rank and cosine.
        lexical: The lexical arm's rank and BM25 score.
        terms: Query terms that the item matched, strongest first.
        query: Index of the clause or query that found it best; 0 is the first.
    """

    source: str
    dense: Arm = Arm(None, None)
    lexical: Arm = Arm(None, None)
    terms: tuple[str, ...] = ()
    query: int = 0


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
