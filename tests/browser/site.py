"""Small pages for tests of the harness and of the console's scripts, under the policy that the console sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from scripts.build_console import BUILT
from tests.api.serving import on_port

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
STYLE = """
body { margin: 0; font: 14px sans-serif; } main { min-height: 10px; } [hidden] { display: none; }
.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.connection-lost { position: fixed; right: 0; bottom: 0; }
"""
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width"><meta name="csrf" content="the-token"><link rel="icon" href="/icon">
<link rel="stylesheet" href="/style.css">
<script src="/built/console.js" defer></script><script src="/built/schema-graph.js" defer></script></head>
<body>{body}</body></html>"""


@dataclass
class Site:
    """Pages by path, and one stream at `/live`.

    Attributes:
        url: Where it is served.
        pages: What `GET` answers with, by path; other paths are 404.
        requests: What arrived, but for files.
        events: What a stream sends, each as (name, id, data); None ends the response.
        streams: The query and the `Last-Event-ID` header of each stream that was opened.
        open: How many streams are open now.
        refuses: Whether streams are answered with 500.
    """

    url: str = ""
    pages: dict[str, str] = field(default_factory=dict[str, str])
    requests: list[Request] = field(default_factory=list[Request])
    events: asyncio.Queue[tuple[str, str, str] | None] = field(default_factory=asyncio.Queue)
    streams: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    open: int = 0
    refuses: bool = False

    def page(self, path: str, body: str, title: str = "Test") -> None:
        """Serve a whole page with the console's scripts."""
        self.pages[path] = _PAGE.format(title=title, body=body)

    async def respond(self, request: Request) -> Response:
        """Answer with a page."""
        self.requests.append(request)
        body = self.pages.get(request.url.path)
        return HTMLResponse(
            body or "<p>There is no such page.</p>", 200 if body else 404, {"content-security-policy": POLICY}
        )

    async def live(self, request: Request) -> Response:
        """Answer with a stream."""
        if self.refuses:
            return Response(status_code=500)
        self.streams.append((request.url.query, request.headers.get("last-event-id")))
        return StreamingResponse(self._stream(), media_type="text/event-stream")

    async def _stream(self) -> AsyncIterator[str]:
        self.open += 1
        try:
            yield "retry: 50\n\n"
            while event := await self.events.get():
                name, identity, data = event
                lines = "".join(f"data: {line}\n" for line in data.splitlines())
                yield f"event: {name}\nid: {identity}\n{lines}\n"
        finally:
            self.open -= 1


@asynccontextmanager
async def serving_site() -> AsyncGenerator[Site]:
    """Serve a site on a port of its own."""
    site = Site()
    style = Response(STYLE, media_type="text/css")
    icon = Response("<svg xmlns='http://www.w3.org/2000/svg'/>", media_type="image/svg+xml")
    application = Starlette(
        routes=[
            Mount("/built", StaticFiles(directory=BUILT)),
            Route("/style.css", style),
            Route("/icon", icon),
            Route("/live", site.live),
            Route("/{path:path}", site.respond, methods=["GET", "POST"]),
        ]
    )
    async with on_port(application) as web:
        site.url = str(web.base_url)
        yield site
