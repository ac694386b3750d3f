"""Rows up to the caps: rows, bytes, cells, and where the last answer ended."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from thresher.connectors import Caps, ResultColumn
from thresher.connectors.statements import fill

COLUMNS = (ResultColumn("n", "INTEGER"), ResultColumn("x", "TEXT"))


def endless(read: list[int] | None = None) -> Iterator[tuple[int, str]]:
    """Rows without end; notes which were taken."""
    for number in count():
        if read is not None:
            read.append(number)
        yield number, "x" * 10


def test_a_source_without_end_is_left_after_one_row_too_many() -> None:
    """Whether there is more is known from one further row, and no other is taken."""
    read: list[int] = []

    filled = fill(COLUMNS, endless(read), Caps(rows=3))

    assert [row[0] for row in filled.rows] == [0, 1, 2]
    assert (filled.truncated, filled.more) == ("rows", True)
    assert read == [0, 1, 2, 3]


def test_a_source_that_ends_at_the_cap_is_whole() -> None:
    """Exactly as many rows as allowed is not truncated."""
    filled = fill(COLUMNS, [(1,), (2,)], Caps(rows=2))

    assert (filled.truncated, filled.more) == ("", False)


def test_bytes_end_an_answer_before_its_rows_do() -> None:
    """The row that does not fit is left for the next question."""
    filled = fill(COLUMNS, endless(), Caps(rows=1_000, bytes=100))

    assert (len(filled.rows), filled.truncated, filled.more) == (5, "bytes", True)


def test_the_next_answer_begins_where_the_last_ended() -> None:
    """Skipped rows are neither given nor counted."""
    filled = fill(COLUMNS, endless(), Caps(rows=2, skip=5))

    assert [row[0] for row in filled.rows] == [5, 6]


def test_a_first_row_beyond_the_bytes_is_clipped_until_it_fits() -> None:
    """An answer always gets further: at least one row comes, shortened and counted."""
    filled = fill(COLUMNS, [("a" * 1_000, "b" * 1_000), ("c" * 300, "d")], Caps(bytes=300, cell=2_000))

    assert len(filled.rows) == 1
    assert filled.clipped == 2
    assert filled.rows[0][0].startswith("aaaa")
    assert (filled.truncated, filled.more) == ("bytes", True)


def test_nothing_gives_nothing() -> None:
    """An empty answer, and one that is skipped past its end."""
    assert fill(COLUMNS, [], Caps()).rows == ()
    assert fill(COLUMNS, [(1,)], Caps(skip=10)).rows == ()
