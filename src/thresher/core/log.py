"""Structured logging: one JSON object a line on stderr, a trace id in each, secrets masked.

Invariant: no value under a secret-looking key, and nothing that shows by its form that it is a credential, reaches a
handler unmasked. What callers said - messages, arguments, errors that may quote them - reaches it only where the
setting `THRESHER_LOG_TEXT` is on. Libraries log through the same handler, from warnings upwards, under the same rules.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
import secrets
import sys
import traceback
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
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
_ASSIGNED = re.compile(
    r"(?P<name>\b(?:[\w-]*[_-])?(?:token|password|passwd|secret|api[_-]?key|access[_-]?key|private[_-]?key)[\"']?\s*[:=]\s*)"
    r"(?P<quote>[\"']?)[^\s\"',;&]{4,}",
    re.I,
)
_KNOWN_TOKEN = re.compile(
    # Published prefixes: our own, GitHub, GitLab, Slack, OpenAI/Anthropic, AWS, Google, Hugging Face, JSON Web Tokens.
    r"\b(?:thr_[\w-]{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|sk-[\w-]{16,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|hf_\w{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)",
    re.S,
)
_SHORTEST_TOKEN = 15
"""Characters of the shortest form above."""
MASK = "***"
WITHHELD = "not logged (THRESHER_LOG_TEXT is off)"


@dataclass(frozen=True, slots=True)
class CallerText:
    """A field of an event that holds or may quote what a caller wrote; logged only if texts are logged.

    Attributes:
        value: The text, or a value of texts; secrets in it are masked like everywhere.
    """

    value: Any


def mask_text(text: str) -> str:
    """Hide credentials: inside addresses, after `Bearer` or `password=`, and those that are known by their form."""
    # Most texts in a log line are short names: what cannot match is not searched for.
    if "@" in text:
        text = _URL_CREDENTIAL.sub(rf"\g<scheme>{MASK}@", text)
    if " " in text:
        text = _BEARER.sub(rf"\1 {MASK}", text)
    if ":" in text or "=" in text:
        text = _ASSIGNED.sub(rf"\g<name>\g<quote>{MASK}", text)
    return _KNOWN_TOKEN.sub(MASK, text) if len(text) >= _SHORTEST_TOKEN else text


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


def current_trace() -> str:
    """The trace id of the work in progress; empty outside `traced`."""
    return _trace.get()


@contextmanager
def traced(trace_id: str = "") -> Generator[str]:
    """Give everything logged inside one trace id, by default a new one; nested calls keep the outer one."""
    outer = _trace.get()
    if outer and not trace_id:
        yield outer
        return
    token = _trace.set(trace_id or secrets.token_hex(8))
    try:
        yield _trace.get()
    finally:
        _trace.reset(token)


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON; fields given by `event` stand beside the message.

    Args:
        text: Whether what callers said is part of it.
    """

    def __init__(self, *, text: bool = False) -> None:
        super().__init__()
        self._text = text

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
        line |= mask(self._allowed(getattr(record, "fields", {})))
        if record.exc_info and (error := record.exc_info[1]) is not None:
            # Whoever asked for the work may be quoted by what went wrong in it, and a library does not tell.
            quoting = bool(trace) or not _is_ours(record)
            told = self.formatException(record.exc_info) if self._text or not quoting else _without_words(error)
            line["error"] = mask_text(told)
        return dumps(line)

    def _allowed(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._shown(value) if isinstance(value, CallerText) else value for name, value in fields.items()}

    def _shown(self, said: CallerText) -> Any:
        return said.value if self._text else WITHHELD


def _without_words(error: BaseException) -> str:
    """The origin and type of an error and its causes, the first cause first, without their messages."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    parts = ["".join(traceback.format_tb(one.__traceback__)) + type(one).__qualname__ for one in reversed(chain)]
    return "\n".join(parts)


def _is_ours(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] == "thresher"


def _worth_a_line(record: logging.LogRecord) -> bool:
    """Below warnings, libraries log every message that passes, some with its text."""
    return _is_ours(record) or record.levelno >= logging.WARNING


def event(logger: logging.Logger, name: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log one decision: a short name and its fields (ids, scores, milliseconds; never arguments above DEBUG)."""
    logger.log(level, name, extra={"fields": fields})


def configure_logging(
    level: str = "INFO", stream: TextIO | None = None, *, handler: logging.Handler | None = None, text: bool = False
) -> None:
    """Write the log of the product and its libraries as JSON lines to one handler. A further call replaces it.

    Args:
        level: The minimum level of our own lines.
        stream: The stream to write to; stderr by default.
        handler: A handler to use instead of a stream, such as a file's.
        text: Whether what callers wrote is logged.
    """
    handler = handler or logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(text=text))
    handler.addFilter(_worth_a_line)
    for name, logger in logging.root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and logger.handlers and name != "thresher":
            logger.handlers.clear()  # a library's own would print past every rule
            logger.propagate = True
    ours = logging.getLogger("thresher")
    for place in (ours, logging.root):
        for former in [one for one in place.handlers if place is ours or isinstance(one.formatter, JsonFormatter)]:
            place.removeHandler(former)
        place.addHandler(handler)
    ours.setLevel(level.upper())
    ours.propagate = False
