"""MySQL and MariaDB: one query, its plan, a description of a table, or SHOW.

Invariant: executable comments, session variables and files are refused wherever they stand; the end of a string must
not depend on an unknown setting (`sql_mode` among the options).
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from typing import Final

from thresher.sqlguard.grammars import BEGINNINGS, Grammar, check_pairs, refusals, words
from thresher.sqlguard.records import Dialect, Knowledge, StatementLimits, Verdict
from thresher.sqlguard.tokens import Token, TokenLexicon, lexicon, read_tokens
from thresher.sqlguard.trees import StatementText, explained, fold, known_functions, read_query, texts
from thresher.sqlguard.verdicts import Refusal

_ESCAPED: Final = r"'(?:[^'\\]|''|\\.)*+'"
_DOUBLE_ESCAPED: Final = r'"(?:[^"\\]|""|\\.)*+"'
_PLAIN: Final = r"'(?:[^']|'')*+'"
_DOUBLE: Final = r'"(?:[^"]|"")*+"'
_BACKQUOTED: Final = r"`(?:[^`]|``)*+`"


def _lexicon(strings: str, names: str = _BACKQUOTED) -> TokenLexicon:
    """Return how MySQL splits a text into words, for one reading of its quotes."""
    return lexicon(
        ", . ( ) + - * / % = < > <= >= <> != <=> ! ~ & | ^ << >> && || -> ->>",
        strings=strings,
        names=names,
        line=r"(?:--(?=[ \t\r\n]|\Z)|\#)[^\n]*+",
        prefixes="nN",
        system=r"@@(?:(?:global|session|local)\.)?[A-Za-z_]\w*+",
        quote=("`", "`"),
        refused={
            "--": ("operator", "Some engines read two minus signs as a comment.", "Put a space after or between them."),
            ":=": ("operator", "The statement sets a session variable.", "Only statements that read may run here."),
        },
        introducers=words("_UTF8 _UTF8MB3 _UTF8MB4 _LATIN1 _BINARY _ASCII"),
    )


_LEXICONS: Final = {
    (True, False): _lexicon(f"{_ESCAPED}|{_DOUBLE_ESCAPED}"),
    (False, False): _lexicon(f"{_PLAIN}|{_DOUBLE}"),
    (True, True): _lexicon(_ESCAPED, f"{_BACKQUOTED}|{_DOUBLE}"),
    (False, True): _lexicon(_PLAIN, f"{_BACKQUOTED}|{_DOUBLE}"),
}
"""Lexicons by whether a backslash escapes in strings, and whether double quotes enclose names."""

_INFORMATION: Final = words(
    "tables columns views schemata routines parameters triggers events partitions key_column_usage"
    " table_constraints referential_constraints check_constraints statistics character_sets collations engines"
    " keywords sql_functions collation_character_set_applicability columns_extensions table_constraints_extensions"
    " view_table_usage view_routine_usage column_statistics st_geometry_columns st_spatial_reference_systems"
    " st_units_of_measure geometry_columns spatial_ref_sys applicable_roles enabled_roles schema_privileges"
    " table_privileges column_privileges"
)
_SERIES: Final = re.compile(r"seq_(\d+)_to_(\d+)(?:_step_(\d+))?")
"""Tables of MariaDB's sequence engine, which exist as soon as they are named."""
_SYSTEMS: Final = words("mysql performance_schema sys")
_HELP: Final = words("help_topic help_keyword help_category help_relation time_zone time_zone_name")


def _relation(parts: tuple[str, ...]) -> str:
    """Return why a relation with secrets, or the statements of others, must not be read."""
    if len(parts) < 2:
        return ""
    schema, table = _system(parts[-2]), parts[-1]
    if schema in _SYSTEMS and not (schema == "mysql" and table in _HELP):
        return f"{schema}.{table} shows accounts or the statements of others."
    if schema == "information_schema" and table not in _INFORMATION:
        return f"information_schema.{table} is not on the list of views that describe tables."
    return ""


def _system(schema: str) -> str:
    """Return the system schema that a collation could equate with a name; else the name itself."""
    alike = (
        system
        for system in ("information_schema", *_SYSTEMS)
        if len(system) == len(schema) and all(a == b or not b.isascii() for a, b in zip(system, schema, strict=True))
    )
    return next(alike, schema)


GRAMMAR: Final = Grammar(
    tree="mysql",
    lexicon=_LEXICONS[True, False],
    starts=words("SELECT WITH VALUES TABLE"),
    refused=refusals(
        writes="INSERT UPDATE DELETE REPLACE DROP CREATE ALTER TRUNCATE RENAME GRANT REVOKE CALL INTO PURGE"
        " OPTIMIZE TRIGGER PROCEDURE DELAYED LOW_PRIORITY",
        file="OUTFILE DUMPFILE INFILE",
        locks="LOCK UNLOCK",
        statement="DECLARE SIGNAL RESIGNAL KILL LOAD RETURN WHILE LOOP ITERATE LEAVE ANALYZE DESCRIBE EXPLAIN"
        " UNDO RELEASE HANDLER",
        clause="SQL_CALC_FOUND_ROWS",
    ),
    structural=words(
        "SELECT DISTINCT DISTINCTROW FROM WHERE ON USING AND OR XOR NOT IN AS BY HAVING LIMIT VALUES EXISTS CASE"
        " WHEN THEN ELSE BETWEEN LIKE RLIKE REGEXP IS UNION ALL EXCEPT INTERSECT JOIN STRAIGHT_JOIN ORDER GROUP"
        " COLLATE OVER INDEX KEY PARTITION LATERAL DIV MATCH BINARY CAST DECIMAL NUMERIC VARCHAR CHAR VARBINARY"
        " FLOAT DOUBLE INTERVAL"
    ),
    contextual={
        "AGAINST": frozenset({")"}),
        "OF": frozenset({"MEMBER"}),
        "FILTER": frozenset({")"}),
        "COLUMNS": frozenset({"string"}),
        "DATETIME": frozenset({","}),
        "ROW": frozenset({"VALUES", ",", "=", "IN", "(", "<", ">", "<>", "!="}),
        "ANY": frozenset({"=", "<", ">", "<=", ">=", "<>", "!="}),
        "SOME": frozenset({"=", "<", ">", "<=", ">=", "<>", "!="}),
        "ESCAPE": frozenset({"string"}),
        "OFFSET": frozenset({"number"}),
        "GROUP": frozenset({"WITHIN"}),
    },
    sized=words("repeat weight_string space lpad rpad random_bytes sformat lpad_oracle rpad_oracle"),
    relation=_relation,
    systems=words(
        "version version_comment version_compile_os sql_mode time_zone system_time_zone lower_case_table_names"
        " character_set_client character_set_connection character_set_results character_set_server"
        " character_set_database collation_connection collation_server collation_database transaction_isolation"
        " tx_isolation transaction_read_only tx_read_only max_allowed_packet group_concat_max_len autocommit"
        " max_execution_time max_statement_time innodb_version"
    ),
)

_PATTERNS: Final = words(
    "TABLES COLUMNS FIELDS INDEX INDEXES KEYS DATABASES SCHEMAS ENGINES COLLATION WARNINGS TRIGGERS"
)


def read(sql: str, dialect: Dialect, knowledge: Knowledge, limits: StatementLimits) -> Verdict:
    """Return the verdict for a read-only statement of MySQL or MariaDB.

    Args:
        sql: The text.
        dialect: MySQL or MariaDB.
        knowledge: The functions of the database, and `sql_mode` among the options.
        limits: Bounds on the text.

    Raises:
        Refusal: The statement breaks a rule.
    """
    text = _cut(sql, knowledge.options.get("sql_mode"))
    query = functools.partial(_read_query, dialect=dialect, knowledge=knowledge, limits=limits)
    start = text.tokens[0].keyword
    if start == "SHOW":
        return _read_show(text)
    if start in {"EXPLAIN", "DESCRIBE", "DESC"}:
        if _describes(text.tokens):
            return Verdict(True, kind="describe", tables=(".".join(token.text for token in text.tokens[1::2]),))
        return explained(query(text.behind(_plan_words(text))))
    return query(text)


def _cut(sql: str, mode: str | None) -> StatementText:
    """Split a text into words.

    Args:
        sql: The text.
        mode: The session's `sql_mode`; None if unknown, when every mode must lead to the same words.

    Raises:
        Refusal: The words depend on a setting.
    """
    if mode is not None:
        flags = {flag.strip() for flag in mode.upper().split(",")}
        if flags & {"ORACLE", "MSSQL"}:
            raise Refusal("syntax", "The session uses another SQL dialect than MySQL's.")
        ansi = bool(flags & {"ANSI", "ANSI_QUOTES", "DB2", "MAXDB", "POSTGRESQL"})
        return StatementText(*read_tokens(sql, _LEXICONS["NO_BACKSLASH_ESCAPES" not in flags, ansi]))
    text = StatementText(*read_tokens(sql, _LEXICONS[True, False]))
    others = [(False, False)] * ("\\" in sql) + [(True, True), (False, True)] * ('"' in sql)
    for setting in others:
        if not _alike(text.tokens, sql, _LEXICONS[setting]):
            hint = "Double the quotes inside strings, and write no backslash before one."
            raise Refusal("syntax", "The end of a string depends on a session setting.", hint=hint)
    return text


def _alike(tokens: Sequence[Token], sql: str, other: TokenLexicon) -> bool:
    """Return whether another reading of the quotes gives words at the same places."""
    try:
        cut, _ = read_tokens(sql, other)
    except Refusal:
        return False
    return [token[2:] for token in cut] == [token[2:] for token in tokens]


def _read_query(text: StatementText, dialect: Dialect, knowledge: Knowledge, limits: StatementLimits) -> Verdict:
    """Read a query; words that the two engines read differently are checked here.

    Raises:
        Refusal: The query breaks a rule.
    """
    for first, second in itertools.pairwise(text.tokens):
        if first.keyword == "FOR" and second.keyword in {"UPDATE", "SHARE", "SYSTEM_TIME", "PORTION"}:
            rule = "locks" if second.text in {"UPDATE", "SHARE"} else "clause"
            raise Refusal(rule, f"FOR {second.text} does not only read.", hint="Leave it out.", offset=first.start)
    check_pairs(text.tokens, {("VALUE", "FOR"): "A sequence is moved."})
    verdict = read_query(text, GRAMMAR, known_functions(dialect, knowledge), limits)
    sequences = {fold(name) for name in knowledge.sequences}
    for table in map(fold, verdict.tables):
        _check_sequence(table, sequences, limits)
    return verdict


def _check_sequence(table: str, sequences: set[str], limits: StatementLimits) -> None:
    """Refuse sequences, which MariaDB reads like tables, and its row-generating tables.

    Raises:
        Refusal: `relation`, or `cost` if `seq_1_to_1000000000` generates too many rows.
    """
    if table in sequences:
        hint = "Ask for the largest value of the column that the sequence numbers."
        raise Refusal("relation", f"{table[:60]} is a sequence, not a table.", hint=hint)
    series = _SERIES.fullmatch(table.rpartition(".")[2])
    if series is None:
        return
    first, last, step = (int(part or 1) for part in series.groups())
    if abs(last - first) > limits.literal_count * max(step, 1):
        reason = f"{table[:60]} would generate more than {limits.literal_count:,} rows."
        raise Refusal("cost", reason, hint="Ask for fewer rows.")


def _plan_words(text: StatementText) -> int:
    """Return the number of words before the query in EXPLAIN.

    Raises:
        Refusal: A form that runs the query or concerns another session.
    """
    form = texts(text.tokens, 4)
    if form[1:2] == ["EXTENDED"] or form[1:2] == ["PARTITIONS"]:
        return 2
    if form[1:3] == ["FORMAT", "="]:
        return 4
    return 1


def _is_name(token: Token) -> bool:
    return token.kind == "name" or (token.kind == "word" and token.text not in GRAMMAR.starts | BEGINNINGS)


def _describes(tokens: Sequence[Token]) -> bool:
    """Return whether it is `DESCRIBE table` or `DESCRIBE schema.table`."""
    found = tokens[1:]
    names = len(found) in {1, 3} and _is_name(found[0]) and _is_name(found[-1])
    return names and (len(found) == 1 or found[1].keyword == ".")


def _read_show(text: StatementText) -> Verdict:
    """Read `SHOW [FULL] TABLES|COLUMNS|... [FROM name[.name]]... [LIKE 'text']`, `SHOW CREATE TABLE|VIEW name`.

    Raises:
        Refusal: Any other form.
    """
    rest = [token for token in text.tokens[1:] if token.keyword not in {"FULL", "EXTENDED"}]
    names = rest[1:] if rest and rest[0].keyword in _PATTERNS else None
    if texts(rest, 2) in (["CREATE", "TABLE"], ["CREATE", "VIEW"], ["TABLE", "STATUS"], ["CHARACTER", "SET"]):
        names = rest[2:]
    if names is None or not all(_may_follow_show(token) for token in names):
        hint = "Ask information_schema, or SHOW TABLES, COLUMNS, INDEX or CREATE TABLE."
        raise Refusal("statement", "This form of SHOW is not allowed.", hint=hint, offset=text.tokens[0].start,
                      kind="show")  # fmt: skip
    return Verdict(True, kind="show", limited=True)


def _may_follow_show(token: Token) -> bool:
    """Return whether a word may follow SHOW: a name, a pattern, FROM, IN or LIKE."""
    if token.kind == "symbol":
        return token.text == "."
    return token.kind in {"name", "string"} or (token.kind == "word" and token.text not in GRAMMAR.refused)
