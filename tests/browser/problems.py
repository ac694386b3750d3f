"""What goes wrong in a page while a test uses it: errors, blocked content, other hosts, scripts of others.

Invariant: nothing is overlooked because no assertion looked for it. A test that provokes a problem names it first.
"""

from __future__ import annotations

import asyncio
import re
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, ConsoleMessage, Dialog, Error, Request, Response

SHOWN = frozenset({"document", "xhr", "fetch", "eventsource", "ping"})
"""Resources whose failures are answers: the page shows them, and the test looks at what it shows."""
_REPEATED = "Failed to load resource"
"""Chromium's line for an answer of 400 or more, which the responses tell with more."""
_QUIET = 1.0
"""Seconds that a page may take to tell what it has to tell."""
_NETWORK = frozenset({"http", "https", "ws", "wss"})
_LEFT = frozenset({"net::ERR_ABORTED"})
"""A page was left, or a stream closed, while it waited."""
_LISTEN = """
document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sample, documentURI }) =>
  reportProblem(`Content-Security-Policy: ${effectiveDirective} blocked ${blockedURI} ${sample} at ${documentURI}`));
"""


class Problems:
    """Collects the problems of all pages of one test."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._allowed: list[str] = []
        self._contexts: list[BrowserContext] = []

    def allow(self, pattern: str) -> None:
        """Let what matches a regular expression happen: the test provokes it."""
        self._allowed.append(pattern)

    async def watch(self, context: BrowserContext, url: str) -> None:
        """Record what happens in a context whose pages belong to one host."""
        host = urlsplit(url).netloc
        self._contexts.append(context)
        await context.expose_function("reportProblem", self.report)
        await context.add_init_script(_LISTEN)

        def asked(request: Request) -> None:
            parts = urlsplit(request.url)
            if parts.scheme in _NETWORK and parts.netloc != host:
                self.seen.append(f"request to another host: {request.url}")

        context.on("request", asked)
        context.on("response", self._answered)
        context.on("requestfailed", self._failed)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.seen.append(f"error in the page: {_text(error.error)}"))
        context.on("page", lambda page: page.on("dialog", self._dialog))

    def report(self, problem: str) -> None:
        """Note one; pages do so by themselves."""
        self.seen.append(problem)

    async def settle(self) -> None:
        """Wait until open pages have told what they have to tell: events arrive before the answer to this."""
        for page in [page for context in self._contexts for page in context.pages]:
            try:
                async with asyncio.timeout(_QUIET):
                    await page.evaluate("() => new Promise((done) => setTimeout(done))")
            except (Error, TimeoutError):
                continue  # it is closed, on its way to the next page, or has no script, whose timers never end

    def check(self) -> None:
        """Fail if there is a problem that the test did not allow."""
        left = [problem for problem in self.seen if not any(re.search(pattern, problem) for pattern in self._allowed)]
        assert not left, "\n".join(["The page had problems:", *left])

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(_REPEATED):
            self.seen.append(f"console: {message.text}")

    def _answered(self, response: Response) -> None:
        kind = response.request.resource_type
        if response.status >= 400 and kind not in SHOWN:
            self.seen.append(f"{kind} not loaded: {response.status} {response.url}")

    def _failed(self, request: Request) -> None:
        if request.failure not in _LEFT:
            self.seen.append(f"request failed: {request.failure} {request.url}")

    async def _dialog(self, dialog: Dialog) -> None:
        self.seen.append(f"{dialog.type} dialog: {dialog.message}")
        await dialog.dismiss()


def _text(error: Error) -> str:
    return error.stack or error.message
