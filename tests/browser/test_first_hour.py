"""From an empty folder to the first right answer, by what is on the screen alone; with a pointer, and by keys."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect
from pydantic import SecretStr

from tests.api.serving import served
from tests.browser.checks import axe, schemes, tab_to, too_wide
from tests.browser.conftest import Visit
from tests.support import Databases
from tests.support.product import ListedServer, listed
from thresher.core import Settings

MOST_CLICKS = 8
MESSAGE = "read the note about the harvest"
ANSWER = "notes_read_note"
PATIENCE = 60_000
"""Milliseconds; a server is a process that is started and asked."""


@pytest.fixture
async def page(databases: Databases, open_folder: Path, visit: Visit) -> AsyncIterator[Page]:
    """Home of a product of a test's own, which knows nothing yet."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    settings = Settings(data_dir=folder, allow_root=True, database_url=SecretStr(databases.url(name)), home_packs="off")
    async with served(settings) as product:
        page = await visit(str(product.web.base_url))
        page.set_default_timeout(PATIENCE)
        await page.goto("/")
        yield page
        await page.close()
    await databases.drop(name)


class Pointer:
    """A person's pointer, whose clicks are counted."""

    def __init__(self) -> None:
        self.clicks = 0

    async def click(self, target: Locator) -> None:
        """Click something that is on the screen."""
        await expect(target).to_be_visible()
        await target.click()
        self.clicks += 1


def file_of(folder: Path) -> str:
    """What somebody has in the file of their client."""
    tools = (
        listed("read_note", "Read a note, found by its words.", {"words": {"type": "string"}}),
        listed("send_mail", "Send a mail to somebody.", {"to": {"type": "string"}}),
        listed("list_invoices", "List the open invoices of a customer.", {"customer": {"type": "string"}}),
    )
    config = ListedServer.at(folder, "notes", *tools).config
    return json.dumps({"mcpServers": {"notes": {"command": config.command, "args": config.args}}})


async def test_the_first_right_answer_takes_few_clicks(page: Page, tmp_path: Path) -> None:
    """Paste a file, add its servers, try a message: the tool that a person would choose comes."""
    pointer = Pointer()
    pasted = page.get_by_label("Paste an mcpServers file")
    await pointer.click(pasted)
    await pasted.fill(file_of(tmp_path))
    await pointer.click(page.get_by_role("button", name="Add these"))
    await expect(page.get_by_text("added", exact=True)).to_be_visible(timeout=PATIENCE)
    await pointer.click(page.get_by_role("main").get_by_role("link", name="Try a message"))
    await pointer.click(page.get_by_label("Message", exact=True))
    await page.get_by_label("Message", exact=True).fill(MESSAGE)
    await pointer.click(page.get_by_role("button", name="Try", exact=True))

    await expect(page.locator("#lane-tools .given").filter(has_text=ANSWER)).to_be_visible(timeout=PATIENCE)
    assert pointer.clicks <= MOST_CLICKS
    await page.goto("/")
    await expect(page.get_by_role("heading", name="Home")).to_be_visible()
    await expect(page.get_by_role("main").get_by_role("link", name="notes")).to_be_visible()


async def test_the_same_goes_by_keys_alone(page: Page, tmp_path: Path) -> None:
    """Tab, words and Enter; the key of the search box leads to the message."""
    await tab_to(page, page.get_by_label("Paste an mcpServers file"))
    await page.keyboard.insert_text(file_of(tmp_path))
    await tab_to(page, page.get_by_role("button", name="Add these"))
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("added", exact=True)).to_be_visible(timeout=PATIENCE)
    await page.keyboard.press("/")
    await page.keyboard.insert_text(MESSAGE)
    await page.keyboard.press("Enter")

    await expect(page.locator("#lane-tools .given").filter(has_text=ANSWER)).to_be_visible(timeout=PATIENCE)


async def test_an_empty_home_is_for_everybody(page: Page) -> None:
    """Nothing serious for axe, no wider than a phone, and each configuration can be copied."""
    assert [await axe(page) async for _ in schemes(page)] == [[], []]
    assert await too_wide(page) == []
    await page.get_by_text("Cursor", exact=True).click()
    shown = page.locator("details.client[open]")

    await expect(shown).to_have_count(1)
    await expect(shown.get_by_text("mcpServers").first).to_be_visible()
    await shown.get_by_role("button", name="Copy").first.click()
    await expect(shown.get_by_role("button", name="Copied")).to_be_visible()
