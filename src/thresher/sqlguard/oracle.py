"""Oracle: one query.

Invariant: a function without arguments needs no brackets there, so a qualified name must begin with a relation of the
statement, and an unqualified one may not be that of a user's function, where the catalog is known.
"""

from __future__ import annotations

from typing import Final

from thresher.sqlguard.grammars import Grammar, check_pairs, refusals, words
from thresher.sqlguard.records import Dialect, Knowledge, Limits, Verdict
from thresher.sqlguard.tokens import lexicon, read_tokens
from thresher.sqlguard.trees import Text, known_functions, read_query

_SCHEMAS: Final = words(
    "sys system outln dbsnmp audsys xdb ctxsys mdsys ordsys lbacsys dvsys dvf wmsys gsmadmin_internal appqossys"
    " ojvmsys olapsys exfsys sysman flows_files remote_scheduler_agent"
)
_SECRET: Final = words(
    "all_db_links user_db_links all_credentials user_credentials all_scheduler_credentials user_scheduler_credentials"
    " all_views_ae user$ link$ plan_table"
)


def _relation(parts: tuple[str, ...]) -> str:
    """What holds accounts and links, or what others run."""
    name = parts[-1]
    described = name == "dual" or name.startswith(("all_", "user_"))
    if name in _SECRET or name.startswith(("v$", "gv$", "v_$", "gv_$", "x$", "dba_", "cdb_")):
        return f"{name} holds accounts or links, or what others run."
    if len(parts) > 1 and parts[-2] in _SCHEMAS and not described:
        return f"{parts[-2]}.{name} is the engine's own."
    return ""


GRAMMAR: Final = Grammar(
    tree="oracle",
    lexicon=lexicon(
        ", . ( ) + - * / = < > <= >= <> != ^= || =>",
        strings=r"'(?:[^']|'')*+'|[qQ]'(?:\[.*?\]|\{.*?\}|\(.*?\)|<.*?>|(?P<fence>[^\s\[{(<']).*?(?P=fence))'",
        word=r"[^\W\d][\w$#]*+",
        prefixes="nN",
        refused={
            "@": ("relation", "A link leads to another database.", "Ask that database by a connection of its own."),
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
    ("WITH", "FUNCTION"): "A function is made in the statement.",
    ("WITH", "PROCEDURE"): "A procedure is made in the statement.",
    (".", "NEXTVAL"): "A sequence is moved.",
    (".", "CURRVAL"): "A sequence of the session is read.",
}


def read(sql: str, dialect: Dialect, knowledge: Knowledge, limits: Limits) -> Verdict:
    """The verdict of a statement of Oracle that only reads.

    Args:
        sql: The text.
        dialect: Oracle's.
        knowledge: Of the database: its functions.
        limits: What the text may be at most.

    Raises:
        Refused: What it broke.
    """
    text = Text(*read_tokens(sql, GRAMMAR.lexicon))
    check_pairs(text.tokens, _PAIRS)
    return read_query(text, GRAMMAR, known_functions(dialect, knowledge), limits)
