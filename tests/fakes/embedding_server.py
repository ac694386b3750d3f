"""A service that speaks the OpenAI wire format for embeddings, well or badly, over real HTTP."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import threading
from collections import deque
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIMENSION = 8


def vector(text: str, dimension: int = DIMENSION) -> list[float]:
    """The fake model: a fixed vector a text, not of length 1."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=dimension).astype(np.float32).tolist()


class _Server(ThreadingHTTPServer):
    """Keeps its connections, to end them with itself."""

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.connections: list[socket.socket] = []
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.append(request)
        super().process_request(request, client_address)


class EmbeddingServer:
    """The service, on a free port, or again on the one that it had.

    Attributes:
        script: Behaviours for the next requests; when it is empty, `mode` rules.
        mode: `good`, `base64`, `shuffled`, `slow`, `garbage`, `short`, `nan`, `ragged`, `twice`, `scalar`, `drop`, or a
            status such as `429` or `429:7` (with Retry-After).
        requests: Decoded bodies, in order.
        authorizations: The header of each request.
        held: Requests with a text that holds these words are slow.
        meanings: Word to what it means, in lower case: a text is then the sum of what its known words mean, so that
            words of two languages can mean the same.
        reached: Set when a slow request is being held.
    """

    def __init__(self, port: int = 0) -> None:
        self.script: deque[str] = deque()
        self.mode = "good"
        self.held = ""
        self.meanings: dict[str, str] = {}
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.reached = threading.Event()
        self.release = threading.Event()
        self._server = _Server(("127.0.0.1", port), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def stop(self) -> None:
        """Let go of held requests and end, with every connection."""
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        for connection in self._server.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def answer(self, body: dict[str, Any], mode: str) -> tuple[int, bytes]:
        """Status and body for a request."""
        entries: list[dict[str, Any]] = [
            {"object": "embedding", "index": place, "embedding": self._vector(text, body.get("dimensions", DIMENSION))}
            for place, text in enumerate(body["input"])
        ]
        match mode:
            case "garbage":
                return 200, b"<html>not JSON</html>"
            case "short":
                entries.pop()
            case "nan":
                entries[-1]["embedding"][0] = None
            case "ragged":
                entries[-1]["embedding"].pop()
            case "twice":
                entries[-1]["index"] = -1
            case "scalar":
                entries[-1]["embedding"] = 4
            case "shuffled":
                entries.reverse()
            case "base64":
                for entry in entries:
                    entry["embedding"] = base64.b64encode(np.asarray(entry["embedding"], "<f4").tobytes()).decode()
            case _:
                pass
        return 200, json.dumps({"object": "list", "data": entries, "model": body["model"]}).encode()

    def _vector(self, text: str, dimension: int) -> list[float]:
        known = [self.meanings[word] for word in re.findall(r"\w+", text.lower()) if word in self.meanings]
        if not known:
            return vector(text, dimension)
        return np.sum([vector(meaning, dimension) for meaning in known], axis=0).tolist()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append(body)
                outer.authorizations.append(self.headers.get("authorization"))
                mode = outer.script.popleft() if outer.script else outer.mode
                if outer.held and any(outer.held in text for text in body["input"]):
                    mode = "slow"
                if mode == "slow":
                    outer.reached.set()
                    outer.release.wait(20)
                if mode == "drop":
                    self.close_connection = True
                    return
                status, _, wait = mode.partition(":")
                if status.isdigit():
                    self._send(int(status), b'{"error": {"message": "no"}}', wait)
                    return
                self._send(*outer.answer(body, mode))

            def _send(self, status: int, payload: bytes, wait: str = "") -> None:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(payload)))
                if wait:
                    self.send_header("retry-after", wait)
                self.end_headers()
                try:
                    self.wfile.write(payload)
                except OSError:
                    self.close_connection = True

            def log_message(self, *args: object) -> None:
                """Keep the tests' output clean."""

        return Handler
