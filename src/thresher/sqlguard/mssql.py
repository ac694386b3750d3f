"""SQL Server: one query.

Invariant: a batch needs no semicolons between its statements, so no word that begins one may stand anywhere without
quotes; these words are reserved in T-SQL.
"""

from __future__ import annotations

from typing import Final

from thresher.sqlguard.grammars import Grammar, check_pairs, refusals, words
from thresher.sqlguard.records import Dialect, Knowledge, StatementLimits, Verdict
from thresher.sqlguard.tokens import lexicon, read_tokens
from thresher.sqlguard.trees import StatementText, known_functions, read_query

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
    """Return why a relation with logins, settings, the statements of others or on another server must not be read."""
    name = parts[-1]
    if len(parts) > 3 or "" in parts:
        return "A name with this many parts leads to another server or omits a part."
    if len(parts) == 3 and parts[0] in _DATABASES:
        return f"{parts[0]} is a system database."
    if len(parts) > 1 and parts[-2] == "sys" and name not in _CATALOG:
        return f"sys.{name} is not on the list of views that describe tables."
    if name in _SECRET or name.startswith(("dm_", "#")):
        return f"{name} shows logins, settings or the statements of others."
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
    ("FOR", "SYSTEM_TIME"): "The query reads the history of rows.",
}


def read(sql: str, dialect: Dialect, knowledge: Knowledge, limits: StatementLimits) -> Verdict:
    """Return the verdict for a read-only SQL Server statement.

    Args:
        sql: The text.
        dialect: SQL Server's.
        knowledge: The functions of the database.
        limits: Bounds on the text.

    Raises:
        Refusal: The statement breaks a rule.
    """
    text = StatementText(*read_tokens(sql, GRAMMAR.lexicon))
    check_pairs(text.tokens, _PAIRS)
    return read_query(text, GRAMMAR, known_functions(dialect, knowledge), limits)
