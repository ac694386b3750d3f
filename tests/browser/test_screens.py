"""Each page as a picture, light and dark, of a product with the demo's catalogue; `make screenshots` keeps them.

In the suite a few pages are only looked at: that they are drawn, and nothing goes wrong in them.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, ViewportSize, expect
from pydantic import SecretStr

from tests.api.serving import Served, served
from tests.architecture.source import ROOT
from tests.browser.checks import schemes
from tests.browser.conftest import Visit
from tests.browser.showcase import NOTE, QUERY, QUESTION, model, showcase
from tests.fakes.chat_server import ChatServer
from tests.support import Databases
from thresher.console.rendering import link
from thresher.core import Settings

WRITES = os.environ.get("THRESHER_WRITE_SCREENSHOTS") == "1"
pytestmark = pytest.mark.timeout(900 if WRITES else 120)
ALL = ROOT / "build" / "screenshots"
SHOWN = ROOT / "docs" / "images" / "console"
"""Of these pictures, the ones that the docs show."""
SIZE = ViewportSize(width=1280, height=800)
LEAST_BYTES = 5_000
"""Of a picture that is not blank."""
TWO_TASKS = "Send a text message to +4915550100 and create a task for the design team"
_AT_HOME = """(places) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    for (const [place, shown] of places)
      texts.currentNode.data = texts.currentNode.data.replaceAll(new RegExp(place, "g"), shown);
}"""
"""Folders of the machine that draws the pictures, as somebody's own."""
PAGES = {
    "home": "/",
    "try": link("/try", message=TWO_TASKS),
    "lanes": link("/try", message=TWO_TASKS),
    "compare": link("/try", message=TWO_TASKS, threshold="0.6", compare="defaults") + "#compare",
    "cases": "/try/cases",
    "tools": "/tools",
    "tool": "/tools/git_git_log",
    "held": "/tools/mail_send_mail",
    "servers": "/servers",
    "server": "/servers/notes",
    "add-servers": "/servers/add",
    "chat": QUESTION,
    "approval": NOTE,
    "documents": "/knowledge/documents",
    "repository": "/knowledge/documents/docs?q=How+is+a+changed+tool+approved%3F&budget=600",
    "packs": "/knowledge/packs",
    "pack": "/knowledge/packs/release?q=publish+version+3",
    "pack-edit": "/knowledge/packs/release/edit",
    "apis": "/knowledge/apis",
    "api": "/knowledge/apis/tracker?q=create+an+issue",
    "databases": "/knowledge/databases",
    "database": "/knowledge/databases/shop",
    "query": "/knowledge/databases/shop",
    "solutions": "/knowledge/solutions",
    "relation": "/knowledge/solutions/relations/orders_to_customers?solution=shop_data",
    "insight": "/insight?days=7",
    "calls": "/insight/calls",
    "settings": "/settings",
    "prompt": "/settings/prompts/basic",
    "models": "/settings/models",
    "jobs": "/settings/jobs",
    "system": "/settings/system",
    "actions": "/actions",
    "sign-in": "/sign-in",
}
FEW = ("home", "try", "held", "query", "insight")


@pytest.fixture(scope="module")
def llm() -> Iterator[ChatServer]:
    """The model's service."""
    server = ChatServer(model)
    yield server
    server.stop()


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path, llm: ChatServer) -> AsyncIterator[Served]:
    """A product to look at."""
    async with showcase(databases, open_folder, llm.url, whole=WRITES) as product:
        yield product


@pytest.fixture
async def page(product: Served, visit: Visit) -> Page:
    """A page of it, of the size of the pictures."""
    return await visit(str(product.web.base_url), viewport=SIZE)


@pytest.mark.parametrize("name", PAGES if WRITES else FEW)
async def test_a_page_is_drawn_light_and_dark(page: Page, name: str) -> None:
    """Nothing goes wrong in it, and it is not blank."""
    await _open(page, name)

    await _drawn(page, name)


async def test_an_empty_home_is_drawn(databases: Databases, open_folder: Path, visit: Visit) -> None:
    """What somebody sees first."""
    folder, database = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    url = SecretStr(databases.url(database))
    async with served(Settings(data_dir=folder, allow_root=True, database_url=url, home_packs="off")) as empty:
        page = await visit(str(empty.web.base_url), viewport=SIZE)
        await page.goto("/")
        await _drawn(page, "empty")
        await page.goto("about:blank")
    await databases.drop(database)


async def _open(page: Page, name: str) -> None:
    path = PAGES[name]
    if not path.startswith("/"):
        await page.goto("/chat")
        await page.get_by_role("main").get_by_role("link", name=path).first.click()
        return
    await page.goto(path)
    if name == "lanes":
        await page.locator("#lane-find_tools").evaluate("(lane) => lane.scrollIntoView()")
    if name == "query":
        await page.get_by_label("SQL").fill(QUERY)
        await page.get_by_role("button", name="Run", exact=True).click()
        await expect(page.get_by_role("region", name="Rows")).to_be_visible()
        await page.get_by_label("SQL").scroll_into_view_if_needed()


async def _picture(page: Page) -> bytes:
    """What the page shows, as WebP: text stays sharp in less than half of a PNG."""
    session: Any = await page.context.new_cdp_session(page)
    answer: dict[str, str] = await session.send("Page.captureScreenshot", {"format": "webp", "quality": 80})
    await session.detach()
    return base64.b64decode(answer["data"])


async def _drawn(page: Page, name: str) -> None:
    """Look at a page in both schemes, and keep the pictures where they are asked for."""
    await expect(page.locator("h1").first).to_be_attached()
    if WRITES:
        await page.evaluate(
            _AT_HOME, [[str(ROOT), "/home/ada/thresher"], [r"/[^\s']*?/thr-[^/]+/[^/\s]+", "/home/ada/team"]]
        )
    async for scheme in schemes(page):
        picture = await _picture(page)
        assert len(picture) > LEAST_BYTES, (name, scheme)
        if WRITES:
            for folder in (ALL, SHOWN) if (SHOWN / f"{name}-{scheme}.webp").exists() else (ALL,):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{name}-{scheme}.webp").write_bytes(picture)
