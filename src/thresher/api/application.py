"""Builds the HTTP API: its routes, its errors, its description.

Invariant: it trusts the scope's caller, so it is only served behind the door. No request makes the process hold more
than the limit, whether it announces its length or not. Health needs no key, so it reveals no secret, and queries the
database at most once a second.
"""

from __future__ import annotations

import asyncio
import re
import time
from http import HTTPStatus
from inspect import cleandoc
from typing import Any

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import PlainTextResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thresher import __version__
from thresher.agent import Conversations
from thresher.api.answers import ProblemDocument, Readiness
from thresher.api.chat import chat_router, models_router
from thresher.api.errors import explain_errors
from thresher.api.routes import ROUTES
from thresher.api.verbs import verbs_router
from thresher.core import EncoderError, SchemaMismatch, StoreUnavailable, ThresherError, has_more_values
from thresher.embedding import Encoder
from thresher.services import Services
from thresher.store import Database

BODY_LIMIT = 4 * 1024 * 1024
"""Bytes in a body: a message with a pasted log fits, an upload does not."""
VALUE_LIMIT = 100_000
"""Values in a body: a million empty lists fit into 4 MiB, and decoding them would delay all other requests."""
UPLOAD_LIMIT = 16 * 1024 * 1024
"""Bytes in the body of an upload: its largest file in base64."""
_UPLOADS = re.compile(r"/v1/repositories/[^/]+/files")
_DISCARD_LIMIT = 4 * BODY_LIMIT
"""Bytes that are read and discarded: many clients read the refusal only after they have sent everything."""


class Bounded:
    """An application that answers 413 if a request's body is too long or has too many values.

    Args:
        application: Turns an `HTTPException` into an answer.
        uploads: The paths whose bodies hold files.
        is_json: Whether bodies are JSON, whose values are counted.
    """

    def __init__(self, application: ASGIApp, *, uploads: re.Pattern[str] = _UPLOADS, is_json: bool = True) -> None:
        self._application = application
        self._uploads = uploads
        self._is_json = is_json

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        limit = UPLOAD_LIMIT if self._uploads.fullmatch(scope["path"]) else BODY_LIMIT
        announced = Headers(scope=scope).get("content-length", "")
        read = int(announced) if announced.isdecimal() and int(announced) > limit else 0
        body = bytearray()

        async def bounded() -> Message:
            nonlocal read
            if limit < read <= _DISCARD_LIMIT:
                await _discard(receive)
            message: Message = await receive() if read <= limit else {"type": "http.disconnect"}
            part: bytes = message.get("body", b"")
            read += len(part)
            body.extend(part if self._is_json and read <= limit else b"")
            if not message.get("more_body", False):
                if self._is_json and has_more_values(body, VALUE_LIMIT):
                    raise HTTPException(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A body has {VALUE_LIMIT:,} values at most"
                    )
                body.clear()  # an answer may stream for minutes
            if read > limit:
                if message.get("more_body", False):
                    await _discard(receive)
                raise HTTPException(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"A body has {limit} bytes at most",
                    {"connection": "close"},
                )
            return message

        await self._application(scope, bounded, send)


async def _discard(receive: Receive) -> None:
    """Read and discard the rest of a refused body, up to a limit."""
    size, more = 0, True
    while more and size < _DISCARD_LIMIT:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)


ANSWER_SECONDS = 2.0
"""The longest that the database may take."""
LOAD_SECONDS = 0.2
"""The longest that a loaded encoder may take."""
FRESH_SECONDS = 1.0


class Watch:
    """Watches what readiness depends on.

    Args:
        database: Must answer.
        encoder: May be missing: searches then use words alone.
    """

    def __init__(self, database: Database, encoder: Encoder) -> None:
        self._database = database
        self._encoder = encoder
        self._asking = asyncio.Lock()
        self._last: tuple[float, Readiness] | None = None

    async def readiness(self) -> Readiness:
        """The current state, at most a second old."""
        async with self._asking:
            if self._last is None or time.monotonic() >= self._last[0]:
                found = await self._look()
                self._last = (time.monotonic() + FRESH_SECONDS, found)
            return self._last[1]

    async def _look(self) -> Readiness:
        reasons = await self._missing()
        return Readiness(status="not ready" if reasons else "ready", reasons=reasons, encoder=await self._encoding())

    async def _missing(self) -> list[str]:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._database.check()
        except TimeoutError:
            return [f"The database does not answer within {ANSWER_SECONDS:.0f} seconds."]
        except StoreUnavailable:
            return ["The database cannot be reached."]
        except SchemaMismatch:
            return ["The database's schema is of another version: run thresher migrate."]
        except ThresherError:
            return ["The database refuses Thresher's role or lacks what it needs: see thresher doctor."]
        return []

    async def _encoding(self) -> str:
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                await self._encoder.warm()
        except TimeoutError:
            return "not loaded yet"
        except EncoderError:
            return "cannot be used, searches use words alone: see thresher doctor"
        return "ready"


def health_router(watch: Watch) -> APIRouter:
    """The routes."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz", response_class=PlainTextResponse)
    async def healthz() -> str:  # pyright: ignore[reportUnusedFunction] - a route
        """The process is alive."""
        return "ok\n"

    @router.get("/readyz", responses={503: {"model": Readiness, "description": "Not ready; the reasons say why."}})
    async def readyz(response: Response) -> Readiness:  # pyright: ignore[reportUnusedFunction] - a route
        """Requests can be answered."""
        found = await watch.readiness()
        response.status_code = 200 if found.status == "ready" else 503
        return found

    return router


class _API(FastAPI):
    """FastAPI whose description includes problem documents and the fields of records."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        made = self.openapi_schema is not None
        document = super().openapi()
        if not made:
            problem = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas = document["components"]["schemas"]
            schemas |= {**problem.pop("$defs"), "ProblemDocument": problem}
            for schema in schemas.values():
                _describe_fields(schema)
        return document


def _describe_fields(schema: dict[str, Any]) -> None:
    """Describe a record: its docstring's section `Attributes`, and that an answer has all of its fields.

    A record whose empty fields are absent from answers says so by an empty `required`.
    """
    description, _, attributes = schema.get("description", "").partition("Attributes:\n")
    if not attributes:
        return
    schema["description"] = description.strip()
    if schema.get("required") != []:
        schema["required"] = list(schema.get("properties", {}))
    for line in cleandoc(attributes).replace("\n    ", " ").splitlines():
        name, _, text = line.partition(": ")
        if (field := schema.get("properties", {}).get(name)) is not None and "$ref" not in field:
            field.setdefault("description", text)


def http_api(services: Services, conversations: Conversations) -> FastAPI:
    """The application for every path except `/mcp`.

    Args:
        services: What it works with.
        conversations: Conversations with a model.
    """
    application = _API(
        title="Thresher",
        version=__version__,
        summary="For each message, the few tools a model needs - and why.",
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    application.add_middleware(Bounded)
    explain_errors(application)
    for kind, routes in ROUTES:
        application.include_router(verbs_router(services, kind, routes))
    application.include_router(chat_router(conversations, services.models))
    application.include_router(models_router(services.models))
    application.include_router(health_router(Watch(services.database, services.encoder)))
    return application
