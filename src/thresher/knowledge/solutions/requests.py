"""What a caller asks for of relations and value lists; None means not given.

Invariant: frozen. A specification says what `open_*` returns or creates, changes say what `update_*` changes; both name
properties like the records of `thresher.servoy`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from thresher.servoy import CustomValue, Encapsulation, JoinType, RelationItem, ValueType


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationChanges:
    """Properties of a relation; None keeps the property, or uses the default for a new relation.

    Attributes:
        primary_datasource: `server/table`, `db:/server/table`, `mem:name`, `view:name`, `menu:name`.
        foreign_datasource: In the same form.
        items: All pairs of columns; others are removed.
        join_type: See `Relation`.
        allow_creation: See `Relation`.
        allow_parent_delete: See `Relation`.
        delete_related: See `Relation`.
        duplicate_related: See `Relation`.
        initial_sort: Such as `name asc, id desc`; empty for none.
        encapsulation: See `Relation`.
        deprecated: Why it is deprecated; empty if it no longer is.
        comment: Empty for none.
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
class RelationSpec(RelationChanges):
    """A relation to return, or to create if it does not exist.

    Attributes:
        name: By default `<primary>_to_<foreign>`, from the tables' names.
        solution: Its solution or module; empty for the active one, or any for an existing relation.
        confirm: Whether a person agreed to create it outside the active solution.
        reason: How `items` were found if the caller did not give them.
        evidence: Evidence for the reason.
    """

    name: str = ""
    solution: str = ""
    confirm: bool = False
    reason: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueListChanges:
    """Properties of a value list; None keeps the property, or uses the default for a new list.

    At most one of `custom_values`, `datasource`, `relation` and `global_method` is the origin of its values; an update
    with another origin changes the kind of the list.

    Attributes:
        custom_values: Of a custom list: texts `display` or `display|real`, or records.
        datasource: Of a table list: `server/table`, `db:/server/table`, `mem:name`, `view:name`.
        relation: Of a related list: name of the relation, or a chain of relations joined by dots.
        global_method: Of a list by a method: `scopes.name.method`, `globals.method`, or its UUID.
        display: Columns to show, in order; with `returns` at most three different ones.
        returns: Columns to store; for a new list by default the shown ones.
        separator: Between shown columns.
        sort: Such as `name asc`; empty for none.
        use_table_filter: See `ValueList`.
        add_empty: See `ValueList`.
        display_type: See `ValueList`; for a new list by default found from its columns, if its format has types.
        real_type: Like `display_type`.
        fallback: Name or UUID of the fallback value list; empty for none.
        lazy_loading: See `ValueList`.
        encapsulation: See `ValueList`.
        deprecated: Why it is deprecated; empty if it no longer is.
        comment: Empty for none.
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
class ValueListSpec(ValueListChanges):
    """A value list to return, or to create if it does not exist.

    Attributes:
        name: Its name.
        solution: Its solution or module; empty for the active one, or any for an existing list.
        confirm: Whether a person agreed to create it outside the active solution.
    """

    name: str = ""
    solution: str = ""
    confirm: bool = False


def properties_of(changes: RelationChanges | ValueListChanges) -> dict[str, Any]:
    """Return the given properties by name, without the other fields of a specification."""
    kind = RelationChanges if isinstance(changes, RelationChanges) else ValueListChanges
    pairs = ((one.name, getattr(changes, one.name)) for one in fields(kind))
    return {name: value for name, value in pairs if value is not None}
