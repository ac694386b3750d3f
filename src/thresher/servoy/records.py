"""What Servoy's files say, once they are read: solutions, relations, value lists, columns.

Invariant: frozen; a record names things as this product does, its docstring the property of the file. What a record
does not know of stays in the file that it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Dialect: TypeAlias = Literal["classic", "json"]
"""How a file is written: bare keys without braces (until 2025.06), or indented JSON (since 2025.09)."""
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
    """One pair of columns.

    Attributes:
        primary: `primaryDataProviderID`: a column, a calculation, `scopes.NAME.variable`, `globals.variable` or
            `LITERAL:value`.
        foreign: `foreignColumnName`.
        operator: `operator` without its modifiers.
        or_null: Modifier 0x100: rows without a value too.
        ignore_case: Modifier 0x200.
        remove_when_null: Modifier 0x1000: without a value on the left the item is left out.
        uuid: Of the item; empty: a new one.
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
        items: `items`; all of them hold.
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
    """One line of a custom value list: what is shown, and what is stored (None: the same)."""

    display: str
    real: str | None = None


@dataclass(frozen=True, slots=True)
class ValueList:
    """A `.val` file.

    Attributes:
        name: `name`, and the file's.
        kind: What its values come from.
        custom_values: `customValues` of a custom list.
        datasource: `dataSource` of a table list.
        relation: `relationName` of a related list; several, from the first on, joined by dots.
        method: `customValues` of a list by a global method: the method's UUID.
        columns: `dataProviderID1` to `3`, those that are there.
        display: `showDataProviders`: which of `columns` are shown, as positions from 0.
        returns: `returnDataProviders`: which of `columns` are stored.
        separator: `separator` between shown columns; None: not written, a blank.
        sort: `sortOptions`, such as `name asc`.
        use_table_filter: `useTableFilter`.
        add_empty: `addEmptyValue`: 0 always, 1 never. (2 is unused, and kept.)
        display_type: `displayValueType`; None: not written.
        real_type: `realValueType`.
        fallback: `fallbackValueListID`: UUID of another list, or empty.
        lazy_loading: `lazyLoading` in `customProperties`; None: not written.
        encapsulation: `encapsulation`.
        deprecated: `deprecated`.
        comment: `comment`.
        uuid: `uuid`; empty: a new one.
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
        name: Of the solution or module.
        uuid: Its own.
        file_version: `fileVersion`; 63 and above are written as JSON.
        solution_type: `solutionType`, such as 1 (solution), 2 (module), 1024 (NG client).
        modules: `modulesNames`, in their order.
        dialect: In which its metadata are written, and so its new files.
    """

    name: str
    uuid: str
    file_version: int
    solution_type: int
    modules: tuple[str, ...] = ()
    dialect: Dialect = "classic"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column of a `.dbi` file, or of the in-memory table of a `.tbl` file.

    Attributes:
        name: As the file has it.
        data_type: `dataType`, a number of `java.sql.Types`.
        length: `length`, 0 unless told.
        scale: `scale`.
        nullable: `allowNull`, true unless told.
        flags: `flags`: 1 primary key, 2 a person's row identifier, 4 UUID, and so on.
        foreign_type: `foreignType`: the name of the table that it points to, or empty.
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
        """Whether it is, or is part of, what identifies a row."""
        return bool(self.flags & 3)


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A `.dbi` file.

    Attributes:
        server: Of the folder that it stands in; empty for an in-memory table.
        name: `name`.
        columns: In the order of their creation.
        kind: `tableType`: 0 a table, 1 a view.
        hidden: `hiddenInDeveloper`.
    """

    server: str
    name: str
    columns: tuple[ColumnFacts, ...] = field(default=())
    kind: int = 0
    hidden: bool = False
