"""Statements whose verdict is known, against a guard: files, and the figures that come of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.core import InvalidInput
from thresher.evaluation.sql import LabelledStatement, dialect_of, judge_statements, read_statements, sql_figures
from thresher.sqlguard import Verdict

READ, WRITE = Verdict(True, kind="select"), Verdict(False, "writes", "It changes rows.")


def judge(sql: str) -> Verdict:
    """A guard that knows one word."""
    return WRITE if "DELETE" in sql else READ


def written(folder: Path, text: str | bytes) -> Path:
    """A file with this content."""
    path = folder / "statements.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_lines_are_expectation_statement_and_reason(tmp_path: Path) -> None:
    """Comments, blank lines, a byte order mark and line ends of any kind are passed over; tables are filled in."""
    text = (
        "\ufeff# statements\n\nallow\tSELECT 1 -- # one\r\ndeny\tDELETE FROM {{T2}}\t{{T2}} is gone\nAllow\tTABLE {{T}}"
    )

    assert read_statements(written(tmp_path, text)) == [
        LabelledStatement("SELECT 1 -- # one", "allow", "", 3),
        LabelledStatement("DELETE FROM customers", "deny", "{{T2}} is gone", 4),
        LabelledStatement("TABLE orders", "allow", "", 5),
    ]


def test_tabs_belong_to_the_statement_but_for_the_last(tmp_path: Path) -> None:
    """A disguise may hold tabs."""
    (statement,) = read_statements(written(tmp_path, "deny\tDELETE\tFROM\tt\twhite space"))

    assert (statement.sql, statement.why) == ("DELETE\tFROM\tt", "white space")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no statements"),
        ("# only a comment\n", "holds no statements"),
        ("allow\tSELECT 1\nSELECT 2", "line 2: it must begin with allow or deny"),
        ("maybe\tSELECT 1", "line 1: it must begin with allow or deny"),
        ("deny", "line 1: there is no SQL"),
        ("deny\t \twhy", "line 1: there is no SQL"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str | bytes, problem: str) -> None:
    """With its number, before anything is judged."""
    with pytest.raises(InvalidInput, match=problem):
        read_statements(written(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """As everywhere."""
    with pytest.raises(InvalidInput, match=r"cannot be read"):
        read_statements(tmp_path / "absent.tsv")


def test_figures_count_what_was_let_through() -> None:
    """Reads as a share, hostile ones each; what was judged otherwise is listed with the guard's reason."""
    lines = [("SELECT 1", "allow"), ("SELECT 'DELETE'", "allow"), ("DELETE FROM t", "deny"), ("DROP TABLE t", "deny")]
    statements = [LabelledStatement(sql, word, "because", at) for at, (sql, word) in enumerate(lines, 1)]  # type: ignore[arg-type]

    figures = sql_figures("sqlite", judge_statements(judge, statements))

    assert (figures.reads_accepted, figures.hostile_accepted) == (0.5, 1)
    assert (figures.statements, figures.reads, figures.hostile) == (4, 2, 2)
    assert [(one.line, one.expected, one.rule, one.reason) for one in figures.wrong] == [
        (2, "allow", "writes", "It changes rows."),
        (4, "deny", "", ""),
    ]
    assert figures.p50_ms is not None
    assert figures.p99_ms is not None
    assert 0 < figures.p50_ms <= figures.p99_ms


def test_a_share_of_nothing_is_none() -> None:
    """A file of hostile statements has no figure for reads."""
    figures = sql_figures("duckdb", judge_statements(judge, [LabelledStatement("DELETE FROM t", "deny", "", 1)]))

    assert (figures.reads_accepted, figures.hostile_accepted, figures.wrong) == (None, 0, ())


def test_dialects_have_the_names_that_people_use() -> None:
    """An unknown one is answered with the nearest."""
    assert [dialect_of(name) for name in ("PostgreSQL", "postgres", "sqlserver", " duckdb ")] == [
        "postgresql", "postgresql", "mssql", "duckdb",
    ]  # fmt: skip
    with pytest.raises(InvalidInput, match="mysql"):
        dialect_of("mysqll")
