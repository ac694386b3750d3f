"""A person at a browser without script: follows links, sends forms, keeps cookies."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.api.serving import Served

_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


@dataclass
class Person:
    """A browser; `last` is the last page that it showed."""

    web: httpx.AsyncClient
    last: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])

    async def see(self, path: str, status: int = 200) -> str:
        """Open a page; returns its HTML."""
        answer = await self.web.get(path)
        assert answer.status_code == status, f"{path}: {answer.status_code} {said(answer.text)}"
        self.last = answer.text
        return answer.text

    async def send(self, path: str, files: Any = None, /, **form: Any) -> httpx.Response:
        """Send a form of the last page, with its token."""
        found = _CSRF.search(self.last)
        data = {"csrf": found[1] if found else "", **form}
        return await self.web.post(path, data=data, files=files)

    async def do(self, path: str, files: Any = None, /, **form: Any) -> str:
        """Send a form of the last page, and follow where it leads; returns that page's HTML."""
        answer = await self.send(path, files, **form)
        assert answer.status_code == 303, f"{path}: {answer.status_code} {said(answer.text)}"
        return await self.see(answer.headers["location"])

    async def sign_in(self, key: str) -> None:
        """Sign in with a key."""
        await self.see("/sign-in")
        answer = await self.send("/sign-in", key=key)
        assert answer.status_code == 303, said(answer.text)


def said(page: str) -> str:
    """The words of a page, without its markup and its frame."""
    body = page.partition('<main id="main"')[2] or page
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


@asynccontextmanager
async def person(product: Served) -> AsyncGenerator[Person]:
    """Somebody with a browser of their own."""
    async with httpx.AsyncClient(base_url=product.web.base_url, timeout=60) as web:
        yield Person(web)
