"""A service that speaks the OpenAI wire format for chat, well or badly, over real HTTP, streamed or not.

Its model is deterministic: a function of the request. It keeps to the limit of tokens that it is given, counting o200k.

Usage: python -m tests.fakes.chat_server [--text TEXT] [--scripts FILE [--keeps-all]]
[--tokens-per-second N] [--first-token-seconds N] [--stamped]; prints its address and ends with its standard input.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fakes.chat_answers import Answer, Model, Said, answer, events, refusal, text_of, whole
from tests.fakes.chat_http import Connection, Request

__all__ = ["ChatServer", "Model", "Said", "echo", "text_of"]

HOLD_SECONDS = 20


def echo(body: dict[str, Any]) -> str:
    """Say what was said last."""
    return text_of(body["messages"][-1])


class ChatServer:
    """The service, on a free port, in a thread of its own.

    Attributes:
        model: Answers.
        script: Behaviours for the next requests; when it is empty, `mode` rules.
        mode: `good`; `slow` (says nothing until the end), `trickle` (the first byte or token, then nothing), `drop`,
            `half` (the connection ends in the middle), `huge` (larger than anybody reads); `parts`, `thinking`, `bare`
            (no usage, no model, no reason), `spoilt` (an error with status 200), `withheld`, `mute`, `pondering` (only
            thoughts); any JSON in `wrong` after `wrong:`, text after `raw:`; or a status, such as `429`, `429:7` (with
            Retry-After), `400:temperature` (a refusal in these words). Streams only: `silent` (begins and says
            nothing), `broken` (half, then an error), `cut` (half, then a good end without a reason).
        refuses: Fields that are refused in OpenAI's words, whatever the mode.
        tokens_per_second: Pace of a stream, a word being a token; 0 is as fast as can be.
        first_token_seconds: How long the model thinks before the first one.
        counts_anew: Whether the ids of calls begin anew in every answer.
        stamped: Whether a streamed text begins with the monotonic second in which it went out.
        requests: Decoded bodies, in order.
        authorizations: The header of each request.
        answering: How many requests are being answered now.
        left: How many clients went away before the end of their answer.
        gone: Set when one does.
        reached: Set when a slow request is being held.
        release: Lets held requests go on.
    """

    def __init__(self, model: Model = echo) -> None:
        self.model = model
        self.script: deque[str] = deque()
        self.mode = "good"
        self.refuses: dict[str, str] = {}
        self.tokens_per_second = 0.0
        self.first_token_seconds = 0.0
        self.stamped = False
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.answering = 0
        self.left = 0
        self.gone = threading.Event()
        self.reached = threading.Event()
        self._loop = asyncio.new_event_loop()
        self.release = _Release(self._loop)
        self.counts_anew = False
        self._calls = 0
        self._clients: set[Connection] = set()
        self._models = ThreadPoolExecutor(256, "chat-model")  # a test's model may block
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        opening = self._loop.create_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self._server = asyncio.run_coroutine_threadsafe(opening, self._loop).result(HOLD_SECONDS)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def stop(self) -> None:
        """Let go of held requests and end; a second time is fine."""
        self.release.set()
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(HOLD_SECONDS)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(HOLD_SECONDS)
            self._models.shutdown(wait=False)
            self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        for client in tuple(self._clients):
            client.end()
        working = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.gather(*working, return_exceptions=True)

    def _connection(self) -> Connection:
        return Connection(self._serve, self._went, self._clients)

    def _went(self) -> None:
        self.left += 1
        self.gone.set()

    async def _serve(self, client: Connection, request: Request) -> None:
        path = request.path.partition("?")[0]
        if path.endswith("/models"):
            listed = {"object": "list", "data": [{"id": "fake", "object": "model", "created": 0, "owned_by": "tests"}]}
            _send(client, 200, json.dumps(listed).encode())
            return
        self.requests.append(request.body)
        self.authorizations.append(request.headers.get("authorization"))
        mode = self.script.popleft() if self.script else self.mode
        if mode == "drop" or not path.endswith("/chat/completions"):
            client.close()
            return
        self.answering += 1
        try:
            await self._reply(client, request.body, mode)
        finally:
            self.answering -= 1

    async def _reply(self, client: Connection, body: dict[str, Any], mode: str) -> None:
        if mode == "slow":
            await self._hold()
        if (refused := refusal(body, mode, self.refuses)) is not None:
            self._refuse(client, *refused)
            return
        given = await self._loop.run_in_executor(self._models, answer, self.model, body, mode)
        given = self._numbered(given)
        await self._think()
        if body.get("stream"):
            usage = bool((body.get("stream_options") or {}).get("include_usage"))
            await self._stream(client, events(given, mode, usage=usage, stamped=self.stamped), mode)
        elif mode in ("half", "trickle", "huge"):
            await self._break_off(client, whole(given, mode), mode)
        else:
            _send(client, 200, whole(given, mode))

    def _refuse(self, client: Connection, status: int, payload: bytes, wait: str) -> None:
        more = {"retry-after": wait} if wait else {}
        if status in (301, 302, 307, 308):
            more["location"] = self.url + "/elsewhere/chat/completions"
        _send(client, status, payload, more)

    def _numbered(self, given: Answer) -> Answer:
        first = 0 if self.counts_anew else self._calls
        self._calls += len(given.said.calls)
        return replace(given, number=first)

    async def _stream(self, client: Connection, told: Iterator[tuple[bool, bytes]], mode: str) -> None:
        client.head(200, "text/event-stream", None)
        due, tokens = self._loop.time(), 0
        if mode == "silent":
            await self._hold()
        for paced, event in told:
            if paced and tokens and self.tokens_per_second:
                due += 1 / self.tokens_per_second
                await asyncio.sleep(due - self._loop.time())
            tokens += paced
            client.chunk(event)
            if tokens and mode in ("trickle", "huge"):
                await (self._hold() if mode == "trickle" else self._flood(client, event))
        if mode == "half":
            client.close()
        else:
            client.chunk(b"")

    async def _flood(self, client: Connection, event: bytes) -> None:
        while not self.release.is_set():
            client.chunk(event * 1000)
            await client.room()
            await asyncio.sleep(0)

    async def _break_off(self, client: Connection, payload: bytes, mode: str) -> None:
        client.head(200, "application/json", 1 << 40 if mode == "huge" else len(payload))
        client.write(payload[: len(payload) // 2 if mode == "half" else 1])
        if mode == "trickle":
            await self._hold()
        while mode == "huge" and not self.release.is_set():
            client.write(bytes(1 << 20))
            await client.room()
            await asyncio.sleep(0)
        client.close()

    async def _think(self) -> None:
        if self.first_token_seconds:
            await asyncio.sleep(self.first_token_seconds)

    async def _hold(self) -> None:
        self.reached.set()
        await self.release.wait_here(HOLD_SECONDS)


class _Release(threading.Event):
    """An event that threads set and the service's loop waits for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        self._here = asyncio.Event()

    def set(self) -> None:
        super().set()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._here.set)

    def clear(self) -> None:
        super().clear()
        self._loop.call_soon_threadsafe(self._here.clear)

    async def wait_here(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._here.wait()
        except TimeoutError:
            return


def _send(client: Connection, status: int, payload: bytes, more: dict[str, str] | None = None) -> None:
    client.head(status, "application/json", len(payload), more)
    client.write(payload)


def main() -> None:
    """Serve until standard input ends."""
    options = argparse.ArgumentParser()
    options.add_argument("--text", help="always say this")
    options.add_argument("--scripts", type=Path, help="behave as these conversations of `thresher eval chat` say")
    options.add_argument("--keeps-all", action="store_true", help="take every passage for relevant")
    options.add_argument("--tokens-per-second", type=float, default=0.0)
    options.add_argument("--first-token-seconds", type=float, default=0.0)
    options.add_argument("--stamped", action="store_true")
    given = options.parse_args()
    model: Model = echo if given.text is None else lambda _: given.text
    if given.scripts is not None:
        from tests.fakes.policy import Policy  # all of the product stands behind it
        from thresher.evaluation import read_scripts

        model = Policy(read_scripts(given.scripts), keeps_all=given.keeps_all)
    server = ChatServer(model)
    server.tokens_per_second, server.first_token_seconds = given.tokens_per_second, given.first_token_seconds
    server.stamped = given.stamped
    print(server.url, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
