"""SQL Server: one query.

Invariant: a batch needs no semicolon between its statements, so no word that begins one may stand anywhere without
quotes; such words are reserved there.
"""

from __future__ import annotations

from typing import Final

from thresher.sqlguard.grammars import Grammar, check_pairs, refusals, words
from thresher.sqlguard.records import Dialect, Knowledge, Limits, Verdict
from thresher.sqlguard.tokens import lexicon, read_tokens
from thresher.sqlguard.trees import Text, known_functions, read_query

_CATALOG: Final = words(
    "tables columns all_columns schemas types objects all_objects indexes index_columns foreign_keys"
    " foreign_key_columns views key_constraints default_constraints check_constraints extended_properties"
    " computed_columns identity_columns partitions partition_schemes stats stats_columns sysreferences table_types"
    " synonyms sequences periods xml_indexes"
)
_SECRET: Final = words(
    "syslogins sysxlogins sysprocesses sysservers sysremotelogins sysoledbusers syslockinfo sysusers sysmembers"
    " syspermissions sysprotects sysconfigures syscurconfigs sysdatabases sysdevices sysaltfiles syscacheobjects"
    " sysperfinfo spt_values"
)
_DATABASES: Final = words("master msdb tempdb model ssisdb distribution resource")


def _relation(parts: tuple[str, ...]) -> str:
    """What holds logins and settings, what others run, and other servers."""
    name = parts[-1]
    if len(parts) > 3 or "" in parts:
        return "A name with so many parts leads to another server, or leaves a part open."
    if len(parts) == 3 and parts[0] in _DATABASES:
        return f"{parts[0]} is the server's own database."
    if len(parts) > 1 and parts[-2] == "sys" and name not in _CATALOG:
        return f"sys.{name} is not among the views that describe tables."
    if name in _SECRET or name.startswith(("dm_", "#")):
        return f"{name} holds logins or settings, or what others run."
    return ""


GRAMMAR: Final = Grammar(
    tree="tsql",
    lexicon=lexicon(
        ", . ( ) + - * / % = < > <= >= <> != & | ^ ~ ||",
        names=r'"(?:[^"]|"")*+"|\[(?:[^\]]|\]\])*+\]',
        word=r"[^\W\d][\w$#]*+",
        prefixes="nN",
        system=r"@@[A-Za-z_]\w*+",
        quote=("[", "]"),
    ),
    starts=words("SELECT WITH"),
    refused=refusals(
        writes="ADD ALTER CREATE DELETE DROP INSERT INTO MERGE TRUNCATE UPDATE UPDATETEXT WRITETEXT GRANT REVOKE"
        " DENY BULK IDENTITY_INSERT TRIGGER",
        statement="BACKUP BEGIN BREAK BROWSE CHECKPOINT CLOSE COMMIT CONTINUE CURSOR DBCC DEALLOCATE DECLARE DUMP"
        " ERRLVL EXEC EXECUTE EXIT GOTO IF KILL LOAD OPEN PRINT PROC PROCEDURE RAISERROR READTEXT"
        " RECONFIGURE REPLICATION RESTORE RETURN REVERT ROLLBACK SAVE SET SETUSER SHUTDOWN STATISTICS"
        " TEXTSIZE TRAN TRANSACTION USE WAITFOR WHILE SECURITYAUDIT THROW RECEIVE",
        file="OPENROWSET OPENQUERY OPENDATASOURCE OPENXML",
        locks="HOLDLOCK UPDLOCK XLOCK TABLOCK TABLOCKX PAGLOCK ROWLOCK SERIALIZABLE REPEATABLEREAD",
        clause="QUERYTRACEON",
    ),
    structural=words(
        "SELECT DISTINCT TOP FROM WHERE ON AND OR NOT IN AS BY HAVING VALUES EXISTS CASE WHEN THEN ELSE BETWEEN"
        " LIKE IS UNION ALL EXCEPT INTERSECT JOIN APPLY ORDER GROUP ANY SOME OVER WITH OPTION PIVOT UNPIVOT INDEX"
        " ESCAPE OFFSET FETCH NEXT VARCHAR NVARCHAR NCHAR DECIMAL NUMERIC VARBINARY BINARY FLOAT DATETIME2"
        " DATETIMEOFFSET TIME PERCENT CAST USING CONTAINS FREETEXT"
    ),
    contextual={
        "SETS": frozenset({"GROUPING"}),
        "ROLLUP": frozenset({"BY", ","}),
        "CUBE": frozenset({"BY", ","}),
        "PATH": frozenset({"XML"}),
        "ROOT": frozenset({","}),
        "RAW": frozenset({"XML"}),
        "TABLESAMPLE": frozenset({"word", "name"}),
    },
    sized=words("replicate space generate_series"),
    relation=_relation,
    systems=words("version language langid rowcount trancount spid microsoftversion datefirst dbts max_precision"),
)
_PAIRS: Final = {
    ("VALUE", "FOR"): "A sequence is moved.",
    ("FOR", "SYSTEM_TIME"): "Rows of the past are read.",
}


def read(sql: str, dialect: Dialect, knowledge: Knowledge, limits: Limits) -> Verdict:
    """The verdict of a statement of SQL Server that only reads.

    Args:
        sql: The text.
        dialect: SQL Server's.
        knowledge: Of the database: its functions.
        limits: What the text may be at most.

    Raises:
        Refused: What it broke.
    """
    text = Text(*read_tokens(sql, GRAMMAR.lexicon))
    check_pairs(text.tokens, _PAIRS)
    return read_query(text, GRAMMAR, known_functions(dialect, knowledge), limits)
