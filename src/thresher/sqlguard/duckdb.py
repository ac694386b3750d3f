"""DuckDB: one query or its plan, read by DuckDB's own grammar.

Invariant: the grammar runs in a separate in-memory database that reaches no file and whose settings are locked; the
text is only parsed there, never bound or run. Every part of the tree is on the lists below.
"""

from __future__ import annotations

import functools
import json
import math
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import duckdb

from thresher.sqlguard.duckdb_sizes import SIZED, Node, ValueSizes, largest, nodes
from thresher.sqlguard.function_lists import listed
from thresher.sqlguard.grammars import words
from thresher.sqlguard.records import Dialect, Functions, Knowledge, Rule, StatementLimits, Verdict
from thresher.sqlguard.sizes import FORMATS, GATHERED, VALUE, gathered, is_gathering
from thresher.sqlguard.verdicts import Refusal

_HINT: Final = "Only statements that read may run here."
_PARSE: Final = "select json_serialize_sql(?::varchar, skip_null := true, skip_empty := true)"
_ALIASES: Final = "select distinct function_name, alias_of from duckdb_functions() where alias_of is not null"
_SETTINGS: Final = {
    "threads": "1",
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
_WORD: Final = re.compile(
    r"""--[^\n]*+|/\*.*?(?:\*/|\Z)|[eE]'(?:[^'\\]|''|\\.)*+'?|'(?:[^']|'')*+'?|"(?:[^"]|"")*+"?"""
    r"""|\$(?P<tag>\w*+)\$.*?(?:\$(?P=tag)\$|\Z)|[\w$]++|(?P<open>[(\[{])|(?P<close>[)\]}])""",
    re.DOTALL,
)
_PLAN: Final = re.compile(r"\A(?:[ \t\r\n\f]|--[^\n]*\n|/\*.*?\*/)*explain\b", re.IGNORECASE | re.DOTALL)

_TYPES: Final = frozenset(
    {
        *("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE"),
        *("BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "PIVOT", "SHOW_REF"),
        *("LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER", "DISTINCT_MODIFIER"),
        *("ASCENDING", "DESCENDING", "ORDER_DEFAULT"),
        *("COLUMN_REF", "VALUE_CONSTANT", "VALUE_DEFAULT", "FUNCTION", "LAMBDA", "STAR", "POSITIONAL_REFERENCE"),
        *("CASE_EXPR", "COLLATE", "TYPE", "OPERATOR_CAST", "COMPARE_BETWEEN", "CONJUNCTION_AND", "CONJUNCTION_OR"),
        *("COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_LESSTHANOREQUALTO", "COMPARE_GREATERTHAN"),
        *("COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM", "COMPARE_IN"),
        *("COMPARE_NOT_IN", "ARRAY_EXTRACT", "ARRAY_SLICE", "ARRAY_CONSTRUCTOR", "STRUCT_EXTRACT", "ARROW"),
        *("GROUPING_FUNCTION", "OPERATOR_COALESCE", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_NOT"),
        *("OPERATOR_NULLIF", "OPERATOR_TRY", "OPERATOR_UNPACK"),
        *("WINDOW_AGGREGATE", "WINDOW_RANK", "WINDOW_RANK_DENSE", "WINDOW_NTILE", "WINDOW_PERCENT_RANK"),
        *("WINDOW_CUME_DIST", "WINDOW_ROW_NUMBER", "WINDOW_FIRST_VALUE", "WINDOW_LAST_VALUE", "WINDOW_LEAD"),
        *("WINDOW_LAG", "WINDOW_NTH_VALUE", "WINDOW_FILL"),
    }
)
_PARTS: Final = words(
    "aggregate_handling aggregates alias aliases arg_orders arguments case_checks catalog catalog_name child"
    " children class collation column_name_alias column_names columns comparison_type condition cte_map cte_name"
    " default_expr delim_flipped distinct distinct_on_targets else_expr end end_expr entries error exclude_clause"
    " exclude_list export_state expr expression filter filter_expr from_table function function_name"
    " group_expressions group_sets groups has_ignore_nulls having having_expr id identifier ignore_nulls"
    " include_nulls index input is_implicit is_null is_operator is_percentage join_type key key_targets kind left"
    " lhs limit limit_type literal lower map materialized method modifiers name nearest_approx nearest_count"
    " nearest_order_type node null_order offset offset_expr order_bys orders partitions path pivot_expressions"
    " pivots qualified_exclude_list qualified_name qualify query query_location query_location_length query_node"
    " ref_type relation_name rename_list repeatable replace_list right sample sample_rate sample_size schema"
    " schema_name seed select_list setop_all setop_type show_type source star_expr start start_expr statements"
    " subquery subquery_type syntax_type table_name text then_expr try_cast type type_expr type_name union_all"
    " unnamed_values unpivot_names upper using_columns value values when_expr where_clause with_ordinality"
)
_SHOWN: Final = {"", "tables", "databases", "schemas", "__show_tables_expanded"}
_BELOW: Final = {
    **dict.fromkeys(("duckdb_logs", "duckdb_secrets", "pg_settings"), "shows settings or the statements of others"),
    "pg_prepared_statements": "shows settings or the statements of others",
    **dict.fromkeys(("duckdb_databases", "pragma_database_list"), "shows the location of files"),
}
_BY_NAME: Final = frozenset({"histogram", "histogram_values", "pragma_show", "pragma_table_info"})
"""Functions in FROM that read the relation named by their first argument."""
_FILE: Final = re.compile(r"[/\\*?\[\]:|]|\.\w+\s*\Z|\A\s*[.~]")
_STATEMENTS: Final = words(
    "COMMIT ROLLBACK BEGIN START SAVEPOINT EXECUTE DEALLOCATE VACUUM CHECKPOINT USE DETACH ATTACH INSTALL LOAD UPDATE"
    " RESET PRAGMA CALL FORCE ABORT"
)
_ENGINE: Final = {"system.main", "system.pg_catalog"}
_NEAR: Final = {"", "main", "pg_catalog"}


@dataclass(slots=True)
class _Parser:
    """DuckDB's parser, for one statement at a time."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    connection: duckdb.DuckDBPyConnection | None = None

    def tree(self, sql: str) -> Node:
        """Return the tree of a text, or the parser's `error`."""
        with self.lock:
            row = self._open().execute(_PARSE, [sql]).fetchone()
        return json.loads(row[0]) if row else {"error": True}

    def aliases(self) -> Mapping[str, str]:
        """Canonical names of functions by alias, both in lower case."""
        with self.lock:
            rows = self._open().execute(_ALIASES).fetchall()
        return {str(name).lower(): str(function).lower() for name, function in rows}

    def kinds(self, sql: str) -> list[str]:
        """Return the kinds of statements in a text."""
        with self.lock:
            return [statement.type.name for statement in self._open().extract_statements(sql)]

    def _open(self) -> duckdb.DuckDBPyConnection:
        if self.connection is None:
            self.connection = duckdb.connect(":memory:", config=dict(_SETTINGS))
            self.connection.execute("set lock_configuration = true")
        return self.connection


_parser: Final = functools.cache(_Parser)


@functools.cache
def _aliases() -> Mapping[str, str]:
    """Return the aliases of the engine's functions, asked once."""
    return _parser().aliases()


def read(sql: str, dialect: Dialect, knowledge: Knowledge, limits: StatementLimits) -> Verdict:
    """Return the verdict for a read-only DuckDB statement.

    Args:
        sql: The text.
        dialect: DuckDB's.
        knowledge: The functions of the database.
        limits: Bounds on the text.

    Raises:
        Refusal: The statement breaks a rule.
    """
    functions = knowledge.functions or listed(dialect)
    _check_depth(sql, limits)
    plan = _PLAN.match(sql)
    if plan is None:
        return _StatementCheck(sql, functions, limits).verdict()
    query = " " * plan.end() + sql[plan.end() :]
    verdict = _StatementCheck(query, functions, limits).verdict()
    if _parser().kinds(sql) != ["EXPLAIN"]:
        raise Refusal("statement", "This form of EXPLAIN is not allowed.", hint=_HINT, kind="explain")
    return replace(verdict, kind="explain", limited=True)


def _check_depth(sql: str, limits: StatementLimits) -> None:
    """Refuse nested brackets that would keep the parser busy for minutes.

    Raises:
        Refusal: `too_deep`.
    """
    depth = 0
    for found in _WORD.finditer(sql):
        depth = max(0, depth + (found["open"] is not None) - (found["close"] is not None))
        if depth > limits.depth:
            raise Refusal("too_deep", "The statement is nested too deeply.", hint="Use less nesting.",
                          offset=found.start())  # fmt: skip


@dataclass(slots=True)
class _StatementCheck:
    """A statement under inspection.

    Attributes:
        sql: Its text.
        functions: Functions that it may call.
        limits: Bounds on its sizes.
        tables: Relations found so far.
        called: Functions found so far.
        queries: Names of the queries in WITH.
        rows: Calls in FROM that generate rows.
        reads: Whether FROM has a relation or a call.
        gathers: Whether an aggregate collects values of all rows into one.
        sizes: Sizes of its values.
        total: Characters, elements or rows that it generates.
    """

    sql: str
    functions: Functions
    limits: StatementLimits
    tables: dict[str, None] = field(default_factory=dict[str, None])
    called: dict[str, None] = field(default_factory=dict[str, None])
    queries: set[str] = field(default_factory=set[str])
    rows: set[int] = field(default_factory=set[int])
    reads: bool = False
    gathers: bool = False
    sizes: ValueSizes = field(default_factory=lambda: ValueSizes(_aliases()))
    total: float = 0.0

    def verdict(self) -> Verdict:
        """Return the verdict for the statement.

        Raises:
            Refusal: The statement breaks a rule.
        """
        tree = _parser().tree(self.sql)
        if tree.get("error"):
            raise self._unparsed(tree)
        statements: list[Node] = tree["statements"]
        if len(statements) != 1:
            raise Refusal("several_statements", "There is more than one statement.", hint="Send them one by one.")
        parts = list(nodes(statements[0]))
        self.rows = {id(node["function"]) for node in parts if node.get("type") == "TABLE_FUNCTION"}
        self.reads = any(node.get("type") in ("BASE_TABLE", "TABLE_FUNCTION") for node in parts)
        names = [str(node.get("function_name", "")).lower() for node in parts]
        self.gathers = self.reads and any(map(is_gathering, names))
        for node in parts:
            self._check(node)
        self._check_sizes(statements[0])
        query: Node = statements[0]["node"]
        limited = any(one["type"].startswith("LIMIT") for one in query.get("modifiers", ()))
        shown = query.get("from_table", {}).get("type") == "SHOW_REF"
        tables = tuple(table for table in self.tables if table.lower() not in self.queries)
        return Verdict(True, kind="show" if shown else "select", tables=tables, functions=tuple(self.called),
                       limited=limited)  # fmt: skip

    def _check(self, node: Node) -> None:
        """Refuse a node that is not on the lists."""
        kind = node["type"] if isinstance(node.get("type"), str) else ""
        if kind and kind not in _TYPES:
            rule, reason = _reason(kind)
            raise self._refused(rule, reason, node)
        if node.get("named_param_map"):
            raise self._refused("parameter", "The statement has a parameter.", {})
        unknown = node.keys() - _PARTS
        if unknown:
            reason = f"{min(unknown)} is not allowed in a statement that only reads."
            raise self._refused("clause", reason, node)
        if "query_node" in node or node.get("cte_map"):
            self.queries.update(str(entry["key"]).lower() for entry in node.get("cte_map", {}).get("map", ()))
        if "function_name" in node:
            self._check_function(node)
        elif kind in {"BASE_TABLE", "SHOW_REF"}:
            self._check_table(node)

    def _check_function(self, node: Node) -> None:
        """Refuse a function that is not listed or that generates too much."""
        *schema, name = [part.lower() for part in _path(node) or [str(node["function_name"])]]
        if node.get("is_operator") and not schema:
            return
        dotted = ".".join(schema)
        self._check_name(name, dotted, node)
        self.called[name] = None
        name = self.sizes.name_of(node)
        if name in SIZED:
            self._check_count(name, node)
        if name in _BY_NAME and id(node) in self.rows:
            self._check_source(node)

    def _check_source(self, node: Node) -> None:
        """Refuse anything but a table's name as argument, since such a function could read it as a file."""
        arguments: list[Node] = node.get("arguments", [])
        for argument in (*arguments[:1], *(one for one in arguments if str(one.get("name", "")).lower() == "source")):
            named: Node = argument["expression"]
            text = named["literal"]["text"] if named.get("literal", {}).get("kind") == "STRING" else ""
            parts: list[str] = named.get("column_names", [text])
            if not all(parts):
                raise self._refused("file", "The table's name is not a literal.", node)
            self._check_relation(parts, node)

    def _check_name(self, name: str, schema: str, node: Node) -> None:
        if schema and f"{schema}.{name}" in self.functions.own:
            return
        if not schema and name in self.functions.own:
            return
        if name not in self.functions.allowed or schema not in _ENGINE | _NEAR:
            reason = f"The function {name[:60]} is not on the list of functions that only read."
            raise self._refused("function", reason, node, text=name)
        if name in self.functions.shadowed and schema not in _ENGINE:
            raise self._refused("shadowed_function", f"A user-defined function has the name {name[:60]}.", node, name)

    def _check_count(self, name: str, node: Node) -> None:
        """Refuse a size that is not a literal, and series in FROM with too many rows."""
        in_from = id(node) in self.rows
        formats = name in FORMATS
        if not in_from and any(not _written_out(argument, formats=formats) for argument in _counts(name, node)):
            hint = "Write the number or the format as a literal, or take the rows from a function in FROM."
            raise self._refused("cost", "The size of a value is not a literal.", node, hint=hint)
        if in_from:
            own = [_own(one) for one in nodes(node) if self.sizes.name_of(one) in SIZED]
            self._add(max(own[0], math.prod(own)), self.limits.literal_count, node)

    def _check_sizes(self, statement: Node) -> None:
        """Refuse values that are too long: alone, together, or built from each other."""
        most = VALUE if self.reads else self.limits.literal_count
        for node, size in self.sizes.read(statement):
            self._add(size.made, most, node)
            if size.length > self.limits.literal_count:
                self._add(size.length, self.limits.literal_count, node)
        if self.gathers:
            self._check_gathered(statement)

    def _check_gathered(self, statement: Node) -> None:
        """Refuse constant values that an aggregate would collect for each row."""
        constants = replace(self.sizes, columns={}, unknown=0.0, least=0.0, steps=0)
        found = [(size.made, node) for node, size in constants.read(statement)]
        if sum(made for made, _ in found) > GATHERED:
            _, node = max(found, key=lambda one: one[0])
            name = next((str(one["function_name"]) for one in nodes(node) if "function_name" in one), "The statement")
            raise self._refused("cost", gathered(name), node)

    def _add(self, made: float, most: float, node: Node) -> None:
        self.total += made
        if made > most or self.total > self.limits.literal_count:
            most = min(most, self.limits.literal_count)
            raise self._refused("cost", f"The statement would generate more than {most:,} characters or rows.", node)

    def _check_table(self, node: Node) -> None:
        """Refuse files named as tables, and relations that show secrets or the statements of others."""
        parts = [part for part in _path(node) if part]
        if node["type"] == "SHOW_REF":
            name = parts[-1].strip('"').lower() if parts else ""
            if node.get("show_type") == "SHOW_SPECIAL" and name not in _SHOWN:
                raise self._refused("statement", f"SHOW {name[:40]} is not allowed.", node)
            return
        if parts and parts[0].upper() in _STATEMENTS and self._bracketed(node):
            raise self._refused("statement", f"{parts[0].upper()} is not allowed.", node)
        self._check_relation(parts, node)

    def _check_relation(self, parts: list[str], node: Node) -> None:
        """Refuse file names and relations that show secrets."""
        for part in parts:
            if _FILE.search(part):
                reason = f"{part[:60]} could be a file or an address."
                raise self._refused("file", reason, node, text=part)
        if parts and parts[-1].lower() in _BELOW:
            raise self._refused("relation", f"{parts[-1]} {_BELOW[parts[-1].lower()]}.", node, text=parts[-1])
        self.tables[".".join(parts)] = None

    def _bracketed(self, node: Node) -> bool:
        """Return whether a name stands alone in brackets, like a statement that is taken for a table."""
        offset = self._characters(min(node.get("query_location", 0), 4 * len(self.sql)))
        return self.sql[:offset].rstrip().endswith("(")

    def _unparsed(self, tree: Node) -> Refusal:
        """Return why there is no tree."""
        message = str(tree.get("error_message", ""))
        kinds: list[str] = []
        try:
            kinds = _parser().kinds(self.sql)
        except duckdb.Error:
            position = tree.get("position")
            offset = self._characters(int(position)) if position is not None else None
            return Refusal("syntax", f"The statement cannot be read: {message[:200]}.", offset=offset)
        if len(kinds) > 1 and "MULTI" not in kinds:
            return Refusal("several_statements", "There is more than one statement.", hint="Send them one by one.")
        word = kinds[0] if kinds else ""
        rule = _RULES.get(word, "statement")
        return Refusal(rule, f"A statement of the kind {word} is not allowed.", hint=_HINT, kind=word.lower())

    def _refused(self, rule: Rule, reason: str, node: Node, text: str = "", hint: str = _HINT) -> Refusal:
        """Return a refusal at the node."""
        places = [
            place for inner in nodes(node) if (place := inner.get("query_location", -1)) in range(4 * len(self.sql))
        ]
        offset = self._characters(int(places[0])) if places else None
        shown = "" if offset is None or not self.sql[offset:].lower().startswith(text.lower()) else text
        return Refusal(rule, reason, hint=hint, offset=offset, text=shown)

    def _characters(self, count: int) -> int:
        """Return the number of characters in so many bytes of the text."""
        return count if self.sql.isascii() else len(self.sql.encode()[:count].decode(errors="ignore"))


_RULES: Final[dict[str, Rule]] = {
    "INSERT": "writes", "UPDATE": "writes", "DELETE": "writes", "CREATE": "writes", "DROP": "writes", "ALTER": "writes",
    "MERGE_INTO": "writes", "COPY": "file", "EXPORT": "file", "ATTACH": "file", "VACUUM": "writes",
}  # fmt: skip


def _reason(kind: str) -> tuple[Rule, str]:
    """Return the rule that a kind of node breaks."""
    if kind.endswith("_QUERY_NODE"):
        return "writes", f"A statement of the kind {kind.removesuffix('_QUERY_NODE')} is not allowed."
    if kind == "VALUE_PARAMETER":
        return "parameter", "The statement has a parameter."
    return "clause", f"{kind} is not allowed in a statement that only reads."


def _path(node: Node) -> list[str]:
    """Return a qualified name."""
    path: list[str] = node.get("qualified_name", {}).get("path", [])
    return path


def _counts(name: str, node: Node) -> list[Node]:
    """Return the arguments of a call that determine the size of its value."""
    arguments: list[Node] = list(node.get("arguments", ()))
    if name in FORMATS:
        return arguments[:1]
    return arguments if name in {"range", "generate_series"} else arguments[1:2]


def _written_out(argument: Node, *, formats: bool) -> bool:
    """Return whether an argument has no column, query or function call, arithmetic excepted.

    Args:
        argument: The argument.
        formats: Whether it is a format; otherwise only numbers are allowed.
    """
    parts = list(nodes(argument))
    if not formats and any(map(_is_text, parts)):
        return False
    plain = all(one.get("is_operator", True) for one in parts)
    return plain and not any(one.get("class") in ("COLUMN_REF", "SUBQUERY") for one in parts)


def _is_text(node: Node) -> bool:
    """Return whether a node is a text whose number is not obvious: `'1e9'`, a time, an interval."""
    literal: Node = node.get("literal", {})
    return literal.get("kind") == "STRING" and not literal["text"].strip().isdecimal()


def _own(node: Node) -> float:
    """Return the largest number among a call's own arguments, nested calls of such functions excluded; at least 1."""
    return max((largest(argument) for argument in node.get("arguments", ())), default=0.0) or 1.0
