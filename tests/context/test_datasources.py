"""Names of databases in one line."""

from __future__ import annotations

from thresher.context.datasources import servers_line, sources_line
from thresher.context.variables import VALUE_CHARACTERS
from thresher.knowledge.databases import Connection, TableBrief


def tables(*names: str, schema: str = "public") -> list[TableBrief]:
    """Tables of these names."""
    return [TableBrief(schema, name, "table", 3, None, "") for name in names]


def test_connections_are_named_with_their_engines() -> None:
    """And none is nothing."""
    shop = Connection(1, "shop", "mysql", "mysql://h/shop", "", None, True, "", "ready", "", "", 2, None)

    assert servers_line([shop]) == "shop (mysql)"
    assert servers_line([]) is None


def test_tables_are_paths() -> None:
    """With their schema only where there are several."""
    one = ("shop", tables("orders", "customers"), 2)
    two = ("erp", [*tables("a"), *tables("b", schema="hr")], 2)

    assert sources_line([one]) == "db:/shop/orders, db:/shop/customers"
    assert sources_line([one, two]) == "db:/shop/orders, db:/shop/customers; db:/erp/public.a, db:/erp/hr.b"
    assert sources_line([]) is None


def test_many_tables_share_the_line() -> None:
    """Each connection has its share, and says how many more there are."""
    many = [(f"c{number}", tables(*(f"table_{at}" for at in range(40))), 2_000) for number in range(8)]
    line = sources_line(many)
    long = sources_line([("x", tables("t" * 600), 1)])

    assert line is not None
    assert len(line) <= VALUE_CHARACTERS
    assert all(f"db:/c{number}" in line for number in range(8))
    assert line.count("more") == 8
    assert long == "db:/x and 1 more"
