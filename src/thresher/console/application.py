"""The application behind the door that serves the console's pages.

Invariant: every answer carries the security headers; an error is a page that says what happened, what to do, and the
trace id; of an unexpected one it says only the trace id, and the log has the rest.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import TypeAlias
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request as Sent
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thresher.agent import Conversations
from thresher.api import CALLER, OWNER, Bounded, Door, Origins, http_api, status_of
from thresher.console.declaration import Page
from thresher.console.pages import PAGES
from thresher.console.rendering import STATIC, templates
from thresher.console.visit import Visit
from thresher.core import AccessDenied, Caller, NotFound, ThresherError, event
from thresher.services import Services

_logger = logging.getLogger("thresher.console")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}
_UPLOADS = re.compile(r"/knowledge/documents/upload")
_YEAR = b"public, max-age=31536000, immutable"
_LEAST_COMPRESSED = 1_000


def http_door(
    services: Services,
    conversations: Conversations,
    mcp: ASGIApp,
    owner: Caller | None,
    welcome: Callable[[Caller], None],
) -> Door:
    """The one application of a port: MCP, the HTTP API and the console behind a door that checks who sends.

    Args:
        services: What they serve.
        conversations: Conversations with a model.
        mcp: Serves `/mcp`.
        owner: Who needs no key; None: everybody needs one.
        welcome: Called with each request's caller; must not block.
    """
    settings = services.settings
    origins = Origins.of(settings.allowed_hosts, settings.allowed_origins)
    return Door(
        mcp,
        partial(http_api, services, conversations),
        services.keys,
        origins,
        owner,
        welcome,
        services.documents.refresh_signed,
        sessions=services.sessions,
        console=partial(console, services, conversations),
    )


def console(services: Services, conversations: Conversations) -> ASGIApp:
    """The application for every path that is neither MCP's nor the HTTP API's.

    Args:
        services: What its pages show.
        conversations: Conversations with a model.
    """

    def visit(sent: Sent) -> Visit:
        return Visit(sent, services, conversations, sent.scope.get(CALLER), bool(sent.scope.get(OWNER)))

    templates().get_template("home.html")  # compiled before anybody waits for it
    routes = [Route(page.path, _endpoint(visit, page), methods=[page.method]) for page in PAGES]
    static = Mount("/static", StaticFiles(directory=STATIC, check_dir=False))
    application = Starlette(
        routes=[static, *routes],
        middleware=[
            Middleware(GZipMiddleware, minimum_size=_LEAST_COMPRESSED),
            Middleware(Bounded, uploads=_UPLOADS, is_json=False),
        ],
        exception_handlers={404: _unknown(visit), 405: _unknown(visit), HTTPException: _unreadable(visit)},
    )
    application.router.redirect_slashes = False
    return _Headers(application)


_Visited: TypeAlias = Callable[[Sent], Visit]
_Handler: TypeAlias = Callable[[Sent, Exception], Awaitable[Response]]


def _endpoint(visited: _Visited, page: Page) -> Callable[[Sent], Awaitable[Response]]:
    async def endpoint(sent: Sent) -> Response:
        visit = visited(sent)
        try:
            if visit.who is None and not page.is_open:
                return _to_sign_in(visit)
            if page.method == "POST":
                form = await sent.form(max_fields=5_000, max_part_size=16 * 1024 * 1024)
                visit.check_csrf(sent.headers.get("x-csrf-token", "") or str(form.get("csrf", "")))
            return await page.show(visit)
        except AccessDenied as error:
            return _to_sign_in(visit) if visit.who is None else failed(visit, error)
        except ThresherError as error:
            return failed(visit, error)
        except HTTPException:
            raise  # of a body that cannot be read
        except Exception:  # noqa: BLE001 - a face: whatever went wrong becomes one clear page
            return _unexpected(visit)

    return endpoint


def _to_sign_in(visit: Visit) -> Response:
    address = visit.sent.url.path + (f"?{visit.sent.url.query}" if visit.sent.url.query else "")
    back = "" if visit.sent.method != "GET" or address == "/" else f"?next={quote(address, safe='')}"
    answer = visit.go(f"/sign-in{back}")
    if visit.is_part:
        answer.headers["hx-redirect"] = f"/sign-in{back}"
        answer.status_code = 200
    return answer


def failed(visit: Visit, error: ThresherError) -> Response:
    """The page of an error; a part of a page gets it in its place."""
    status, trace = status_of(error), secrets.token_hex(8)
    event(_logger, "page failed", code=error.code, path=visit.sent.url.path, trace=trace)
    said = {"message": error.message, "hint": error.hint, "trace": trace}
    if visit.is_part:
        return visit.page("part_error.html", 200, **said)
    return visit.page("error.html", status, **said)


def _unexpected(visit: Visit) -> Response:
    trace = secrets.token_hex(8)
    _logger.exception("unexpected error in the console, trace %s", trace)
    said = {"message": "Something went wrong inside Thresher.", "hint": "The log has the details.", "trace": trace}
    return visit.page("part_error.html" if visit.is_part else "error.html", 200 if visit.is_part else 500, **said)


def _unknown(visited: _Visited) -> _Handler:
    async def page(sent: Sent, _: Exception) -> Response:
        visit = visited(sent)
        if visit.who is None:
            return _to_sign_in(visit)
        return failed(
            visit, NotFound("There is no such page.", hint="Start from the navigation, or press / to search.")
        )

    return page


def _unreadable(visited: _Visited) -> _Handler:
    async def page(sent: Sent, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
        visit, is_large = visited(sent), error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        hint = "Send less." if is_large else "Load the page again, then repeat."
        said = {"message": f"{error.detail.rstrip('.')}.", "hint": hint, "trace": ""}
        if visit.is_part:
            return visit.page("part_error.html", 200, **said)
        return visit.page("error.html", error.status_code, **said)

    return page


class _Headers:
    """Adds the security headers to every answer, and lets browsers keep static files whose address has a digest."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        is_kept = scope["path"].startswith("/static/") and scope["query_string"].startswith(b"v=")

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [*_HEADERS.items()]
                if is_kept and message["status"] == 200:
                    added.append((b"cache-control", _YEAR))
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await self._application(scope, receive, with_headers)
