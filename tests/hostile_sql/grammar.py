"""Random statements: mostly queries, with hostile parts mixed in, in the words of each engine.

They need not make sense but must be close enough to the language that many are parsed completely, so that guard and
engine can be compared on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

Draw = st.DrawFn

_CALLS: Final = (
    *("count", "sum", "max", "min", "avg", "lower", "upper", "length", "coalesce", "abs", "round", "nullif", "trim"),
    *("replace", "substr", "hex", "ascii", "sqrt", "now", "random", "version", "current_user", "pi", "sign", "repeat"),
)
_HOSTILE_CALLS: Final[dict[str, tuple[str, ...]]] = {
    "postgresql": (
        *("pg_advisory_lock", "nextval", "set_config", "pg_notify", "lo_create", "txid_current", "query_to_xml"),
        *("pg_export_snapshot", "setval", "pg_try_advisory_lock", "pg_current_xact_id", "setseed", "pg_stat_reset"),
        *("pg_catalog.lo_creat", '"lo_create"', "pg_stat_clear_snapshot", "pg_logical_emit_message", "wipe"),
    ),
    "sqlite": ("load_extension", "randomblob", "fts3_tokenizer", "writefile", "wipe", "zeroblob", "printf", "readfile"),
    "duckdb": ("nextval", "getenv", "write_log", "setseed", "wipe", "glob", "query", "range", "read_text", "currval"),
    "mariadb": ("get_lock", "sleep", "load_file", "last_insert_id", "wipe", "nextval", "benchmark", "setval"),
}
_HOSTILE_TABLES: Final[dict[str, tuple[str, ...]]] = {
    "postgresql": ("pg_authid", "pg_ls_dir('.') AS f", "(DELETE FROM item RETURNING *) AS f", "ONLY (item)"),
    "sqlite": ("sqlite_dbpage", "pragma_query_only", "pragma_table_info('item')", "json_each('[1]')"),
    "duckdb": ("'x.csv'", '"x.parquet"', "read_csv('x')", "glob('*')", "query('SELECT 1')", "duckdb_secrets()"),
    "mariadb": ("mysql.user", "item PARTITION (p)", "item FOR SYSTEM_TIME ALL", "item USE INDEX ()"),
}
_TAILS: Final[dict[str, tuple[str, ...]]] = {
    "postgresql": (" FOR UPDATE", " FOR SHARE", " FETCH FIRST 1 ROW ONLY", " INTO stolen", "; DELETE FROM item"),
    "sqlite": ("; DELETE FROM item", " RETURNING *", " INTO stolen", ";"),
    "duckdb": ("; DELETE FROM item", " INTO stolen", " USING SAMPLE 1", ";", " QUALIFY true"),
    "mariadb": (" FOR UPDATE", " LOCK IN SHARE MODE", " INTO OUTFILE '/nowhere/x'", " INTO @x", " PROCEDURE ANALYSE()"),
}
_WRITES: Final = (
    "DELETE FROM item",
    "UPDATE item SET name = 'x'",
    "INSERT INTO item (id, name) VALUES (9, 'x')",
    "DELETE FROM item RETURNING *",
    "CREATE TABLE stolen AS {query}",
    "CREATE TEMPORARY TABLE stolen AS {query}",
    "INSERT INTO item {query}",
    "EXPLAIN ANALYZE {query}",
    "EXPLAIN {query}",
    "ANALYZE {query}",
    "({query})",
    "WITH w AS (DELETE FROM item RETURNING *) {query}",
    "WITH w AS ({query}) SELECT * FROM w",
    "WITH w AS ({query}) DELETE FROM item",
    "SELECT 1; {query}",
    "/*! {query} */",
    "PREPARE p AS {query}",
    "TABLE item",
    "VALUES (1, 'x'), (2, 'y')",
    "DESCRIBE item",
    "SHOW TABLES",
    "SET x = 1",
    "PRAGMA table_info(item)",
    "PRAGMA user_version = 1",
    "CALL wipe()",
    "LISTEN x",
    "LOCK TABLE item",
    "VACUUM",
)
_OPERATORS: Final = (
    "+",
    "-",
    "*",
    "=",
    "<",
    "<>",
    "||",
    "AND",
    "OR",
    "LIKE",
    "IS",
    "IS NOT",
    "IN",
    "%",
    ":=",
    "::",
    "->",
)


@dataclass(frozen=True, slots=True)
class _Grammar:
    """Generates the parts of a statement in one engine's words."""

    draw: Draw
    engine: str

    def one(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) < percent

    def value(self, depth: int) -> str:
        if depth <= 0 or self.chance(45):
            return self.one("id", "name", "1", "'x'", "NULL", "2.5", "''", "-1", "id", "name", "absent")
        form = self.draw(st.integers(0, 7))
        inner = self.value(depth - 1)
        if form <= 2:
            return f"{self.call()}({inner})"
        if form == 3:
            return f"{inner} {self.one(*_OPERATORS)} {self.value(depth - 1)}"
        if form == 4:
            return f"CASE WHEN {inner} IS NULL THEN {self.value(depth - 1)} ELSE {inner} END"
        if form == 5:
            return f"({self.query(depth - 1)})"
        if form == 6:
            return f"CAST({inner} AS {self.one('integer', 'char(10)', 'text', 'date', 'regclass', 'signed')})"
        return f"{self.call()}({inner}, {self.value(depth - 1)}) OVER (PARTITION BY {inner})"

    def call(self) -> str:
        return self.one(*(_HOSTILE_CALLS[self.engine] if self.chance(12) else _CALLS))

    def source(self, depth: int) -> str:
        if self.chance(8):
            return self.one(*_HOSTILE_TABLES[self.engine])
        if depth > 0 and self.chance(20):
            return f"({self.query(depth - 1)}) AS s"
        name = self.one("item", "item AS i", "item", "part", "part AS p", "nowhere")
        return f"{name} CROSS JOIN (SELECT 1 AS one) AS j" if depth > 0 and self.chance(20) else name

    def query(self, depth: int) -> str:
        outputs = ", ".join(self.value(depth) for _ in range(self.draw(st.integers(1, 3)))) if self.chance(80) else "*"
        text = f"SELECT {self.one('', '', 'DISTINCT ')}{outputs} FROM {self.source(depth)}"
        if self.chance(40):
            text += f" WHERE {self.value(depth)}"
        if self.chance(15):
            text += f" GROUP BY {self.value(depth - 1)}"
        if self.chance(15):
            text += f" ORDER BY {self.value(depth - 1)} LIMIT 2"
        if self.chance(10):
            text += f" {self.one('UNION', 'EXCEPT', 'UNION ALL')} {self.query(depth - 1) if depth > 0 else 'SELECT 1'}"
        return text + (self.one(*_TAILS[self.engine]) if self.chance(5) else "")

    def statement(self) -> str:
        text = self.query(self.draw(st.integers(0, 2)))
        if self.chance(18):
            text = self.one(*_WRITES).replace("{query}", text)
        if self.chance(10):
            text = text.replace(" ", self.one("/**/", "\n", "\t", " -- x\n", "  ", "/* ; */"))
        return text.swapcase() if self.chance(5) else text


@st.composite
def statements(draw: Draw, engine: str, count: int) -> list[str]:
    """Return that many statements in the words of an engine."""
    grammar = _Grammar(draw, engine)
    return [grammar.statement() for _ in range(count)]
