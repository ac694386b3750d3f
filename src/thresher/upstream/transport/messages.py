"""Encodes and decodes JSON-RPC messages.

Invariant: a decoded message is a request, a notification or an answer; its numbers are finite, and its nesting and
number of values are bounded, because it is read on the event loop while all other sessions wait.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, PARSE_ERROR
from pydantic_core import from_json

from thresher.core import has_more_values
from thresher.upstream.transport.errors import Unusable

Message: TypeAlias = dict[str, Any]
Identity: TypeAlias = int | str

# In ASCII, so that a lone surrogate in an argument passes, as JSON allows.
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)")
"""An escape of a JSON text: a pair of surrogates, a lone one, or any other."""
_ENVELOPE = rb'(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,?|\s*"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")\s*,?){1,2}'
_OPENING = re.compile(rb"\s*\{" + _ENVELOPE + rb'\s*"(?:result|error)"')
_CLOSING = re.compile(rb"\}\s*," + _ENVELOPE + rb"\s*\}\s*\Z")
_END_BYTES = 300
MAX_MESSAGE_VALUES = 1_000_000
"""Maximum values of a message: a page with 10,000 tools of a hundred values each."""
MAX_VALUES = 250_000
"""Maximum values of a result or question. A long text is one value; a table may have 25,000 rows of ten columns."""
MAX_PARTS = 10_000
"""Maximum parts of content, which is checked part by part."""
_PARTS = ("content", "contents", "messages")


def encoded(**fields: Any) -> bytes:
    """One message in one line."""
    return _encode({"jsonrpc": "2.0", **fields}).encode("ascii")


def decoded(data: bytes | bytearray | str) -> Message | None:
    """Decode a message; None if the bytes are not one.

    An answer that is nested too deeply, or has more than `MAX_MESSAGE_VALUES`, becomes an error answer.
    """
    raw = data.encode(errors="replace") if isinstance(data, str) else data
    if has_more_values(raw, MAX_MESSAGE_VALUES):
        return _unread(raw, "its answer has too many values to be read")
    try:
        value: object = _parsed(raw)
    except ValueError as error:
        deep = "recursion limit" in str(error)
        return _unread(raw, "its answer is nested too deeply to be read") if deep else None
    if not isinstance(value, dict):
        return None
    message = cast("Message", value)
    if message.get("jsonrpc") != "2.0":
        return None
    known = isinstance(message.get("method"), str) or "result" in message or "error" in message
    return message if known else None


def _parsed(data: bytes | bytearray) -> Any:
    """Parse JSON; a lone surrogate, which programs write when they cut texts, becomes U+FFFD.

    Raises:
        ValueError: It is not JSON, or nested too deeply.
    """
    try:
        return from_json(data, allow_inf_nan=False)
    except ValueError:
        mended, count = _ESCAPE.subn(lambda found: b"\\ufffd" if found[1] else found[0], data)
        if not count:
            raise
        return from_json(mended, allow_inf_nan=False)


def too_large(result: Mapping[str, Any]) -> str:
    """Why a result, or the parameters of a question, is too large; empty if it is not."""
    for name in _PARTS:
        parts: object = result.get(name)
        if isinstance(parts, list) and len(cast("list[Any]", parts)) > MAX_PARTS:
            return f"{name} has more than {MAX_PARTS:,} parts"
    left, waiting = MAX_VALUES, [cast("Any", result)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            left -= len(cast("list[Any]", value))
            if left < 0:
                return f"more than {MAX_VALUES:,} values"
            waiting += cast("dict[str, Any]", value).values() if isinstance(value, dict) else cast("list[Any]", value)
    return ""


def _unread(data: bytes | bytearray, why: str) -> Message | None:
    """The error answer for an answer that cannot be read, if its id is at either end; else None."""
    ends = _OPENING.match(data[:_END_BYTES]), _CLOSING.search(data[-_END_BYTES:])
    named = next((end[1] for end in ends if end is not None and end[1]), None)
    if named is None:
        return None
    error = {"code": PARSE_ERROR, "message": why}
    return {"jsonrpc": "2.0", "id": from_json(named), "error": error}


def answered(message: Mapping[str, Any]) -> dict[str, Any]:
    """The result in an answer.

    Raises:
        MCPError: The answer is an error.
        Unusable: It is neither.
    """
    result: object = message.get("result")
    if isinstance(result, dict):
        return cast("dict[str, Any]", result)
    error: object = message.get("error")
    if not isinstance(error, dict):
        raise Unusable("its answer holds neither a result nor an error")
    raise failed(cast("dict[str, Any]", error))


def failed(error: Mapping[str, Any]) -> MCPError:
    """The error object of an answer as an exception."""
    code = error.get("code")
    if not isinstance(code, int) or isinstance(code, bool):
        code = INTERNAL_ERROR
    return MCPError(code, str(error.get("message", "")), error.get("data"))


def identity_of(value: object) -> Identity | None:
    """A request's id in our form; some servers return numbers as texts."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and value.isascii() and len(value) < 16 else value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def parameters(message: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a request or notification."""
    params: object = message.get("params")
    return cast("dict[str, Any]", params) if isinstance(params, dict) else {}
