"""Oracle: one query.

Invariant: functions without arguments need no parentheses, so a qualified name must begin with a relation of the
statement, and an unqualified one must not be a user function if the catalog is known.
"""

from __future__ import annotations

from typing import Final

from thresher.sqlguard.grammars import Grammar, check_pairs, refusals, words
from thresher.sqlguard.records import Dialect, Knowledge, StatementLimits, Verdict
from thresher.sqlguard.tokens import lexicon, read_tokens
from thresher.sqlguard.trees import StatementText, known_functions, read_query

_SCHEMAS: Final = words(
    "sys system outln dbsnmp audsys xdb ctxsys mdsys ordsys lbacsys dvsys dvf wmsys gsmadmin_internal appqossys"
    " ojvmsys olapsys exfsys sysman flows_files remote_scheduler_agent"
)
_SECRET: Final = words(
    "all_db_links user_db_links all_credentials user_credentials all_scheduler_credentials user_scheduler_credentials"
    " all_views_ae user$ link$ plan_table"
)


def _relation(parts: tuple[str, ...]) -> str:
    """Return why a relation with accounts, links or the statements of others must not be read."""
    name = parts[-1]
    described = name == "dual" or name.startswith(("all_", "user_"))
    if name in _SECRET or name.startswith(("v$", "gv$", "v_$", "gv_$", "x$", "dba_", "cdb_")):
        return f"{name} shows accounts, links or the statements of others."
    if len(parts) > 1 and parts[-2] in _SCHEMAS and not described:
        return f"{parts[-2]}.{name} belongs to the engine."
    return ""


GRAMMAR: Final = Grammar(
    tree="oracle",
    lexicon=lexicon(
        ", . ( ) + - * / = < > <= >= <> != ^= || =>",
        strings=r"'(?:[^']|'')*+'|[qQ]'(?:\[.*?\]|\{.*?\}|\(.*?\)|<.*?>|(?P<fence>[^\s\[{(<']).*?(?P=fence))'",
        word=r"[^\W\d][\w$#]*+",
        prefixes="nN",
        refused={
            "@": ("relation", "A link leads to another database.", "Query that database through its own connection."),
        },
    ),
    starts=words("SELECT WITH"),
    refused=refusals(
        writes="INSERT UPDATE DELETE DROP CREATE ALTER RENAME GRANT REVOKE INTO TRIGGER NEXTVAL CURRVAL",
        locks="LOCK",
        statement="DECLARE AUDIT COMMENT SET EXCLUSIVE NOAUDIT VALIDATE",
    ),
    structural=words(
        "SELECT DISTINCT UNIQUE FROM WHERE ON USING AND OR NOT IN AS BY HAVING VALUES EXISTS CASE WHEN THEN ELSE"
        " BETWEEN LIKE IS UNION ALL INTERSECT MINUS EXCEPT JOIN ORDER GROUP ANY SOME LATERAL APPLY PIVOT UNPIVOT"
        " FOR PRIOR CONNECT CAST VARCHAR2 VARCHAR NVARCHAR2 NUMBER CHAR RAW FLOAT DECIMAL OF PARTITION"
        " SUBPARTITION OFFSET FETCH FIRST NEXT ESCAPE"
    ),
    contextual={
        "OVER": frozenset({")"}),
        "KEEP": frozenset({")"}),
        "SETS": frozenset({"GROUPING"}),
        "ROLLUP": frozenset({"BY", ","}),
        "CUBE": frozenset({"BY", ","}),
        "COLUMNS": frozenset({"string"}),
        "TIMESTAMP": frozenset({"AS"}),
        "SAMPLE": frozenset({"word", "name"}),
    },
    sized=words("lpad rpad"),
    relation=_relation,
    schemas=words("sys.standard"),
    bare_calls=True,
)
_PAIRS: Final = {
    ("WITH", "FUNCTION"): "The statement defines a function.",
    ("WITH", "PROCEDURE"): "The statement defines a procedure.",
    (".", "NEXTVAL"): "A sequence is moved.",
    (".", "CURRVAL"): "The statement reads a sequence of the session.",
}


def read(sql: str, dialect: Dialect, knowledge: Knowledge, limits: StatementLimits) -> Verdict:
    """Return the verdict for a read-only Oracle statement.

    Args:
        sql: The text.
        dialect: Oracle's.
        knowledge: The functions of the database.
        limits: Bounds on the text.

    Raises:
        Refusal: The statement breaks a rule.
    """
    text = StatementText(*read_tokens(sql, GRAMMAR.lexicon))
    check_pairs(text.tokens, _PAIRS)
    return read_query(text, GRAMMAR, known_functions(dialect, knowledge), limits)
