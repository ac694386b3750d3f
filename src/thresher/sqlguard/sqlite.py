"""SQLite: one query, its plan, or a pragma that only shows.

Invariant: double quotes, backquotes and brackets enclose names; a pragma is read separately and must not set a value.
"""

from __future__ import annotations

import functools
import itertools
from typing import Final

from thresher.sqlguard.grammars import Grammar, refusals, words
from thresher.sqlguard.records import Dialect, Knowledge, StatementLimits, Verdict
from thresher.sqlguard.tokens import lexicon, read_tokens
from thresher.sqlguard.trees import StatementText, explained, known_functions, read_query, texts
from thresher.sqlguard.verdicts import Refusal

_SHOWN: Final = words(
    "table_info table_xinfo table_list index_info index_list index_xinfo foreign_key_list collation_list"
    " function_list compile_options"
)
"""Pragmas that show, whatever is in their parentheses."""

_VALUES: Final = words(
    "encoding page_count page_size user_version schema_version application_id freelist_count foreign_keys"
)
"""Pragmas that show without parentheses and set with them."""

_BELOW: Final = words("sqlite_dbpage sqlite_stmt dbstat sqlite_memstat sqlite_parameters bytecode tables_used")


def _relation(parts: tuple[str, ...]) -> str:
    """Return why a relation below the level of tables must not be read."""
    if parts[-1] in _BELOW:
        return f"{parts[-1]} shows what lies below tables."
    if parts[-1].startswith("pragma_") and parts[-1] not in _TABLE_FORMS:
        return f"{parts[-1]} is a pragma that must not be read."
    return ""


_TABLE_FORMS: Final = frozenset(
    f"pragma_{name}" for name in _SHOWN | _VALUES if name not in {"function_list", "compile_options"}
)

GRAMMAR: Final = Grammar(
    tree="sqlite",
    lexicon=lexicon(
        ", . ( ) + - * / % = == < > <= >= <> != << >> & | ~ || -> ->>",
        names=r'"(?:[^"]|"")*+"|`(?:[^`]|``)*+`|\[[^\]]*+\]',
    ),
    starts=words("SELECT WITH VALUES"),
    refused=refusals(
        writes="INSERT UPDATE DELETE REPLACE DROP CREATE ALTER INTO RETURNING REINDEX TRIGGER",
        statement="ATTACH DETACH VACUUM PRAGMA BEGIN COMMIT ROLLBACK SAVEPOINT RELEASE ANALYZE",
    ),
    structural=words(
        "SELECT DISTINCT FROM WHERE ON USING AND OR NOT IN AS BY HAVING LIMIT OFFSET VALUES EXISTS CASE WHEN THEN"
        " ELSE CAST BETWEEN LIKE GLOB REGEXP IS ISNULL NOTNULL UNION ALL EXCEPT INTERSECT JOIN ORDER GROUP COLLATE"
        " ESCAPE"
    ),
    contextual={
        "OVER": frozenset({")"}),
        "FILTER": frozenset({")"}),
        "MATCH": frozenset({"word", "name"}),
        "MATERIALIZED": frozenset({"NOT"}),
        "GROUP": frozenset({"WITHIN"}),
    },
    sized=words("randomblob zeroblob printf format generate_series"),
    relation=_relation,
)


def read(sql: str, dialect: Dialect, knowledge: Knowledge, limits: StatementLimits) -> Verdict:
    """Return the verdict for a read-only SQLite statement.

    Args:
        sql: The text.
        dialect: SQLite's.
        knowledge: The functions of the database.
        limits: Bounds on the text.

    Raises:
        Refusal: The statement breaks a rule.
    """
    text = StatementText(*read_tokens(sql, GRAMMAR.lexicon))
    start = texts(text.tokens, 3)
    if start[0] == "PRAGMA":
        return _read_pragma(text)
    _check_pairs(text)
    query = functools.partial(read_query, grammar=GRAMMAR, functions=known_functions(dialect, knowledge), limits=limits)
    if start == ["EXPLAIN", "QUERY", "PLAN"]:
        return explained(query(text.behind(3)))
    if start[0] == "EXPLAIN":
        return explained(query(text.behind(1)))
    return query(text)


def _check_pairs(text: StatementText) -> None:
    """Refuse `x IN name`, which reads a relation where the tree sees a column, and `NOT MATERIALIZED`.

    Queries copied into each place that names them double the plan each time, which takes half a minute to refuse and
    cannot be interrupted.

    Raises:
        Refusal: `clause` or `cost`.
    """
    for first, second in itertools.pairwise(text.tokens):
        if first.keyword == "NOT" and second.keyword == "MATERIALIZED":
            hint = "Leave out these words."
            raise Refusal("cost", "NOT MATERIALIZED copies the query.", hint=hint, offset=first.start)
        if first.keyword == "IN" and second.keyword != "(":
            hint = "Write IN (SELECT ... FROM ...)."
            raise Refusal("clause", "IN stands before the name of a relation.", hint=hint, offset=second.start)


def _read_pragma(text: StatementText) -> Verdict:
    """Read a pragma that shows: `name`, `schema.name`, `name(argument)`.

    Raises:
        Refusal: Any other pragma.
    """
    form = texts(text.tokens, len(text.tokens))[1:]
    tokens = list(text.tokens[1:])
    if form[1:2] == ["."] and tokens[0].kind in {"word", "name"}:
        form, tokens = form[2:], tokens[2:]
    name = tokens[0].text.lower() if tokens else ""
    bare = len(form) == 1 and tokens[0].kind in {"word", "name"}
    bracketed = len(form) == 4 and form[1] == "(" and form[3] == ")" and tokens[2].kind in {"word", "name", "string"}
    if (bare and name in _SHOWN | _VALUES) or (bracketed and name in _SHOWN):
        return Verdict(True, kind="pragma")
    hint = "Ask sqlite_master or pragma_table_info('...') for the schema."
    raise Refusal("statement", "This pragma is not on the list of those that only show.", hint=hint,
                  offset=text.tokens[0].start, kind="pragma")  # fmt: skip
