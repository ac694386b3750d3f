"""Records of Servoy's files: solutions, relations, value lists, tables and columns.

Invariant: frozen. Attributes have this product's names; their docstrings give the property in the file. Properties
that a record does not cover stay in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Dialect: TypeAlias = Literal["classic", "json"]
"""Notation of a file: bare keys without braces (until 2025.06), or indented JSON (since 2025.09)."""
JoinType: TypeAlias = Literal["inner", "left outer", "right outer", "full"]
"""`joinType` 0 to 3, in this order."""
Encapsulation: TypeAlias = Literal["public", "hidden", "module"]
"""`encapsulation` 0 to 2: everywhere, not in scripts, only in its module."""
Operator: TypeAlias = Literal["=", ">", "<", ">=", "<=", "!=", "in", "like", "not in", "not like"]
"""`operator` 0 to 9, in this order."""
ValueListKind: TypeAlias = Literal["custom", "table", "related", "global method"]
"""`valueListType` 0, 1 with `dataSource`, 1 with `relationName`, 4."""
ValueType: TypeAlias = Literal["text", "integer", "number", "datetime"]
"""`displayValueType`, `realValueType`: 12, 4, 8, 93."""

RELATION_TYPE: Final = 22
RELATION_ITEM_TYPE: Final = 23
VALUE_LIST_TYPE: Final = 34
SOLUTION_TYPE: Final = 43


@dataclass(frozen=True, slots=True)
class RelationItem:
    """A pair of columns.

    Attributes:
        primary: `primaryDataProviderID`: a column, a calculation, `scopes.NAME.variable`, `globals.variable` or
            `LITERAL:value`.
        foreign: `foreignColumnName`.
        operator: `operator` without its modifiers.
        or_null: Modifier 0x100: also matches rows without a value.
        ignore_case: Modifier 0x200.
        remove_when_null: Modifier 0x1000: the item is ignored if its left side has no value.
        uuid: Of the item; empty for a new one.
    """

    primary: str
    foreign: str
    operator: Operator = "="
    or_null: bool = False
    ignore_case: bool = False
    remove_when_null: bool = False
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """A `.rel` file.

    Attributes:
        name: `name`, and the file's.
        primary_datasource: `primaryDataSource`, such as `db:/crm/orders`.
        foreign_datasource: `foreignDataSource`.
        items: `items`; all of them apply.
        join_type: `joinType`.
        allow_creation: `allowCreationRelatedRecords`.
        allow_parent_delete: `allowParentDeleteWhenHavingRelatedRecords`; true where the file says nothing.
        delete_related: `deleteRelatedRecords`.
        duplicate_related: `duplicateRelatedRecords`.
        initial_sort: `initialSort`, such as `name asc, id desc`.
        encapsulation: `encapsulation`.
        deprecated: `deprecated`: why, or empty.
        comment: `comment`.
        uuid: `uuid`; empty: a new one.
    """

    name: str
    primary_datasource: str
    foreign_datasource: str
    items: tuple[RelationItem, ...] = ()
    join_type: JoinType = "left outer"
    allow_creation: bool = False
    allow_parent_delete: bool = True
    delete_related: bool = False
    duplicate_related: bool = False
    initial_sort: str = ""
    encapsulation: Encapsulation = "public"
    deprecated: str = ""
    comment: str = ""
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class CustomValue:
    """A line of a custom value list: the displayed value and the stored one (None if they are the same)."""

    display: str
    real: str | None = None


@dataclass(frozen=True, slots=True)
class ValueList:
    """A `.val` file.

    Attributes:
        name: `name`, and the name of the file.
        kind: Where its values come from.
        custom_values: `customValues` of a custom list.
        datasource: `dataSource` of a table list.
        relation: `relationName` of a related list; several are joined by dots, outermost first.
        method: `customValues` of a list from a global method: the method's UUID.
        columns: `dataProviderID1` to `3`, those that are present.
        display: `showDataProviders`: which of `columns` are displayed, as indexes from 0.
        returns: `returnDataProviders`: which of `columns` are stored.
        separator: `separator` between displayed columns; None if not written, which means a blank.
        sort: `sortOptions`, such as `name asc`.
        use_table_filter: `useTableFilter`.
        add_empty: `addEmptyValue`: 0 always, 1 never. (2 is unused and preserved.)
        display_type: `displayValueType`; None if not written.
        real_type: `realValueType`.
        fallback: `fallbackValueListID`: UUID of another list; may be empty.
        lazy_loading: `lazyLoading` in `customProperties`; None if not written.
        encapsulation: `encapsulation`.
        deprecated: `deprecated`.
        comment: `comment`.
        uuid: `uuid`; empty for a new one.
    """

    name: str
    kind: ValueListKind
    custom_values: tuple[CustomValue, ...] = ()
    datasource: str = ""
    relation: str = ""
    method: str = ""
    columns: tuple[str, ...] = ()
    display: tuple[int, ...] = ()
    returns: tuple[int, ...] = ()
    separator: str | None = None
    sort: str = ""
    use_table_filter: bool = False
    add_empty: Literal["always", "never"] = "never"
    display_type: ValueType | None = None
    real_type: ValueType | None = None
    fallback: str = ""
    lazy_loading: bool | None = None
    encapsulation: Encapsulation = "public"
    deprecated: str = ""
    comment: str = ""
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class SolutionFacts:
    """`rootmetadata.obj` and `solution_settings.obj` of a project.

    Attributes:
        name: Name of the solution or module.
        uuid: Its UUID.
        file_version: `fileVersion`; 63 and above are written as JSON.
        solution_type: `solutionType`, such as 1 (solution), 2 (module), 1024 (NG client).
        modules: `modulesNames`, in order.
        dialect: Dialect of its metadata, which its new files use too.
    """

    name: str
    uuid: str
    file_version: int
    solution_type: int
    modules: tuple[str, ...] = ()
    dialect: Dialect = "classic"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column of a `.dbi` file, or of an in-memory table in a `.tbl` file.

    Attributes:
        name: As in the file.
        data_type: `dataType`, a number of `java.sql.Types`.
        length: `length`, 0 by default.
        scale: `scale`.
        nullable: `allowNull`, true by default.
        flags: `flags`: 1 primary key, 2 a user-defined row identifier, 4 UUID, and so on.
        foreign_type: `foreignType`: name of the referenced table; may be empty.
        title: `titleText`.
        description: `description`.
        default: `defaultValue`.
        auto_enter: `autoEnterType`: 2 a sequence.
        index: `creationOrderIndex`.
    """

    name: str
    data_type: int
    length: int = 0
    scale: int = 0
    nullable: bool = True
    flags: int = 0
    foreign_type: str = ""
    title: str = ""
    description: str = ""
    default: str = ""
    auto_enter: int = 0
    index: int = 0

    @property
    def identifies(self) -> bool:
        """Whether it is, or is part of, the row identifier."""
        return bool(self.flags & 3)


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A `.dbi` file.

    Attributes:
        server: Name of its folder; empty for an in-memory table.
        name: `name`.
        columns: In order of creation.
        kind: `tableType`: 0 a table, 1 a view.
        hidden: `hiddenInDeveloper`.
    """

    server: str
    name: str
    columns: tuple[ColumnFacts, ...] = field(default=())
    kind: int = 0
    hidden: bool = False
