"""Relations: shown, made, changed.

Invariant: a relation is made only of data sources and columns that are there, as far as the workspace knows them; what
an update does not name stays as it is, right or wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final, get_args

from thresher.core import Conflict, InvalidInput, did_you_mean, nearest, shortened
from thresher.knowledge.solutions.checks import LITERAL, SCOPES, Source, Tables, is_column, sort_order, types_note
from thresher.knowledge.solutions.desk import Desk
from thresher.knowledge.solutions.editing import Asked, Edited, Editing
from thresher.knowledge.solutions.wishes import RelationChanges, RelationWish, said
from thresher.knowledge.solutions.workspace import Stored
from thresher.servoy import Encapsulation, JoinType, Operator, Relation, RelationItem, checked_name, datasource

_OFFERED: Final = tuple(one for one in get_args(Operator) if one != "not in")
"""`not in` can be read from files; no editor offers it for relations."""
_CASELESS: Final = ("=", "!=", "like", "not like")
_MOST_ITEMS: Final = 50
_SCOPES_SHOWN: Final = 20
_SAID: Final = 300
"""Characters of a value that an error says: comments are as long as somebody wrote them."""
_VARIABLE: Final = re.compile(r"(?:scopes\.(?P<scope>[\w$]+)|globals)\.[\w$]+(?:\.[\w$]+)*")
"""A variable, or a member of an enumeration: `scopes.lists.kind.a`."""
_SOURCES: Final = ("primary_datasource", "foreign_datasource")


class Relations:
    """The verbs of relations; they block, so they are called in threads.

    Args:
        editing: Writes relations.
    """

    def __init__(self, editing: Editing) -> None:
        self._editing = editing

    def find(self, desk: Desk, wish: RelationWish) -> Edited | None:
        """The relation that a wish means, where there is one."""
        name = wish.name.strip() or default_name(desk, wish)
        both = wish.primary_datasource is not None and wish.foreign_datasource is not None
        stored = desk.located("relation", name, wish.solution, near=both)
        if stored is None:
            if both:  # so that nobody looks for columns of tables that are not there
                _sources(desk, wish)
            return None
        relation = relation_of(stored)
        expected, notes = relation, ()
        if not (differing := _moved(desk, relation, wish)):
            expected, notes = Draft(desk, stored.project, relation).with_changes(wish)
            differing = differences(relation, expected)
        if differing:
            hint = "update_relation changes it; another name makes another relation."
            if not wish.name.strip():
                hint = "Say a name for the new relation, or change this one with update_relation."
            raise Conflict(
                f"There is a relation '{name}' in '{stored.project}', and it differs: {'; '.join(differing)}.",
                hint=hint,
            )
        return self._editing.shown(desk, stored, *standing(desk, stored), *notes)

    def open(self, desk: Desk, wish: RelationWish) -> Edited:
        """Show a relation if it exists, make it otherwise."""
        if (found := self.find(desk, wish)) is not None:
            return found
        _check_complete(desk, wish)
        name = wish.name.strip() or default_name(desk, wish)
        project = desk.target(wish.solution)
        name = self._editing.free_name(desk, project, name)
        relation, notes = Draft(desk, project, Relation(name, "", "")).with_changes(wish)
        check_apart(desk, relation)
        desk.agreed_there(project, f"the relation '{name}'", confirm=wish.confirm)
        return self._editing.created(desk, project, relation, notes)

    def update(self, desk: Desk, name: str, changes: RelationChanges, asked: Asked) -> Edited:
        """Change properties of a relation."""
        if not said(changes):
            raise InvalidInput("Nothing is said that shall be changed.", hint="Say a property, such as join_type.")
        stored = desk.found("relation", name, asked.solution)
        before = relation_of(stored)
        relation, notes = Draft(desk, stored.project, before).with_changes(changes)
        if relation.primary_datasource != before.primary_datasource:
            check_apart(desk, relation)
        desk.agreed("relation", [stored], "changed", asked.solution, confirm=asked.confirm)
        return self._editing.changed(desk, stored, relation, notes)

    def rename(self, desk: Desk, name: str, new_name: str, asked: Asked) -> Edited:
        """Give a relation another name, and rewrite what surely means it."""
        stored = desk.found("relation", name, asked.solution)
        check_apart(desk, replace(relation_of(stored), name=new_name.strip()))
        return self._editing.renamed(desk, name, new_name, asked)


class Draft:
    """A relation that becomes another.

    Args:
        desk: Where is worked.
        project: That holds it.
        relation: As it is; of a new one only its name is said.
    """

    def __init__(self, desk: Desk, project: str, relation: Relation) -> None:
        self._desk = desk
        self._project = project
        self._relation = relation

    def with_changes(self, changes: RelationChanges) -> tuple[Relation, tuple[str, ...]]:
        """The relation with what was said, and what must be known of it.

        Raises:
            InvalidInput: A data source, column or word is wrong.
        """
        told = {name: one for name, one in said(changes).items() if not _as_it_is(self._relation, name, one)}
        refuse_words(told, {"join_type": get_args(JoinType), "encapsulation": get_args(Encapsulation)})
        if told.get("items") == ():
            raise InvalidInput("A relation needs a pair of columns.", hint="Say items, or leave them away.")
        moved = "primary_datasource" in told or "foreign_datasource" in told
        if not (moved or "items" in told or told.get("initial_sort")):
            return replace(self._relation, **told), ()
        primary = self._source(told.get("primary_datasource"), self._relation.primary_datasource, "primary_datasource")
        foreign = self._source(told.get("foreign_datasource"), self._relation.foreign_datasource, "foreign_datasource")
        sources = {"primary_datasource": primary.text, "foreign_datasource": foreign.text}
        told |= {name: text for name, text in sources.items() if name in told}
        moved = any(told.get(name, "") not in ("", getattr(self._relation, name)) for name in sources)
        notes = [primary.note, foreign.note] if moved or "items" in told else []
        if "items" in told or moved:
            items = told.get("items", self._relation.items)
            told["items"] = self._items(items, primary, foreign)
            notes += [types_note(primary, foreign, one) for one in told["items"]]
            notes += self._check_variables(told["items"])
        if "initial_sort" in told or moved:
            told["initial_sort"] = self._sort(told.get("initial_sort", self._relation.initial_sort), foreign)
        return replace(self._relation, **told), tuple(dict.fromkeys(note for note in notes if note))

    def _source(self, wanted: str | None, known: str, what: str) -> Source:
        """The data source that was said, or else the relation's; of the latter it is no error that it is unknown."""
        try:
            found = self._desk.tables().source(wanted or known, what)
        except InvalidInput:
            if wanted is not None:
                raise
            return Source(datasource(known), note=f"{known} is not known to the workspace.")
        calculated = self._desk.workspace.calculations(found.source.server, found.source.table)
        return replace(found, calculations=tuple(calculated))

    def _items(self, items: Sequence[RelationItem], primary: Source, foreign: Source) -> tuple[RelationItem, ...]:
        if len(items) > _MOST_ITEMS:
            raise InvalidInput("That are too many pairs of columns.", hint=f"Say up to {_MOST_ITEMS}.")
        checked = tuple(_item(one, primary, foreign) for one in items)
        pairs = [(one.primary, one.foreign, one.operator) for one in checked]
        if len(set(pairs)) < len(pairs):
            raise InvalidInput("A pair of columns is said twice.", hint="Say each pair once.")
        return checked

    def _check_variables(self, items: Sequence[RelationItem]) -> list[str]:
        """What to say of variables that no reachable solution has: a script may still make them.

        Raises:
            InvalidInput: A new item names a scope that is not there; the hint offers near ones.
        """
        named = [one.primary for one in items if not is_column(one.primary) and not one.primary.startswith(LITERAL)]
        if not named:
            return []
        family = self._desk.family(self._project)
        held = {one.primary for one in self._relation.items}
        notes = [self._check_scope(one, family) for one in named if one not in held]
        known = [name for _, name, _ in self._desk.workspace.variables(family)]
        unknown = [one for one in named if _scoped(one) not in known]
        return notes + [
            f"No variable '{one}' was found. {did_you_mean(nearest(_scoped(one), known))}".strip() for one in unknown
        ]

    def _check_scope(self, variable: str, family: Sequence[str]) -> str:
        """A note where a scope is not there but may be in a module that the workspace lacks; else empty."""
        scope = _scoped(variable).split(".")[1]
        scopes = self._desk.workspace.scopes(family)
        if scope in scopes:
            return ""
        projects = {one.name: one for one in self._desk.workspace.projects()}
        reach = self._desk.reach(self._project)
        if missing := [module for one in reach for module in projects[one].missing]:
            return f"The scope '{scope}' was not checked: the module '{missing[0]}' is not in the workspace."
        near = did_you_mean(tuple(f"scopes.{one}" for one in nearest(scope, scopes)))
        raise InvalidInput(
            f"There is no scope '{scope[:80]}' for '{variable[:80]}'.",
            hint=f"{near} There are: {', '.join(scopes[:_SCOPES_SHOWN])}.".strip(),
        )

    def _sort(self, text: str, foreign: Source) -> str:
        if not text.strip():
            return ""
        relations = []
        if "." in text:
            found, _ = self._desk.workspace.objects("relation", self._desk.reach(self._project))
            relations = [one.record.name for one in found]
        return sort_order(text, foreign, relations)


def default_name(desk: Desk, wish: RelationWish) -> str:
    """The name of a relation that was given none: `<primary>_to_<foreign>`, of the tables' names.

    Raises:
        InvalidInput: A data source is missing or not there; or a table's name is none for a relation.
    """
    missing = [one for one in _SOURCES if not getattr(wish, one)]
    if missing:
        raise InvalidInput(
            f"Neither a name nor {' and '.join(missing)} of the relation is said.",
            hint="Say the name of a relation that exists, or both data sources, as server/table.",
        )
    primary, foreign = _sources(desk, wish)
    name = f"{primary.source.table}_to_{foreign.source.table}"
    try:
        return checked_name(name, "relation")
    except InvalidInput as error:
        raise InvalidInput(error.message, hint="Say a name for the relation.") from None


def differences(relation: Relation, expected: Relation) -> list[str]:
    """What is different in two relations, in words; items are compared without their UUIDs."""
    before, after = _plain(relation), _plain(expected)
    return [
        f"{name} is {_said(value)}, not {_said(after[name])}" for name, value in before.items() if value != after[name]
    ]


def items_text(items: Sequence[RelationItem]) -> str:
    """Pairs of columns in words: `orderid = orderid and status in LITERAL:open`."""
    return " and ".join(f"{one.primary} {one.operator} {one.foreign}" for one in items)


def relation_of(stored: Stored) -> Relation:
    """The relation that a file holds."""
    if not isinstance(stored.record, Relation):
        raise InvalidInput(f"{stored.path} is no relation.", hint="Correct the file.")
    return stored.record


def standing(desk: Desk, stored: Stored) -> tuple[str, ...]:
    """What to say of where something stands, when that is not where one works."""
    if desk.active is None or stored.project == desk.active:
        return ()
    if stored.project in desk.reach(desk.active):
        return (f"It stands in '{stored.project}', a module of '{desk.active}'.",)
    return (f"It stands in '{stored.project}', which '{desk.active}' does not use.",)


def _check_complete(desk: Desk, wish: RelationWish) -> None:
    """Ask for what a new relation lacks.

    Raises:
        InvalidInput: Something is missing; the hint says what there is.
    """
    tables = desk.tables()
    name = wish.name.strip()
    called = f"the relation '{name}'" if name else "the relation"
    missing = [one for one in _SOURCES if not getattr(wish, one)]
    if missing:
        raise InvalidInput(
            f"There is no relation '{name}'; to make it, {' and '.join(missing)} must be said.",
            hint=f"Write server/table. {_guessed(name, tables)} {desk.near('relation', name)}".replace("  ", " "),
        )
    primary, foreign = _sources(desk, wish)
    if not wish.items:
        there = " ".join(one.columns_there for one in dict.fromkeys((primary, foreign)))
        raise InvalidInput(
            f"To make {called}, the columns that join {primary.said} and {foreign.said} must be said.",
            hint=f"Say items, or primary_column and foreign_column. {there}".strip(),
        )


def _moved(desk: Desk, relation: Relation, wish: RelationWish) -> list[str]:
    """How the data sources that a wish says differ from a relation's; columns need no look then."""
    tables = desk.tables()
    told = {name: getattr(wish, name) for name in _SOURCES}
    other = {name: text for name, text in told.items() if text and not _as_it_is(relation, name, text)}
    return [
        f"{name} is '{getattr(relation, name)}', not '{tables.source(text, name).text}'" for name, text in other.items()
    ]


def _as_it_is(relation: Relation, name: str, told: Any) -> bool:
    """Whether a property is a data source that a relation has already, whether or not its table is known."""
    if name not in _SOURCES or not getattr(relation, name):
        return False
    try:
        return datasource(told).text.casefold() == getattr(relation, name).casefold()
    except InvalidInput:
        return False


def _sources(desk: Desk, wish: RelationWish) -> tuple[Source, Source]:
    """The data sources that a wish says; raises where one is not there."""
    tables = desk.tables()
    return (
        tables.source(wish.primary_datasource or "", "primary_datasource"),
        tables.source(wish.foreign_datasource or "", "foreign_datasource"),
    )


def _guessed(name: str, tables: Tables) -> str:
    """The data sources that a name such as `orders_to_customers` may mean, as a question; empty where none."""
    first, word, second = name.partition("_to_")
    primary, foreign = tables.named(first), tables.named(second.split("$")[0])
    if not (word and primary and foreign):
        return ""
    return f"Is it from {' or '.join(primary[:3])} to {' or '.join(foreign[:3])}?"


def check_apart(desk: Desk, relation: Relation) -> None:
    """Refuse a name that a record of the primary table, or a form that shows it, already has for something else.

    Raises:
        Conflict: A column or calculation of the table, or a method or variable of such a form, has it.
    """
    try:
        source = desk.tables().source(relation.primary_datasource, "primary_datasource")
    except InvalidInput:  # of a relation that is there already, its table need not be
        return
    columns = [one.name for one in source.table.columns] if source.table is not None else []
    columns += desk.workspace.calculations(source.source.server, source.source.table)
    if taken := [one for one in columns if one.casefold() == relation.name.casefold()]:
        raise Conflict(
            f"{source.said} has a column '{taken[0]}': a relation of this name could not be told from it.",
            hint="Choose another name.",
        )
    if forms := desk.workspace.forms_declaring(source.text, relation.name):
        more = f" and {len(forms) - 1} more" if len(forms) > 1 else ""
        raise Conflict(
            f"The form '{forms[0]}'{more} on {source.said} has a method or variable '{relation.name}': in its script, "
            "the name would mean that and not the relation.",
            hint="Choose another name.",
        )


def refuse_words(told: Mapping[str, Any], allowed: Mapping[str, Sequence[str]]) -> None:
    """Refuse words that are none of those which a property may have.

    Raises:
        InvalidInput: A word is none of them; the hint offers near ones.
    """
    for name, words in allowed.items():
        if name in told and told[name] not in words:
            near = did_you_mean(nearest(str(told[name])[:80], words))
            raise InvalidInput(f"{name} cannot be '{str(told[name])[:80]}'.", hint=near or f"Use {_or(words)}.")


def _item(item: RelationItem, primary: Source, foreign: Source) -> RelationItem:
    """A pair of columns, with the names as the tables have them."""
    left, right = item.primary.strip(), item.foreign.strip()
    if not left or not right:
        raise InvalidInput("A pair of columns lacks a side.", hint="Say primary and foreign of each.")
    if left.startswith(LITERAL):
        left = item.primary.lstrip()  # blanks at the end are part of the value
    elif left.startswith(SCOPES) and not _VARIABLE.fullmatch(left):
        raise InvalidInput(
            f"{left[:80]!r} is no variable.",
            hint="Write scopes.NAME.variable or globals.variable, of an enumeration with its member behind it.",
        )
    elif not (left.isprintable() and right.isprintable()):
        raise InvalidInput(f"{left[:80]!r} or {right[:80]!r} is no name of a column.", hint="Say the name alone.")
    if item.operator not in _OFFERED:
        near = did_you_mean(nearest(item.operator[:40], _OFFERED))
        raise InvalidInput(
            f"A relation cannot compare with '{item.operator[:40]}'.", hint=near or f"Use {_or(_OFFERED)}."
        )
    if item.ignore_case and item.operator not in _CASELESS:
        raise InvalidInput(f"ignore_case does not go with '{item.operator}'.", hint=f"It goes with {_or(_CASELESS)}.")
    if is_column(left):
        left = primary.name_of(left)
    right = foreign.column(right, calculated=False)
    name = item.foreign.strip() if right is None else right.name
    return replace(item, primary=left, foreign=name)


def _scoped(variable: str) -> str:
    """A variable by its full name, without a member of an enumeration: `globals.x` is `scopes.globals.x`."""
    full = f"scopes.{variable}" if variable.startswith("globals.") else variable
    return ".".join(full.split(".")[:3])


def _plain(relation: Relation) -> dict[str, Any]:
    """The properties of a relation for comparison: items in any order and without UUIDs, in words."""
    items = sorted(items_text([one]) + _modifiers(one) for one in relation.items)
    values = {one.name: getattr(relation, one.name) for one in fields(Relation)}
    return values | {"items": f"({' and '.join(items)})"}


def _modifiers(item: RelationItem) -> str:
    return "".join(f", {name}" for name in ("or_null", "ignore_case", "remove_when_null") if getattr(item, name))


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"'{shortened(str(value), _SAID)}'"


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
