"""The few facts of form that a file has beside its values.

Invariant: the same values in the same layout are the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.servoy.records import Dialect

Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | float | bool | None"
"""What a file can say. Numbers that are no plain whole ones are `Number`s."""


class Number(float):
    """A number as it is written, such as `1.50` or `1e3`.

    Args:
        text: Of the number.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Number:
        """A float that keeps its text."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __reduce__(self) -> tuple[type[Number], tuple[str]]:
        return Number, (self.text,)


class EmptyObject(dict[str, Value]):
    """An object of nothing that keeps the blanks between its braces.

    Args:
        blanks: With line feeds alone between lines.
    """

    __slots__ = ("blanks",)

    def __init__(self, blanks: str = "") -> None:
        super().__init__()
        self.blanks = blanks


class EmptyList(list[Value]):
    """A list of nothing that keeps the blanks between its brackets.

    Args:
        blanks: With line feeds alone between lines.
    """

    __slots__ = ("blanks",)

    def __init__(self, blanks: str = "") -> None:
        super().__init__()
        self.blanks = blanks


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file's values are written.

    Attributes:
        quoted: Whether keys stand in quotation marks.
        braces: Whether the outermost object has its braces.
        indent: What a level is indented by.
        colon: What stands between a key and its value.
        inline: Whether relation items, and users, stand on one line each.
        list_feeds: Line feeds between the brackets of a list of nothing.
        object_feeds: Line feeds between the braces of an object of nothing.
        newline: Between lines.
        ending: After the last line.
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
        """By the keys: what Servoy before 2025.06 cannot read, or what it wrote."""
        return "json" if self.quoted else "classic"


CLASSIC: Final = Layout()
JSON: Final = Layout(quoted=True, braces=True, indent="    ", inline=False, object_feeds=0)
LAYOUTS: Final[dict[Dialect, Layout]] = {"classic": CLASSIC, "json": JSON}
"""Of new files."""
