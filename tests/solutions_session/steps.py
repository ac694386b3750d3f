"""A developer's requests in one working day, as an MCP client sends them: every tool and every kind of object.

Invariant: a step names the earlier step whose change it undoes, so that it is the same in every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.support.servoy_workspace import made_uuid

Person = Literal["absent", "agrees", "declines"]
"""The person behind the client: none, or one who says yes or no."""


@dataclass(frozen=True)
class Step:
    """One call.

    Attributes:
        title: Title of the step, and of its golden file.
        tool: Name of the tool.
        arguments: Arguments of the call.
        person: The person behind the client.
        refused: Part of the error; empty if the call succeeds.
        takes_back: Title of the step whose change is `change_id`.
    """

    title: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    person: Person = "absent"
    refused: str = ""
    takes_back: str = ""


def _step(title: str, tool: str, /, *, by: Person = "absent", refused: str = "", **arguments: Any) -> Step:
    return Step(title, tool, arguments, by, refused)


def _undo(title: str) -> Step:
    return Step(f"undo {title}", "undo_solution_change", takes_back=title)


def _pair(primary: str, foreign: str, **more: Any) -> dict[str, Any]:
    return {"primary": primary, "foreign": foreign, **more}


CONTEXT = (
    _step("context before a choice", "get_solution_context"),
    _step(
        "open without a context",
        "open_relation",
        primary_datasource="shop/books",
        foreign_datasource="shop/authors",
        refused="Choose one with set_solution_context",
    ),
    _step("choose an unknown module", "set_solution_context", active="shop_date", refused="shop_data"),
    _step("choose the module of data", "set_solution_context", active="shop_data"),
)

RELATIONS = (
    _step("show a relation", "open_relation", name="orders_to_customers"),
    _step(
        "open one that differs",
        "open_relation",
        name="orders_to_customers",
        allow_creation=True,
        refused="update_relation",
    ),
    _step(
        "open by a declared key",
        "open_relation",
        primary_datasource="shop/books",
        foreign_datasource="shop/authors",
    ),
    _step(
        "open by a key the other way round",
        "open_relation",
        name="publisher_books",
        primary_datasource="db:/shop/publishers",
        foreign_datasource="db:/shop/books",
        allow_creation=True,
    ),
    _step(
        "open by columns that look alike",
        "open_relation",
        primary_datasource="shop/reviews",
        foreign_datasource="shop/books",
    ),
    _step(
        "open where two keys are as good",
        "open_relation",
        primary_datasource="shop/transfers",
        foreign_datasource="shop/shelves",
        refused="from_shelf",
    ),
    _step(
        "open by one pair of columns",
        "open_relation",
        primary_datasource="shop/transfers",
        foreign_datasource="shop/shelves",
        primary_column="from_shelf",
        foreign_column="shelf_id",
    ),
    _step(
        "open with every property",
        "open_relation",
        name="customers_to_orders$recent",
        primary_datasource="db:/shop/customers",
        foreign_datasource="shop/orders",
        items=[
            _pair("customer_id", "customer_id"),
            _pair("LITERAL:2024-01-01", "ordered_at", operator=">="),
            _pair("scopes.globals.clerk", "clerk_id", remove_when_null=True),
        ],
        join_type="inner",
        allow_creation=True,
        allow_parent_delete=False,
        delete_related=True,
        duplicate_related=True,
        initial_sort="ordered_at desc, order_id",
        encapsulation="module",
        deprecated='Use "customers_to_orders" instead.',
        comment="First line\nsecond line, </b> and ü",
    ),
    _step(
        "open with operators and modifiers",
        "open_relation",
        name="books$search",
        primary_datasource="shop/books",
        foreign_datasource="shop/books",
        items=[
            _pair("globals.title", "title", operator="like", ignore_case=True, or_null=True),
            _pair("LITERAL:0", "price", operator="!="),
            _pair("globals.authors", "author_id", operator="in"),
        ],
    ),
    _step(
        "open without data sources",
        "open_relation",
        name="orders_to_clerks",
        refused="primary_datasource and foreign_datasource",
    ),
    _step(
        "open with an unknown column",
        "open_relation",
        primary_datasource="shop/orders",
        foreign_datasource="shop/clerks",
        primary_column="clark_id",
        foreign_column="clerk_id",
        refused="clerk_id",
    ),
    _step(
        "open with an unknown table",
        "open_relation",
        primary_datasource="shop/order",
        foreign_datasource="shop/clerks",
        refused="shop/orders",
    ),
    _step(
        "open under a reserved word",
        "open_relation",
        name="function",
        primary_datasource="shop/orders",
        foreign_datasource="shop/clerks",
        refused="reserved word",
    ),
    _step(
        "open under the name of a column",
        "open_relation",
        name="clerk_id",
        primary_datasource="shop/orders",
        foreign_datasource="shop/clerks",
        refused="has a column 'clerk_id'",
    ),
    _step(
        "update some properties",
        "update_relation",
        name="books_to_authors",
        allow_parent_delete=False,
        initial_sort="last_name, first_name desc",
        comment="Who wrote it",
    ),
    _step(
        "update with what is there",
        "update_relation",
        name="books_to_authors",
        comment="Who wrote it",
    ),
    _step(
        "update properties back to defaults",
        "update_relation",
        name="books_to_authors",
        allow_parent_delete=True,
        comment="",
    ),
    _step(
        "update by one more pair",
        "update_relation",
        name="orders_to_order_lines",
        items=[_pair("order_id", "order_id"), _pair("LITERAL:0", "quantity", operator=">")],
    ),
    _step(
        "update a pair and drop another",
        "update_relation",
        name="customers_to_orders$recent",
        items=[
            _pair("customer_id", "customer_id"),
            _pair("LITERAL:2025-01-01", "ordered_at", operator=">="),
        ],
        encapsulation="hidden",
        deprecated="",
    ),
    _step("list the relations of the module", "list_relations", scope="current"),
    _step("list all relations, a page", "list_relations", scope="all", limit=3),
    _step("rename what nothing names", "rename_relation", name="books_to_authors", new_name="books_to_writers"),
    _step("rename by case alone", "rename_relation", name="books_to_writers", new_name="Books_to_writers"),
    _step(
        "rename what a form of another module names",
        "rename_relation",
        name="order_lines_to_books",
        new_name="order_lines_to_titles",
        refused="confirm: true",
    ),
    _step(
        "rename what a form of another module names, a person agrees",
        "rename_relation",
        by="agrees",
        name="order_lines_to_books",
        new_name="order_lines_to_titles",
    ),
    _step(
        "rename what a value list is of",
        "rename_relation",
        name="authors_to_books$in_print",
        new_name="authors_to_books$sold",
    ),
    _step(
        "rename what scripts name",
        "rename_relation",
        name="orders_to_customers",
        new_name="orders_to_buyers",
        refused="force: true",
    ),
    _step(
        "rename what scripts name, with force",
        "rename_relation",
        name="orders_to_customers",
        new_name="orders_to_buyers",
        force=True,
        confirm=True,
    ),
    _undo("rename what scripts name, with force"),
    _step(
        "rename to a name that is taken",
        "rename_relation",
        name="orders_to_customers",
        new_name="orders_to_order_lines",
        refused="Choose another name",
    ),
    _step("delete what is named", "delete_relations", names=["orders_to_order_lines"], refused="force: true"),
    _step("delete what is named, with force", "delete_relations", names=["orders_to_order_lines"], force=True),
    _undo("delete what is named, with force"),
    _step(
        "delete several, one of them unknown",
        "delete_relations",
        names=["publisher_books", "publishers_books"],
        refused="publisher_books",
    ),
    _step("delete several", "delete_relations", names=["publisher_books", "transfers_to_shelves"]),
    _undo("delete several"),
)

VALUE_LISTS = (
    _step("show a value list", "open_value_list", name="stars"),
    _step(
        "open custom values that are stored as shown",
        "open_value_list",
        name="languages",
        custom_values=["English", "Français", "Deutsch"],
    ),
    _step(
        "open custom values with stored ones",
        "open_value_list",
        name="formats",
        custom_values=["Paperback|1", "Hard cover|2", {"display": 'A|B \\ "C" </d>', "real": "3"}],
        add_empty="always",
        comment="As on the price list",
    ),
    _step(
        "open a column of a table",
        "open_value_list",
        name="authors",
        datasource="shop/authors",
        display_column="last_name",
    ),
    _step(
        "open columns of a table, another stored",
        "open_value_list",
        name="writers",
        datasource="db:/shop/authors",
        display_column=["last_name", "first_name"],
        return_column="author_id",
        separator=", ",
        sort="last_name asc, first_name asc",
        fallback="rooms",
        lazy_loading=True,
    ),
    _step(
        "open columns of a table, one of them stored too",
        "open_value_list",
        name="clerks",
        datasource="shop/clerks",
        display_column=["clerk_id", "full_name"],
        return_column="clerk_id",
        use_table_filter=True,
        encapsulation="module",
        deprecated="Clerks are gone.",
    ),
    _step(
        "open columns of a relation",
        "open_value_list",
        name="lines_of_order",
        relation="orders_to_order_lines",
        display_column="quantity",
        return_column="line_no",
        sort="line_no desc",
    ),
    _step(
        "open a chain of relations",
        "open_value_list",
        name="titles_of_order",
        relation="orders_to_order_lines.order_lines_to_titles",
        display_column="title",
        return_column="book_id",
    ),
    _step(
        "open a global method by name",
        "open_value_list",
        name="sorted_things",
        global_method="scopes.helpers.customerOf",
    ),
    _step(
        "open a global method by its UUID",
        "open_value_list",
        name="other_things",
        global_method=made_uuid("shop_screens", "helpers", "relationName"),
        add_empty="always",
    ),
    _step(
        "open a method that is not there",
        "open_value_list",
        name="more_things",
        global_method="scopes.helpers.customersOf",
        refused="scopes.helpers.customerOf",
    ),
    _step(
        "open of two sources",
        "open_value_list",
        name="mixed",
        datasource="shop/authors",
        custom_values=["one"],
        refused="one of",
    ),
    _step("open of nothing", "open_value_list", name="nothing", refused="custom_values"),
    _step(
        "open of an unknown relation",
        "open_value_list",
        name="lines",
        relation="orders_to_order_line",
        display_column="quantity",
        refused="orders_to_order_lines",
    ),
    _step("update custom values", "update_value_list", name="languages", custom_values=["English|en", "Deutsch|de"]),
    _step("update stored values to texts", "update_value_list", name="stars", custom_values=["Good|yes", "Bad|no"]),
    _step("update whether an entry is empty", "update_value_list", name="languages", add_empty="always"),
    _step("update it back", "update_value_list", name="languages", add_empty="never"),
    _step(
        "update to values of a table",
        "update_value_list",
        name="languages",
        datasource="shop/publishers",
        display_column="name",
        return_column="publisher_id",
    ),
    _step(
        "update columns, sort and fallback",
        "update_value_list",
        name="writers",
        display_column="last_name",
        separator="",
        sort="last_name desc",
        fallback="",
        lazy_loading=False,
    ),
    _step("list the value lists of the module", "list_value_lists", scope="current"),
    _step("rename a value list that a form uses", "rename_value_list", name="customers", new_name="buyers"),
    _step("delete a value list that a form uses", "delete_value_lists", names=["buyers"], refused="order.frm"),
    _step("delete a value list that another falls back to", "delete_value_lists", names=["rooms"], refused="force"),
    _step("delete a value list all the same", "delete_value_lists", names=["rooms"], force=True),
    _undo("delete a value list all the same"),
    _step("delete value lists of every kind", "delete_value_lists", names=["formats", "authors", "other_things"]),
    _undo("delete value lists of every kind"),
)

ELSEWHERE = (
    _step("choose the solution", "set_solution_context", active="bookshop"),
    _step(
        "open a relation of a table in memory",
        "open_relation",
        primary_datasource="mem:basket",
        foreign_datasource="shop/books",
    ),
    _step("open a method of the solution", "open_value_list", name="ages", global_method="globals.years"),
    _step("open a name of a module", "open_value_list", name="stars", custom_values=["1"], refused="update_value_list"),
    _step(
        "change a module, nobody to ask",
        "update_relation",
        name="orders_to_customers",
        join_type="inner",
        refused="confirm: true",
    ),
    _step(
        "change a module, refused by a person",
        "update_relation",
        by="declines",
        name="orders_to_customers",
        join_type="inner",
        refused="did not agree",
    ),
    _step(
        "change a module, a person agrees",
        "update_relation",
        by="agrees",
        name="orders_to_customers",
        join_type="inner",
    ),
    _step(
        "change a module, confirmed",
        "update_value_list",
        name="stars",
        custom_values=["One star|1", "Two stars|2", "Five stars|5"],
        confirm=True,
    ),
    _step(
        "make something elsewhere, a person agrees",
        "open_value_list",
        by="agrees",
        name="shifts",
        custom_values=["Early", "Late"],
        solution="backoffice",
    ),
    _step("rename elsewhere, nobody to ask", "rename_value_list", name="stars", new_name="rating", refused="confirm"),
    _step("rename elsewhere, confirmed", "rename_value_list", name="stars", new_name="rating", confirm=True),
    _step(
        "delete elsewhere, refused by a person",
        "delete_value_lists",
        by="declines",
        names=["shifts", "formats", "ages"],
        refused="did not agree",
    ),
    _step("delete elsewhere, a person agrees", "delete_value_lists", by="agrees", names=["shifts"]),
    _step("list what the solution reaches", "list_value_lists"),
    _step("list the changes", "list_solution_changes"),
)

DAY = (*CONTEXT, *RELATIONS, *VALUE_LISTS, *ELSEWHERE)
