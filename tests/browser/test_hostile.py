"""Sixty texts of others in names, descriptions, documents, cells and notes: none runs, loads or hides anything.

What would break the policy, run a script, ask another host or write to the console fails a test by itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect

from tests.api.serving import Served
from tests.browser.conftest import Visit
from tests.console.filling import filled_product
from tests.console.hostile import PAYLOADS
from tests.console.person import person
from tests.support import Databases
from thresher.core import Tool
from thresher.knowledge.documents import origin_of


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """A product whose every name, description, document and cell is hostile."""
    async with filled_product(databases, open_folder) as product:
        services, folder = product.app.services, open_folder / "hostile"
        folder.mkdir()
        for number, text in enumerate(PAYLOADS):
            page = f"# {text}\n\n{text}\n\n> {text}\n\n- {text}\n\n| {text} |\n|---|\n| {text} |\n"
            (folder / f"page-{number}.md").write_text(page, encoding="utf-8")
        await services.documents.index_here(services.caller, "hostile", origin_of(str(folder)))
        schema = {"type": "object", "properties": {text[:60]: {"description": text} for text in PAYLOADS[:12]}}
        tools = [
            Tool(
                server="hostile", name=f"tool {number} {text}"[:120], title=text, description=text, input_schema=schema
            )
            for number, text in enumerate(PAYLOADS)
        ]
        await services.tools.import_tools(services.caller, tools, {"hostile": PAYLOADS[0]})
        connection = sqlite3.connect(folder / "hostile.sqlite")
        connection.execute('create table "<img src=x onerror=window.ran=1>" (id integer, "</script><b>" text)')
        connection.executemany('insert into "<img src=x onerror=window.ran=1>" values (?, ?)', enumerate(PAYLOADS))
        connection.commit()
        connection.close()
        async with person(product) as owner:
            await owner.see("/knowledge/databases")
            url = f"sqlite:///{folder / 'hostile.sqlite'}"
            await owner.do("/knowledge/databases", name="hostile", url=url, description=PAYLOADS[7])
            await owner.see("/knowledge/databases/hostile")
            await owner.do("/knowledge/databases/hostile/refresh")
            await owner.do("/knowledge/documents/hostile/guide", by="person", text="\n\n".join(PAYLOADS))
        yield product


async def nothing_ran(page: Page) -> None:
    """No payload has run, and the page is whole."""
    assert await page.evaluate("() => window.ran") is None
    await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    assert await page.locator("main iframe, main object, main embed, main style, main img, main base").count() == 0


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/tools",
        "/servers",
        "/servers/hostile",
        "/knowledge/documents",
        "/knowledge/documents/hostile?q=evil+example+script&budget=4000",
        "/knowledge/databases",
        "/knowledge/databases/hostile",
        "/knowledge/databases/hostile/tables/" + quote("<img src=x onerror=window.ran=1>", safe=""),
    ],
)
async def test_a_page_of_hostile_things_shows_them_as_text(page: Page, path: str) -> None:
    """Names, descriptions, guides, passages and schemas."""
    await page.goto(path)

    await nothing_ran(page)


async def test_each_hostile_document_is_lines_of_text(page: Page) -> None:
    """Verbatim, with what cannot be seen shown."""
    for number in range(len(PAYLOADS)):
        await page.goto(f"/knowledge/documents/hostile/read?path=page-{number}.md")
        await nothing_ran(page)

    await page.goto(f"/knowledge/documents/hostile/read?path=page-{len(PAYLOADS) - 2}.md")
    await expect(page.get_by_text("<U+202E>evil<U+202C>").first).to_be_visible()


async def test_hostile_cells_are_cells(page: Page) -> None:
    """A result of a statement is text, whatever it holds."""
    await page.goto("/knowledge/databases/hostile")
    await page.get_by_label("SQL").fill('select * from "<img src=x onerror=window.ran=1>"')
    await page.get_by_role("button", name="Run").click()

    await expect(page.get_by_role("cell", name=PAYLOADS[0], exact=True)).to_be_visible()
    await nothing_ran(page)


async def test_hostile_words_in_the_address_and_in_forms_are_text(page: Page) -> None:
    """What comes back in a field or an error is escaped."""
    for text in PAYLOADS[:30]:
        await page.goto(f"/actions/tools/find_tools?message={quote(text, safe='')}")
        await page.get_by_role("button", name="Run").click()
        await nothing_ran(page)
    await page.goto(f"/{quote(PAYLOADS[0], safe='')}")
    await nothing_ran(page)


async def test_a_person_with_script_off_sees_the_same(product: Served, visit: Visit) -> None:
    """Escaping is the server's."""
    plain = await visit(str(product.web.base_url), java_script_enabled=False)
    await plain.goto("/knowledge/documents/hostile")

    assert await plain.locator("main img, main iframe, main style").count() == 0
