"""Small workspaces of Servoy, written file by file: a bookshop of our own in both dialects, or what a test needs.

Every UUID is made from what it is for, so that two builds are the same bytes.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from benchmarks.data import DEFAULT_DATA
from thresher.servoy import (
    CustomValue,
    Dialect,
    Relation,
    RelationItem,
    Value,
    ValueList,
    new_document,
    relation_value,
    value_list_value,
)

SOLUTION, MODULE, NG_CLIENT = 1, 2, 1024
TEXT, CHAR, INTEGER, NUMBER, DATETIME = 12, 1, 4, 8, 93
PRIMARY_KEY = 1

_PROJECT = """<?xml version="1.0" encoding="UTF-8"?>
<projectDescription>
\t<name>{name}</name>
\t<projects>{uses}</projects>
\t<natures>
\t\t<nature>{nature}</nature>
\t</natures>
</projectDescription>
"""


def made_uuid(*what: str) -> str:
    """The same UUID for the same words, as Servoy writes them."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(what))).upper()


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: Its own.
        data_type: Number of `java.sql.Types`.
        key: Whether it is the primary key, or part of it.
        points_to: Name of the table that it points to, as `foreignType` holds it.
        length: Of texts.
        title: For people.
        extra: Further properties.
    """

    name: str
    data_type: int = INTEGER
    key: bool = False
    points_to: str = ""
    length: int = 0
    title: str = ""
    extra: Mapping[str, Value] = field(default_factory=dict)

    def value(self, index: int) -> dict[str, Value]:
        """What a `.dbi` file says of it."""
        value: dict[str, Value] = {
            "allowNull": not self.key,
            "creationOrderIndex": index,
            "dataType": self.data_type,
            "name": self.name,
        }
        value |= {"flags": PRIMARY_KEY} if self.key else {}
        value |= {"foreignType": self.points_to} if self.points_to else {}
        value |= {"length": self.length} if self.length else {}
        value |= {"titleText": self.title} if self.title else {}
        return value | dict(self.extra)


class WorkspaceBuilder:
    """Writes a workspace's files.

    Args:
        root: Its folder, made where it is missing.
        dialect: Of its files, where a project is not told another.
    """

    def __init__(self, root: Path, dialect: Dialect = "classic") -> None:
        self.root = root
        self.dialect: Dialect = dialect
        self._dialects: dict[str, Dialect] = {}
        self.write("resources/.project", _PROJECT.format(name="resources", uses="", nature=f"{_NATURE}Resources"))
        self.document("resources/repository_settings.obj", {"uuid": made_uuid("repository")})

    def write(self, path: str, text: str | bytes) -> Path:
        """A file of any kind."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def document(self, path: str, value: Value, dialect: Dialect | None = None) -> Path:
        """A file in Servoy's format, in the dialect of its project."""
        dialect = dialect or self._dialects.get(path.split("/")[0], self.dialect)
        return self.write(path, new_document(value, dialect))

    def project(
        self, name: str, modules: Sequence[str] = (), *, kind: int = SOLUTION, dialect: Dialect | None = None
    ) -> None:
        """A solution or a module."""
        self._dialects[name] = dialect or self.dialect
        uses = "<project>resources</project>"
        self.write(f"{name}/.project", _PROJECT.format(name=name, uses=uses, nature=f"{_NATURE}Project"))
        same: dict[str, Value] = {"typeid": 43, "uuid": made_uuid(name)}
        facts: dict[str, Value] = {
            "fileVersion": 63 if self._dialects[name] == "json" else 48,
            "mustAuthenticate": False,
            "name": name,
            "solutionType": kind,
        }
        self.document(f"{name}/rootmetadata.obj", facts | same)
        used: dict[str, Value] = {"modulesNames": ",".join(modules)} if modules else {}
        self.document(f"{name}/solution_settings.obj", used | same)

    def relation(self, project: str, relation: Relation) -> Path:
        """A relation; UUIDs that it lacks are made from its name."""
        items = [
            replace(item, uuid=item.uuid or made_uuid(project, relation.name, str(place)))
            for place, item in enumerate(relation.items)
        ]
        relation = replace(relation, items=tuple(items), uuid=relation.uuid or made_uuid(project, relation.name))
        return self.document(f"{project}/relations/{relation.name}.rel", relation_value(relation))

    def value_list(self, project: str, value_list: ValueList) -> Path:
        """A value list; the UUID that it lacks is made from its name."""
        value_list = replace(value_list, uuid=value_list.uuid or made_uuid(project, "list", value_list.name))
        value = value_list_value(value_list, self._dialects[project])
        return self.document(f"{project}/valuelists/{value_list.name}.val", value)

    def table(self, server: str, name: str, columns: Sequence[Column], dialect: Dialect | None = None) -> Path:
        """Column information of a table."""
        by_name = sorted(enumerate(columns), key=lambda one: (not one[1].key, one[1].name))
        value: dict[str, Value] = {
            "columns": [column.value(index) for index, column in by_name],
            "name": name,
            "tableType": 0,
        }
        return self.document(f"resources/datasources/{server}/{name}.dbi", value, dialect)

    def memory_table(self, project: str, name: str, columns: Sequence[Column]) -> Path:
        """A table in memory."""
        held: dict[str, Value] = {
            "columns": [column.value(index) for index, column in enumerate(columns)],
            "name": name,
            "tableType": 0,
        }
        value: dict[str, Value] = {"columns": held, "dataSource": f"mem:{name}", "typeid": 39}
        return self.document(f"{project}/datasources/mem/{name}.tbl", value | {"uuid": made_uuid(project, "mem", name)})

    def form(self, project: str, name: str, components: Sequence[Mapping[str, Value]], **properties: Value) -> Path:
        """A form of web components: each mapping is the `json` of one."""
        items: list[dict[str, Value]] = [
            {
                "json": dict(component),
                "name": f"component_{place}",
                "typeName": "bootstrapcomponents-textbox",
                "typeid": 47,
                "uuid": made_uuid(project, name, str(place)),
            }
            for place, component in enumerate(components)
        ]
        body: dict[str, Value] = {"height": 480, "partType": 5, "typeid": 19, "uuid": made_uuid(project, name, "body")}
        held: list[Value] = [*sorted([*items, body], key=lambda item: str(item["uuid"]))]
        value: dict[str, Value] = {"items": held, "name": name, "typeid": 3, "uuid": made_uuid(project, name)}
        return self.document(f"{project}/forms/{name}.frm", value | properties)

    def scope(self, project: str, name: str, methods: Mapping[str, str]) -> Path:
        """A script of global methods, each with its UUID in its comment."""
        texts = [
            _METHOD.format(uuid=made_uuid(project, name, method), name=method, body=body)
            for method, body in methods.items()
        ]
        return self.write(f"{project}/{name}.js", "\n".join(texts))


_NATURE = "com.servoy.eclipse.core.Servoy"
_METHOD = """/**
 * @properties={{typeid:24,uuid:"{uuid}"}}
 */
function {name}() {{
\t{body}
}}
"""

TABLES: Mapping[str, Sequence[Column]] = {
    "publishers": [Column("publisher_id", key=True), Column("name", TEXT, length=80, title="Publisher")],
    "authors": [
        Column("author_id", key=True),
        Column("first_name", TEXT, length=40),
        Column("last_name", TEXT, length=60),
        Column("born", DATETIME),
    ],
    "books": [
        Column("book_id", key=True),
        Column("author_id", points_to="authors"),
        Column("publisher_id", points_to="publishers"),
        Column("title", TEXT, length=200, title="Title"),
        Column("price", NUMBER),
        Column("in_print"),
    ],
    "customers": [
        Column("customer_id", CHAR, key=True, length=8),
        Column("full_name", TEXT, length=80),
        Column("city", TEXT, length=40),
    ],
    "orders": [
        Column("order_id", key=True),
        Column("customer_id", CHAR, length=8, points_to="customers"),
        Column("clerk_id", points_to="clerks"),
        Column("ordered_at", DATETIME),
    ],
    "order_lines": [
        Column("order_id", key=True, points_to="orders"),
        Column("line_no", key=True),
        Column("book_id", points_to="books"),
        Column("quantity"),
    ],
    "clerks": [
        Column("clerk_id", key=True),
        Column("full_name", TEXT, length=80),
        Column("manager_id", points_to="clerks"),
    ],
    "transfers": [
        Column("transfer_id", key=True),
        Column("from_shelf", points_to="shelves"),
        Column("to_shelf", points_to="shelves"),
    ],
    "shelves": [Column("shelf_id", key=True), Column("room", TEXT, length=20)],
    "reviews": [
        Column("review_id", key=True),
        Column("book_id"),
        Column("customer_id", CHAR, length=8),
        Column("stars"),
        Column("body", TEXT, length=4000),
    ],
}
"""Of the server `shop`: keys that are told, two to one table (`transfers`), one to its own (`clerks`), and columns of
equal name where no key is told (`reviews`)."""


def bookshop(root: Path, dialect: Dialect = "classic") -> WorkspaceBuilder:
    """A whole workspace: solutions, modules that use each other, tables, forms and scripts.

    `bookshop` uses `shop_data` and `shop_screens`, which use each other; `backoffice` uses `shop_data` and `reports`,
    which is missing.

    Args:
        root: Its folder.
        dialect: Of all its files.
    """
    builder = WorkspaceBuilder(root, dialect)
    for name, columns in TABLES.items():
        builder.table("shop", name, columns)
    builder.table("notes_db", "notes", [Column("note_id", key=True), Column("text", TEXT, length=400)])
    builder.project("bookshop", ("shop_data", "shop_screens"), kind=NG_CLIENT)
    builder.project("shop_data", ("shop_screens",), kind=MODULE)
    builder.project("shop_screens", ("shop_data",), kind=MODULE)
    builder.project("backoffice", ("shop_data", "reports"))
    _relations(builder)
    _value_lists(builder)
    _users(builder)
    return builder


def _relations(builder: WorkspaceBuilder) -> None:
    shop = "db:/shop/"
    pair = RelationItem("customer_id", "customer_id")
    builder.relation("shop_data", Relation("orders_to_customers", f"{shop}orders", f"{shop}customers", (pair,)))
    pair = RelationItem("order_id", "order_id")
    lines = Relation("orders_to_order_lines", f"{shop}orders", f"{shop}order_lines", (pair,), allow_creation=True)
    builder.relation("shop_data", replace(lines, delete_related=True, initial_sort="line_no asc"))
    pair = RelationItem("book_id", "book_id")
    builder.relation("shop_data", Relation("order_lines_to_books", f"{shop}order_lines", f"{shop}books", (pair,)))
    pairs = (RelationItem("LITERAL:1", "in_print"), RelationItem("author_id", "author_id"))
    builder.relation("shop_data", Relation("authors_to_books$in_print", f"{shop}authors", f"{shop}books", pairs))
    wanted = RelationItem("scopes.globals.wanted", "title", "like", ignore_case=True)
    builder.relation(
        "bookshop", Relation("books$wanted", f"{shop}books", f"{shop}books", (wanted,), encapsulation="module")
    )


def _value_lists(builder: WorkspaceBuilder) -> None:
    values = (CustomValue("One star", "1"), CustomValue("Five stars", "5"))
    builder.value_list("shop_data", ValueList("stars", "custom", values, real_type="integer", display_type="text"))
    builder.value_list("shop_data", ValueList("rooms", "custom", tuple(map(CustomValue, ("Hall", "Cellar", "Attic")))))
    table = ValueList("customers", "table", datasource="db:/shop/customers", columns=("full_name", "customer_id"))
    builder.value_list("shop_data", replace(table, display=(0,), returns=(1,), sort="full_name asc"))
    related = ValueList("books_in_print", "related", relation="authors_to_books$in_print", columns=("title", "book_id"))
    fallback = made_uuid("shop_data", "list", "rooms")
    builder.value_list("shop_data", replace(related, display=(0,), returns=(1,), sort="title asc", fallback=fallback))
    method = made_uuid("bookshop", "globals", "years")
    builder.value_list("bookshop", ValueList("years", "global method", method=method, add_empty="always"))


def _users(builder: WorkspaceBuilder) -> None:
    """Forms, scripts and tables that name relations and value lists."""
    builder.form(
        "shop_screens",
        "order",
        [
            {"dataProviderID": "orders_to_customers.full_name", "styleClassExpression": None},
            {"dataProviderID": "customer_id", "valuelistID": made_uuid("shop_data", "list", "customers")},
            {
                "columns": [
                    {"dataprovider": "orders_to_order_lines.order_lines_to_books.title", "svyUUID": made_uuid("column")}
                ],
                "myFoundset": {"foundsetSelector": "orders_to_order_lines"},
            },
            {"containedForm": made_uuid("shop_screens", "lines"), "relationName": "orders_to_order_lines"},
        ],
        dataSource="db:/shop/orders",
    )
    builder.form("shop_screens", "lines", [{"dataProviderID": "quantity"}], dataSource="db:/shop/order_lines")
    script = "// orders_to_customers is loaded here\nreturn foundset.orders_to_customers.full_name;"
    builder.scope("shop_screens", "helpers", {"customerOf": script, "relationName": "return 'orders_to_customers';"})
    builder.scope("bookshop", "globals", {"years": "return null;", "sorted": "return [3, 1, 2].sort();"})
    builder.memory_table("bookshop", "basket", [Column("book_id", key=True), Column("quantity")])
    node = {"dataSource": "db:/shop/orders", "typeid": 39, "uuid": made_uuid("orders.tbl")}
    builder.document("shop_data/datasources/shop/orders.tbl", node)
    security = {"groups": [], "usergroups": {}, "users": []}
    builder.document("resources/security/security.sec", security)


def sample_workspaces() -> Path:
    """The folder with real workspaces; the test is skipped where it is not there."""
    path = Path(os.environ.get("THRESHER_BENCH_DATA") or DEFAULT_DATA) / "servoy"
    if not path.is_dir():
        pytest.skip(f"No workspaces at {path}. Set THRESHER_BENCH_DATA to the folder that holds servoy/.")
    return path
