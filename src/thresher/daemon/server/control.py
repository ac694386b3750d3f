"""The control protocol: one request a connection, events on the way, one result or error at the end.

    client: {"verb": "find_tools", "arguments": {...}}, with "dry_run": true to learn what it would change
    daemon: {"progress": {...}} ... then {"result": ...} or {"error": {code, message, hint, exit_code, trace}};
            before it {"notice": "..."} where "variables", the client's THRESHER_* variables, have no effect;
            after the dry run of a verb that writes {"result": ..., "plan": {...}}

Invariant: a client that closes its connection cancels its work. No error reaches a client as a traceback.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from thresher.core import CallerText, InvalidInput, NotFound, Settings, ThresherError, differing, dumps, event, traced

logger = logging.getLogger("thresher.daemon")

Progress = Callable[[Mapping[str, Any]], None]
Verb = Callable[[Mapping[str, Any], Progress], Awaitable[Any]]
DryRun = Callable[[str, Mapping[str, Any], Progress], Awaitable[dict[str, Any]]]
"""Runs a verb so that nothing of it lasts: name, arguments, progress -> `result` and perhaps `plan`."""


REQUEST_LIMIT = 16 * 1024 * 1024
"""Bytes of a request: an `mcpServers` file of thousands of servers fits."""


REFUSAL_SECONDS = 10.0
_CHUNK = 64 * 1024


async def serve_control(
    verbs: Mapping[str, Verb],
    dry_run: DryRun,
    settings: Settings,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Answer one request.

    Args:
        verbs: What can be asked, by name.
        dry_run: Runs a verb so that nothing of it lasts.
        settings: In force here; a client is told where its variables say otherwise.
        reader: The client's bytes, past the handshake.
        writer: To the client.
    """
    try:
        line = await _request(reader)
    except InvalidInput as error:
        writer.write(_line({"error": _error(error.code, error.message, error.hint, error.exit_code, "")}))
        with suppress(TimeoutError):  # who is still writing would be cut off before it could read why
            await asyncio.wait_for(_end_of(reader), REFUSAL_SECONDS)
        return
    if not line:
        return

    def tell(progress: Mapping[str, Any]) -> None:
        if not writer.is_closing():
            writer.write(_line({"progress": progress}))

    for notice in _notices(settings, line):
        writer.write(_line({"notice": notice}))
    work = asyncio.create_task(_answer(verbs, dry_run, line, tell))
    gone = asyncio.create_task(_end_of(reader))
    await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if not work.done():
        work.cancel()
    (answer,) = await asyncio.gather(work, return_exceptions=True)
    if isinstance(answer, dict):
        writer.write(_line(answer))
        await writer.drain()


async def _request(reader: asyncio.StreamReader) -> bytes:
    """The first line; empty when the client closes before one."""
    pieces: list[bytes] = []
    size = 0
    ended = False
    while not ended and size <= REQUEST_LIMIT:
        try:
            pieces.append(await reader.readuntil(b"\n"))
            ended = True
        except asyncio.IncompleteReadError:
            return b""
        except asyncio.LimitOverrunError as over:  # longer than the reader's own buffer
            pieces.append(await reader.readexactly(over.consumed))
        size += len(pieces[-1])
    if size > REQUEST_LIMIT:  # however the bytes came in, the same length is refused
        raise InvalidInput(f"The request is longer than {REQUEST_LIMIT} bytes.", hint="Send less at once.")
    return b"".join(pieces)


async def _end_of(reader: asyncio.StreamReader) -> None:
    """Wait until the client closes; what it says after its request is passed over, not kept."""
    while await reader.read(_CHUNK):
        pass


async def _answer(verbs: Mapping[str, Verb], dry_run: DryRun, line: bytes, tell: Progress) -> dict[str, Any]:
    with traced() as trace:
        try:
            verb, arguments, is_dry = _decode(line)
            if verb not in verbs:
                raise NotFound(f"The daemon knows no verb {verb!r}.", hint="Client and daemon may differ in version.")
            _check_scope(arguments)
            return await dry_run(verb, arguments, tell) if is_dry else {"result": await verbs[verb](arguments, tell)}
        except ThresherError as error:
            event(logger, "command failed", level=logging.WARNING, code=error.code, message=CallerText(error.message))
            return {"error": _error(error.code, error.message, error.hint, error.exit_code, trace)}
        except Exception:  # a face: whatever went wrong becomes one clear line
            logger.exception("command failed")
            return {"error": _error("internal", "Something went wrong inside the daemon.", _REPORT, 1, trace)}


_SCOPES = ("tenant", "user", "version")
"""Arguments that narrow what a verb works on; left out, they stand for more, and so an empty one must not."""


def _check_scope(arguments: Mapping[str, Any]) -> None:
    for name in _SCOPES:
        if isinstance(value := arguments.get(name), str) and not value.strip():
            raise InvalidInput(f"The {name} is empty.", hint=f"Is a variable not set? Name a {name}, or leave it out.")


_REPORT = "The log holds the details under this trace id."


def _error(code: str, message: str, hint: str, exit_code: int, trace: str) -> dict[str, Any]:
    return {"code": code, "message": message, "hint": hint, "exit_code": exit_code, "trace": trace}


def _decode(line: bytes) -> tuple[str, Mapping[str, Any], bool]:
    try:
        request = json.loads(line)
        return str(request["verb"]), dict(request.get("arguments") or {}), request.get("dry_run") is True
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidInput(
            f"The request is not one: {error}.", hint="Send {verb, arguments} as one JSON line."
        ) from None


def _notices(settings: Settings, line: bytes) -> tuple[str, ...]:
    try:
        variables = dict(json.loads(line).get("variables") or {})
    except (ValueError, TypeError, AttributeError):
        return ()
    return differing(settings, {str(name): str(value) for name, value in variables.items()})


def _line(value: Mapping[str, Any]) -> bytes:
    return dumps(value).encode() + b"\n"
