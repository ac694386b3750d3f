"""What the steps of the finder hand to each other.

Invariant: frozen; numbers of tables are places in the sequence that the finder was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from thresher.connectors import Column
from thresher.knowledge.databases.relations.lexicon import KeyKind

KeyRank: TypeAlias = Literal["primary", "unique", "likely"]


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column's name as it is read.

    Attributes:
        core: Stems of what it names, without key words and the prefix of its table's columns; may be empty.
        kind: What kind of key its key word says; empty without one.
        whole: All its stems, glued.
        glued: Whether core and key word were one word without a border.
    """

    core: tuple[str, ...]
    kind: KeyKind
    whole: str
    glued: bool = False

    @property
    def joined(self) -> str:
        """The core, glued."""
        return "".join(self.core)


@dataclass(frozen=True, slots=True)
class ParentKey:
    """A key of one column that others may point to.

    Attributes:
        table: The table's number.
        column: The key.
        name: Its name as it is read.
        rank: Primary, another unique one, or only likely to be one, since the table declares none.
    """

    table: int
    column: Column
    name: ColumnName
    rank: KeyRank


@dataclass(frozen=True, slots=True)
class NameMatch:
    """Why a column's name points to a key.

    Attributes:
        key: That key's number.
        weight: What it is worth, in log odds.
        text: In words.
        whole: Whether the name names the key without a role, a guess or a shortening.
        same: Whether the column is called like the key, letter for letter but for case and joints.
    """

    key: int
    weight: float
    text: str
    whole: bool = False
    same: bool = False
