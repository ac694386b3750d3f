"""A database engine whose driver misbehaves: statements that do not stop, sessions that die, sign-ins that hang."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any

from thresher.connectors import Caps, Health, Profiles, Rows, Schema, SessionTag
from thresher.sqlguard import Knowledge


class DriverError(Exception):
    """What this engine's driver raises."""


class Session:
    """A session that does what the statement says."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.stopped = threading.Event()
        self.closed = threading.Event()
        self.dead = False

    def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        if self.dead:
            raise ConnectionResetError("gone")
        if sql == "wrong":
            raise DriverError("wrong: syntax")
        if sql in ("slow", "stuck"):
            self.engine.running.set()
            (self.stopped if sql == "slow" else self.closed).wait(20)
            raise DriverError("cancelled")
        return Rows((), ((self.engine.sessions.index(self),),))

    def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        return Rows((), ())

    def knowledge(self) -> Knowledge:
        self.engine.asked += 1
        return Knowledge()

    def stamp(self) -> str:
        return self.engine.stamp

    def reflect(self, limit: int) -> Schema:
        return Schema("postgresql", "", "", ())

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        return Profiles()

    def health(self) -> Health:
        return Health(ok=True)

    def describe(self, tag: SessionTag) -> Rows:
        return Rows((), ())

    def cancel(self) -> None:
        self.stopped.set()

    def reset(self) -> bool:
        return self.engine.reset()

    def close(self) -> None:
        self.closed.set()
        raise DriverError("closing fails too")


class Engine:
    """Opens such sessions."""

    errors: tuple[type[Exception], ...] = (DriverError, OSError)

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.running = threading.Event()
        self.may_open = threading.Event()
        self.may_open.set()
        self.reset: Callable[[], bool] = lambda: True
        self.stamp = "1"
        self.asked = 0
        self.refuses = False
        self.closed = False

    def open(self) -> Session:
        self.may_open.wait(20)
        if self.refuses:
            raise ConnectionRefusedError("password=correct-horse refused")
        self.sessions.append(Session(self))
        return self.sessions[-1]

    def close(self) -> None:
        self.closed = True
