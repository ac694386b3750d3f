"""Shows, creates and changes relations.

Invariant: a new relation uses only data sources and columns that exist, as far as the workspace knows them; an update
leaves properties that it does not name as they are, right or wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final, get_args

from thresher.core import Conflict, InvalidInput, did_you_mean, nearest, shortened
from thresher.knowledge.solutions.data_sources import (
    LITERAL,
    SCOPES,
    KnownSource,
    Tables,
    is_column,
    types_note,
)
from thresher.knowledge.solutions.editor import EditOptions, EditResult, ObjectEditor
from thresher.knowledge.solutions.requests import RelationChanges, RelationSpec, properties_of
from thresher.knowledge.solutions.work_context import WorkContext
from thresher.knowledge.solutions.workspace import StoredObject
from thresher.servoy import Encapsulation, JoinType, Operator, Relation, RelationItem, checked_name, datasource

_OFFERED: Final = tuple(one for one in get_args(Operator) if one != "not in")
"""`not in` can be read from files, but no editor offers it for relations."""
_CASELESS: Final = ("=", "!=", "like", "not like")
_MOST_ITEMS: Final = 50
_SCOPES_SHOWN: Final = 20
_SAID: Final = 300
"""Maximum characters of a value in an error; comments have any length."""
_VARIABLE: Final = re.compile(r"(?:scopes\.(?P<scope>[\w$]+)|globals)\.[\w$]+(?:\.[\w$]+)*")
"""A variable, or a member of an enumeration: `scopes.lists.kind.a`."""
_SOURCES: Final = ("primary_datasource", "foreign_datasource")


class RelationService:
    """The operations on relations; they block, so they are called in threads.

    Args:
        editor: Writes relations.
    """

    def __init__(self, editor: ObjectEditor) -> None:
        self._editor = editor

    def find(self, context: WorkContext, spec: RelationSpec) -> EditResult | None:
        """Return the relation that a specification means, if it exists."""
        name = spec.name.strip() or default_name(context, spec)
        both = spec.primary_datasource is not None and spec.foreign_datasource is not None
        stored = context.find_object("relation", name, spec.solution, near=both)
        if stored is None:
            if both:  # so that no one looks for columns of tables that do not exist
                _sources(context, spec)
            return None
        relation = relation_of(stored)
        expected, notes = relation, ()
        if not (differing := _source_differences(context, relation, spec)):
            expected, notes = RelationDraft(context, stored.project, relation).with_changes(spec)
            differing = differences(relation, expected)
        if differing:
            hint = "Change it with update_relation, or use another name."
            if not spec.name.strip():
                hint = "Name the new relation, or change this one with update_relation."
            raise Conflict(
                f"There is a relation '{name}' in '{stored.project}', which differs: {'; '.join(differing)}.",
                hint=hint,
            )
        return self._editor.shown(context, stored, *location_note(context, stored), *notes)

    def open(self, context: WorkContext, spec: RelationSpec) -> EditResult:
        """Return a relation, and create it if it does not exist."""
        if (found := self.find(context, spec)) is not None:
            return found
        _check_complete(context, spec)
        name = spec.name.strip() or default_name(context, spec)
        project = context.target(spec.solution)
        name = self._editor.free_name(context, project, name)
        relation, notes = RelationDraft(context, project, Relation(name, "", "")).with_changes(spec)
        check_name_conflicts(context, relation)
        context.check_confirmed_target(project, f"the relation '{name}'", confirm=spec.confirm)
        return self._editor.created(context, project, relation, notes)

    def update(self, context: WorkContext, name: str, changes: RelationChanges, options: EditOptions) -> EditResult:
        """Change properties of a relation."""
        if not properties_of(changes):
            raise InvalidInput("No property is given.", hint="Give a property, such as join_type.")
        stored = context.get_object("relation", name, options.solution)
        before = relation_of(stored)
        relation, notes = RelationDraft(context, stored.project, before).with_changes(changes)
        if relation.primary_datasource != before.primary_datasource:
            check_name_conflicts(context, relation)
        context.check_confirmed("relation", [stored], "changed", options.solution, confirm=options.confirm)
        return self._editor.changed(context, stored, relation, notes)

    def rename(self, context: WorkContext, name: str, new_name: str, options: EditOptions) -> EditResult:
        """Rename a relation, and rewrite what certainly refers to it."""
        stored = context.get_object("relation", name, options.solution)
        check_name_conflicts(context, replace(relation_of(stored), name=new_name.strip()))
        return self._editor.renamed(context, name, new_name, options)


class RelationDraft:
    """A relation that is being changed.

    Args:
        context: Context of the call.
        project: Its project.
        relation: The relation before; a new one has only a name.
    """

    def __init__(self, context: WorkContext, project: str, relation: Relation) -> None:
        self._context = context
        self._project = project
        self._relation = relation

    def with_changes(self, changes: RelationChanges) -> tuple[Relation, tuple[str, ...]]:
        """Return the changed relation and notes on it.

        Raises:
            InvalidInput: A data source, column or value is wrong.
        """
        before = self._relation
        values = {name: one for name, one in properties_of(changes).items() if not _same_source(before, name, one)}
        check_choices(values, {"join_type": get_args(JoinType), "encapsulation": get_args(Encapsulation)})
        if values.get("items") == ():
            raise InvalidInput("A relation needs a pair of columns.", hint="Give items, or leave them out.")
        moved = "primary_datasource" in values or "foreign_datasource" in values
        if not (moved or "items" in values or values.get("initial_sort")):
            return replace(before, **values), ()
        primary, foreign = (self._context.source(values.get(one), getattr(before, one), one) for one in _SOURCES)
        sources = dict(zip(_SOURCES, (primary.text, foreign.text), strict=True))
        values |= {name: text for name, text in sources.items() if name in values}
        moved = any(values.get(name, "") not in ("", getattr(before, name)) for name in sources)
        notes = [primary.note, foreign.note] if moved or "items" in values else []
        if "items" in values or moved:
            items = values.get("items", before.items)
            values["items"] = self._items(items, primary, foreign)
            notes += [types_note(primary, foreign, one) for one in values["items"]]
            notes += self._check_variables(values["items"])
        if "initial_sort" in values or moved:
            sort = values.get("initial_sort", before.initial_sort)
            values["initial_sort"] = self._context.sort_order(sort, foreign, self._project)
        return replace(before, **values), tuple(dict.fromkeys(note for note in notes if note))

    def _items(
        self, items: Sequence[RelationItem], primary: KnownSource, foreign: KnownSource
    ) -> tuple[RelationItem, ...]:
        if len(items) > _MOST_ITEMS:
            raise InvalidInput("There are too many pairs of columns.", hint=f"Give up to {_MOST_ITEMS}.")
        checked = tuple(_item(one, primary, foreign) for one in items)
        pairs = [(one.primary, one.foreign, one.operator) for one in checked]
        if len(set(pairs)) < len(pairs):
            raise InvalidInput("A pair of columns is given twice.", hint="Give each pair once.")
        return checked

    def _check_variables(self, items: Sequence[RelationItem]) -> list[str]:
        """Return notes on variables that no reachable solution has; a script may still create them.

        Raises:
            InvalidInput: A new item names a scope that does not exist; the hint suggests similar ones.
        """
        named = [one.primary for one in items if not is_column(one.primary) and not one.primary.startswith(LITERAL)]
        if not named:
            return []
        family = self._context.family(self._project)
        held = {one.primary for one in self._relation.items}
        notes = [self._check_scope(one, family) for one in named if one not in held]
        known = [name for _, name, _ in self._context.workspace.variables(family)]
        unknown = [one for one in named if _scoped(one) not in known]
        return notes + [
            f"No variable '{one}' was found. {did_you_mean(nearest(_scoped(one), known))}".strip() for one in unknown
        ]

    def _check_scope(self, variable: str, family: Sequence[str]) -> str:
        """Return a note if a scope may be in a module that the workspace lacks; otherwise empty."""
        scope = _scoped(variable).split(".")[1]
        scopes = self._context.workspace.scopes(family)
        if scope in scopes:
            return ""
        projects = {one.name: one for one in self._context.workspace.projects()}
        reach = self._context.reach(self._project)
        if missing := [module for one in reach for module in projects[one].missing]:
            return f"The scope '{scope}' was not checked: the module '{missing[0]}' is not in the workspace."
        near = did_you_mean(tuple(f"scopes.{one}" for one in nearest(scope, scopes)))
        raise InvalidInput(
            f"There is no scope '{scope[:80]}' for '{variable[:80]}'.",
            hint=f"{near} There are: {', '.join(scopes[:_SCOPES_SHOWN])}.".strip(),
        )


def default_name(context: WorkContext, spec: RelationSpec) -> str:
    """Return the default name of a relation, `<primary>_to_<foreign>` from the tables' names.

    Raises:
        InvalidInput: A data source is missing or unknown, or the name is not valid.
    """
    missing = [one for one in _SOURCES if not getattr(spec, one)]
    if missing:
        raise InvalidInput(
            f"Neither a name nor {' and '.join(missing)} of the relation is given.",
            hint="Give the name of an existing relation, or both data sources as server/table.",
        )
    primary, foreign = _sources(context, spec)
    name = f"{primary.source.table}_to_{foreign.source.table}"
    try:
        return checked_name(name, "relation")
    except InvalidInput as error:
        raise InvalidInput(error.message, hint="Give the relation a name.") from None


def differences(relation: Relation, expected: Relation) -> list[str]:
    """Return the differences of two relations in words; items are compared without their UUIDs."""
    before, after = _plain(relation), _plain(expected)
    return [
        f"{name} is {_text(value)}, not {_text(after[name])}" for name, value in before.items() if value != after[name]
    ]


def items_text(items: Sequence[RelationItem]) -> str:
    """Return pairs of columns in words: `orderid = orderid and status in LITERAL:open`."""
    return " and ".join(f"{one.primary} {one.operator} {one.foreign}" for one in items)


def relation_of(stored: StoredObject) -> Relation:
    """Return the relation in a file."""
    if not isinstance(stored.record, Relation):
        raise InvalidInput(f"{stored.path} is not a relation.", hint="Correct the file.")
    return stored.record


def location_note(context: WorkContext, stored: StoredObject) -> tuple[str, ...]:
    """Return a note on the project of an object that is not in the active solution."""
    if context.active is None or stored.project == context.active:
        return ()
    if stored.project in context.reach(context.active):
        return (f"It is in '{stored.project}', a module of '{context.active}'.",)
    return (f"It is in '{stored.project}', which '{context.active}' does not use.",)


def _check_complete(context: WorkContext, spec: RelationSpec) -> None:
    """Check that the specification of a new relation is complete.

    Raises:
        InvalidInput: Something is missing; the hint says what exists.
    """
    tables = context.tables()
    name = spec.name.strip()
    called = f"the relation '{name}'" if name else "the relation"
    missing = [one for one in _SOURCES if not getattr(spec, one)]
    if missing:
        raise InvalidInput(
            f"There is no relation '{name}'; to create it, give {' and '.join(missing)}.",
            hint=f"Write server/table. {_name_guess(name, tables)} {context.near('relation', name)}".replace("  ", " "),
        )
    primary, foreign = _sources(context, spec)
    if not spec.items:
        there = " ".join(one.columns_there for one in dict.fromkeys((primary, foreign)))
        raise InvalidInput(
            f"To create {called}, give the columns that join {primary.label} and {foreign.label}.",
            hint=f"Give items, or primary_column and foreign_column. {there}".strip(),
        )


def _source_differences(context: WorkContext, relation: Relation, spec: RelationSpec) -> list[str]:
    """Return the differences between given data sources and a relation's; columns are then not compared."""
    tables = context.tables()
    values = {name: getattr(spec, name) for name in _SOURCES}
    other = {name: text for name, text in values.items() if text and not _same_source(relation, name, text)}
    return [
        f"{name} is '{getattr(relation, name)}', not '{tables.source(text, name).text}'" for name, text in other.items()
    ]


def _same_source(relation: Relation, name: str, values: Any) -> bool:
    """Return whether a property is a data source that the relation already has, known or not."""
    if name not in _SOURCES or not getattr(relation, name):
        return False
    try:
        return datasource(values).text.casefold() == getattr(relation, name).casefold()
    except InvalidInput:
        return False


def _sources(context: WorkContext, spec: RelationSpec) -> tuple[KnownSource, KnownSource]:
    """Return the data sources of a specification, checked."""
    tables = context.tables()
    return (
        tables.source(spec.primary_datasource or "", "primary_datasource"),
        tables.source(spec.foreign_datasource or "", "foreign_datasource"),
    )


def _name_guess(name: str, tables: Tables) -> str:
    """Return a question about the data sources that a name such as `orders_to_customers` may mean; may be empty."""
    first, word, second = name.partition("_to_")
    primary, foreign = tables.named(first), tables.named(second.split("$")[0])
    if not (word and primary and foreign):
        return ""
    return f"Is it from {' or '.join(primary[:3])} to {' or '.join(foreign[:3])}?"


def check_name_conflicts(context: WorkContext, relation: Relation) -> None:
    """Refuse a name that the primary table or a form on it already uses for something else.

    Raises:
        Conflict: A column or calculation of the table, or a method or variable of such a form, has it.
    """
    try:
        source = context.tables().source(relation.primary_datasource, "primary_datasource")
    except InvalidInput:  # an existing relation may have an unknown table
        return
    columns = [one.name for one in source.table.columns] if source.table is not None else []
    columns += context.workspace.calculations(source.source.server, source.source.table)
    if taken := [one for one in columns if one.casefold() == relation.name.casefold()]:
        raise Conflict(
            f"{source.label} has a column '{taken[0]}': a relation cannot have the same name.",
            hint="Choose another name.",
        )
    if forms := context.workspace.forms_declaring(source.text, relation.name):
        more = f" and {len(forms) - 1} more" if len(forms) > 1 else ""
        raise Conflict(
            f"The form '{forms[0]}'{more} on {source.label} has a method or variable '{relation.name}': in its script "
            "the name would not mean the relation.",
            hint="Choose another name.",
        )


def check_choices(values: Mapping[str, Any], allowed: Mapping[str, Sequence[str]]) -> None:
    """Refuse values that a property may not have.

    Raises:
        InvalidInput: A value is not one of the choices; the hint suggests similar ones.
    """
    for name, words in allowed.items():
        if name in values and values[name] not in words:
            near = did_you_mean(nearest(str(values[name])[:80], words))
            raise InvalidInput(f"{name} cannot be '{str(values[name])[:80]}'.", hint=near or f"Use {_either(words)}.")


def _item(item: RelationItem, primary: KnownSource, foreign: KnownSource) -> RelationItem:
    """Return a pair of columns with the names as the tables write them."""
    left, right = item.primary.strip(), item.foreign.strip()
    if not left or not right:
        raise InvalidInput("A pair of columns is incomplete.", hint="Give primary and foreign of each pair.")
    if left.startswith(LITERAL):
        left = item.primary.lstrip()  # trailing spaces are part of the value
    elif left.startswith(SCOPES) and not _VARIABLE.fullmatch(left):
        raise InvalidInput(
            f"{left[:80]!r} is not a variable.",
            hint="Write scopes.NAME.variable or globals.variable, or a member of an enumeration.",
        )
    elif not (left.isprintable() and right.isprintable()):
        raise InvalidInput(f"{left[:80]!r} or {right[:80]!r} is not a column name.", hint="Give only the name.")
    if item.operator not in _OFFERED:
        near = did_you_mean(nearest(item.operator[:40], _OFFERED))
        raise InvalidInput(
            f"A relation cannot compare with '{item.operator[:40]}'.", hint=near or f"Use {_either(_OFFERED)}."
        )
    if item.ignore_case and item.operator not in _CASELESS:
        raise InvalidInput(
            f"ignore_case does not go with '{item.operator}'.", hint=f"It goes with {_either(_CASELESS)}."
        )
    if is_column(left):
        left = primary.name_of(left)
    right = foreign.column(right, calculated=False)
    name = item.foreign.strip() if right is None else right.name
    return replace(item, primary=left, foreign=name)


def _scoped(variable: str) -> str:
    """Return the full name of a variable, without a member: `globals.x` is `scopes.globals.x`."""
    full = f"scopes.{variable}" if variable.startswith("globals.") else variable
    return ".".join(full.split(".")[:3])


def _plain(relation: Relation) -> dict[str, Any]:
    """Return the properties of a relation for comparison: items as text, in any order and without UUIDs."""
    modifiers = ("or_null", "ignore_case", "remove_when_null")
    items = sorted(
        ", ".join((items_text([one]), *(name for name in modifiers if getattr(one, name)))) for one in relation.items
    )
    values = {one.name: getattr(relation, one.name) for one in fields(Relation)}
    return values | {"items": f"({' and '.join(items)})"}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"'{shortened(str(value), _SAID)}'"


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
