"""Errors as services of the OpenAI wire format write them, for the paths that speak it.

Invariant: pure; what such a client reads says what happened and what to do, as a problem document does elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

_SERVED: Final = ("/v1/chat", "/v1/models")
_UNSERVED: Final = tuple(
    f"/v1/{name}"
    for name in (
        "assistants",
        "audio",
        "batches",
        "completions",
        "conversations",
        "embeddings",
        "files",
        "fine_tuning",
        "images",
        "moderations",
        "realtime",
        "responses",
        "uploads",
        "vector_stores",
    )
)
"""What clients of OpenAI's try besides; `threads` is not among them, since it is a path of ours."""
ONLY: Final = "Only /v1/chat/completions and /v1/models are served of OpenAI's paths."
"""What to say to such a client."""
_KINDS: Final[Mapping[int, str]] = {
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
_CODES: Final[Mapping[int, str]] = {HTTPStatus.UNAUTHORIZED: "invalid_api_key"}
_TRANSIENT: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
"""What may be otherwise in a moment. Anything else a client of OpenAI's would ask again in vain, or run twice."""


def speaks_openai(path: str) -> bool:
    """Whether errors on this path have OpenAI's form."""
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in _SERVED + _UNSERVED)


def openai_error(status: int, message: str, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """The body of an error, also of one in the midst of a stream.

    Args:
        status: The HTTP status that it has, or would have had.
        message: What happened, and what to do.
        param: The field that is wrong.
        code: Our name of the error.
    """
    kind = _KINDS.get(status, "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": _CODES.get(status, code)}}


def openai_status(status: int) -> int:
    """The status that such a service gives where we say `status`: a body that does not fit is 400 there."""
    return HTTPStatus.BAD_REQUEST if status == HTTPStatus.UNPROCESSABLE_ENTITY else status


def openai_headers(status: int, trace: str) -> dict[str, str]:
    """Headers that clients of OpenAI's read: the request's id, and whether asking again is of use."""
    return {"x-request-id": trace} | ({} if status in _TRANSIENT else {"x-should-retry": "false"})


def param_of(location: Sequence[object]) -> str | None:
    """A field as OpenAI names it, such as `messages[0].content`; None where the body as a whole is meant."""
    parts = location[1:]
    if not parts or not isinstance(parts[0], str):
        return None
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")
