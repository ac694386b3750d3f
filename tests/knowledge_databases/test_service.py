"""A connection is added, asked for its schema and for rows, and removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.knowledge_databases.conftest import url
from thresher.core import Caller, NotFound, QueryFailed, StatementRefused
from thresher.embedding import count_tokens
from thresher.knowledge.databases import DatabaseService


async def test_one_call_says_all_tables_and_what_relates(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """Tables, declared keys and guessed ones come in the first answer, without waiting for a refresh."""
    await service.add_connection(caller, "shop", url(shop))

    answer = await service.query_database_schema(caller, "shop")

    assert answer.shown == ("customer", "order", "order_line", "product")
    assert {(table, key.columns, key.table) for table, key in answer.foreign_keys} == {
        ("order", ("customer_id",), "customer"),
        ("order_line", ("order_id",), "order"),
    }
    assert [(one.table, one.columns, one.target_table) for one in answer.potential] == [
        ("order_line", ("product_id",), "product")
    ]
    assert answer.left_out == ""
    assert answer.cursor is None
    assert answer.token_count == count_tokens(answer.content) <= answer.budget


async def test_one_table_comes_in_full(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """Columns, primary key, and keys in both directions."""
    await service.add_connection(caller, "shop", url(shop))

    answer = await service.query_database_schema(caller, "shop", "Order")

    assert answer.table is not None
    assert answer.table.primary_key == ("order_id",)
    assert [column.name for column in answer.table.columns] == ["order_id", "customer_id", "ordered_on"]
    assert [(key.table, key.columns) for key in answer.incoming] == [("order_line", ("order_id",))]


async def test_rows_come_with_types_and_a_cursor(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """The cursor fetches the next rows, until there are none."""
    await service.add_connection(caller, "shop", url(shop))
    sql = "select customer_id, name from customer order by 1"

    first = await service.query(caller, "shop", sql, max_rows=2)
    second = await service.query(caller, "shop", sql, max_rows=2, cursor=first.cursor)

    assert first.rows == ((1, "Ada"), (2, "Bob"))
    assert first.truncated
    assert [column.name for column in first.columns] == ["customer_id", "name"]
    assert second.rows == ((3, "Cy"),)
    assert second.first_row == 2
    assert second.cursor is None
    assert not second.truncated


async def test_a_statement_that_writes_is_refused_with_rule_and_place(
    service: DatabaseService, caller: Caller, shop: Path
) -> None:
    """The error names the rule, the place and the decision in the audit log."""
    await service.add_connection(caller, "shop", url(shop))

    with pytest.raises(StatementRefused) as refused:
        await service.query(caller, "shop", "delete from customer")

    assert (refused.value.rule, refused.value.line, refused.value.column) == ("writes", 1, 1)
    assert refused.value.audit_id > 0


async def test_an_error_of_the_database_is_told(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """The database's own message, without a traceback, and the column that was probably meant."""
    await service.add_connection(caller, "shop", url(shop))
    await service.query_database_schema(caller, "shop")

    with pytest.raises(QueryFailed, match="no such column: nam") as failed:
        await service.query(caller, "shop", "select nam from customer")

    assert "Did you mean the column name?" in failed.value.hint


async def test_a_removed_connection_is_gone(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """Neither its name nor its tables are found afterwards; its file stays."""
    await service.add_connection(caller, "shop", url(shop))
    await service.refresh_schema(caller, "shop")

    await service.remove_connection(caller, "shop")

    assert await service.list_connections(caller) == ()
    assert (await service.search_schema(caller, "customers")).tables == ()
    assert shop.exists()
    with pytest.raises(NotFound):
        await service.query(caller, "shop", "select 1")


async def test_an_engine_without_schemas_says_so(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """A wrong schema is answered with those that there are, and not with an empty list."""
    await service.add_connection(caller, "shop", url(shop))

    with pytest.raises(NotFound, match="leave it out"):
        await service.list_tables(caller, "shop", schema="public")
