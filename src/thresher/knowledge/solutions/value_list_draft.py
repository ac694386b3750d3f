"""A value list that becomes another: what was said, checked and put into the record's form.

Invariant: only reads; a list has at most three columns, each said once, in the order in which they are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from thresher.core import InvalidInput, did_you_mean, nearest
from thresher.knowledge.solutions.checks import Source, sort_order, type_of
from thresher.knowledge.solutions.desk import Desk
from thresher.knowledge.solutions.relations import refuse_words
from thresher.knowledge.solutions.wishes import ValueListChanges, said
from thresher.knowledge.solutions.workspace import Stored
from thresher.servoy import (
    CustomValue,
    Encapsulation,
    Relation,
    ValueList,
    ValueListKind,
    ValueType,
    custom_values,
    custom_values_text,
    datasource,
    is_uuid,
)

_ORIGINS: Final[dict[str, ValueListKind]] = {
    "custom_values": "custom",
    "datasource": "table",
    "relation": "related",
    "global_method": "global method",
}
_OF_COLUMNS: Final = ("display", "returns", "separator", "sort", "use_table_filter")
"""Properties that lists of a table's or a relation's records alone have."""
_MOST_COLUMNS: Final = 3
_MOST_VALUES: Final = 5_000
_INTEGER: Final = re.compile(r"-?\d{1,18}", re.ASCII)
_NUMBER: Final = re.compile(r"-?\d{1,18}(\.\d{1,18})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of a list, as the record has them."""

    columns: tuple[str, ...]
    display: tuple[int, ...]
    returns: tuple[int, ...]


class ValueListDraft:
    """A value list that becomes another.

    Args:
        desk: Where is worked.
        project: That holds it.
        value_list: As it is; of a new one only its name is said.
        new: Whether it is a new one.
    """

    def __init__(self, desk: Desk, project: str, value_list: ValueList, *, new: bool = False) -> None:
        self._desk = desk
        self._project = project
        self._list = value_list
        self._new = new
        self._notes: list[str] = []

    def with_changes(self, changes: ValueListChanges) -> tuple[ValueList, tuple[str, ...]]:
        """The value list with what was said, and what must be known of it.

        Raises:
            InvalidInput: A data source, column, relation, method or word is wrong, or does not go with the others.
        """
        told = said(changes)
        refuse_words(told, {"add_empty": ("always", "never"), "encapsulation": get_args(Encapsulation)})
        refuse_words(told, dict.fromkeys(("display_type", "real_type"), get_args(ValueType)))
        origin = _origin(told)
        kind = _ORIGINS[origin] if origin else self._list.kind
        self._check_fitting(kind, told)
        plain = {name: value for name, value in told.items() if name not in (*_ORIGINS, *_OF_COLUMNS, "fallback")}
        made = self._of_kind(kind, origin, told)
        if "fallback" in told:
            plain["fallback"] = self._fallback(told["fallback"])
        made = replace(made, **plain)
        if kind != "global method":
            made = self._with_types(made, told)
        return made, tuple(dict.fromkeys(note for note in self._notes if note))

    def _check_fitting(self, kind: ValueListKind, told: dict[str, Any]) -> None:
        wrong = [name for name in _OF_COLUMNS if name in told] if kind in ("custom", "global method") else []
        if wrong:
            called = {"display": "display_column", "returns": "return_column"}.get(wrong[0], wrong[0])
            raise InvalidInput(
                f"{called} does not go with a {kind} value list.",
                hint="It belongs to lists of a datasource or a relation: say which, or leave it away.",
            )

    def _of_kind(self, kind: ValueListKind, origin: str, told: dict[str, Any]) -> ValueList:
        """The list with its values' origin; what belongs to another kind than its own is gone."""
        one = self._list
        if kind != one.kind:
            one = replace(one, custom_values=(), datasource="", relation="", method="", separator=None, sort="")
            one = replace(one, kind=kind, use_table_filter=False)
        if kind == "custom":
            values = _values(told["custom_values"]) if origin else one.custom_values
            one = replace(one, custom_values=values)
        elif kind == "global method":
            one = replace(one, method=self._method(told["global_method"]) if origin else one.method)
        if kind in ("custom", "global method"):
            return replace(one, columns=(), display=(), returns=())
        if not any(name in told for name in (*_ORIGINS, *_OF_COLUMNS)):
            return one
        return self._of_columns(one, kind, told)

    def _of_columns(self, one: ValueList, kind: ValueListKind, told: dict[str, Any]) -> ValueList:
        """A list of records, with what was said of its table and its columns."""
        if kind == "table":
            source = self._table(told.get("datasource"), one.datasource)
            one = replace(one, datasource=source.text if "datasource" in told else one.datasource)
        else:
            relation, source = self._related(told.get("relation") or one.relation)
            one = replace(one, relation=relation)
        if any(name in told for name in ("datasource", "relation", "display", "returns")):
            found = self._columns(source, told)
            one = replace(one, columns=found.columns, display=found.display, returns=found.returns)
        for name in ("separator", "use_table_filter"):
            if name in told:
                one = replace(one, **{name: told[name]})
        sort = told.get("sort", one.sort if "datasource" in told or "relation" in told else None)
        return one if sort is None else replace(one, sort=self._sort(sort, source))

    def _table(self, wanted: str | None, known: str) -> Source:
        try:
            found = self._desk.tables().source(wanted or known, "datasource")
        except InvalidInput:
            if wanted is not None:
                raise
            return Source(datasource(known), note=f"{known} is not known to the workspace.")
        if found.source.kind == "menu":
            raise InvalidInput("A value list cannot show a menu.", hint="Say a table: server/table.")
        self._notes.append(found.note if wanted is not None else "")
        calculated = self._desk.workspace.calculations(found.source.server, found.source.table)
        return replace(found, calculations=tuple(calculated))

    def _related(self, chain: str) -> tuple[str, Source]:
        """A chain of relations as files have it, and the data source at its end."""
        last: Relation | None = None
        for name in (part.strip() for part in chain.split(".")):
            found = self._relation(name)
            if last is not None and last.foreign_datasource != found.primary_datasource:
                raise InvalidInput(
                    f"The relation '{name}' begins at {found.primary_datasource}, and '{last.name}' ends at "
                    f"{last.foreign_datasource}.",
                    hint="Say relations of which each begins where the one before it ends.",
                )
            last = found
        if last is None:
            raise InvalidInput("The relation is not said.", hint="Say its name.")
        chain = ".".join(part.strip() for part in chain.split("."))
        return chain, self._table(None, last.foreign_datasource)

    def _relation(self, name: str) -> Relation:
        reach = self._desk.reach(self._project)
        found = self._desk.workspace.find("relation", name, reach)
        if found and isinstance(found[0].record, Relation):
            return found[0].record
        known = [one.record.name for one in self._desk.workspace.objects("relation", reach)[0]]
        raise InvalidInput(
            f"Neither '{self._project}' nor a module that it uses has a relation '{name[:80]}'.",
            hint=did_you_mean(nearest(name[:80], known)) or "Make it first, with open_relation.",
        )

    def _columns(self, source: Source, told: dict[str, Any]) -> _Columns:
        """Which columns are shown and stored; what was not said stays, or is what is shown."""
        one = self._list
        before = [one.columns[place] for place in one.display], [one.columns[place] for place in one.returns]
        shown = told.get("display", before[0])
        if not shown:
            raise InvalidInput(
                f"The column of {source.said} that the value list shows must be said.",
                hint=f"Say display_column, and return_column where another is stored. {source.columns_there}".strip(),
            )
        if not all(name.strip() and name.strip().isprintable() for name in (*shown, *told.get("returns", ()))):
            raise InvalidInput("A column's name is empty, or has a line break.", hint="Say the names of columns.")
        shown = [source.name_of(name.strip()) for name in shown]
        stored = [source.name_of(name.strip()) for name in told.get("returns", before[1] or shown)]
        stored = stored or shown
        columns = _arranged(one.columns, shown, stored)
        places = {name: place for place, name in enumerate(columns)}
        return _Columns(columns, tuple(places[name] for name in shown), tuple(places[name] for name in stored))

    def _sort(self, text: str, source: Source) -> str:
        if not text.strip():
            return ""
        found, _ = (
            self._desk.workspace.objects("relation", self._desk.reach(self._project)) if "." in text else ((), ())
        )
        return sort_order(text, source, [one.record.name for one in found])

    def _method(self, name: str) -> str:
        """The UUID of a global method."""
        name = name.strip()
        methods = self._desk.workspace.methods(self._desk.reach(self._project))
        if is_uuid(name):
            if name.upper() in {uuid.upper() for _, _, uuid in methods}:
                return name.upper()
            raise InvalidInput(f"No global method has the UUID {name}.", hint="Say its name: scopes.name.method.")
        full = f"scopes.{name}" if name.startswith("globals.") else name
        by_name = {method: uuid for _, method, uuid in methods}
        if full in by_name:
            return by_name[full]
        near = nearest(full[:120], by_name) or tuple(one for one in by_name if one.endswith(f".{name}"))[:3]
        there = f"There are: {', '.join(list(by_name)[:20])}." if by_name else "There is none: write it first."
        raise InvalidInput(
            f"'{self._project}' and its modules have no global method '{name[:120]}'.", hint=did_you_mean(near) or there
        )

    def _fallback(self, text: str) -> str:
        """The UUID of the list that stands in."""
        if not (text := text.strip()):
            return ""
        reach = self._desk.reach(self._project)
        lists = [value_list_of(one) for one in self._desk.workspace.objects("value list", reach)[0]]
        found = [one for one in lists if one.name == text or (one.uuid and one.uuid.upper() == text.upper())]
        if found and found[0].name == self._list.name:
            raise InvalidInput("A value list cannot stand in for itself.", hint="Say another value list.")
        if found:
            self._check_circle(found[0])
            return found[0].uuid
        near = did_you_mean(nearest(text[:80], [one.name for one in lists]))
        raise InvalidInput(
            f"fallback: '{self._project}' and its modules have no value list '{text[:80]}'.",
            hint=near or "list_value_lists shows those there are.",
        )

    def _check_circle(self, first: ValueList) -> None:
        """Refuse a list that stands in and leads back to this one; one that was there already is noted.

        Raises:
            InvalidInput: It does.
        """
        lists = [one.record for one in self._desk.workspace.objects("value list", self._desk.family(self._project))[0]]
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
                f"The value lists would stand in for each other in a circle: {circle}.",
                hint="Say another value list, or take the fallback of one of these away first.",
            )
        self._notes.append(f"These value lists stand in for each other in a circle: {circle}.")

    def _with_types(self, one: ValueList, told: dict[str, Any]) -> ValueList:
        """The list with the types of its values, where its file says types at all; what was said of them stays."""
        same = (one.kind, one.columns, one.display, one.returns, one.datasource, one.relation, one.custom_values)
        was = self._list
        if same == (was.kind, was.columns, was.display, was.returns, was.datasource, was.relation, was.custom_values):
            return one
        typed = self._typed_files() if self._new else was.display_type is not None or was.real_type is not None
        if not typed:
            return one
        display, real = self._types(one)
        return replace(
            one,
            display_type=told.get("display_type") or display or one.display_type,
            real_type=told.get("real_type") or real or one.real_type,
        )

    def _typed_files(self) -> bool:
        """Whether value lists of the project's dialect say types."""
        return any(one.name == self._project and one.dialect == "json" for one in self._desk.workspace.projects())

    def _types(self, one: ValueList) -> tuple[ValueType | None, ValueType | None]:
        if one.kind == "custom":
            reals = [value.real for value in one.custom_values if value.real is not None]
            return "text", _type_of_texts(reals)
        source = self._related(one.relation)[1] if one.kind == "related" else self._table(None, one.datasource)
        names = dict(enumerate(one.columns))
        shown, stored = ([names[place] for place in places] for places in (one.display, one.returns))
        return _type_of_columns(source, shown), _type_of_columns(source, stored)


def value_list_of(stored: Stored) -> ValueList:
    """The value list that a file holds."""
    if not isinstance(stored.record, ValueList):
        raise InvalidInput(f"{stored.path} is no value list.", hint="Correct the file.")
    return stored.record


def names_of(desk: Desk, lists: Iterable[ValueList]) -> dict[str, str]:
    """Names of the methods and fallback lists that some lists hold by UUID, by that UUID in upper case."""
    lists = tuple(lists)
    names: dict[str, str] = {}
    if any(one.method for one in lists):
        names |= {uuid.upper(): name for _, name, uuid in desk.workspace.methods(desk.projects)}
    if any(one.fallback for one in lists):
        stored, _ = desk.workspace.objects("value list", desk.projects)
        names |= {one.record.uuid.upper(): one.record.name for one in stored if one.record.uuid}
    return names


def titled(uuid: str, names: Mapping[str, str]) -> str:
    """A UUID with the name of what it stands for, where that is known."""
    name = names.get(uuid.upper(), "")
    return f"{name} ({uuid})" if name else uuid


def summary(one: ValueList, names: Mapping[str, str]) -> str:
    """In words, what values a list has.

    Args:
        one: The list.
        names: As of `names_of`.
    """
    if one.kind == "custom":
        values = [value.display for value in one.custom_values[:5]]
        more = f" and {len(one.custom_values) - 5} more" if len(one.custom_values) > 5 else ""
        return f"custom values ({', '.join(values)}{more})"
    if one.kind == "global method":
        return f"values of the method {titled(one.method, names)}"
    shown = ", ".join(one.columns[place] for place in one.display)
    stored = ", ".join(one.columns[place] for place in one.returns)
    where = one.datasource.removeprefix("db:/") if one.kind == "table" else f"relation {one.relation}"
    return f"{shown} of {where}" + (f", stored as {stored}" if stored != shown else "")


def _origin(told: dict[str, Any]) -> str:
    """Which of the properties says what the values come from; empty where none does."""
    given = [name for name in _ORIGINS if told.get(name) not in (None, "", ())]
    if len(given) > 1:
        raise InvalidInput(f"A value list has either {' or '.join(given)}, not both.", hint="Say one of them.")
    if given:
        return given[0]
    if (empty := next((name for name in _ORIGINS if name in told and name != "custom_values"), "")) != "":
        raise InvalidInput(f"{empty} is empty.", hint="Say it, or leave it away.")
    return "custom_values" if "custom_values" in told else ""


def _values(given: Sequence[str | CustomValue]) -> tuple[CustomValue, ...]:
    """Values of a custom list, as they can stand in a file."""
    if len(given) > _MOST_VALUES:
        raise InvalidInput("That are too many values.", hint=f"Say up to {_MOST_VALUES:,}, or use a table.")
    values = [one if isinstance(one, CustomValue) else _value(one) for one in given]
    for one in values:
        if any(mark in text for text in (one.display, one.real or "") for mark in "\r\n"):
            raise InvalidInput(f"The value {one.display[:40]!r} has a line break.", hint="Say one value a line.")
    return custom_values(custom_values_text(values))  # where one line has a bar, all get one


def _value(text: str) -> CustomValue:
    if any(mark in text for mark in "\r\n"):
        raise InvalidInput(f"The value {text[:40]!r} has a line break.", hint="Say each value by itself.")
    return next(iter(custom_values(text)), CustomValue(""))


def _arranged(former: Sequence[str], shown: Sequence[str], stored: Sequence[str]) -> tuple[str, ...]:
    """The columns of a list in an order in which both the shown and the stored ones follow each other as said.

    Args:
        former: As they were; that order stays where it can.
        shown: In order.
        stored: In order.

    Raises:
        InvalidInput: They are too many, said twice, or there is no such order.
    """
    wanted = tuple(dict.fromkeys((*shown, *stored)))
    if len(set(shown)) < len(shown) or len(set(stored)) < len(stored):
        raise InvalidInput("A column is said twice.", hint="Say each once.")
    if len(wanted) > _MOST_COLUMNS:
        raise InvalidInput(
            f"A value list has up to {_MOST_COLUMNS} columns, and {len(wanted)} are said: {', '.join(wanted)}.",
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
        hint="Say the columns that are both shown and stored in the same order.",
    )


def _follows(order: Sequence[str], names: Sequence[str]) -> bool:
    return [name for name in order if name in names] == list(names)


def _type_of_columns(source: Source, names: Sequence[str]) -> ValueType | None:
    """The type of a column's values; several together are a text; None where it is not known."""
    if len(names) > 1:
        return "text"
    column = source.column(names[0]) if names and source.table is not None else None
    if column is None:
        return None
    kind = type_of(column)
    return kind if kind in ("text", "integer", "number", "datetime") else "text" if kind == "binary" else None


def _type_of_texts(texts: Sequence[str]) -> ValueType:
    """The type of stored values that stand in a custom list."""
    if texts and all(_INTEGER.fullmatch(text) for text in texts):
        return "integer"
    return "number" if texts and all(_NUMBER.fullmatch(text) for text in texts) else "text"
