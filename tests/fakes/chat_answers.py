"""What the fake chat service says, in the OpenAI wire format: answers, streams, refusals. Pure.

Its answers keep to the limit of tokens that a request gives, counting o200k.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from thresher.embedding import count_tokens


@dataclass(frozen=True)
class Said:
    """What the model says: a text, or calls (name and arguments), or a text and then calls."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


Model = Callable[[dict[str, Any]], "str | Said"]
"""Makes an answer of a request's body."""

SPOILT = {"error": {"message": "no model for you", "type": "server_error", "code": None}}
THOUGHTS = "<think>\nWhat do they want?\n</think>\n\n"
_PIECE = re.compile(r"\s*\S+(?:\s+$)?|\s+$")


@dataclass(frozen=True)
class Answer:
    """What goes out for one request.

    Attributes:
        said: What the model said, within its limit.
        finish: Why it ends.
        usage: What it cost.
        model: As the request names it.
        number: Which call of the service's its first call is; calls are numbered over all answers.
    """

    said: Said
    finish: str
    usage: Mapping[str, Any]
    model: str
    number: int = 0

    def calls(self) -> list[dict[str, Any]]:
        """The calls as a message has them."""
        return [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(self.said.calls, self.number)
        ]


def answer(model: Model, body: dict[str, Any], mode: str) -> Answer:
    """Have the model answer a request, as a mode bends it; calls are not yet numbered."""
    said = model(body)
    said = said if isinstance(said, Said) else Said(said)
    text, finish = _limited(said.text, body.get("max_tokens") or body.get("max_completion_tokens"))
    usage = _usage(body, text)
    match mode:
        case "thinking":
            text = THOUGHTS + text
        case "pondering":
            text, finish = "<think>\nWhat do they", "length"
        case "withheld":
            text, finish = "", "content_filter"
        case "mute":
            text = " \n"
        case _:
            finish = "tool_calls" if said.calls else finish
    return Answer(replace(said, text=text), finish, usage, str(body.get("model", "")))


def whole(given: Answer, mode: str) -> bytes:
    """The body of an answer that is not streamed."""
    if mode.startswith(("wrong:", "raw:")):
        return mode.partition(":")[2].encode()
    if mode == "spoilt":
        return json.dumps(SPOILT).encode()
    text = given.said.text
    message: dict[str, Any] = {"role": "assistant", "content": _parts(text) if mode == "parts" else text}
    if mode == "withheld" or (given.said.calls and not text):
        message["content"] = None
    if given.said.calls:
        message["tool_calls"] = given.calls()
    if mode == "bare":
        return json.dumps({"choices": [{"message": message}]}).encode()
    said = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": given.model}
    said["choices"] = [{"index": 0, "message": message, "finish_reason": given.finish}]
    return json.dumps(said | {"usage": given.usage}).encode()


def pieces(given: Answer, mode: str) -> list[dict[str, Any]]:
    """What the deltas of a stream hold after the first one: a word at a time, then each call and its arguments."""
    text = given.said.text
    cut = _split(text, 3) if mode in ("thinking", "pondering") else _PIECE.findall(text)
    deltas: list[dict[str, Any]] = [{"content": _parts(piece) if mode == "parts" else piece} for piece in cut]
    for index, call in enumerate(given.calls()):
        function = call["function"]
        begun = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        rest = [{"index": index, "function": {"arguments": part}} for part in _split(function["arguments"], 16)]
        deltas += [{"tool_calls": [part]} for part in (begun, *rest)]
    return deltas


def events(given: Answer, mode: str, *, usage: bool, stamped: bool = False) -> Iterator[tuple[bool, bytes]]:
    """The events of a stream, and whether each is a token, which a pace is for. Made one by one, as they go out.

    Args:
        given: The answer.
        mode: How the stream misbehaves; `half` and `cut` only end it, `broken` ends it with an error.
        usage: Whether the request wants usage.
        stamped: Whether a text begins with the second in which it went out, by this machine's monotonic clock.
    """
    if mode.startswith(("wrong:", "raw:")):
        kind, _, text = mode.partition(":")
        yield True, text.encode() if kind == "raw" else b"data: %s\n\n" % text.encode()
        return
    if mode == "spoilt":
        yield True, _event(SPOILT)
        return
    frame = _Frame(given.model, bare=mode == "bare")
    yield False, frame.delta({"role": "assistant", "content": ""})
    if stamped and given.said.text:
        yield True, frame.delta({"content": f"{time.monotonic():.6f} "})
    deltas = pieces(given, mode)
    for delta in deltas[: len(deltas) // 2] if mode in ("half", "cut", "broken") else deltas:
        yield True, frame.delta(delta)
    if mode == "broken":
        yield True, _event(SPOILT)
    if mode in ("half", "cut", "broken"):
        return
    if mode != "bare":
        yield False, frame.delta({}, given.finish)
        if usage:
            yield False, frame.usage(given.usage)
    yield False, b"data: [DONE]\n\n"


def refusal(body: dict[str, Any], mode: str, refuses: Mapping[str, str]) -> tuple[int, bytes, str] | None:
    """Status, body and Retry-After of a refusal; None where the request is answered."""
    for name, code in refuses.items():
        if name in body:
            words = {"max_tokens": "Use 'max_completion_tokens' instead."}.get(name, "Only the default is supported.")
            error = {"message": f"Unsupported: '{name}' is not supported with this model. {words}", "code": code}
            return 400, json.dumps({"error": {**error, "param": name}}).encode(), ""
    status, _, more = mode.partition(":")
    if not status.isdigit():
        return None
    wait = "" if more.isalpha() else more
    said = {"message": f"no: {more}, you said {text_of(body['messages'][-1])}", "code": "model_not_found"}
    return int(status), json.dumps({"error": said}).encode(), wait


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, of its parts where it has such."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)


class _Frame:
    """What stands around each delta of a stream."""

    def __init__(self, model: str, *, bare: bool) -> None:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model}
        self._head = b"data: " + ("{" if bare else json.dumps(head)[:-1] + ", ").encode()

    def delta(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        ends = json.dumps(finish).encode()
        said = json.dumps(delta).encode()
        return b'%s"choices": [{"index": 0, "delta": %s, "finish_reason": %s}]}\n\n' % (self._head, said, ends)

    def usage(self, usage: Mapping[str, Any]) -> bytes:
        return b'%s"choices": [], "usage": %s}\n\n' % (self._head, json.dumps(usage).encode())


def _event(said: object) -> bytes:
    return b"data: %s\n\n" % json.dumps(said).encode()


def _parts(text: str) -> list[dict[str, str]]:
    half = len(text) // 2
    return [{"type": "text", "text": part} for part in (text[:half], text[half:])]


def _split(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


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


def _usage(body: dict[str, Any], text: str) -> dict[str, Any]:
    """Prompt tokens are those of the messages' texts, of calls in them and of the tools that are offered."""
    told = [text_of(message) for message in body["messages"]]
    told += [json.dumps(message["tool_calls"]) for message in body["messages"] if message.get("tool_calls")]
    prompt = sum(map(count_tokens, told)) + (count_tokens(json.dumps(body["tools"])) if body.get("tools") else 0)
    spent = {"prompt_tokens": prompt, "completion_tokens": count_tokens(text)}
    return {**spent, "total_tokens": sum(spent.values()), "prompt_tokens_details": {"cached_tokens": prompt // 2}}
