"""Turns errors into problem documents (RFC 9457); no other module does so for HTTP.

On paths of the OpenAI wire format they have that format's form.

Invariant: a client reads what happened, what to do about it and a trace id; of an unexpected error it reads only the
trace id, and the log has the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from thresher.api.answers import ProblemDocument, WrongField
from thresher.core import (
    AccessDenied,
    CallerText,
    Conflict,
    DatabaseUnavailable,
    EncoderError,
    InvalidInput,
    ModelBusy,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    NotAllowed,
    NotFound,
    QueryFailed,
    QueryTimeout,
    SourceUnavailable,
    StatementRefused,
    StoreUnavailable,
    ThresherError,
    UpstreamError,
    UpstreamTimeout,
    event,
    problem_of,
    traced,
)

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
"""Other paths that OpenAI clients use; `threads` is not among them, since it is a path of ours."""
_SERVED_HINT: Final = "Only /v1/chat/completions and /v1/models are served of OpenAI's paths."
_KINDS: Final[Mapping[int, str]] = {
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
_CODES: Final[Mapping[int, str]] = {HTTPStatus.UNAUTHORIZED: "invalid_api_key"}
_TRANSIENT: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
"""Statuses of problems that may pass soon. A retry after any other is useless, or runs something twice."""


def speaks_openai(path: str) -> bool:
    """Return whether errors on this path have OpenAI's form."""
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in _SERVED + _UNSERVED)


def openai_error(status: int, message: str, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """Return the body of an error, also of one inside a stream.

    Args:
        status: The HTTP status that it has, or would have had.
        message: What happened, and what to do.
        param: The wrong field.
        code: Our name for the error.
    """
    kind = _KINDS.get(status, "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": _CODES.get(status, code)}}


def openai_status(status: int) -> int:
    """Return OpenAI's status for ours: there, a body that is not valid is 400."""
    return HTTPStatus.BAD_REQUEST if status == HTTPStatus.UNPROCESSABLE_ENTITY else status


def openai_headers(status: int, trace: str) -> dict[str, str]:
    """Return headers that OpenAI clients read: the request's id, and whether a retry is useful."""
    return {"x-request-id": trace} | ({} if status in _TRANSIENT else {"x-should-retry": "false"})


def param_of(location: Sequence[object]) -> str | None:
    """Return a field as OpenAI names it, such as `messages[0].content`; None if the whole body is wrong."""
    parts = location[1:]
    if not parts or not isinstance(parts[0], str):
        return None
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


logger = logging.getLogger("thresher.api")

MEDIA_TYPE = "application/problem+json"


def problem_response(text: str) -> dict[str, Any]:
    """Return the entry of a route's description for a problem document.

    It has no `model`: FastAPI would build a validator for each status of each route, which takes more than half of the
    time to build the API, for answers that it neither makes nor checks.

    Args:
        text: When the route answers with it.
    """
    return {"description": text, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    401: problem_response("Missing or unknown API key."),
    403: problem_response("The Origin, or the caller, may not do this."),
    404: problem_response("A named tool or server does not exist."),
    413: problem_response("The body is too large."),
    421: problem_response("The Host is not this server's."),
    422: problem_response("The body is not valid."),
    500: problem_response("An internal error."),
    503: problem_response("The database does not answer."),
}
"""The problems that any route may answer with."""

_STATUS: Mapping[type[ThresherError], HTTPStatus] = {
    InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    AccessDenied: HTTPStatus.UNAUTHORIZED,
    NotAllowed: HTTPStatus.FORBIDDEN,
    NotFound: HTTPStatus.NOT_FOUND,
    Conflict: HTTPStatus.CONFLICT,
    StoreUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    EncoderError: HTTPStatus.SERVICE_UNAVAILABLE,
    ModelTimeout: HTTPStatus.GATEWAY_TIMEOUT,
    ModelBusy: HTTPStatus.TOO_MANY_REQUESTS,
    ModelUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    ModelError: HTTPStatus.BAD_GATEWAY,
    SourceUnavailable: HTTPStatus.BAD_GATEWAY,
    DatabaseUnavailable: HTTPStatus.BAD_GATEWAY,
    StatementRefused: HTTPStatus.FORBIDDEN,
    QueryTimeout: HTTPStatus.GATEWAY_TIMEOUT,
    QueryFailed: HTTPStatus.UNPROCESSABLE_ENTITY,
    UpstreamTimeout: HTTPStatus.GATEWAY_TIMEOUT,
    UpstreamError: HTTPStatus.BAD_GATEWAY,
    ThresherError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""The status of the nearest ancestor of an error applies."""

_HEADERS: Mapping[int, Mapping[str, str]] = {
    HTTPStatus.UNAUTHORIZED: {"www-authenticate": 'Bearer realm="thresher"'},
    HTTPStatus.SERVICE_UNAVAILABLE: {"retry-after": "1"},
}
_HTTP: Mapping[int, tuple[str, str]] = {
    HTTPStatus.BAD_REQUEST: ("bad_request", "/v1/openapi.json describes what is taken."),
    HTTPStatus.NOT_FOUND: (NotFound.code, "MCP is at /mcp; /v1/openapi.json describes the rest."),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method_not_allowed", "The header Allow lists the allowed methods."),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("too_large", "Send less at once."),
}
"""Kind and hint of requests that the framework refuses."""


def problem(
    status: int,
    code: str,
    detail: str,
    hint: str = "",
    *,
    errors: Sequence[WrongField] = (),
    headers: Mapping[str, str] | None = None,
    path: str = "",
    param: str | None = None,
) -> JSONResponse:
    """Return a problem document, or an error of OpenAI's form on such a path.

    Args:
        status: The HTTP status.
        code: The kind of problem; it ends the document's `type`.
        detail: What happened.
        hint: What the reader can do about it.
        errors: The fields of the body that are not valid.
        headers: Headers in addition to those of the status.
        path: The path of the request.
        param: The wrong field, as OpenAI clients name it.
    """
    more = {**_HEADERS.get(status, {}), **(headers or {})}
    with traced() as trace:
        if speaks_openai(path):
            status = openai_status(status)
            content = openai_error(status, _encodable(f"{detail} {hint}".strip()), param=param, code=code)
            return JSONResponse(content, status, more | openai_headers(status, trace))
        title = HTTPStatus(status).phrase
        body = ProblemDocument(
            type=f"urn:thresher:problem:{code}",
            title=title,
            status=status,
            detail=_encodable(detail),
            hint=_encodable(hint),
            trace_id=trace,
            errors=list(errors) or None,
        )
        content = body.model_dump(exclude_none=True)
    return JSONResponse(content, status, more, MEDIA_TYPE)


def _encodable(text: str) -> str:
    """Return a text as UTF-8 can encode it: a lone surrogate, which a body may contain, becomes its number."""
    return text.encode("utf-8", "backslashreplace").decode()


def refused(error: ThresherError, path: str = "") -> JSONResponse:
    """Return the answer to an error of ours.

    Args:
        error: The error.
        path: The path of the request.
    """
    with traced():
        event(logger, "refused", code=error.code, message=CallerText(error.message))
        return problem(status_of(error), error.code, error.message, error.hint, path=path)


def status_of(error: ThresherError) -> int:
    """Return the HTTP status of an error of ours."""
    return status_of_type(type(error))


def status_of_type(error: type[ThresherError]) -> int:
    """Return the HTTP status of a class of errors."""
    return next(_STATUS[kind] for kind in error.__mro__ if kind in _STATUS)


def unexpected(error: Exception, path: str = "") -> JSONResponse:
    """Return the answer to an unexpected error.

    Args:
        error: The error.
        path: The path of the request.
    """
    with traced() as trace:
        logger.error("unforeseen", exc_info=error, extra={"fields": {"kind": type(error).__name__}})
        hint = f"Its log tells more under {trace if speaks_openai(path) else 'trace_id'}."
        return problem(500, "internal", "Something went wrong inside Thresher.", hint, path=path)


def explain_errors(application: FastAPI) -> None:
    """Answer every error of an application with a problem document."""
    application.add_exception_handler(ThresherError, _of_ours)
    application.add_exception_handler(HTTPException, _of_http)
    application.add_exception_handler(RequestValidationError, _of_body)
    application.add_exception_handler(Exception, _of_any)


async def _of_ours(request: Request, error: Any) -> JSONResponse:
    return refused(error, request.url.path)


async def _of_http(request: Request, error: Any) -> JSONResponse:
    status = HTTPStatus(error.status_code)
    named = request.url.path if status == HTTPStatus.NOT_FOUND else str(error.detail)
    detail = f"There is nothing at {named}." if status == HTTPStatus.NOT_FOUND else f"{named.rstrip('.')}."
    kind, hint = _HTTP.get(status, (f"http_{status.value}", ""))
    hint = _SERVED_HINT if status == HTTPStatus.NOT_FOUND and speaks_openai(request.url.path) else hint
    return problem(status, kind, detail, hint, headers=error.headers, path=request.url.path)


async def _of_body(request: Request, error: Any) -> JSONResponse:
    found = error.errors()
    if found and found[0]["type"] == "json_invalid":
        return _no_json(str(error.body), int(found[0]["loc"][1]), request.url.path)
    wrong = _wrong_fields(found, error.body)
    detail = f"The request is not valid: {'; '.join(f'{item.field}: {item.message}' for item in wrong[:_NAMED])}."
    param = param_of(found[0]["loc"]) if found else None
    errors, path = wrong[:_LISTED], request.url.path
    return problem(422, InvalidInput.code, detail, _FIT, errors=errors, path=path, param=param)


def _no_json(body: str, place: int, path: str) -> JSONResponse:
    line, column = body.count("\n", 0, place) + 1, place - body.rfind("\n", 0, place)
    detail = f"The body is not valid JSON: line {line}, column {column}."
    errors = [WrongField(field="body", message=f"It is not valid JSON: line {line}, column {column}")]
    return problem(422, InvalidInput.code, detail, _FIT, errors=errors, path=path)


async def _of_any(request: Request, error: Exception) -> JSONResponse:
    return unexpected(error, request.url.path)


_FIT = "/v1/openapi.json describes it. Send JSON as application/json."
_NAMED, _LISTED = 3, 20
"""The most wrong fields in the sentence, and in the list."""


def _wrong_fields(found: Sequence[Mapping[str, Any]], body: Any) -> list[WrongField]:
    """Return each wrong field once; if it may have one of several types, with the message of each."""
    messages: dict[str, list[str]] = {}
    for entry in found:
        messages.setdefault(_path(entry, body), []).append(problem_of(entry))
    return [WrongField(field=field, message="; or ".join(dict.fromkeys(texts))) for field, texts in messages.items()]


def _path(entry: Mapping[str, Any], body: Any) -> str:
    """Return a field such as `queries.1`, without the leading `body` and the names of types that a value may have."""
    first, *location = entry["loc"]
    if first != "body":
        return ".".join(map(str, location)) or str(first)
    kept: list[str] = []
    for at, part in enumerate(location, 1):
        try:
            body = body[part]
        except (TypeError, KeyError, IndexError):
            if at < len(location) or entry["type"] != "missing":
                continue
        kept.append(str(part))
    return ".".join(kept) or "body"
