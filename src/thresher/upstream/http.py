"""The streamable HTTP transport: turns what goes wrong below JSON-RPC into an error of the one request it concerns.

Invariant: a failed request never takes the others of its session down, no answer grows past the bound, and an error
says whether the server can have carried the request out.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from enum import IntEnum
from http import HTTPStatus
from typing import Any, cast

import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from thresher.core import ThresherError
from thresher.upstream.config import ServerConfig
from thresher.upstream.process import MAX_MESSAGE_BYTES

_ERROR_BODY_BYTES = 64 * 1024
_WRITE_SECONDS = 30.0
_SESSION_HEADER = "mcp-session-id"


class Trouble(IntEnum):
    """Codes for failures below JSON-RPC; outside the range that the specification reserves."""

    UNREACHABLE = -73001
    """No connection: the server never saw the request."""
    EXPIRED = -73002
    """The server does not know our session any more and refused the request."""
    BROKEN = -73003
    """The answer did not arrive whole: the request may have been carried out."""
    STATUS = -73004
    """An HTTP error status; `data` holds it."""
    TOKEN = -73005
    """No token for it: the server was not asked, or has refused; `data` holds the error's code and hint."""


def http_transport(config: ServerConfig, connect_seconds: float, auth: httpx2.Auth | None = None) -> Transport:
    """Speak streamable HTTP with a server for the time of the returned context."""
    return _http_transport(config, connect_seconds, auth)


@asynccontextmanager
async def _http_transport(
    config: ServerConfig, connect_seconds: float, auth: httpx2.Auth | None
) -> AsyncGenerator[Any]:
    # No limit on reading: each request carries its own, and a stream may be silent for long.
    timeout = httpx2.Timeout(connect=connect_seconds, read=None, write=_WRITE_SECONDS, pool=None)
    async with (
        _Client(headers=dict(config.headers), timeout=timeout, auth=auth) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


class _Client(httpx2.AsyncClient):
    """Answers a request that failed on the way with a JSON-RPC error, instead of raising into the transport."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # pyright: ignore[reportIncompatibleMethodOverride] - the options are handed on as they are
        """Send one request."""
        try:
            response = await super().send(request, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            return _error(request, HTTPStatus.BAD_GATEWAY, Trouble.UNREACHABLE, _reason(error))
        except httpx2.TransportError as error:
            return _error(request, HTTPStatus.BAD_GATEWAY, Trouble.BROKEN, _reason(error))
        except ThresherError as error:  # of the authorization
            data = {"code": error.code, "hint": error.hint}
            return _error(request, HTTPStatus.UNAUTHORIZED, Trouble.TOKEN, error.message, data)
        if request.method != "POST":
            return response
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            return await _explained(request, response)
        if response.headers.get("content-type", "").lower().startswith("application/json"):
            return await _whole(request, response)
        # In an event stream the MCP library bounds each event, and ends only the request when it breaks.
        return response


def _reason(error: httpx2.RequestError) -> str:
    return str(error) or type(error).__name__


def _error(request: httpx2.Request, status: int, code: Trouble, message: str, data: object = None) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": int(code), "message": message, "data": data}}
    return httpx2.Response(status, json=body, request=request)


async def _explained(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Keep an answer that is a JSON-RPC error; say what the status means in place of any other."""
    status = response.status_code
    try:
        body = bytes(await _beginning(response, _ERROR_BODY_BYTES))
    except (httpx2.TransportError, httpx2.DecodingError):
        body = b""  # the status says enough
    finally:
        await response.aclose()
    if _SESSION_HEADER in request.headers and _expired(status, body):
        return _error(request, status, Trouble.EXPIRED, "the session has expired")
    if (rpc_error := _rpc_error(body)) is not None:
        return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": rpc_error}, request=request)
    return _error(request, status, Trouble.STATUS, response.reason_phrase, status)


async def _whole(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Read an answer to its end, or to the bound."""
    try:
        body = await _beginning(response, MAX_MESSAGE_BYTES)
    except (httpx2.TransportError, httpx2.DecodingError) as error:
        return _error(request, HTTPStatus.BAD_GATEWAY, Trouble.BROKEN, _reason(error))
    finally:
        await response.aclose()
    if len(body) > MAX_MESSAGE_BYTES:
        size = f"the answer has more than {MAX_MESSAGE_BYTES // 2**20} MiB"
        return _error(request, HTTPStatus.BAD_GATEWAY, Trouble.BROKEN, size)
    kept = {name: response.headers[name] for name in ("content-type", _SESSION_HEADER) if name in response.headers}
    return httpx2.Response(response.status_code, headers=kept, content=bytes(body), request=request)


async def _beginning(response: httpx2.Response, limit: int) -> bytearray:
    """Read until the body has more than `limit` bytes, counted after decompression."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            break
    return body


def _expired(status: int, body: bytes) -> bool:
    # 404 is the specification's; 400 with such a text is what servers made from the TypeScript SDK's example answer.
    return status == HTTPStatus.NOT_FOUND or (status == HTTPStatus.BAD_REQUEST and b"session id" in body.lower())


def _rpc_error(body: bytes) -> dict[str, Any] | None:
    try:
        decoded = json.loads(body)
    except (ValueError, RecursionError):
        return None
    error: object = cast("dict[str, Any]", decoded).get("error") if isinstance(decoded, dict) else None
    if isinstance(error, dict) and isinstance(cast("dict[str, Any]", error).get("code"), int):
        return cast("dict[str, Any]", error)
    return None
