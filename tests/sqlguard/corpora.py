"""Statements with known verdicts: `allow|deny`, a tab and SQL; a third column gives the rule where it matters."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "corpora"


def statements(name: str) -> list[tuple[str, str, str]]:
    r"""Return verdict, SQL and rule of every line; `\\n`, `\\r`, `\\t` and `\\v` stand for these characters."""
    lines = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(row[0], _unescaped(row[1]), row[2] if len(row) > 2 else "") for row in rows]


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r").replace("\\v", "\v")
