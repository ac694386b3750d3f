"""Tables are joined over the keys that mean most."""

from __future__ import annotations

from tests.relations.shapes import tables_of
from thresher.knowledge.databases import find_relations
from thresher.knowledge.databases.relations import JoinGraph

SHOP = tables_of(
    "customers: *id i, country_id i>countries\n"
    "countries: *id i\n"
    "orders: *id i, customer_id i>customers\n"
    "lines: *order_id i>orders, *product_id i>products\n"
    "products: *id i, maker_country_id i>countries\n"
    "settings: *name t"
)


def places(*names: str) -> list[tuple[str, str]]:
    """Tables without a schema."""
    return [("", name) for name in names]


def test_a_path_goes_by_rows_that_belong_together() -> None:
    """Customers and products meet in order lines, not in a country that they share."""
    joins = JoinGraph(SHOP, ()).connect(places("customers", "products"))

    assert [step.columns for step in joins.steps] == [("customer_id",), ("order_id",), ("product_id",)]
    assert joins.tables == (("", "customers"), ("", "orders"), ("", "lines"), ("", "products"))
    assert all(step.declared for step in joins.steps)


def test_what_nothing_joins_is_said() -> None:
    """A table without keys stands apart; an unknown one too."""
    joins = JoinGraph(SHOP, ()).connect(places("orders", "settings", "orders", "nowhere"))

    assert joins.apart == tuple(places("settings", "nowhere"))
    assert joins.tables == (("", "orders"),)


def test_nothing_and_one_table_need_no_key() -> None:
    """Empty answers."""
    assert JoinGraph(SHOP, ()).connect([]).steps == ()
    assert JoinGraph(SHOP, ()).connect(places("orders")).tables == (("", "orders"),)


def test_potential_keys_join_where_none_is_declared() -> None:
    """They say what they are worth; neighbours come the surest first."""
    tables = tables_of("users: *id i\nposts: *id i, user_id i\nlikes: *id i, post_id i>posts")
    graph = JoinGraph(tables, find_relations(tables))
    joins = graph.connect(places("likes", "users"))

    assert [(step.child[1], step.declared) for step in joins.steps] == [("likes", True), ("posts", False)]
    assert graph.neighbours(("", "posts")) == (("", "likes"), ("", "users"))
