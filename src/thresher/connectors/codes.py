"""Numbers of databases' errors that mean something else than a wrong statement.

Invariant: what is not here is `failed`: the statement is wrong, and the database's message says how.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Sort: TypeAlias = Literal["timeout", "waited", "sign-in", "away", "full", "locked", "damaged", "memory", "failed"]

POSTGRESQL: Final[tuple[tuple[str, Sort], ...]] = (
    ("57014", "timeout"), ("25P03", "timeout"), ("25P04", "timeout"), ("55P03", "waited"), ("28", "sign-in"),
    ("3D000", "sign-in"), ("53300", "full"), ("57P", "away"), ("08", "away"),
)  # fmt: skip
MYSQL: Final[Mapping[int, Sort]] = {
    1317: "timeout", 3024: "timeout", 1969: "timeout", 1028: "timeout", 1205: "waited", 3572: "waited",
    1044: "sign-in", 1045: "sign-in", 1049: "sign-in", 1698: "sign-in", 1130: "sign-in", 1129: "sign-in",
    1251: "sign-in", 1040: "full", 1203: "full", 1226: "full", 1053: "away", 1077: "away", 2002: "away", 2003: "away",
    2005: "away", 2006: "away", 2013: "away", 2026: "away", 2055: "away", 4031: "away", 1927: "away", 0: "away",
}  # fmt: skip
ORACLE: Final[Mapping[str, Sort]] = {
    "ORA-01013": "timeout", "ORA-03136": "away", "DPY-4024": "timeout", "ORA-30006": "waited", "ORA-00054": "waited",
    "ORA-01017": "sign-in", "ORA-28000": "sign-in", "ORA-28001": "sign-in", "ORA-01045": "sign-in",
    "ORA-01005": "sign-in", "DPY-4001": "sign-in", "DPY-3015": "sign-in", "ORA-12514": "sign-in",
    "DPY-6001": "sign-in", "DPY-6003": "sign-in", "ORA-00018": "full", "ORA-00020": "full", "ORA-12516": "full",
    "ORA-12541": "away", "ORA-12170": "away", "ORA-03113": "away", "ORA-03114": "away", "ORA-00028": "away",
    "ORA-01033": "away", "ORA-01034": "away", "ORA-01089": "away", "ORA-02396": "away",
    "DPY-1001": "away", "DPY-4011": "away", "DPY-6000": "away", "DPY-6005": "away",
}  # fmt: skip
SQLITE: Final[tuple[tuple[str, Sort], ...]] = (
    ("SQLITE_INTERRUPT", "timeout"), ("SQLITE_BUSY", "locked"), ("SQLITE_LOCKED", "locked"),
    ("SQLITE_CANTOPEN", "away"), ("SQLITE_NOTADB", "damaged"), ("SQLITE_IOERR", "away"), ("SQLITE_CORRUPT", "damaged"),
)  # fmt: skip
MSSQL: Final[tuple[tuple[str, Sort], ...]] = (
    ("HYT00", "timeout"), ("HY008", "timeout"), ("HYT01", "away"), ("28000", "sign-in"), ("08", "away"),
    ("IM002", "away"),
)  # fmt: skip
MSSQL_LOCK: Final = "(1222)"
"""The number of a lock that was not had in time, as the driver appends it."""
