"""The whole product behind a real port, on a database of a test's own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.types import ASGIApp

from thresher.app import App, open_app
from thresher.core import Settings, Tenant
from thresher.daemon.server.http import bind, serving

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
MCP_HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
PROBLEM = {"type", "title", "status", "detail", "hint", "trace_id"}


@dataclass
class Served:
    """A product and a client of its port."""

    app: App
    web: httpx.AsyncClient

    async def key(self, tenant: str, user: str | None = None, name: str = "key") -> tuple[Tenant, dict[str, str]]:
        """Make a key; returns its tenant and the header that shows it."""
        owner = await self.app.services.database.tenant(tenant)
        text, _ = await self.app.services.keys.add(owner, name, user)
        return owner, {"authorization": f"Bearer {text}"}

    async def find(self, body: Mapping[str, Any] | None = None, **headers: str) -> httpx.Response:
        """`POST /v1/tools/find`."""
        given = {"queries": ["show the commit history"]} if body is None else body
        return await self.web.post("/v1/tools/find", json=given, headers=headers)

    async def session(self, **headers: str) -> str:
        """Open a session of 2025-11-25; returns its id."""
        answer = await self.web.post("/mcp", json=INITIALIZE, headers=MCP_HEADERS | headers)
        assert answer.status_code == 200, answer.text
        return answer.headers["mcp-session-id"]

    async def mcp(self, method: str, session: str, **headers: str) -> httpx.Response:
        """One request of a session."""
        request = {"jsonrpc": "2.0", "id": 2, "method": method}
        return await self.web.post("/mcp", json=request, headers={**MCP_HEADERS, "mcp-session-id": session, **headers})


@asynccontextmanager
async def on_port(application: ASGIApp, host: str = "127.0.0.1") -> AsyncGenerator[httpx.AsyncClient]:
    """A client of an application behind a real port."""
    port = bind(host, 0)
    base = f"http://{host}:{port.getsockname()[1]}"
    async with serving(application, port), httpx.AsyncClient(base_url=base, timeout=30) as web:
        yield web


@asynccontextmanager
async def served(settings: Settings) -> AsyncGenerator[Served]:
    """The product of these settings."""
    owners = settings.model_copy(update={"keyless": "on"})  # the database is an external one
    async with open_app(owners) as app, on_port(app.asgi) as web:
        yield Served(app, web)


def assert_problem(answer: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    """The answer is a problem document of this kind, with nothing internal in it; returns it."""
    body = answer.json()
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(body) - {"errors"} == PROBLEM
    assert (body["status"], body["type"]) == (status, f"urn:thresher:problem:{kind}")
    assert len(body["trace_id"]) == 16
    assert "Traceback" not in answer.text
    assert ".py" not in answer.text
    return body
