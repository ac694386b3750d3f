"""The ideas, read from their files.

A line is `SQL<TAB>what it would do[<TAB>allow]`. A leading `= ` marks an expression, `@ ` a table: these are tried at
every place of a query that accepts one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

FOLDER: Final = Path(__file__).with_name("ideas")
ENGINES: Final = ("postgresql", "sqlite", "duckdb", "mariadb")


@dataclass(frozen=True, slots=True)
class Idea:
    """One way to do harm.

    Attributes:
        kind: Kind of the text.
        sql: With `{T}` for a table and `{F}` for a file that does not exist.
        harm: What it would do.
        allowed: A control: it looks hostile but only reads.
    """

    kind: Literal["statement", "expression", "table"]
    sql: str
    harm: str
    allowed: bool = False

    def filled(self, *, table: str = "item", file: str = "/nowhere/stolen") -> str:
        """Return the text for one database."""
        return self.sql.replace("{T}", table).replace("{F}", file)


def ideas(engine: str) -> list[Idea]:
    """Return the ideas for an engine: the general ones and its own."""
    return [idea for name in ("every_engine", engine) for idea in _read(FOLDER / f"{name}.tsv")]


def _read(path: Path) -> list[Idea]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_idea(line) for line in lines if line and not line.startswith("#")]


def _idea(line: str) -> Idea:
    text, harm, *rest = line.split("\t")
    allowed = rest == ["allow"]
    if text.startswith("= "):
        return Idea("expression", text[2:], harm, allowed)
    return Idea("table", text[2:], harm, allowed) if text.startswith("@ ") else Idea("statement", text, harm, allowed)
