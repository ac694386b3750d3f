"""A service that speaks the OpenAI wire format for chat, well or badly, over real HTTP.

Its model is deterministic: a function of the request. It keeps to the limit of tokens that it is given, counting o200k.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from thresher.embedding import count_tokens


@dataclass(frozen=True)
class Said:
    """What the model says: a text, or calls (name and arguments)."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


Model = Callable[[dict[str, Any]], "str | Said"]
"""Makes an answer of a request's body."""


def echo(body: dict[str, Any]) -> str:
    """Say what was said last."""
    return body["messages"][-1]["content"]


class ChatServer:
    """The service, on a free port.

    Attributes:
        model: Answers.
        script: Behaviours for the next requests; when it is empty, `mode` rules.
        mode: `good`; `slow` (says nothing until the end), `trickle` (a byte, then nothing), `drop`, `half` (ends in the
            middle), `huge` (larger than anybody reads); `parts`, `thinking`, `bare` (no usage, no model, no reason),
            `spoilt` (an error with status 200), `withheld`, `mute`, `pondering` (only thoughts); any JSON in `wrong`
            after `wrong:`, text after `raw:`; or a status, such as `429`, `429:7` (with Retry-After), `400:temperature`
            (a refusal in these words).
        refuses: Fields that are refused in OpenAI's words, whatever the mode.
        requests: Decoded bodies, in order.
        authorizations: The header of each request.
        reached: Set when a slow request is being held.
    """

    def __init__(self, model: Model = echo) -> None:
        self.model = model
        self.script: deque[str] = deque()
        self.mode = "good"
        self.refuses: dict[str, str] = {}
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.reached = threading.Event()
        self.release = threading.Event()
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def stop(self) -> None:
        """Let go of held requests and end."""
        self.release.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any], mode: str) -> bytes:
        """A successful answer's body."""
        if mode.startswith(("wrong:", "raw:")):
            return mode.partition(":")[2].encode()
        if mode == "spoilt":
            return b'{"error": {"message": "no model for you", "type": "server_error", "code": null}}'
        said = self.model(body)
        said = said if isinstance(said, Said) else Said(said)
        text, finish = _limited(said.text, body.get("max_tokens") or body.get("max_completion_tokens"))
        message: dict[str, Any] = {"role": "assistant", "content": text}
        match mode:
            case "parts":
                half = len(text) // 2
                message["content"] = [{"type": "text", "text": part} for part in (text[:half], text[half:])]
            case "thinking":
                message["content"] = f"<think>\nWhat do they want?\n</think>\n\n{text}"
            case "pondering":
                message["content"], finish = "<think>\nWhat do they", "length"
            case "withheld":
                message["content"], finish = None, "content_filter"
            case "mute":
                message["content"] = " \n"
            case _:
                pass
        if said.calls:
            message |= {"content": None, "tool_calls": [_call(n, *call) for n, call in enumerate(said.calls)]}
            finish = "tool_calls"
        whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": body["model"]}
        whole["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
        whole["usage"] = _usage(body, text)
        if mode == "bare":
            whole = {"choices": [{"message": {"content": text}}]}
        return json.dumps(whole).encode()

    def refusal(self, body: dict[str, Any], mode: str) -> tuple[int, bytes, str] | None:
        """Status, body and Retry-After of a refusal; None where the request is answered."""
        for name, code in self.refuses.items():
            if name in body:
                words = {"max_tokens": "Use 'max_completion_tokens' instead."}.get(
                    name, "Only the default is supported."
                )
                error = {"message": f"Unsupported: '{name}' is not supported with this model. {words}", "code": code}
                return 400, json.dumps({"error": {**error, "param": name}}).encode(), ""
        status, _, more = mode.partition(":")
        if not status.isdigit():
            return None
        wait = "" if more.isalpha() else more
        said = {"message": f"no: {more}, you said {body['messages'][-1]['content']}", "code": "model_not_found"}
        return int(status), json.dumps({"error": said}).encode(), wait


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # clients of a test come all at once

    def __init__(self, fake: ChatServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fake = fake

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client may go away in the middle; that is its affair."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        fake = self.server.fake
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        fake.requests.append(body)
        fake.authorizations.append(self.headers.get("authorization"))
        mode = fake.script.popleft() if fake.script else fake.mode
        if mode == "drop" or not self.path.partition("?")[0].endswith("/chat/completions"):
            self.close_connection = True
            return
        if mode == "slow":
            self._hold()
        if (refusal := fake.refusal(body, mode)) is not None:
            self._send(*refusal)
        elif mode in ("half", "trickle", "huge"):
            self._break_off(mode, fake.answer(body, mode))
        else:
            self._send(200, fake.answer(body, mode))

    def _hold(self) -> None:
        self.server.fake.reached.set()
        self.server.fake.release.wait(20)

    def _break_off(self, mode: str, payload: bytes) -> None:
        self._head(200, 1 << 40 if mode == "huge" else len(payload))
        self.close_connection = True
        try:
            self.wfile.write(payload[: len(payload) // 2 if mode == "half" else 1])
            self.wfile.flush()
            if mode == "trickle":
                self._hold()
            while mode == "huge" and not self.server.fake.release.is_set():
                self.wfile.write(bytes(1 << 20))
        except OSError:
            return

    def _send(self, status: int, payload: bytes, wait: str = "") -> None:
        try:
            self._head(status, len(payload), wait)
            self.wfile.write(payload)
        except OSError:
            self.close_connection = True

    def _head(self, status: int, size: int, wait: str = "") -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(size))
        if status in (301, 302, 307, 308):
            self.send_header("location", self.server.fake.url + "/elsewhere/chat/completions")
        if wait:
            self.send_header("retry-after", wait)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Keep the tests' output clean."""


def _limited(text: str, most: int | None) -> tuple[str, str]:
    """The text within a limit of tokens, cut at a word, and why it ends."""
    if most is None or count_tokens(text) <= most:
        return text, "stop"
    words = text.split(" ")
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(" ".join(words[:middle])) <= most else (low, middle - 1)
    return " ".join(words[:low]), "length"


def _call(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def _usage(body: dict[str, Any], text: str) -> dict[str, Any]:
    prompt = sum(count_tokens(message["content"] or "") for message in body["messages"])
    spent = {"prompt_tokens": prompt, "completion_tokens": count_tokens(text)}
    return {**spent, "total_tokens": sum(spent.values()), "prompt_tokens_details": {"cached_tokens": prompt // 2}}
