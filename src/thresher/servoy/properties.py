"""What properties of files mean: numbers for words, and how one is read with the place of what is wrong.

Invariant: a number that means nothing here raises BrokenFile with its line; it is never taken for another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from thresher.core import BrokenFile
from thresher.servoy.documents import Document
from thresher.servoy.layout import Value
from thresher.servoy.names import datasource
from thresher.servoy.records import (
    SOLUTION_TYPE,
    ColumnFacts,
    Encapsulation,
    JoinType,
    Operator,
    RelationItem,
    SolutionFacts,
    TableFacts,
    ValueType,
)

Word = TypeVar("Word", bound=str)

JOIN_TYPES: Final[tuple[JoinType, ...]] = ("inner", "left outer", "right outer", "full")
ENCAPSULATIONS: Final[tuple[Encapsulation, ...]] = ("public", "hidden", "module")
OPERATORS: Final[tuple[Operator, ...]] = ("=", ">", "<", ">=", "<=", "!=", "in", "like", "not in", "not like")
VALUE_TYPES: Final[Mapping[ValueType, int]] = {"text": 12, "integer": 4, "number": 8, "datetime": 93}
VALUE_TYPE_WORDS: Final[Mapping[int, ValueType]] = {number: word for word, number in VALUE_TYPES.items()}
OR_NULL: Final = 0x100
IGNORE_CASE: Final = 0x200
REMOVE_WHEN_NULL: Final = 0x1000
_UNSPEAKABLE: Final = re.compile("[\x00\ud800-\udfff]")
"""What files can say by escapes, and no answer and no database can hold."""
_MODIFIERS: Final = OR_NULL | IGNORE_CASE | REMOVE_WHEN_NULL


def operator_number(item: RelationItem) -> int:
    """`operator` of an item: its place in the list of operators, and bits for its modifiers."""
    number = OPERATORS.index(item.operator)
    number |= OR_NULL if item.or_null else 0
    number |= IGNORE_CASE if item.ignore_case else 0
    return number | (REMOVE_WHEN_NULL if item.remove_when_null else 0)


def operator_of(number: int) -> tuple[Operator, bool, bool, bool] | None:
    """Operator, or-null, ignore-case and remove-when-null of a number; None where it means nothing here."""
    plain = number & ~_MODIFIERS
    if not 0 <= plain < len(OPERATORS):
        return None
    return OPERATORS[plain], bool(number & OR_NULL), bool(number & IGNORE_CASE), bool(number & REMOVE_WHEN_NULL)


class Properties:
    """Reads the properties of one object of a document.

    Args:
        document: That it stands in.
        path: Of the object.
    """

    def __init__(self, document: Document, *path: str | int) -> None:
        value = document.get(*path)
        self._document = document
        self._path = path
        if not isinstance(value, dict):
            raise self.broken("An object is missing here.")
        self._value = value

    def text(self, name: str, *, needed: bool = False) -> str:
        """A text; empty where there is none."""
        value = self._value.get(name)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or (needed and not value):
            raise self.broken(f"{name} must be a text.", name)
        if _UNSPEAKABLE.search(value):
            raise self.broken(f"{name} holds a NUL character, or half of one that is written as two.", name)
        return value

    def truth(self, name: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self._value.get(name, default)
        if not isinstance(value, bool):
            raise self.broken(f"{name} must be true or false.", name)
        return value

    def number(self, name: str, default: int = 0) -> int:
        """A whole number."""
        value = self._value.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.broken(f"{name} must be a whole number.", name)
        return value

    def word(self, name: str, words: Sequence[Word]) -> Word:
        """The word that a number stands for."""
        number = self.number(name)
        if not 0 <= number < len(words):
            raise self.broken(
                f"{name} is {number}, which means nothing here: it goes from 0 to {len(words) - 1}.", name
            )
        return words[number]

    def objects(self, name: str) -> list[Properties]:
        """The objects of a list."""
        value = self._value.get(name, [])
        if not isinstance(value, list):
            raise self.broken(f"{name} must be a list.", name)
        return [Properties(self._document, *self._path, name, place) for place in range(len(value))]

    def get(self, name: str) -> Value:
        """Whatever stands there."""
        return self._value.get(name)

    def broken(self, message: str, name: str = "") -> BrokenFile:
        """The error of a property, with its place."""
        line, column = self._document.place_of(*self._path, *([name] if name else []))
        return BrokenFile(message, hint="Correct the file in Servoy Developer or by hand.", line=line, column=column)


def object_of(document: Document, typeid: int, what: str) -> Properties:
    """The properties of a file that must be of a type.

    Raises:
        BrokenFile: It is of another.
    """
    properties = Properties(document)
    if properties.number("typeid", typeid) != typeid:
        raise properties.broken(
            f"The file is no {what}: its typeid is {properties.number('typeid')}, not {typeid}.", "typeid"
        )
    return properties


TABLE_NODE_TYPE = 39


def solution_facts(rootmetadata: Document, settings: Document | None = None) -> SolutionFacts:
    """What `rootmetadata.obj` and `solution_settings.obj` say.

    Raises:
        BrokenFile: One of them cannot be understood.
    """
    properties = object_of(rootmetadata, SOLUTION_TYPE, "solution")
    modules = "" if settings is None else object_of(settings, SOLUTION_TYPE, "solution").text("modulesNames")
    return SolutionFacts(
        name=properties.text("name", needed=True),
        uuid=properties.text("uuid"),
        file_version=properties.number("fileVersion"),
        solution_type=properties.number("solutionType", 1),
        modules=tuple(name for part in modules.split(",") if (name := part.strip())),
        dialect=rootmetadata.dialect,
    )


def table_facts(document: Document, server: str = "") -> TableFacts | None:
    """What a `.dbi` file, or the `.tbl` file of an in-memory table, says of columns; None where it holds none.

    Args:
        document: The file.
        server: Name of the folder that a `.dbi` file stands in.

    Raises:
        BrokenFile: It cannot be understood.
    """
    outermost = Properties(document)
    held = outermost.get("columns")
    if isinstance(held, dict):
        properties = Properties(document, "columns")
        name = _in_memory(outermost) or properties.text("name", needed=True)
    elif outermost.number("typeid") == TABLE_NODE_TYPE:
        return None
    else:
        properties = outermost
        name = properties.text("name", needed=True)
    columns = [_column(one) for one in properties.objects("columns")]
    return TableFacts(
        server=server,
        name=name,
        columns=tuple(sorted(columns, key=lambda column: column.index)),
        kind=properties.number("tableType"),
        hidden=properties.truth("hiddenInDeveloper"),
    )


def _in_memory(properties: Properties) -> str:
    text = properties.text("dataSource")
    return datasource(text).table if text else ""


def _column(properties: Properties) -> ColumnFacts:
    return ColumnFacts(
        name=properties.text("name", needed=True),
        data_type=properties.number("dataType"),
        length=properties.number("length"),
        scale=properties.number("scale"),
        nullable=properties.truth("allowNull", default=True),
        flags=properties.number("flags"),
        foreign_type=properties.text("foreignType"),
        title=properties.text("titleText"),
        description=properties.text("description"),
        default=properties.text("defaultValue"),
        auto_enter=properties.number("autoEnterType"),
        index=properties.number("creationOrderIndex"),
    )
