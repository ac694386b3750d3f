"""A browser for each test process, the product behind a real port, and pages that may not go wrong unnoticed."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright
from pydantic import SecretStr

from scripts.build_console import is_current
from tests.api.serving import Served, served
from tests.browser.chromium import launched
from tests.browser.problems import Problems
from tests.support import Databases
from thresher.core import Settings

TIMEOUT = 15_000
"""Milliseconds that a page may take for whatever a test waits for."""
Visit: TypeAlias = Callable[..., Awaitable[Page]]
"""`await visit(URL, **options)`: a page of a new browser context, as another person would open it; not yet anywhere."""


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser that the tests of this process share; fails where there is none."""
    assert is_current(), "The console's scripts are not built from frontend/ as it is. Run: make console"
    async with async_playwright() as playwright:
        browser = await launched(playwright)
        yield browser
        await browser.close()


@pytest.fixture
async def problems() -> AsyncIterator[Problems]:
    """What went wrong in the pages of this test; whatever it did not allow fails it."""
    problems = Problems()
    yield problems
    problems.check()


@pytest.fixture
async def visit(browser: Browser, problems: Problems) -> AsyncIterator[Visit]:
    """Opens pages of any address; each has cookies and storage of its own, as for different people."""
    contexts: list[BrowserContext] = []

    async def opened(url: str, **options: Any) -> Page:
        context = await browser.new_context(base_url=url, **options)
        contexts.append(context)
        context.set_default_timeout(TIMEOUT)
        await problems.watch(context, url)
        return await context.new_page()

    yield opened
    await problems.settle()
    for context in contexts:
        await context.close()


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """The product, empty and without keys, for all tests of a module; modules with content have their own fixture."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    url = SecretStr(databases.url(name))
    async with served(Settings(data_dir=folder, allow_root=True, database_url=url)) as product:
        yield product
    await databases.drop(name)


@pytest.fixture
async def page(product: Served, visit: Visit) -> Page:
    """A page of the product: `await page.goto("/tools")`."""
    return await visit(str(product.web.base_url))
