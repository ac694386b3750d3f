"""Records that the steps of the finder exchange.

Invariant: frozen; a table's number is its index in the finder's sequence of tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from thresher.connectors import Column
from thresher.knowledge.databases.relations.lexicon import KeyKind

KeyRank: TypeAlias = Literal["primary", "unique", "likely"]


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A reading of a column's name.

    Attributes:
        core: Stems of the name without key words and the prefix of its table's columns; may be empty.
        kind: The kind of key that its key word shows; empty without one.
        whole: All stems, joined.
        glued: Whether core and key word are one word without a separator.
    """

    core: tuple[str, ...]
    kind: KeyKind
    whole: str
    glued: bool = False

    @property
    def joined(self) -> str:
        """The core as one word."""
        return "".join(self.core)


@dataclass(frozen=True, slots=True)
class ParentKey:
    """A single-column key that other columns may point to.

    Attributes:
        table: The table's number.
        column: The key column.
        name: The reading of its name.
        rank: Primary, unique, or only likely, if the table declares no key.
    """

    table: int
    column: Column
    name: ColumnName
    rank: KeyRank


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A match of a column's name with a key.

    Attributes:
        key: The key's number.
        weight: The weight, in log odds.
        text: The reason, in words.
        whole: Whether the name names the key without a role, a guess or an abbreviation.
        same: Whether the column has the same name as the key, except for case and separators.
    """

    key: int
    weight: float
    text: str
    whole: bool = False
    same: bool = False
