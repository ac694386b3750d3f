"""Names of databases in one line."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from thresher.context.variables import (
    VALUE_CHARACTERS,
    Situation,
    Variables,
    name_datasources,
    servers_line,
    sources_line,
)
from thresher.core import Caller, NotFound, Tenant
from thresher.knowledge.databases import Connection, DatabaseService, TableBrief, TableList


def tables(*names: str, schema: str = "public") -> list[TableBrief]:
    """Tables of these names."""
    return [TableBrief(schema, name, "table", 3, None, "") for name in names]


class Slow:
    """A service in which one connection's tables come late, and one is gone."""

    def __init__(self) -> None:
        self.late = asyncio.Event()

    async def list_connections(self, caller: Caller) -> tuple[Connection, ...]:
        """Three connections."""
        return tuple(
            Connection(number, name, "sqlite", "", "", None, True, "", "ready", "", "", 9_000, None)
            for number, name in enumerate(("gone", "huge", "shop"))
        )

    async def list_tables(self, caller: Caller, name: str, **_: Any) -> TableList:
        """One table, a delay or an error."""
        if name == "gone":
            raise NotFound("It has gone.")
        if name == "huge":
            await self.late.wait()
        return TableList(name, "sqlite", tuple(tables("t")), 1, None, ())


async def test_a_large_schema_keeps_no_other_from_being_named() -> None:
    """It is named without its tables, which continue to load for the next time."""
    variables, slow = Variables(), Slow()
    name_datasources(variables, cast("DatabaseService", slow))
    asker = Situation(Caller(Tenant(1, "local"), None))

    first = await variables.values(asker, ["AVAILABLE_DATASOURCES"])
    slow.late.set()
    second = await variables.values(asker, ["AVAILABLE_DATASOURCES"])

    assert first == {"AVAILABLE_DATASOURCES": "db:/huge and 9,000 more; db:/shop/t"}
    assert second == {"AVAILABLE_DATASOURCES": "db:/huge/t; db:/shop/t"}


def test_connections_are_named_with_their_engines() -> None:
    """Without any there is no value."""
    shop = Connection(1, "shop", "mysql", "mysql://h/shop", "", None, True, "", "ready", "", "", 2, None)

    assert servers_line([shop]) == "shop (mysql)"
    assert servers_line([]) is None


def test_tables_are_paths() -> None:
    """With their schema only if there are several."""
    one = ("shop", tables("orders", "customers"), 2)
    two = ("erp", [*tables("a"), *tables("b", schema="hr")], 2)

    assert sources_line([one]) == "db:/shop/orders, db:/shop/customers"
    assert sources_line([one, two]) == "db:/shop/orders, db:/shop/customers; db:/erp/public.a, db:/erp/hr.b"
    assert sources_line([]) is None


def test_many_tables_share_the_line() -> None:
    """Each connection has its share, and reports how many more there are."""
    many = [(f"c{number}", tables(*(f"table_{at}" for at in range(40))), 2_000) for number in range(8)]
    line = sources_line(many)
    long = sources_line([("x", tables("t" * 600), 1)])

    assert line is not None
    assert len(line) <= VALUE_CHARACTERS
    assert all(f"db:/c{number}" in line for number in range(8))
    assert line.count("more") == 8
    assert long == "db:/x and 1 more"
