"""Value lists: reading them, writing new ones, and changing a document to match one.

Invariant: as for relations; a custom value list keeps its line ends. `changed` and `changes_of` also serve relations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from thresher.core import BrokenFile, InvalidInput
from thresher.servoy.documents import Document, Path, read_document
from thresher.servoy.edits import REMOVED, RemovedMark, with_changes
from thresher.servoy.layout import Value
from thresher.servoy.names import new_uuid
from thresher.servoy.properties import ENCAPSULATIONS, VALUE_TYPE_WORDS, VALUE_TYPES, Properties, object_of
from thresher.servoy.records import VALUE_LIST_TYPE, CustomValue, Dialect, Relation, ValueList, ValueListKind, ValueType
from thresher.servoy.relations import differences, relation_changes
from thresher.servoy.writer import custom_text

_SLOTS: Final = ("dataProviderID1", "dataProviderID2", "dataProviderID3")
_CUSTOM, _DATABASE, _METHOD = 0, 1, 4
_NEVER: Final = 1
SEPARATOR_LINE: Final = "-"
"""A custom value that is displayed as a separator line."""
_PART: Final = re.compile(r"(?:[^\\|]|\\.)*+", re.DOTALL)
_BREAK: Final = re.compile(r"[\r\n]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def value_list_of(document: Document) -> ValueList:
    """Return the value list in a `.val` file.

    Raises:
        BrokenFile: There is none, or a property of it is malformed.
    """
    properties = object_of(document, VALUE_LIST_TYPE, "value list")
    kind = _kind(properties)
    slots = [slot for slot in _SLOTS if properties.text(slot)] if kind in ("table", "related") else []
    custom = properties.text("customValues")
    return ValueList(
        name=properties.text("name", needed=True),
        kind=kind,
        custom_values=custom_values(custom) if kind == "custom" else (),
        datasource=properties.text("dataSource") if kind == "table" else "",
        relation=properties.text("relationName") if kind == "related" else "",
        method=custom if kind == "global method" else "",
        columns=tuple(properties.text(slot) for slot in slots),
        display=_places(properties.number("showDataProviders"), slots),
        returns=_places(properties.number("returnDataProviders"), slots),
        separator=None if properties.get("separator") is None else properties.text("separator"),
        sort=properties.text("sortOptions"),
        use_table_filter=properties.truth("useTableFilter"),
        add_empty="always" if properties.number("addEmptyValue") == 0 else "never",
        display_type=_type(properties, "displayValueType"),
        real_type=_type(properties, "realValueType"),
        fallback=properties.text("fallbackValueListID"),
        lazy_loading=_lazy_loading(document, properties),
        encapsulation=properties.word("encapsulation", ENCAPSULATIONS),
        deprecated=properties.text("deprecated"),
        comment=properties.text("comment"),
        uuid=properties.text("uuid"),
    )


def _kind(properties: Properties) -> ValueListKind:
    number = properties.number("valueListType")
    if number == _CUSTOM:
        return "custom"
    if number == _METHOD:
        return "global method"
    if number in (_DATABASE, 2, 3):
        return "related" if properties.text("relationName") else "table"
    raise properties.broken(f"valueListType is {number}, which is not a valid type.", "valueListType")


def _places(bits: int, slots: Sequence[str]) -> tuple[int, ...]:
    return tuple(place for place, slot in enumerate(slots) if bits & 1 << _SLOTS.index(slot))


def _type(properties: Properties, name: str) -> ValueType | None:
    return VALUE_TYPE_WORDS.get(properties.number(name))


def _lazy_loading(document: Document, properties: Properties) -> bool | None:
    held = custom_properties(document).get("lazyLoading")
    if held is not None and not isinstance(held, bool):
        raise properties.broken("lazyLoading must be true or false.", "customProperties")
    return held


def custom_properties(document: Document) -> dict[str, Value]:
    """Return `customProperties` of a file: an object in the JSON dialect, a text in the classic one.

    Raises:
        BrokenFile: They are malformed; the line is that of the property.
    """
    held = document.get("customProperties")
    if isinstance(held, str) and held.strip():
        try:
            held = read_document(held.encode("utf-8", "surrogatepass")).value
        except BrokenFile as error:
            line, column = document.place_of("customProperties")
            message = f"customProperties cannot be read: {error.message}"
            raise BrokenFile(message, hint=error.hint, line=line, column=column) from error
    return held if isinstance(held, dict) else {}


def custom_values(text: str) -> tuple[CustomValue, ...]:
    """Parse the lines of `customValues`: `display`, or `display|real`; a backslash escapes a bar."""
    return tuple(_custom_value(line) for line in re.split(r"\r?\n|\r", text)) if text else ()


def _custom_value(line: str) -> CustomValue:
    found = _PART.match(line)
    end = found.end() if found else len(line)
    if line[end : end + 1] != "|":
        return CustomValue(line)
    display, real = line[:end], line[end + 1 :]
    return CustomValue(display if display == "\\-" else _ESCAPED.sub(r"\1", display), _ESCAPED.sub(r"\1", real))


def custom_values_text(values: Sequence[CustomValue], newline: str = "\n") -> str:
    """Return custom values as text for `customValues`.

    Servoy reads all lines as display values if any of them lacks a bar. So each line gets one if any needs it: because
    its stored value differs, or because a display value contains a bar.

    Raises:
        InvalidInput: A value contains a line break.
    """
    for value in values:
        if _BREAK.search(value.display + (value.real or "")):
            hint = "Give each value separately."
            raise InvalidInput(
                f"The value {value.display[:40]!r} contains a line break: each line of a list is one value.", hint=hint
            )
    paired = any(value.real is not None or _shows_bar(value.display) for value in values)
    return newline.join(_custom_line(value, paired=paired) for value in values)


def _custom_line(value: CustomValue, *, paired: bool) -> str:
    if value.real is None and (not paired or value.display == SEPARATOR_LINE):
        return value.display
    display = value.display if value.display == "\\-" else _escaped(value.display)
    return f"{display}|{_escaped(value.display if value.real is None else value.real)}"


def _shows_bar(display: str) -> bool:
    found = _PART.match(display)
    return found is not None and display[found.end() : found.end() + 1] == "|"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


def value_list_value(
    value_list: ValueList, dialect: Dialect = "classic", uuid: Callable[[], str] = new_uuid
) -> dict[str, Value]:
    """Return the value of a new `.val` file.

    Args:
        value_list: The record.
        dialect: Of the file; the dialects store `customProperties` differently.
        uuid: Generates its UUID if it has none.
    """
    value = _properties(value_list, "\n")
    value["uuid"] = value_list.uuid or uuid()
    if value_list.lazy_loading is not None:
        held: dict[str, Value] = {"lazyLoading": value_list.lazy_loading}
        value["customProperties"] = held if dialect == "json" else custom_text(held)
    return value


def _properties(value_list: ValueList, newline: str) -> dict[str, Value]:
    """Return all properties except custom properties and UUID."""
    one = value_list
    custom = one.method if one.kind == "global method" else custom_values_text(one.custom_values, newline)
    database = one.kind in ("table", "related")
    written: list[tuple[str, Value, Value]] = [
        ("addEmptyValue", _NEVER if one.add_empty == "never" else 0, 0),
        ("comment", one.comment, ""),
        ("customValues", "" if database else custom, ""),
        ("dataSource", one.datasource if one.kind == "table" else "", ""),
        ("deprecated", one.deprecated, ""),
        ("displayValueType", VALUE_TYPES[one.display_type] if one.display_type else 0, 0),
        ("encapsulation", ENCAPSULATIONS.index(one.encapsulation), 0),
        ("fallbackValueListID", one.fallback, ""),
        ("name", one.name, ""),
        ("realValueType", VALUE_TYPES[one.real_type] if one.real_type else 0, 0),
        ("relationName", one.relation if one.kind == "related" else "", ""),
        ("returnDataProviders", _bits(one.returns) if database else 0, 0),
        ("separator", one.separator, None),
        ("showDataProviders", _bits(one.display) if database else 0, 0),
        ("sortOptions", one.sort, ""),
        ("typeid", VALUE_LIST_TYPE, 0),
        ("useTableFilter", one.use_table_filter, False),
        ("valueListType", _DATABASE if database else _METHOD if one.kind == "global method" else _CUSTOM, 0),
    ]
    columns = zip(_SLOTS, one.columns if database else (), strict=False)
    return {name: said for name, said, default in written if said != default} | dict(columns)


def _bits(places: Sequence[int]) -> int:
    return sum(1 << place for place in set(places))


def value_list_changes(document: Document, value_list: ValueList) -> dict[Path, Value | RemovedMark]:
    """Return the changes after which a document matches a value list.

    Args:
        document: The current value list.
        value_list: The new value list; without a UUID it keeps the current one.

    Raises:
        BrokenFile: The document contains no value list.
    """
    old = value_list_of(document)
    newline = "\r\n" if "\r\n" in str(document.get("customValues", default="")) else "\n"
    changes = differences(_properties(old, newline), _properties(value_list, newline))
    if value_list.uuid and value_list.uuid != old.uuid:
        changes["uuid",] = value_list.uuid
    _columns_in_place(document, value_list, changes)
    if value_list.lazy_loading != old.lazy_loading:
        changes |= _lazy_loading_changes(document, value_list.lazy_loading)
    return changes


def _columns_in_place(document: Document, value_list: ValueList, changes: dict[Path, Value | RemovedMark]) -> None:
    """Rewrite all columns if any changes and the file leaves a slot for columns empty."""
    names = (*_SLOTS, "showDataProviders", "returnDataProviders")
    if not any((name,) in changes for name in names):
        return
    new = _properties(value_list, "\n")
    for name in names:
        if document.get(name) != new.get(name):
            changes[name,] = new.get(name, REMOVED)
        else:
            changes.pop((name,), None)


def _lazy_loading_changes(document: Document, lazy_loading: bool | None) -> dict[Path, Value | RemovedMark]:
    held = custom_properties(document)
    held = {name: one for name, one in held.items() if name != "lazyLoading"}
    if lazy_loading is not None:
        held["lazyLoading"] = lazy_loading
    if not held:
        return {("customProperties",): REMOVED}
    as_object = isinstance(document.get("customProperties", default={} if document.dialect == "json" else ""), dict)
    return {("customProperties",): held if as_object else custom_text(held)}


def changes_of(
    document: Document, record: Relation | ValueList, uuid: Callable[[], str] = new_uuid
) -> dict[Path, Value | RemovedMark]:
    """Return the changes after which a document matches a record; other properties stay.

    Args:
        document: The current record.
        record: The new record.
        uuid: Generates the UUIDs of new items.

    Raises:
        BrokenFile: The document contains no record of this kind.
    """
    if isinstance(record, Relation):
        return relation_changes(document, record, uuid)
    return value_list_changes(document, record)


def changed(document: Document, record: Relation | ValueList, uuid: Callable[[], str] = new_uuid) -> bytes:
    """Return a document's bytes after it matches a record; unchanged if nothing differs.

    Raises:
        BrokenFile: The document contains no record of this kind.
        InvalidInput: The record cannot be written so that it reads back the same.
    """
    return with_changes(document, changes_of(document, record, uuid))
