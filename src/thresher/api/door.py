"""The door before everything that HTTP reaches: checks Host, Origin and key, then passes a request to its face.

Invariant: a request is passed on with a caller in its scope, or is refused; one with a key ends when that key is
revoked. Health needs only a correct Host, and reveals no secret.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Collection
from contextlib import nullcontext, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, TypeAlias
from urllib.parse import parse_qs

import anyio
from fastapi import Depends, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thresher.api.errors import problem, refused, unexpected
from thresher.api.origins import KEY_HEADERS, Headers, Origins, is_embedded, read, was_forwarded
from thresher.core import FINGERPRINT, AccessDenied, Caller, NotAllowed, ThresherError, event
from thresher.peers import PEER, ConnectionPeer
from thresher.store import Keys, Sessions, without_placeholder

logger = logging.getLogger("thresher.api")

CALLER = "thresher.caller"
"""The scope's entry for the caller."""
KEY = "thresher.key"
"""The scope's entry for the fingerprint of the request's key; absent without one. MCP sessions belong to it."""

OWNER = "thresher.owner"
"""The scope's entry that says whether the caller is the owner of this process."""
SESSION = "thresher_session"
"""The cookie of a session of the console; a port's follows."""

WATCHED = "thresher.watched"
"""The scope's entry for what a visit of the console ends with: a key, or the SHA-256 of one; absent without."""

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
Webhook: TypeAlias = Callable[[str, str, str, str, bytes], Awaitable[int]]
"""Takes a repository's name, the webhook, the time, the signature and the raw body; returns the job."""
SIGNATURE, TIMESTAMP = "x-thresher-signature", "x-thresher-timestamp"
_STREAM = "text/event-stream"
_OF_PROGRAMS = ("/mcp", "/v1", "/.well-known/")
"""Beginnings of paths that are no page's."""
_WEBHOOK = re.compile(r"/v1/repositories/([^/]+)/refresh")
_WEBHOOK_BYTES = 1 << 20
_WAY_IN = "Send a key as `Authorization: Bearer thr_...`; make one with: thresher keys add NAME."

BEARER = HTTPBearer(auto_error=False, description="A key: `thresher keys add NAME`.")
"""Describes what the door requires; it checks nothing itself."""


def _checked_caller(request: Request) -> Caller:
    return request.scope[CALLER]


RequestCaller = Annotated[Caller, Depends(_checked_caller)]
"""The caller that the door has checked, as a parameter of a route."""


class Door:
    """The one ASGI application that serves a port.

    Args:
        mcp: Serves `/mcp`.
        http: Makes what serves the HTTP API; called in a thread, when it is first needed.
        keys: The keys that are valid.
        origins: The Host and Origin headers that are accepted.
        owner: The caller of requests without a key from processes of our own user; None: every request needs a key.
        welcome: Called with each request's caller; must not block.
        sessions: Who has signed in to the console.
        console: Makes what serves every path of people; None: there is no console.
        webhook: Checks and does what is signed in place of a key; None: there is no such thing.
    """

    def __init__(
        self,
        mcp: ASGIApp,
        http: Callable[[], ASGIApp],
        keys: Keys,
        origins: Origins,
        owner: Caller | None,
        welcome: Callable[[Caller], None],
        webhook: Webhook | None = None,
        *,
        sessions: Sessions | None = None,
        console: Callable[[], ASGIApp] | None = None,
    ) -> None:
        self._mcp = mcp
        self._http = _Face(http)
        self._sessions = sessions
        self._console = _Face(console) if console is not None else None
        self._keys = keys
        self._origins = origins
        self._owner = owner
        self._welcome = welcome
        self._webhook = webhook
        self._inside: ASGIApp = _readable(self._admit, origins.origins) if origins.origins else self._admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        answer = _Answer(send)
        try:
            await self._serve(scope, receive, answer)
        except ThresherError as error:
            event(logger, "not let in", code=error.code, path=scope["path"], address=_address(scope))
            await answer.instead(refused(error, scope["path"]), scope, receive)
        except Exception as error:  # noqa: BLE001 - a face: whatever went wrong becomes one clear answer
            await answer.instead(unexpected(error, scope["path"]), scope, receive)

    async def warm(self) -> None:
        """Make everything that serves, before anybody asks: together it takes half a second."""
        await self._http.made()
        if self._console is not None:
            await self._console.made()

    async def _serve(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        if (refusal := self._refusal(read(scope), scope)) is not None:
            await refusal(scope, receive, answer.send)
        elif scope["path"] in OPEN_PATHS:
            await (await self._http.made())(scope, receive, answer.send)
        elif self._console is not None and not scope["path"].startswith(_OF_PROGRAMS):
            if is_embedded(read(scope)):
                hint = "Open its address in the browser itself, or follow a link to it."
                raise NotAllowed("Pages of other origins may link to this one, and not load it.", hint=hint)
            await self._visit(await self._console.made(), scope, receive, answer.send)
        else:
            await self._inside(scope, receive, answer.send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = read(scope)
        text = _key(headers)
        peer = _peer(scope)
        if self._webhook is not None and not text and (call := _WEBHOOK.fullmatch(scope["path"])):
            signed = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            if SIGNATURE in signed and scope["method"] == "POST":
                job = await self._signed_job(call[1], signed, scope, receive)
                # who may have it indexed again may not read what it holds
                await JSONResponse({"name": call[1], "job": job}, HTTPStatus.ACCEPTED)(scope, receive, send)
                return
        caller = await self._caller(headers, text, peer)
        if peer is not None:
            peer.recognise()
        self._welcome(caller)
        face = self._mcp if scope["path"] in ("/mcp", "/mcp/") else await self._http.made()
        key = _fingerprint(text) if text else ""
        client = _client(key, scope)
        named = {CALLER: replace(caller, client=client)} | ({KEY: key} if key else {})
        with anyio.CancelScope() as work, self._keys.watched(text, work.cancel) if text else nullcontext():
            await face({**scope, **named}, receive, send)
        if work.cancelled_caught:
            raise _REVOKED

    async def _visit(self, face: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a path of the console; to nobody, too, who then can sign in.

        A cookie counts here alone: what a program sends to the other faces, no page can send in its user's name.
        """
        headers, peer = read(scope), _peer(scope)
        named: dict[str, object] = {}
        watched: str | bytes = _key(headers)
        token = "" if watched else _session_token(scope)
        session = None
        if token and self._sessions is not None:
            # a stream is opened again by itself as long as its page is shown, used or not
            session = await self._sessions.find(token, is_use=headers.get(b"accept") != [_STREAM])
        if session is not None:
            named, watched = {CALLER: session.caller}, session.key
        else:
            with suppress(AccessDenied):
                caller = await self._caller(headers, str(watched), peer)
                named = {CALLER: caller, OWNER: not watched}
        if named and peer is not None:
            peer.recognise()
        caller = named.get(CALLER)
        if isinstance(caller, Caller):
            self._welcome(caller)
        if watched:
            named[WATCHED] = watched
        with anyio.CancelScope() as work, self._keys.watched(watched, work.cancel) if watched else nullcontext():
            await face({**scope, **named}, receive, send)
        if work.cancelled_caught:
            raise _REVOKED

    async def _signed_job(self, name: str, headers: dict[str, str], scope: Scope, receive: Receive) -> int:
        assert self._webhook is not None  # noqa: S101 - checked where it is called
        body, more = bytearray(), True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > _WEBHOOK_BYTES:
                raise AccessDenied("The body of a webhook is too large.", hint=f"Send up to {_WEBHOOK_BYTES} bytes.")
        query = parse_qs(scope["query_string"].decode("latin-1"))
        which, at = query.get("webhook", [""])[0], headers.get(TIMESTAMP, "")
        return await self._webhook(name, which, at, headers[SIGNATURE], bytes(body))

    def _refusal(self, headers: Headers, scope: Scope) -> JSONResponse | None:
        """The refusal of a request from a foreign web page, or for another server; None if it is neither."""
        path = scope["path"]
        if not self._origins.knows_host(headers, scope):
            detail = "This server does not have the name in the header Host."
            hint = "Use the address that Thresher printed, or add the name to THRESHER_ALLOWED_HOSTS."
            return problem(421, "foreign_host", detail, hint, path=path)
        if not self._origins.knows_origin(headers, scope):
            hint = "If you trust the page, add its origin to THRESHER_ALLOWED_ORIGINS."
            return problem(403, "foreign_origin", "Web pages of this origin may not use Thresher.", hint, path=path)
        return None

    async def _caller(self, headers: Headers, text: str, peer: ConnectionPeer | None) -> Caller:
        if text:
            if (caller := await self._keys.holder(text)) is None:
                raise _REVOKED
            return caller
        if self._owner is None or was_forwarded(headers):
            raise AccessDenied("A key is needed here.", hint=_WAY_IN)
        if peer is None or not await peer.is_own_user():
            raise AccessDenied("Another user of this machine needs a key here.", hint=_WAY_IN)
        return self._owner


class _Face:
    """An application that is made once, in a thread, when it is first needed."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._making: asyncio.Task[ASGIApp] | None = None

    async def made(self) -> ASGIApp:
        """Return it."""
        if self._making is None:
            self._making = asyncio.create_task(asyncio.to_thread(self._make))
        return await asyncio.shield(self._making)


def _peer(scope: Scope) -> ConnectionPeer | None:
    """Return the connection's other end; if the server keeps none, as the request's scope describes it."""
    if (kept := scope.get("state", {}).get(PEER)) is not None:
        return kept
    client, server = scope.get("client"), scope.get("server")
    return ConnectionPeer(client, server) if client and server and server[1] is not None else None


_REVOKED = AccessDenied("The key is unknown or revoked.", hint=_WAY_IN)


def _readable(application: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """Let pages of these origins send requests with a key and read the answers; no cookie is ever involved."""
    return CORSMiddleware(
        application,
        allow_origins=origins,
        allow_methods=("GET", "POST", "PUT", "PATCH", "DELETE"),
        allow_headers=("*",),  # clients' libraries send many of their own, such as `x-stainless-lang`
        expose_headers=("mcp-session-id", "www-authenticate", "x-request-id", "x-thresher-thread", "x-should-retry"),
    )


def _key(headers: Headers) -> str:
    """Return the key of a request; empty without one, or with a placeholder.

    Raises:
        AccessDenied: Another kind of authorization, or more than one key.
    """
    shown = {_bearer(value) for value in headers.get(b"authorization", ())}
    shown |= {value.strip() for name in KEY_HEADERS for value in headers.get(name, ())}
    keys = {without_placeholder(text) for text in shown} - {""}
    if len(keys) > 1:
        raise AccessDenied("The request shows more than one key.", hint=_WAY_IN)
    return next(iter(keys), "")


def _bearer(value: str) -> str:
    scheme, _, token = value.strip().partition(" ")
    if scheme and scheme.lower() != "bearer":
        raise AccessDenied("The header Authorization holds no key.", hint=_WAY_IN)
    return token.strip()


def _session_token(scope: Scope) -> str:
    """Return what the cookie of this port holds; empty without one."""
    sent = Request({**scope, "type": "http"})
    return sent.cookies.get(cookie_name(SESSION, sent.headers.get("host", "")), "")


def cookie_name(name: str, host: str) -> str:
    """Return the name of a cookie for a port: browsers send those of one port to all others of a machine."""
    _, _, port = host.rpartition(":")
    return f"{name}_{port}" if port.isdecimal() else name


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _client(key: str, scope: Scope) -> str:
    """Return what distinguishes a client without a session from others; see `Caller.client`."""
    agents = (value.decode("latin-1") for name, value in scope["headers"] if name == b"user-agent")
    return FINGERPRINT + _fingerprint("\n".join((key, _address(scope), *agents)))


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class _Answer:
    """Records how much of an answer was sent, so that one that breaks off is ended and does not hang."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False
        self._whole = False

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        self._begun = True
        self._whole = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def instead(self, response: JSONResponse, scope: Scope, receive: Receive) -> None:
        """Send another answer if none has begun; otherwise end the one that has."""
        if not self._begun:
            await response(scope, receive, self._send)
        elif not self._whole:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
