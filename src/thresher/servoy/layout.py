"""The layout of a file: everything about its form besides its values.

Invariant: the same values in the same layout give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.servoy.records import Dialect

Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | float | bool | None"
"""A value in a file. Numbers other than plain integers are `Number`s."""


class Number(float):
    """A number with its notation, such as `1.50` or `1e3`.

    Args:
        text: The notation.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Number:
        """Create a float that keeps its text."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __reduce__(self) -> tuple[type[Number], tuple[str]]:
        return Number, (self.text,)


class EmptyObject(dict[str, Value]):
    """An empty object that keeps the white space between its braces.

    Args:
        blanks: With line feeds only as line breaks.
    """

    __slots__ = ("blanks",)

    def __init__(self, blanks: str = "") -> None:
        super().__init__()
        self.blanks = blanks


class EmptyList(list[Value]):
    """An empty list that keeps the white space between its brackets.

    Args:
        blanks: With line feeds only as line breaks.
    """

    __slots__ = ("blanks",)

    def __init__(self, blanks: str = "") -> None:
        super().__init__()
        self.blanks = blanks


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How a file's values are written.

    Attributes:
        quoted: Whether keys are quoted.
        braces: Whether the outermost object has braces.
        indent: Indentation per level.
        colon: Text between key and value.
        inline: Whether relation items, and users, are on one line each.
        list_feeds: Line feeds in an empty list.
        object_feeds: Line feeds in an empty object.
        newline: Line break.
        ending: Text after the last line.
    """

    quoted: bool = False
    braces: bool = False
    indent: str = ""
    colon: str = ":"
    inline: bool = True
    list_feeds: int = 0
    object_feeds: int = 2
    newline: str = "\n"
    ending: str = ""

    @property
    def dialect(self) -> Dialect:
        """The dialect, by the keys: quoted keys cannot be read by Servoy before 2025.06."""
        return "json" if self.quoted else "classic"


CLASSIC: Final = FileLayout()
JSON: Final = FileLayout(quoted=True, braces=True, indent="    ", inline=False, object_feeds=0)
LAYOUTS: Final[dict[Dialect, FileLayout]] = {"classic": CLASSIC, "json": JSON}
"""Layouts of new files."""
