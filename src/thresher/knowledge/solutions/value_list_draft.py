"""A value list that is being changed: given properties, checked and turned into a record.

Invariant: only reads; a list has at most three columns, each once, in the order in which they are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from thresher.core import InvalidInput, did_you_mean, nearest
from thresher.knowledge.solutions.data_sources import KnownSource, type_of
from thresher.knowledge.solutions.relations import check_choices
from thresher.knowledge.solutions.requests import ValueListChanges, properties_of
from thresher.knowledge.solutions.work_context import WorkContext
from thresher.knowledge.solutions.workspace import StoredObject
from thresher.servoy import (
    CustomValue,
    Encapsulation,
    Relation,
    ValueList,
    ValueListKind,
    ValueType,
    custom_values,
    custom_values_text,
    is_uuid,
)

_ORIGINS: Final[dict[str, ValueListKind]] = {
    "custom_values": "custom",
    "datasource": "table",
    "relation": "related",
    "global_method": "global method",
}
_OF_COLUMNS: Final = ("display", "returns", "separator", "sort", "use_table_filter")
"""Properties that only lists of a table or relation have."""
_MOST_COLUMNS: Final = 3
_MOST_VALUES: Final = 5_000
_INTEGER: Final = re.compile(r"-?\d{1,18}", re.ASCII)
_NUMBER: Final = re.compile(r"-?\d{1,18}(\.\d{1,18})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of a list in the form of the record."""

    columns: tuple[str, ...]
    display: tuple[int, ...]
    returns: tuple[int, ...]


class ValueListDraft:
    """A value list that is being changed.

    Args:
        context: Context of the call.
        project: Its project.
        value_list: The list before; a new one has only a name.
        new: Whether it is new.
    """

    def __init__(self, context: WorkContext, project: str, value_list: ValueList, *, new: bool = False) -> None:
        self._context = context
        self._project = project
        self._list = value_list
        self._new = new
        self._notes: list[str] = []

    def with_changes(self, changes: ValueListChanges) -> tuple[ValueList, tuple[str, ...]]:
        """Return the changed value list and notes on it.

        Raises:
            InvalidInput: A data source, column, relation, method or value is wrong, or does not go with the others.
        """
        properties = properties_of(changes)
        check_choices(properties, {"add_empty": ("always", "never"), "encapsulation": get_args(Encapsulation)})
        check_choices(properties, dict.fromkeys(("display_type", "real_type"), get_args(ValueType)))
        origin = _origin(properties)
        kind = _ORIGINS[origin] if origin else self._list.kind
        self._check_fitting(kind, properties)
        plain = {name: value for name, value in properties.items() if name not in (*_ORIGINS, *_OF_COLUMNS, "fallback")}
        made = self._of_kind(kind, origin, properties)
        if "fallback" in properties:
            plain["fallback"] = self._fallback(properties["fallback"])
        made = replace(made, **plain)
        if kind != "global method":
            made = self._with_types(made, properties)
        return made, tuple(dict.fromkeys(note for note in self._notes if note))

    def _check_fitting(self, kind: ValueListKind, properties: dict[str, Any]) -> None:
        wrong = [name for name in _OF_COLUMNS if name in properties] if kind in ("custom", "global method") else []
        if wrong:
            called = {"display": "display_column", "returns": "return_column"}.get(wrong[0], wrong[0])
            raise InvalidInput(
                f"{called} does not go with a {kind} value list.",
                hint="It belongs to lists of a datasource or relation: name one, or leave it out.",
            )

    def _of_kind(self, kind: ValueListKind, origin: str, properties: dict[str, Any]) -> ValueList:
        """Return the list with the origin of its values; properties of another kind are removed."""
        one = self._list
        if kind != one.kind:
            one = replace(one, custom_values=(), datasource="", relation="", method="", separator=None, sort="")
            one = replace(one, kind=kind, use_table_filter=False)
        if kind == "custom":
            values = _values(properties["custom_values"]) if origin else one.custom_values
            one = replace(one, custom_values=values)
        elif kind == "global method":
            one = replace(one, method=self._method(properties["global_method"]) if origin else one.method)
        if kind in ("custom", "global method"):
            return replace(one, columns=(), display=(), returns=())
        if not any(name in properties for name in (*_ORIGINS, *_OF_COLUMNS)):
            return one
        return self._of_columns(one, kind, properties)

    def _of_columns(self, one: ValueList, kind: ValueListKind, properties: dict[str, Any]) -> ValueList:
        """Return a list of records with its data source and columns."""
        if kind == "table":
            source = self._table(properties.get("datasource"), one.datasource)
            one = replace(one, datasource=source.text if "datasource" in properties else one.datasource)
        else:
            relation, source = self._related(properties.get("relation") or one.relation)
            one = replace(one, relation=relation)
        if any(name in properties for name in ("datasource", "relation", "display", "returns")):
            found = self._columns(source, properties)
            one = replace(one, columns=found.columns, display=found.display, returns=found.returns)
        for name in ("separator", "use_table_filter"):
            if name in properties:
                one = replace(one, **{name: properties[name]})
        sort = properties.get("sort", one.sort if "datasource" in properties or "relation" in properties else None)
        return one if sort is None else replace(one, sort=self._context.sort_order(sort, source, self._project))

    def _table(self, wanted: str | None, known: str) -> KnownSource:
        found = self._context.source(wanted, known, "datasource")
        if found.source.kind == "menu":
            raise InvalidInput("A value list cannot show a menu.", hint="Give a table: server/table.")
        self._notes.append(found.note if wanted is not None else "")
        return found

    def _related(self, chain: str) -> tuple[str, KnownSource]:
        """Return a chain of relations as files write it, and the data source at its end."""
        last: Relation | None = None
        for name in (part.strip() for part in chain.split(".")):
            found = self._relation(name)
            if last is not None and last.foreign_datasource != found.primary_datasource:
                raise InvalidInput(
                    f"The relation '{name}' starts at {found.primary_datasource}, and '{last.name}' ends at "
                    f"{last.foreign_datasource}.",
                    hint="Each relation must start where the one before it ends.",
                )
            last = found
        if last is None:
            raise InvalidInput("No relation is given.", hint="Give its name.")
        chain = ".".join(part.strip() for part in chain.split("."))
        return chain, self._table(None, last.foreign_datasource)

    def _relation(self, name: str) -> Relation:
        reach = self._context.reach(self._project)
        found = self._context.workspace.find("relation", name, reach)
        if found and isinstance(found[0].record, Relation):
            return found[0].record
        known = [one.record.name for one in self._context.workspace.objects("relation", reach)[0]]
        raise InvalidInput(
            f"Neither '{self._project}' nor a module that it uses has a relation '{name[:80]}'.",
            hint=did_you_mean(nearest(name[:80], known)) or "Create it first, with open_relation.",
        )

    def _columns(self, source: KnownSource, properties: dict[str, Any]) -> _Columns:
        """Return the columns to show and to store; by default those before, or the shown ones."""
        one = self._list
        before = [one.columns[place] for place in one.display], [one.columns[place] for place in one.returns]
        shown = properties.get("display", before[0])
        if not shown:
            raise InvalidInput(
                f"The column of {source.label} to show is missing.",
                hint=f"Give display_column, and return_column if another one is stored. {source.columns_there}".strip(),
            )
        if not all(name.strip() and name.strip().isprintable() for name in (*shown, *properties.get("returns", ()))):
            raise InvalidInput("A column name is empty or has a line break.", hint="Give column names.")
        shown = [source.name_of(name.strip()) for name in shown]
        stored = [source.name_of(name.strip()) for name in properties.get("returns", before[1] or shown)]
        stored = stored or shown
        columns = _arranged(one.columns, shown, stored)
        places = {name: place for place, name in enumerate(columns)}
        return _Columns(columns, tuple(places[name] for name in shown), tuple(places[name] for name in stored))

    def _method(self, name: str) -> str:
        """Return the UUID of a global method."""
        name = name.strip()
        methods = self._context.workspace.methods(self._context.reach(self._project))
        if is_uuid(name):
            if name.upper() in {uuid.upper() for _, _, uuid in methods}:
                return name.upper()
            raise InvalidInput(f"No global method has the UUID {name}.", hint="Give its name: scopes.name.method.")
        full = f"scopes.{name}" if name.startswith("globals.") else name
        by_name = {method: uuid for _, method, uuid in methods}
        if full in by_name:
            return by_name[full]
        near = nearest(full[:120], by_name) or tuple(one for one in by_name if one.endswith(f".{name}"))[:3]
        there = f"There are: {', '.join(list(by_name)[:20])}." if by_name else "There are none: write it first."
        raise InvalidInput(
            f"'{self._project}' and its modules have no global method '{name[:120]}'.", hint=did_you_mean(near) or there
        )

    def _fallback(self, text: str) -> str:
        """Return the UUID of the fallback list."""
        if not (text := text.strip()):
            return ""
        reach = self._context.reach(self._project)
        lists = [value_list_of(one) for one in self._context.workspace.objects("value list", reach)[0]]
        found = [one for one in lists if one.name == text or (one.uuid and one.uuid.upper() == text.upper())]
        if found and found[0].name == self._list.name:
            raise InvalidInput("A value list cannot be its own fallback.", hint="Name another value list.")
        if found:
            self._check_circle(found[0])
            return found[0].uuid
        near = did_you_mean(nearest(text[:80], [one.name for one in lists]))
        raise InvalidInput(
            f"fallback: '{self._project}' and its modules have no value list '{text[:80]}'.",
            hint=near or "List them with list_value_lists.",
        )

    def _check_circle(self, first: ValueList) -> None:
        """Refuse a fallback that leads back to this list; a circle that already exists gives a note.

        Raises:
            InvalidInput: The fallback leads back to this list.
        """
        stored = self._context.workspace.objects("value list", self._context.family(self._project))[0]
        lists = [one.record for one in stored]
        known = {one.uuid.upper(): one for one in lists if isinstance(one, ValueList) and one.uuid}
        own = self._list.uuid.upper()
        names, seen, at = [first.name], {first.uuid.upper()}, first.fallback.upper()
        while at and at != own and at in known and at not in seen:
            seen.add(at)
            names.append(known[at].name)
            at = known[at].fallback.upper()
        if not at or (at != own and at not in seen):
            return
        back = self._list.name if at == own else known[at].name if at in known else first.name
        circle = " -> ".join((self._list.name, *names, back))
        if at == own and first.uuid.upper() != self._list.fallback.upper():
            raise InvalidInput(
                f"The fallbacks would form a circle: {circle}.",
                hint="Name another value list, or remove the fallback of one of these first.",
            )
        self._notes.append(f"The fallbacks of these value lists form a circle: {circle}.")

    def _with_types(self, one: ValueList, properties: dict[str, Any]) -> ValueList:
        """Return the list with the types of its values, if its file has types; given types are kept."""
        same = (one.kind, one.columns, one.display, one.returns, one.datasource, one.relation, one.custom_values)
        was = self._list
        if same == (was.kind, was.columns, was.display, was.returns, was.datasource, was.relation, was.custom_values):
            return one
        typed = was.display_type is not None or was.real_type is not None
        if self._new:  # only one dialect has types in value lists
            dialects = {one.name: one.dialect for one in self._context.workspace.projects()}
            typed = dialects.get(self._project) == "json"
        if not typed:
            return one
        display, real = self._types(one)
        return replace(
            one,
            display_type=properties.get("display_type") or display or one.display_type,
            real_type=properties.get("real_type") or real or one.real_type,
        )

    def _types(self, one: ValueList) -> tuple[ValueType | None, ValueType | None]:
        if one.kind == "custom":
            reals = [value.real for value in one.custom_values if value.real is not None]
            return "text", _type_of_texts(reals)
        source = self._related(one.relation)[1] if one.kind == "related" else self._table(None, one.datasource)
        names = dict(enumerate(one.columns))
        shown, stored = ([names[place] for place in places] for places in (one.display, one.returns))
        return _type_of_columns(source, shown), _type_of_columns(source, stored)


def value_list_of(stored: StoredObject) -> ValueList:
    """Return the value list in a file."""
    if not isinstance(stored.record, ValueList):
        raise InvalidInput(f"{stored.path} is not a value list.", hint="Correct the file.")
    return stored.record


def names_of(context: WorkContext, lists: Iterable[ValueList]) -> dict[str, str]:
    """Return upper-case UUID to name, of the methods and fallback lists that some lists refer to."""
    lists = tuple(lists)
    names: dict[str, str] = {}
    if any(one.method for one in lists):
        names |= {uuid.upper(): name for _, name, uuid in context.workspace.methods(context.projects)}
    if any(one.fallback for one in lists):
        stored, _ = context.workspace.objects("value list", context.projects)
        names |= {one.record.uuid.upper(): one.record.name for one in stored if one.record.uuid}
    return names


def uuid_with_name(uuid: str, names: Mapping[str, str]) -> str:
    """Return a UUID with the name of its object, if that is known."""
    name = names.get(uuid.upper(), "")
    return f"{name} ({uuid})" if name else uuid


def summary(one: ValueList, names: Mapping[str, str]) -> str:
    """Return the values of a list in words.

    Args:
        one: The list.
        names: As `names_of` returns them.
    """
    if one.kind == "custom":
        values = [value.display for value in one.custom_values[:5]]
        more = f" and {len(one.custom_values) - 5} more" if len(one.custom_values) > 5 else ""
        return f"custom values ({', '.join(values)}{more})"
    if one.kind == "global method":
        return f"values of the method {uuid_with_name(one.method, names)}"
    shown = ", ".join(one.columns[place] for place in one.display)
    stored = ", ".join(one.columns[place] for place in one.returns)
    where = one.datasource.removeprefix("db:/") if one.kind == "table" else f"relation {one.relation}"
    return f"{shown} of {where}" + (f", stored as {stored}" if stored != shown else "")


def _origin(properties: dict[str, Any]) -> str:
    """Return the property that is the origin of the values; empty if none is given."""
    given = [name for name in _ORIGINS if properties.get(name) not in (None, "", ())]
    if len(given) > 1:
        raise InvalidInput(f"A value list has either {' or '.join(given)}, not both.", hint="Give one of them.")
    if given:
        return given[0]
    if (empty := next((name for name in _ORIGINS if name in properties and name != "custom_values"), "")) != "":
        raise InvalidInput(f"{empty} is empty.", hint="Give a value, or leave it out.")
    return "custom_values" if "custom_values" in properties else ""


def _values(given: Sequence[str | CustomValue]) -> tuple[CustomValue, ...]:
    """Return the values of a custom list as a file can hold them."""
    if len(given) > _MOST_VALUES:
        raise InvalidInput("There are too many values.", hint=f"Give up to {_MOST_VALUES:,}, or use a table.")
    values = [one if isinstance(one, CustomValue) else _value(one) for one in given]
    for one in values:
        if any(mark in text for text in (one.display, one.real or "") for mark in "\r\n"):
            raise InvalidInput(f"The value {one.display[:40]!r} has a line break.", hint="Give one value per line.")
    return custom_values(custom_values_text(values))  # if one line has a bar, all get one


def _value(text: str) -> CustomValue:
    if any(mark in text for mark in "\r\n"):
        raise InvalidInput(f"The value {text[:40]!r} has a line break.", hint="Give each value separately.")
    return next(iter(custom_values(text)), CustomValue(""))


def _arranged(former: Sequence[str], shown: Sequence[str], stored: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a list in an order that keeps the order of both the shown and the stored ones.

    Args:
        former: The columns before, whose order is kept if possible.
        shown: The shown columns, in order.
        stored: The stored columns, in order.

    Raises:
        InvalidInput: There are too many, one is given twice, or no order fits.
    """
    wanted = tuple(dict.fromkeys((*shown, *stored)))
    if len(set(shown)) < len(shown) or len(set(stored)) < len(stored):
        raise InvalidInput("A column is given twice.", hint="Give each column once.")
    if len(wanted) > _MOST_COLUMNS:
        raise InvalidInput(
            f"A value list has up to {_MOST_COLUMNS} columns, and {len(wanted)} are given: {', '.join(wanted)}.",
            hint="Show fewer, or show a calculation.",
        )
    kept = tuple(name for name in former if name in wanted)
    orders = [kept + tuple(name for name in wanted if name not in kept), wanted]
    orders += [tuple(dict.fromkeys((*stored, *shown)))]
    for order in orders:
        if _follows(order, shown) and _follows(order, stored):
            return order
    raise InvalidInput(
        f"The columns {', '.join(shown)} cannot be shown, and {', '.join(stored)} be stored, in these orders.",
        hint="Give the columns that are both shown and stored in the same order.",
    )


def _follows(order: Sequence[str], names: Sequence[str]) -> bool:
    return [name for name in order if name in names] == list(names)


def _type_of_columns(source: KnownSource, names: Sequence[str]) -> ValueType | None:
    """Return the type of a column's values; several columns are text; None if it is unknown."""
    if len(names) > 1:
        return "text"
    column = source.column(names[0]) if names and source.table is not None else None
    if column is None:
        return None
    kind = type_of(column)
    return kind if kind in ("text", "integer", "number", "datetime") else "text" if kind == "binary" else None


def _type_of_texts(texts: Sequence[str]) -> ValueType:
    """Return the type of the stored values of a custom list."""
    if texts and all(_INTEGER.fullmatch(text) for text in texts):
        return "integer"
    return "number" if texts and all(_NUMBER.fullmatch(text) for text in texts) else "text"
