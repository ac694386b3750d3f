"""Structured logging: one JSON object a line on stderr, a trace id in each, secrets masked.

Invariant: no value under a secret-looking key, and no credential inside an address, reaches a handler unmasked.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
import secrets
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast

from thresher.core.encoding import dumps

_trace: ContextVar[str] = ContextVar("thresher_trace", default="")
_SECRET_KEY = re.compile(
    r"(^|[_-])(token|(authorization|password|passwd|secret|api[_-]?key|access[_-]?key|private[_-]?key|cookie|credential)s?)"
    r"($|[_-])",
    re.IGNORECASE,
)
_URL_CREDENTIAL = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)[^/\s:@]*:[^/\s@]*@", re.I)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.I)
MASK = "***"


def mask_text(text: str) -> str:
    """Hide credentials inside addresses and authorization values."""
    return _BEARER.sub(rf"\1 {MASK}", _URL_CREDENTIAL.sub(rf"\g<scheme>{MASK}@", text))


def mask(value: Any) -> Any:
    """Return the value with every secret-looking entry replaced by `***`, at any depth."""
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value).items()
        return {name: MASK if _SECRET_KEY.search(str(name)) and item else mask(item) for name, item in entries}
    if isinstance(value, list | tuple):
        return [mask(item) for item in cast("list[Any]", value)]
    return value


def new_trace() -> str:
    """A fresh trace id: 16 hexadecimal characters."""
    return secrets.token_hex(8)


def current_trace() -> str:
    """The trace id of the work in progress; empty outside `traced`."""
    return _trace.get()


@contextmanager
def traced(trace_id: str = "") -> Generator[str]:
    """Give everything logged inside one trace id; nested calls keep the outer one."""
    outer = _trace.get()
    if outer and not trace_id:
        yield outer
        return
    token = _trace.set(trace_id or new_trace())
    try:
        yield _trace.get()
    finally:
        _trace.reset(token)


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON; fields given by `event` stand beside the message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line, without a line break inside."""
        line: dict[str, Any] = {
            "at": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": mask_text(record.getMessage()),
        }
        if trace := current_trace():
            line["trace"] = trace
        line |= mask(getattr(record, "fields", {}))
        if record.exc_info:
            line["error"] = mask_text(self.formatException(record.exc_info))
        return dumps(line)


def event(logger: logging.Logger, name: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log one decision: a short name and its fields (ids, scores, milliseconds; never arguments above DEBUG)."""
    logger.log(level, name, extra={"fields": fields})


def configure_logging(
    level: str = "INFO", stream: TextIO | None = None, *, handler: logging.Handler | None = None
) -> None:
    """Send the `thresher` loggers as JSON lines to a stream (stderr unless told) or to a handler such as a file's.

    Repeat calls replace the handler.
    """
    root = logging.getLogger("thresher")
    for former in list(root.handlers):
        root.removeHandler(former)
    handler = handler or logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    root.addHandler(handler)
    root.setLevel(level.upper())
    root.propagate = False
