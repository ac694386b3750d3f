"""Which columns of two tables belong together."""

from __future__ import annotations

import pytest

from tests.relations.shapes import tables_of
from thresher.connectors import ForeignKey, Table
from thresher.knowledge.databases import PotentialRelation, find_relations
from thresher.verbs.solutions.column_pairs import Inferred, paired


def infer(shape: str, primary: str, foreign: str, *keys: str, by_name: bool = False) -> Inferred:
    """What is inferred for two tables of a schema; keys are written `orders.customer_id > customers.id`."""
    tables = {table.name: table for table in tables_of(shape)}
    for key in keys:
        child, parent = (side.split(".") for side in key.split(" > "))
        held = ForeignKey("", tuple(child[1].split("+")), "", parent[0], tuple(parent[1].split("+")))
        tables[child[0]] = _holding(tables[child[0]], held)
    potential = find_relations(list(tables.values()))
    return paired(tables[primary], tables[foreign], potential, by_name=by_name)


def _holding(table: Table, key: ForeignKey) -> Table:
    return Table(
        table.schema,
        table.name,
        table.kind,
        table.columns,
        table.primary_key,
        table.unique,
        (*table.foreign_keys, key),
    )


def pairs(inferred: Inferred) -> list[tuple[str, str]]:
    """The columns."""
    return [(item.primary, item.foreign) for item in inferred.items]


SHOP = "customers: *id i, name t\norders: *id i, buyer i, customer_id i\nprices: *id i, amount n"


@pytest.mark.parametrize(
    ("primary", "foreign", "columns"),
    [("orders", "customers", [("buyer", "id")]), ("customers", "orders", [("id", "buyer")])],
    ids=["from the child", "from the parent"],
)
def test_a_declared_key_comes_before_one_that_looks_like_it(
    primary: str, foreign: str, columns: list[tuple[str, str]]
) -> None:
    """In either direction; the reason names columns with their types, and the other way is told."""
    inferred = infer(SHOP, primary, foreign, "orders.buyer > customers.id")

    assert pairs(inferred) == columns
    assert "orders.buyer (integer)" in inferred.reason
    assert inferred.reason.endswith("a key that orders declares")
    assert inferred.evidence == (
        "buyer of orders is declared to point to customers",
        "id is the primary key of customers",
        "integer and integer",
    )
    assert len(inferred.alternatives) == 1


def test_without_a_key_the_best_potential_relation_is_taken() -> None:
    """With its evidence and its score."""
    inferred = infer(SHOP.replace("buyer", "amount"), "customers", "orders")

    assert pairs(inferred) == [("id", "customer_id")]
    assert "looks like a key that nobody declared, score 0.9" in inferred.reason
    assert any("names the table" in text for text in inferred.evidence)


def test_two_keys_to_one_table_are_asked_for() -> None:
    """Both are listed; none is taken."""
    shape = "addresses: *id i\norders: *id i, billing_address_id i, shipping_address_id i"

    declared = infer(
        shape,
        "orders",
        "addresses",
        "orders.billing_address_id > addresses.id",
        "orders.shipping_address_id > addresses.id",
    )
    guessed = infer(shape, "orders", "addresses")

    for inferred in (declared, guessed):
        assert inferred.items == ()
        assert len(inferred.alternatives) == 2
        assert "orders and addresses can be related in 2 ways" in inferred.question
        assert "billing_address_id (integer) = addresses.id (integer)" in inferred.question
        assert "shipping_address_id" in inferred.question


def test_a_key_to_its_own_table_is_asked_for() -> None:
    """It leads to the row above or to those below."""
    inferred = infer("clerks: *id i, boss_id i", "clerks", "clerks", "clerks.boss_id > clerks.id")

    assert inferred.items == ()
    assert [[(one.primary, one.foreign) for one in items] for items in inferred.alternatives] == [
        [("boss_id", "id")],
        [("id", "boss_id")],
    ]


def test_a_key_of_several_columns_is_taken_whole() -> None:
    """Each column is an item, in the order of the key."""
    shape = "lines: *order_no i, *line_no i\nnotes: *id i, order_no i, line_no i"

    inferred = infer(shape, "lines", "notes", "notes.order_no+line_no > lines.order_no+line_no")

    assert pairs(inferred) == [("order_no", "order_no"), ("line_no", "line_no")]


def test_nothing_is_said_where_nothing_is() -> None:
    """The question names the columns that there are."""
    inferred = infer(SHOP, "prices", "customers")

    assert inferred.items == ()
    assert inferred.alternatives == ()
    assert "Which columns relate prices to customers?" in inferred.question
    assert "customers has id (integer), name" in inferred.question


def test_names_count_where_no_database_holds_both() -> None:
    """The key of one that the other has too; a key called only `id` says nothing."""
    tables = "sums: *product_id i, total n\nproducts: *product_id i, supplier_id i\nnotes: *id i\ntags: *id i"

    alike = infer(tables, "sums", "products", by_name=True)
    plain = infer(tables, "notes", "tags", by_name=True)

    assert pairs(alike) == [("product_id", "product_id")]
    assert plain.items == ()


def test_equal_names_of_different_types_are_no_pair() -> None:
    """A number and a date cannot be equal."""
    inferred = infer("a: *stock_id i\nb: *id i, stock_id d", "a", "b", by_name=True)

    assert inferred.items == ()


def test_what_looks_like_a_key_of_another_family_is_asked_for() -> None:
    """A text cannot equal a number: the way is named, not taken; a declared key is somebody's word."""
    tables = {table.name: table for table in tables_of("customers: *id i\norders: *id i, customer_id t")}
    odd = PotentialRelation("", "orders", ("customer_id",), "", "customers", ("id",), 0.9, ())

    inferred = paired(tables["orders"], tables["customers"], [odd], by_name=False)
    declared = infer("customers: *id i\norders: *id i, buyer t", "orders", "customers", "orders.buyer > customers.id")

    assert inferred.items == ()
    assert [(item.primary, item.foreign) for ways in inferred.alternatives for item in ways] == [("customer_id", "id")]
    assert "orders.customer_id (varchar(80))" in inferred.question
    assert "different families" in inferred.question
    assert pairs(declared) == [("buyer", "id")]
