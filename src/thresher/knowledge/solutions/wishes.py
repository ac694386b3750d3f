"""What a caller wants of relations and value lists, in parts: what is None was not said.

Invariant: frozen. A wish says what `open_*` shall show or make, changes say what `update_*` shall make different;
both name properties as the records of `thresher.servoy` do.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from thresher.servoy import CustomValue, Encapsulation, JoinType, RelationItem, ValueType


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationChanges:
    """Properties of a relation. None: not said, so left as it is (or, of a new one, the default).

    Attributes:
        primary_datasource: `server/table`, `db:/server/table`, `mem:name`, `view:name`, `menu:name`.
        foreign_datasource: The same.
        items: All pairs of columns; those that are not among them go.
        join_type: See `Relation`.
        allow_creation: See `Relation`.
        allow_parent_delete: See `Relation`.
        delete_related: See `Relation`.
        duplicate_related: See `Relation`.
        initial_sort: Such as `name asc, id desc`; empty: none.
        encapsulation: See `Relation`.
        deprecated: Why; empty: it no longer is.
        comment: Empty: none.
    """

    primary_datasource: str | None = None
    foreign_datasource: str | None = None
    items: tuple[RelationItem, ...] | None = None
    join_type: JoinType | None = None
    allow_creation: bool | None = None
    allow_parent_delete: bool | None = None
    delete_related: bool | None = None
    duplicate_related: bool | None = None
    initial_sort: str | None = None
    encapsulation: Encapsulation | None = None
    deprecated: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationWish(RelationChanges):
    """A relation to be shown, or made where there is none.

    Attributes:
        name: Empty: `<primary>_to_<foreign>` of the tables' names.
        solution: Solution or module that holds it, or shall; empty: the active one, and to be shown any.
        confirm: Whether somebody agreed to it being made outside of the active solution.
        reason: How `items` were found, where nobody gave them.
        evidence: For that.
    """

    name: str = ""
    solution: str = ""
    confirm: bool = False
    reason: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueListChanges:
    """Properties of a value list. None: not said, so left as it is (or, of a new one, the default).

    At most one of `custom_values`, `datasource`, `relation` and `global_method` says what its values come from; an
    update with another one than before makes it a list of that kind.

    Attributes:
        custom_values: Of a custom list: texts `display` or `display|real`, or records.
        datasource: Of a table list: `server/table`, `db:/server/table`, `mem:name`, `view:name`.
        relation: Of a related list: name of the relation; several, from the first on, joined by dots.
        global_method: Of a list by a method: `scopes.name.method`, `globals.method`, or its UUID.
        display: Columns that are shown, in order; with `returns` at most three different ones.
        returns: Columns that are stored; None for a new list: those that are shown.
        separator: Between shown columns.
        sort: Such as `name asc`; empty: none.
        use_table_filter: See `ValueList`.
        add_empty: See `ValueList`.
        display_type: See `ValueList`; of a new list that shows columns found from these, where files say it at all.
        real_type: The same.
        fallback: Name or UUID of the value list that stands in; empty: none.
        lazy_loading: See `ValueList`.
        encapsulation: See `ValueList`.
        deprecated: Why; empty: it no longer is.
        comment: Empty: none.
    """

    custom_values: tuple[str | CustomValue, ...] | None = None
    datasource: str | None = None
    relation: str | None = None
    global_method: str | None = None
    display: tuple[str, ...] | None = None
    returns: tuple[str, ...] | None = None
    separator: str | None = None
    sort: str | None = None
    use_table_filter: bool | None = None
    add_empty: Literal["always", "never"] | None = None
    display_type: ValueType | None = None
    real_type: ValueType | None = None
    fallback: str | None = None
    lazy_loading: bool | None = None
    encapsulation: Encapsulation | None = None
    deprecated: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueListWish(ValueListChanges):
    """A value list to be shown, or made where there is none.

    Attributes:
        name: Of the list.
        solution: Solution or module that holds it, or shall; empty: the active one, and to be shown any.
        confirm: Whether somebody agreed to it being made outside of the active solution.
    """

    name: str = ""
    solution: str = ""
    confirm: bool = False


def said(changes: RelationChanges | ValueListChanges) -> dict[str, Any]:
    """The properties that were said, by name; of a wish neither its name nor how it is to be carried out."""
    kind = RelationChanges if isinstance(changes, RelationChanges) else ValueListChanges
    pairs = ((one.name, getattr(changes, one.name)) for one in fields(kind))
    return {name: value for name, value in pairs if value is not None}
