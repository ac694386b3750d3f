"""Databases: connections, schemas with what relates, statements that only read, and the log that proves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response

from thresher.console.charts import Bars, bars_of
from thresher.console.declaration import Pages
from thresher.console.downloads import csv_file
from thresher.console.forms import arguments, check_confirmed
from thresher.console.rendering import page_of
from thresher.console.visit import Visit
from thresher.core import InvalidInput, ThresherError, plain
from thresher.verbs import AUDIT, DATABASES

PAGES = Pages()
_BASE = "/knowledge/databases"
_DRAWN: Final = 400
"""Most tables in a drawing."""
_WITH_COLUMNS: Final = 40
_LINES: Final = 50
_CSV_ROWS: Final = 10_000


@PAGES.get(_BASE)
async def list_connections(visit: Visit) -> Response:
    """All connections, a search for tables, and a form that adds one."""
    connections = await visit.run(DATABASES["sql_connection_list"])
    words = visit.query("q").strip()
    found = await visit.run(DATABASES["search_schema"], query=words) if words else None
    return visit.page("databases.html", connections=connections, words=words, found=found)


@PAGES.post(_BASE)
async def add_connection(visit: Visit) -> Response:
    """Keep a connection, and read its schema."""
    verb = DATABASES["add_connection"]
    added = await visit.run_checked(verb, arguments(verb, await visit.form()))
    return visit.go(page_of(_BASE, added.name), f"'{added.name}' is kept; its schema is being read.")


@PAGES.get(f"{_BASE}/{{name}}")
async def show_connection(visit: Visit) -> Response:
    """One connection: its schema as a graph, relations with their evidence, a box for statements, the log."""
    return await _shown(visit, visit.query("sql"), None, None)


@PAGES.post(f"{_BASE}/{{name}}/query")
async def query(visit: Visit) -> Response:
    """Run a statement that reads, or say how it would be run; rows as a table, a chart or CSV."""
    name, form = visit.sent.path_params["name"], await visit.form()
    sql = form.get("sql", "")
    verb = DATABASES["sql_explain" if form.get("as") == "plan" else "sql_query"]
    given: dict[str, Any] = {"connection": name, "sql": sql}
    try:
        if form.get("as") == "csv":
            answer = await visit.run_checked(verb, {**given, "max_rows": _CSV_ROWS})
            return csv_file(name, [one.name for one in answer.columns], answer.rows)
        if form.get("cursor"):
            given["cursor"] = form["cursor"]
        return await _shown(visit, sql, await visit.run_checked(verb, given), None)
    except ThresherError as error:
        return await _shown(visit, sql, None, error)


async def _shown(visit: Visit, sql: str, answer: Any, error: ThresherError | None) -> Response:
    name = visit.sent.path_params["name"]
    connection = await visit.run(DATABASES["sql_connection_show"], connection=name)
    graph, relations, problem, audit = None, None, None, None
    try:
        if connection.state in ("ready", "stale"):
            relations = await visit.run(DATABASES["find_relations"], connection=name)
            graph = await _graph(visit, name, relations)
        audit = await visit.run(AUDIT["sql_activity_log"], connection=name, limit=10)
    except ThresherError as failure:
        problem = failure
    return visit.page(
        "database.html",
        200 if error is None else 422,
        connection=connection,
        graph=graph,
        relations=relations,
        problem=problem,
        audit=audit,
        sql=sql,
        answer=answer,
        chart=_chart(answer) if answer is not None else None,
        error=error,
    )


async def _graph(visit: Visit, name: str, relations: Any) -> dict[str, Any]:
    """What the drawing needs: tables, and declared and potential relations between them."""
    listed = await visit.run(DATABASES["sql_list_tables"], connection=name, limit=_DRAWN)
    tables: list[dict[str, Any]] = [
        {"name": _qualified(one.schema, one.name, listed.tables), "columns": []} for one in listed.tables
    ]
    if len(tables) <= _WITH_COLUMNS:
        for entry, table in zip(tables, listed.tables, strict=True):
            full = f"{table.schema}.{table.name}" if table.schema else table.name
            columns = (await visit.run(DATABASES["get_table_columns"], connection=name, table=full)).columns
            entry["columns"] = [{"name": one.name, "type": one.type} for one in columns]
    drawn = {entry["name"] for entry in tables}
    edges: list[dict[str, Any]] = [
        {"from": table, "to": _qualified(key.schema, key.table, listed.tables), "columns": list(key.columns)}
        | {"declared": True}
        for table, key in relations.foreign_keys
    ]
    edges += [
        {
            "from": _qualified(one.schema, one.table, listed.tables),
            "to": _qualified(one.target_schema, one.target_table, listed.tables),
            "columns": list(one.columns),
            "declared": False,
            "confidence": one.score,
        }
        for one in relations.potential
    ]
    kept = [edge for edge in edges if edge["from"] in drawn and edge["to"] in drawn]
    return {"tables": tables, "relations": kept, "total": listed.total}


def _qualified(schema: str, name: str, tables: Sequence[Any]) -> str:
    """A table's name as relations have it: with its schema where that is not the commonest."""
    schemas = [one.schema for one in tables]
    usual = max(set(schemas), key=schemas.count) if schemas else ""
    return f"{schema}.{name}" if schema and schema != usual else name


@PAGES.get(f"{_BASE}/{{name}}/tables/{{table:path}}")
async def show_table(visit: Visit) -> Response:
    """One table: columns, keys in both directions, potential relations with their evidence."""
    name, table = visit.sent.path_params["name"], visit.sent.path_params["table"]
    answer = await visit.run(DATABASES["query_database_schema"], connection=name, table=table)
    return visit.page("table.html", name=name, table=table, answer=answer)


@PAGES.get(f"{_BASE}/{{name}}/audit")
async def show_audit(visit: Visit) -> Response:
    """Which statements were asked, by whom, what was decided and what came of them."""
    name = visit.sent.path_params["name"]
    given: dict[str, Any] = {one: visit.query(one) for one in ("actor", "text", "since", "cursor") if visit.query(one)}
    refused = visit.query("refused") == "yes"
    if refused:
        given["allowed"] = False
    page = await visit.run_checked(AUDIT["sql_activity_log"], {"connection": name, "limit": _LINES, **given})
    proof = await visit.run(AUDIT["verify_audit"]) if visit.query("verify") == "yes" else None
    return visit.page("audit.html", name=name, page=page, proof=proof, given=given, refused=refused)


@PAGES.post(f"{_BASE}/{{name}}/{{change}}")
async def change_connection(visit: Visit) -> Response:
    """Read the schema again, test the connection, or forget it."""
    name, change, form = visit.sent.path_params["name"], visit.sent.path_params["change"], await visit.form()
    if change == "refresh":
        done = await visit.run(DATABASES["refresh_schema"], connection=name)
        return visit.go(page_of(_BASE, name), f"The schema was read: {done.tables} tables.")
    if change == "test":
        health = await visit.run(DATABASES["sql_connection_test"], connection=name)
        return visit.page("database_test.html", name=name, health=plain(health))
    if change != "remove":
        raise InvalidInput(f"A connection has no '{change}'.", hint="Use the buttons of its page.")
    check_confirmed(form, name)
    await visit.run(DATABASES["remove_connection"], connection=name)
    return visit.go(_BASE, f"'{name}' is forgotten; the database is as it was.")


def _chart(answer: Any) -> Bars | None:
    """Bars of a result with one column of words and one of numbers; None for any other."""
    rows = answer.rows
    if len(answer.columns) != 2 or not 1 < len(rows) <= _LINES:
        return None
    if not all(isinstance(row[1], int | float) and not isinstance(row[1], bool) for row in rows):
        return None
    return bars_of([(str(row[0]), float(row[1])) for row in rows])
