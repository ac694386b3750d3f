"""The JSON lines that cross the pipes between the daemon and the process that reads a DuckDB file.

Requests are `NUMBER METHOD ARGUMENTS` and `NUMBER cancel []`, answers `NUMBER done RESULT` and `NUMBER failed FAILURE`.

Invariant: an answer is validated against the record that it becomes. The file's author may have taken over the process
that wrote it, so nothing in it is executed (no pickle), and lines have a maximum length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.records import Caps, Health, Profile, Profiles, Rows, Schema, SessionTag
from thresher.sqlguard import Knowledge

LONGEST: Final = 64 << 20
"""Maximum bytes of a line; the schema of 20,000 tables takes half."""
MODULE: Final = "thresher.connectors.duckdb"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call failed.

    Attributes:
        code: Code of the error.
        message: Message of the error.
        hint: Hint of the error.
        spent: Whether the process must not serve further calls; the call may succeed in another one.
    """

    code: str
    message: str
    hint: str
    spent: bool


_PAIRS: Final = TypeAdapter(
    tuple[list[tuple[tuple[str, str, str], Profile]], list[tuple[tuple[str, str], int]]],
)


def _as_pairs(profiles: Profiles) -> list[list[Any]]:
    """Profiles as pairs, because JSON keys cannot be tuples."""
    return [list(profiles.columns.items()), list(profiles.rows.items())]


def _from_pairs(pairs: Any) -> Profiles:
    columns, rows = _PAIRS.validate_python(pairs)
    return Profiles(dict(columns), dict(rows))


_Profiles: TypeAlias = Annotated[Profiles, PlainSerializer(_as_pairs), PlainValidator(_from_pairs)]

START: Final = TypeAdapter(tuple[Path, ConnectorOptions])
"""The first line: the file, and the options."""
FAILURE: Final = TypeAdapter(Failure)
ARGUMENTS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "knowledge": TypeAdapter(tuple[()]),
    "run": TypeAdapter(tuple[str, SessionTag, Caps, list[Any]]),
    "explain": TypeAdapter(tuple[str, SessionTag, float]),
    "reflect": TypeAdapter(tuple[int]),
    "stamp": TypeAdapter(tuple[()]),
    "profiles": TypeAdapter(tuple[Schema, list[tuple[str, str, str]], float]),
    "health": TypeAdapter(tuple[()]),
    "describe": TypeAdapter(tuple[SessionTag]),
}
"""The arguments of each session method that can be called."""
RESULTS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "knowledge": TypeAdapter(Knowledge),
    "run": TypeAdapter(Rows),
    "explain": TypeAdapter(Rows),
    "reflect": TypeAdapter(Schema),
    "stamp": TypeAdapter(str),
    "profiles": TypeAdapter(_Profiles),
    "health": TypeAdapter(Health),
    "describe": TypeAdapter(Rows),
}
