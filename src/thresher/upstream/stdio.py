"""The stdio transport: a child process and newline-delimited JSON-RPC over its pipes.

Invariant: lines that are no JSON-RPC go to the server's log, never to the session; leaving the context ends the
whole process group, also under cancellation.
"""

from __future__ import annotations

import asyncio
from asyncio import IncompleteReadError, LimitOverrunError
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from thresher.upstream.config import ServerConfig
from thresher.upstream.log import KEPT_LINES, ServerLog
from thresher.upstream.process import MAX_MESSAGE_BYTES, kill_child, start_child, stop_child

_LEADER_POLL_SECONDS = 1.0
_DRAIN_SECONDS = 0.5
_CHUNK_BYTES = 65536
_FLOOD_PAUSE_SECONDS = 0.02
"""After a full chunk of log: about 3 MB/s, then the server waits for us and not the others for it."""
_MAX_STRANGE_LINES = 2_000
"""In a row on stdout; banners have a dozen."""

ITS_OWN_END = "it ended"
"""The reason given when the child went by itself."""

Received: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]
Streams: TypeAlias = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


@asynccontextmanager
async def stdio_transport(
    config: ServerConfig, log: ServerLog, started: Callable[[Process], None], ended: Callable[[str], None]
) -> AsyncGenerator[Streams]:
    """Run a stdio server for the time of the context.

    Args:
        config: The server.
        log: Receives its stderr.
        started: Called once with the child.
        ended: Called when the server goes away by itself, with the reason; may be called more than once.

    Raises:
        UpstreamError: The child cannot be started.
    """
    process = await start_child(config)
    # No await until the group is entered: a cancellation in the gap would leak the child.
    started(process)
    received, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:
        group.start_soon(_read_messages, process, received, log, ended)
        group.start_soon(_write_messages, process, to_send, received, ended)
        group.start_soon(_read_log, process, log)
        group.start_soon(_watch_leader, process, received, ended)
        try:
            yield read_stream, write_stream
        finally:
            # The child must go even when we are being cancelled; every wait inside is bounded.
            with anyio.CancelScope(shield=True):
                read_stream.close()
                write_stream.close()
                await _stop(process)
            group.cancel_scope.cancel()


async def _stop(process: Process) -> None:
    try:
        await stop_child(process)
    except asyncio.CancelledError:
        # A task that is cancelled by force is not stopped by anyio's shield.
        kill_child(process)
        raise


async def _read_messages(process: Process, received: Received, log: ServerLog, ended: Callable[[str], None]) -> None:
    assert process.stdout is not None  # noqa: S101 - started with pipes
    async with received:
        try:
            await _deliver_lines(process.stdout, received, log)
            ended("it floods its stdout with lines that are not MCP")
        except IncompleteReadError as end:
            log.add(end.partial)
            ended(ITS_OWN_END)
        except LimitOverrunError:
            ended(f"it sent a message of more than {MAX_MESSAGE_BYTES // 2**20} MiB")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the session is being closed
    await _drain(process.stdout)


async def _deliver_lines(stdout: asyncio.StreamReader, received: Received, log: ServerLog) -> None:
    """Deliver message after message; returns only when too many lines in a row are none."""
    strange = 0
    while strange < _MAX_STRANGE_LINES:
        line = await stdout.readuntil(b"\n")
        if (message := _message(line)) is not None:
            strange = 0
            await received.send(message)
            continue
        strange += 1
        log.add(b"(stdout, not MCP) " + line if line.strip() else b"")
        # Reading what has arrived already never yields, and a flood would starve every other server.
        await asyncio.sleep(0)


def _message(line: bytes) -> SessionMessage | None:
    if not line.lstrip().startswith((b"{", b"[")):
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def _drain(stream: asyncio.StreamReader) -> None:
    """Throw the rest away, so that a child that still writes can come to its end."""
    while await stream.read(_CHUNK_BYTES):  # noqa: ASYNC110 - the pause lets others run; nothing is waited for
        await asyncio.sleep(0)


async def _write_messages(
    process: Process,
    to_send: MemoryObjectReceiveStream[SessionMessage],
    received: Received,
    ended: Callable[[str], None],
) -> None:
    assert process.stdin is not None  # noqa: S101 - started with pipes
    try:
        async with to_send:
            async for item in to_send:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
    except (OSError, anyio.ClosedResourceError):
        # The child may live on with a closed stdin: the waiting requests must end all the same.
        ended("it closed its stdin")
        received.close()


async def _read_log(process: Process, log: ServerLog) -> None:
    assert process.stderr is not None  # noqa: S101 - started with pipes
    while chunk := await process.stderr.read(_CHUNK_BYTES):
        # A line split between two chunks becomes two lines: bounded memory matters more.
        for line in chunk.split(b"\n")[-KEPT_LINES:]:
            log.add(line)
        if len(chunk) == _CHUNK_BYTES:
            await asyncio.sleep(_FLOOD_PAUSE_SECONDS)


async def _watch_leader(process: Process, received: Received, ended: Callable[[str], None]) -> None:
    """End the session when the child has gone while a process it started holds its stdout open."""
    while process.returncode is None:  # noqa: ASYNC110 - asyncio's own wait() also waits for the pipes
        await asyncio.sleep(_LEADER_POLL_SECONDS)
    await asyncio.sleep(_DRAIN_SECONDS)
    ended(ITS_OWN_END)
    received.close()
