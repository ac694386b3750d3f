"""Disguises: texts that an engine reads alike, and places of a query that accept an expression.

Every disguise is a pure function from SQL to SQL. Quoted text stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from tests.hostile_sql.corpus import Idea

_TOKENS: Final = re.compile(
    r"('(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\$\$.*?\$\$|/\*.*?\*/|--[^\n]*)|(\s+)|(\w+)|(.)", re.DOTALL
)
_CALL: Final = re.compile(r"\b([A-Za-z_]\w*)\(")

Disguise = Callable[[str], str]


def _words(change: Callable[[str], str]) -> Disguise:
    return lambda sql: "".join(
        quoted or blank or (change(word) if word else other) for quoted, blank, word, other in _TOKENS.findall(sql)
    )


def _blanks(replacement: str) -> Disguise:
    return lambda sql: "".join(
        quoted or (replacement if blank else word or other) for quoted, blank, word, other in _TOKENS.findall(sql)
    )


def _mixed(word: str) -> str:
    return "".join(letter.upper() if place % 2 else letter.lower() for place, letter in enumerate(word))


def _quoted_call(sql: str) -> str:
    return _CALL.sub(lambda found: f'"{found[1].lower()}"(', sql)


def _escaped_call(sql: str) -> str:
    """Write the first letter of every function as a Unicode escape."""
    return _CALL.sub(lambda found: f'U&"\\{ord(found[1][0].lower()):04x}{found[1][1:].lower()}"(', sql)


EVERYWHERE: Final[dict[str, Disguise]] = {
    "as it is": lambda sql: sql,
    "in capitals": _words(str.upper),
    "in mixed case": _words(_mixed),
    "over many lines": _blanks("\n"),
    "with tabs and form feeds": _blanks("\t\f "),
    "with comments for blanks": _blanks("/**/"),
    "with comments that hold statements": _blanks("/* ; SELECT 1; */"),
    "with line comments": _blanks(" -- SELECT 1;\n"),
    "behind a comment": lambda sql: f"/* a harmless question */ {sql}",
    "behind a line comment": lambda sql: f"-- a harmless question\n{sql}",
    "with a semicolon": lambda sql: f"{sql};",
    "with blanks around": lambda sql: f" \r\n\t{sql} \n",
    "as the second statement": lambda sql: f"SELECT 1;{sql}",
    "as the first statement": lambda sql: f"{sql};SELECT 1",
    "explained": lambda sql: f"EXPLAIN {sql}",
    "explained and run": lambda sql: f"EXPLAIN ANALYZE {sql}",
    "in brackets": lambda sql: f"({sql})",
    "as a table": lambda sql: f"SELECT * FROM ({sql}) AS hidden",
    "as a common table": lambda sql: f"WITH hidden AS ({sql}) SELECT * FROM hidden",
    "in a condition": lambda sql: f"SELECT 1 WHERE EXISTS ({sql})",
    "in a union": lambda sql: f"SELECT 1 UNION ALL {sql}",
    "prepared": lambda sql: f"PREPARE hidden AS {sql}",
}
"""By name, for all engines."""

OF_AN_ENGINE: Final[dict[str, dict[str, Disguise]]] = {
    "postgresql": {
        "with quoted functions": _quoted_call,
        "with escaped functions": _escaped_call,
        "with the catalog's schema": lambda sql: _CALL.sub(r"pg_catalog.\1(", sql),
        "with nested comments": _blanks("/* /* */ */"),
        "in a block of code": lambda sql: f"DO $hidden$ BEGIN PERFORM 1; {sql}; END $hidden$",
    },
    "mariadb": {
        "with backquoted functions": lambda sql: _CALL.sub(r"`\1`(", sql),
        "with number sign comments": _blanks(" # SELECT 1;\n"),
        "in a comment that runs": lambda sql: f"/*!50000 {sql} */",
        "in a comment that MariaDB runs": lambda sql: f"/*M! {sql} */",
        "half in a comment that runs": lambda sql: f"SELECT 1 /*! ; {sql} */",
    },
    "sqlite": {
        "with quoted functions": _quoted_call,
        "with bracketed functions": lambda sql: _CALL.sub(r"[\1](", sql),
        "as a plan": lambda sql: f"EXPLAIN QUERY PLAN {sql}",
    },
    "duckdb": {
        "with quoted functions": _quoted_call,
        "with the system's schema": lambda sql: _CALL.sub(r"system.main.\1(", sql),
        "as a method": lambda sql: re.sub(r"^(\w+)\(('(?:[^']|'')*')\)$", r"\2.\1()", sql),
    },
}

PLACES: Final = {
    "an output": "SELECT {}",
    "a later output": "SELECT id, name, {} AS x FROM item",
    "a row of values": "VALUES ({})",
    "a condition": "SELECT id FROM item WHERE {} IS NOT NULL",
    "an order": "SELECT id FROM item ORDER BY {}",
    "a group": "SELECT count(*) FROM item GROUP BY {}",
    "a condition on groups": "SELECT count(*) FROM item GROUP BY name HAVING {} IS NULL",
    "a limit": "SELECT id FROM item LIMIT (SELECT {})",
    "a join": "SELECT a.id FROM item a JOIN item b ON {} IS NULL",
    "a case": "SELECT CASE WHEN 1 = 0 THEN {} END FROM item",
    "a common table": "WITH c AS (SELECT {} AS x) SELECT x FROM c",
    "a union": "SELECT 1 UNION ALL SELECT {}",
    "a subquery": "SELECT id FROM item WHERE id IN (SELECT {} FROM item)",
    "an existence": "SELECT id FROM item WHERE EXISTS (SELECT {})",
    "a window": "SELECT sum(id) OVER (ORDER BY {}) FROM item",
    "an aggregate": "SELECT max({}) FROM item",
    "an argument": "SELECT coalesce(name, {}) FROM item",
    "a cast": "SELECT CAST({} AS char(10))",
    "a comparison": "SELECT id FROM item WHERE id BETWEEN 1 AND {}",
    "a plan": "EXPLAIN SELECT {}",
}
"""Places of an expression, in all four dialects."""

TABLES: Final = {
    "alone": "SELECT * FROM {}",
    "after a table": "SELECT * FROM item, {}",
    "in a join": "SELECT * FROM item LEFT JOIN {} ON true",
    "in a subquery": "SELECT id FROM item WHERE EXISTS (SELECT 1 FROM {})",
    "in a common table": "WITH c AS (SELECT * FROM {}) SELECT * FROM c",
    "in a union": "SELECT 1 UNION ALL SELECT 1 FROM {}",
    "first": "FROM {}",
    "explained": "EXPLAIN SELECT * FROM {}",
    "described": "DESCRIBE SELECT * FROM {}",
    "summarised": "SUMMARIZE SELECT * FROM {}",
}
"""Places of a table."""


def disguised(idea: Idea, engine: str) -> Iterator[tuple[str, str]]:
    """Return every form of an idea for an engine, as (disguise, SQL)."""
    clothes = EVERYWHERE | OF_AN_ENGINE[engine]
    text = idea.filled()
    if idea.kind == "statement":
        yield from ((name, wear(text)) for name, wear in clothes.items())
        return
    places = PLACES if idea.kind == "expression" else TABLES
    yield from ((f"{name}, as it is", place.replace("{}", text)) for name, place in places.items())
    first = next(iter(places.values()))
    yield from ((f"alone, {name}", wear(first.replace("{}", text))) for name, wear in clothes.items())
    if idea.kind == "expression" and "(" in text:
        yield "a table, as it is", f"SELECT * FROM {text} AS x"
        yield "beside a table, as it is", f"SELECT * FROM item, LATERAL {text} AS x"
