"""Drivers of databases that no test can start: they take down what is sent, and answer from a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Error(Exception):
    """What drivers raise."""


class Recorder:
    """A connection and its cursors in one; `log` holds every statement, and `rollback`, `close`, `cancel`.

    Args:
        answer: Gives column names and rows for a statement, or raises.
    """

    def __init__(self, answer: Callable[[str], tuple[Sequence[str], Sequence[Sequence[Any]]]]) -> None:
        self.answer = answer
        self.log: list[str] = []
        self.bound: list[Any] = []
        self.version = "19.3.0.0.0"
        self.module = self.action = self.clientinfo = ""
        self.call_timeout = self.timeout = 0
        self.converters: dict[int, Callable[[bytes], Any]] = {}
        self.autocommit = True

    def cursor(self) -> Cursor:
        return Cursor(self)

    def rollback(self) -> None:
        self.log.append("rollback")

    def close(self) -> None:
        self.log.append("close")

    def cancel(self) -> None:
        self.log.append("cancel")

    def is_healthy(self) -> bool:
        return True

    def add_output_converter(self, kind: int, convert: Callable[[bytes], Any]) -> None:
        self.converters[kind] = convert


class Cursor:
    """See `Recorder`."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.description: list[tuple[Any, ...]] | None = None
        self.rows: list[Sequence[Any]] = []
        self.arraysize = self.prefetchrows = 0

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, statement: str, *bind: Any, **options: Any) -> Cursor:
        self.recorder.log.append(statement)
        self.recorder.bound.append(bind)
        columns, rows = self.recorder.answer(statement)
        self.description = [(name, str, None) for name in columns] or None
        self.rows = list(rows)
        return self

    def fetchone(self) -> Sequence[Any] | None:
        return self.rows.pop(0) if self.rows else None

    def fetchall(self) -> list[Sequence[Any]]:
        rows, self.rows = self.rows, []
        return rows

    def cancel(self) -> None:
        self.recorder.log.append("cancel")

    def close(self) -> None:
        self.rows = []
