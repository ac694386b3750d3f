"""Typed access to the properties of files, and what the files of solutions and tables say.

Invariant: a wrong value raises BrokenFile with its line; an unknown number is never taken for another. Files of
solutions and tables are only read.
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
"""Characters that files can escape, and that neither answers nor databases can hold."""
_MODIFIERS: Final = OR_NULL | IGNORE_CASE | REMOVE_WHEN_NULL


def operator_number(item: RelationItem) -> int:
    """Return `operator` of an item: its index in the list of operators plus bits for its modifiers."""
    number = OPERATORS.index(item.operator)
    number |= OR_NULL if item.or_null else 0
    number |= IGNORE_CASE if item.ignore_case else 0
    return number | (REMOVE_WHEN_NULL if item.remove_when_null else 0)


def operator_of(number: int) -> tuple[Operator, bool, bool, bool] | None:
    """Return operator, or-null, ignore-case and remove-when-null of a number; None if it is invalid."""
    plain = number & ~_MODIFIERS
    if not 0 <= plain < len(OPERATORS):
        return None
    return OPERATORS[plain], bool(number & OR_NULL), bool(number & IGNORE_CASE), bool(number & REMOVE_WHEN_NULL)


class Properties:
    """Reads the properties of one object of a document.

    Args:
        document: The document.
        path: Path of the object.
    """

    def __init__(self, document: Document, *path: str | int) -> None:
        value = document.get(*path)
        self._document = document
        self._path = path
        if not isinstance(value, dict):
            raise self.broken("An object is missing here.")
        self._value = value

    def text(self, name: str, *, needed: bool = False) -> str:
        """Return a text; empty if there is none."""
        value = self._value.get(name)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or (needed and not value):
            raise self.broken(f"{name} must be a text.", name)
        if _UNSPEAKABLE.search(value):
            raise self.broken(f"{name} contains a NUL character or half of a surrogate pair.", name)
        return value

    def truth(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean."""
        value = self._value.get(name, default)
        if not isinstance(value, bool):
            raise self.broken(f"{name} must be true or false.", name)
        return value

    def number(self, name: str, default: int = 0) -> int:
        """Return an integer."""
        value = self._value.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.broken(f"{name} must be a whole number.", name)
        return value

    def word(self, name: str, words: Sequence[Word]) -> Word:
        """Return the word that a number stands for."""
        number = self.number(name)
        if not 0 <= number < len(words):
            raise self.broken(f"{name} is {number}; it must be from 0 to {len(words) - 1}.", name)
        return words[number]

    def objects(self, name: str) -> list[Properties]:
        """Return the objects of a list."""
        value = self._value.get(name, [])
        if not isinstance(value, list):
            raise self.broken(f"{name} must be a list.", name)
        return [Properties(self._document, *self._path, name, place) for place in range(len(value))]

    def get(self, name: str) -> Value:
        """Return the value, whatever it is."""
        return self._value.get(name)

    def broken(self, message: str, name: str = "") -> BrokenFile:
        """Return the error for a property, with its position."""
        line, column = self._document.place_of(*self._path, *([name] if name else []))
        return BrokenFile(message, hint="Correct the file in Servoy Developer or by hand.", line=line, column=column)


def object_of(document: Document, typeid: int, what: str) -> Properties:
    """Return the properties of a file that must be of a type.

    Raises:
        BrokenFile: It is of another type.
    """
    properties = Properties(document)
    if properties.number("typeid", typeid) != typeid:
        raise properties.broken(
            f"The file is not a {what}: its typeid is {properties.number('typeid')}, not {typeid}.", "typeid"
        )
    return properties


TABLE_NODE_TYPE = 39


def solution_facts(rootmetadata: Document, settings: Document | None = None) -> SolutionFacts:
    """Return the content of `rootmetadata.obj` and `solution_settings.obj`.

    Raises:
        BrokenFile: One of them is malformed.
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
    """Return the table of a `.dbi` file, or of an in-memory table's `.tbl` file; None if it has none.

    Args:
        document: The file.
        server: Name of the folder that contains a `.dbi` file.

    Raises:
        BrokenFile: It is malformed.
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
