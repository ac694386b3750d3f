"""The stdio transport: a child process and newline-delimited JSON-RPC over its pipes.

Invariant: lines that are not JSON-RPC go to the server's log, never to the session; closing the channel ends the
whole process group, also if it is cancelled.
"""

from __future__ import annotations

import asyncio
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from asyncio.subprocess import Process

from thresher.upstream.config import ServerConfig
from thresher.upstream.masking import KEPT_LINES, ServerLog
from thresher.upstream.transport.channel import ChannelListener
from thresher.upstream.transport.errors import Closed
from thresher.upstream.transport.messages import decoded
from thresher.upstream.transport.process import MAX_MESSAGE_BYTES, kill_child, start_child, stop_child
from thresher.upstream.transport.streams import StreamChannel

_LEADER_POLL_SECONDS = 1.0
_DRAIN_SECONDS = 0.5
_CHUNK_BYTES = 65536
_FLOOD_PAUSE_SECONDS = 0.02
"""Pause after a full chunk of log: limits it to about 3 MB/s, so that the server waits and not the other servers."""
_MAX_STRANGE_LINES = 2_000
"""Maximum foreign lines in a row on stdout; banners have a dozen."""
_BREATH_LINES = 100
"""Lines after which to yield: reading buffered data never yields, and a flood would starve the other servers."""

ITS_OWN_END = "it ended"
"""The reason if the child ended by itself."""


class StdioChannel(StreamChannel):
    """A channel to a child process that it starts."""

    def __init__(self, config: ServerConfig, log: ServerLog, listener: ChannelListener, *, owned: bool) -> None:
        super().__init__(listener, owned=owned)
        self._config = config
        self._log = log
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        """See `Channel.pid`."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    @property
    def exit_code(self) -> int | None:
        """The child's exit code; None while it runs."""
        return self._process.returncode if self._process else None

    async def open(self) -> None:
        """Start the child."""
        # No await between the start and the tasks: a cancellation in the gap would leak the child.
        process = self._process = await start_child(self._config)
        self._start(self._read_messages(_stream(process.stdout)))
        self._start(self._read_log(_stream(process.stderr)))
        self._start(self._watch_leader(process))

    async def close(self) -> None:
        """End the child and everything it has started."""
        self._closing = True
        self._end("the session was closed")
        try:
            if self._process is not None:
                await stop_child(self._process)
        except asyncio.CancelledError:
            if self._process is not None:
                kill_child(self._process)
            raise
        finally:
            await self._end_tasks()

    async def _write(self, data: bytes) -> None:
        stdin = self._process.stdin if self._process is not None else None
        if stdin is None:
            raise Closed("it has not been started")
        try:
            stdin.write(data + b"\n")
            await stdin.drain()
        except (OSError, RuntimeError):
            # The child may go on with a closed stdin: waiting requests must still end.
            self._end("it closed its stdin")
            raise Closed(self._ended) from None

    async def _read_messages(self, stdout: StreamReader) -> None:
        try:
            await self._deliver_lines(stdout)
            self._end("it floods its stdout with lines that are not MCP")
        except IncompleteReadError as end:
            self._log.add(end.partial)
            self._end(ITS_OWN_END)
        except LimitOverrunError:
            self._end(f"it sent a message of more than {MAX_MESSAGE_BYTES // 2**20} MiB")
        # The rest is discarded, so that a child that still writes can exit.
        while await stdout.read(_CHUNK_BYTES):  # noqa: ASYNC110 - the pause lets others run; nothing is waited for
            await asyncio.sleep(0)

    async def _deliver_lines(self, stdout: StreamReader) -> None:
        """Deliver messages; returns only after too many lines in a row that are not messages."""
        strange = read = 0
        while strange < _MAX_STRANGE_LINES:
            line = await stdout.readuntil(b"\n")
            read += 1
            message = decoded(line) if line.lstrip().startswith(b"{") else None
            if message is not None:
                strange = 0
                await self._receive(message)
            else:
                strange += 1
                self._log.add(b"(stdout, not MCP) " + line if line.strip() else b"")
            if strange or not read % _BREATH_LINES:
                await asyncio.sleep(0)

    async def _read_log(self, stderr: StreamReader) -> None:
        while chunk := await stderr.read(_CHUNK_BYTES):
            # A line split between two chunks becomes two lines, which keeps memory bounded.
            for line in chunk.split(b"\n")[-KEPT_LINES:]:
                self._log.add(line)
            if len(chunk) == _CHUNK_BYTES:
                await asyncio.sleep(_FLOOD_PAUSE_SECONDS)

    async def _watch_leader(self, process: Process) -> None:
        """End the session if the child has ended while a process it started holds its stdout open."""
        while process.returncode is None:  # noqa: ASYNC110 - asyncio's own wait() also waits for the pipes
            await asyncio.sleep(_LEADER_POLL_SECONDS)
        await asyncio.sleep(_DRAIN_SECONDS)
        self._end(ITS_OWN_END)


def _stream(pipe: StreamReader | None) -> StreamReader:
    assert pipe is not None  # noqa: S101 - started with pipes
    return pipe
