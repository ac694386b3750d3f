"""Where mappings stand in a source's text, as far as an edit needs to know.

Invariant: offsets count characters of the text from 0; a span's end is the first character after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from thresher.openapi.pointers import split


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a mapping, and its value.

    Attributes:
        key: As text.
        start: Of the key.
        value: Where the value begins, its anchor and tag included.
        end: After the last character that belongs to the value; comments and blank lines behind it do not.
        style: Of a YAML scalar: its quote or its block's sign, `plain`; empty for JSON and for what is no scalar.
        anchor: That others may refer to; empty without.
        kept: Whether the value's trailing blank lines are part of it.
    """

    key: str
    start: int
    value: int
    end: int
    style: str = ""
    anchor: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A mapping in the text.

    Attributes:
        start: Of its first character, past its anchor and tag; of a block, its first key.
        end: After its last character.
        flow: Whether it stands in braces.
        column: Of a block: the column of its keys, from 0.
        entries: In the order of the text.
        anchors: Names that it, or what holds it, can be referred to by.
    """

    start: int
    end: int
    flow: bool
    column: int = 0
    entries: tuple[Entry, ...] = ()
    anchors: frozenset[str] = frozenset()

    def entry(self, key: str) -> Entry | None:
        """The entry that counts for a key: of several, the last."""
        return next((each for each in reversed(self.entries) if each.key == key), None)


@dataclass(slots=True)
class Wanted:
    """A tree of the pointers that are looked for."""

    below: dict[str, Wanted] = field(default_factory=dict[str, "Wanted"])
    pointer: str | None = None


@dataclass(frozen=True, slots=True)
class Nodes:
    """What was found.

    Attributes:
        found: Pointer to its mapping.
        aliased: Anchors that something refers to.
    """

    found: dict[str, Node]
    aliased: frozenset[str] = frozenset()


def wanted_tree(pointers: Iterable[str]) -> Wanted:
    """The tree of these pointers."""
    root = Wanted()
    for pointer in pointers:
        at = root
        for key in split(pointer):
            at = at.below.setdefault(key, Wanted())
        at.pointer = pointer
    return root
