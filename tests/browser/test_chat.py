"""Conversations in a browser: written word by word, decided, cited, stopped; hostile text, two people, no script."""

from __future__ import annotations

import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect
from pydantic import SecretStr

from tests.api.serving import Served, served
from tests.browser.checks import axe, schemes, too_wide
from tests.browser.conftest import Visit
from tests.console.test_chat import KILN, MORE, model
from tests.console.test_rendering import HOSTILE
from tests.fakes.chat_server import ChatServer
from tests.support import Databases
from thresher.core import Settings
from thresher.knowledge.documents import origin_of
from thresher.upstream import ServerConfig

NOTE = 'note {"title": "Kiln", "text": "Fire it on Monday."}'
HOSTILES = "\n\n".join(one for one in (*HOSTILE, *MORE) if len(one) < 1_000)


@pytest.fixture(scope="module")
def llm() -> Iterator[ChatServer]:
    """The model's service."""
    server = ChatServer(model)
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _as_new(llm: ChatServer) -> None:
    """Each test finds the service well."""
    llm.mode = "good"
    llm.release.clear()
    llm.reached.clear()


@pytest.fixture(scope="module")
async def product(
    databases: Databases, open_folder: Path, llm: ChatServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    """A product with a model, a handbook and a server of notes."""
    folder, name, files = open_folder / secrets.token_hex(4), await databases.create(), tmp_path_factory.mktemp("files")
    folder.mkdir()
    (files / "kiln.md").write_text(KILN, encoding="utf-8")
    notes = Path(__file__).parent.parent / "fakes" / "notes_server.py"
    config = ServerConfig("notes", "stdio", command=sys.executable, args=(str(notes), str(folder / "notes.jsonl")))
    url = SecretStr(databases.url(name))
    settings = Settings(data_dir=folder, allow_root=True, database_url=url, llm_url=llm.url, llm_model="fake")
    async with served(settings) as product:
        services = product.app.services
        await services.tools.add_server(services.caller, config)
        await services.tools.refresh(services.caller, "notes")
        await services.documents.index_here(services.caller, "handbook", origin_of(str(files)))
        yield product
    await databases.drop(name)


async def begin(page: Page, message: str) -> None:
    """Begin a conversation by the keyboard alone."""
    await page.goto("/chat")
    await page.locator("#message").fill(message)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/chat/*")


async def go_on(page: Page, message: str) -> None:
    """Send the next message by the keyboard alone."""
    await page.locator("#message").fill(message)
    await page.keyboard.press("Enter")


async def test_an_answer_is_written_word_by_word(page: Page, llm: ChatServer) -> None:
    """It grows as text, is announced politely, and stands as Markdown at the end, with what it cost."""
    await begin(page, "say hello")
    await expect(page.locator(".meter")).to_have_count(1)
    llm.mode = "trickle"

    await go_on(page, "say one *two* three")

    writing = page.locator(".writing")
    await expect(writing).to_have_text("one")
    assert await writing.get_attribute("aria-live") == "polite"
    await expect(page.locator("#message")).to_have_value("")
    llm.release.set()
    await expect(page.locator(".turn").last.locator("em")).to_have_text("two")
    await expect(page.locator(".meter")).to_have_count(2)
    await expect(writing).to_have_count(0)


async def test_an_answer_goes_on_in_a_tab_that_was_closed(page: Page, visit: Visit, llm: ChatServer) -> None:
    """Another page of the same person shows how far it is, and stops it."""
    await begin(page, "say hello")
    await expect(page.locator(".meter")).to_have_count(1)
    llm.mode = "trickle"
    await go_on(page, "say one two three")
    await expect(page.locator(".writing")).to_have_text("one")
    address = page.url
    await page.close()

    other = await visit(address.split("/chat")[0])
    await other.goto(address)
    await expect(other.locator(".writing")).to_have_text("one")
    await other.get_by_role("button", name="Stop").click()

    await expect(other.get_by_text("interrupted")).to_be_visible()
    llm.mode = "good"
    await other.get_by_role("button", name="Ask again").click()
    await expect(other.locator(".turn").last.locator(".said")).to_have_text("one two three")
    await expect(other.locator(".turn")).to_have_count(3)


async def test_a_call_is_changed_and_approved(page: Page) -> None:
    """A slip in the arguments leaves them in their field."""
    await begin(page, NOTE)
    arguments = page.get_by_label("Arguments")

    await arguments.fill("{no")
    await page.get_by_role("button", name="Approve").click()
    await expect(page.get_by_text("nothing was run")).to_be_visible()
    await expect(arguments).to_have_value("{no")
    await arguments.fill('{"title": "Changed", "text": "x"}')
    await page.get_by_role("button", name="Approve").click()

    await expect(page.locator(".call .state")).to_have_text("done")
    await expect(page.locator(".turn")).to_have_count(1)


async def test_a_citation_opens_in_a_dialog(page: Page) -> None:
    """At its lines; Escape leads back to the link."""
    await begin(page, "look how hot a kiln is")
    cite = page.locator(".said a.cite").first

    await cite.click()
    await expect(page.locator("dialog .cited").first).to_be_visible()
    await page.keyboard.press("Escape")

    await expect(page.locator("dialog")).not_to_be_visible()
    await expect(cite).to_be_focused()


async def test_a_page_is_readable_in_both_schemes_and_on_a_phone(page: Page) -> None:
    """With a call that waits, an answer with its meter, and the settings."""
    await begin(page, "look how hot a kiln is")
    await expect(page.locator(".turn .said").first).to_be_visible(timeout=15_000)
    await go_on(page, NOTE)
    await expect(page.locator(".approval").first).to_be_visible(timeout=15_000)
    address = page.url.split("#")[0]

    for path in (address, "/chat", f"{address}/settings", f"{address}/passages/0/1"):
        await page.goto(path)
        async for scheme in schemes(page):
            assert await axe(page) == [], (path, scheme)
        assert await too_wide(page) == [], path


async def test_hostile_text_runs_nothing(page: Page) -> None:
    """While it is written and after; the fixtures fail the test for any request to elsewhere or refused script."""
    await begin(page, f"say {HOSTILES}")

    await expect(page.locator(".turn .said")).to_have_count(1)
    assert await too_wide(page) == []
    await page.reload()
    await expect(page.locator(".turn .said")).to_have_count(1)


async def test_two_people_talk_at_once(page: Page, product: Served, visit: Visit) -> None:
    """Each sees their own conversation, and neither the other's."""
    _, shown = await product.key("local", "ann", "ann")
    base = str(product.web.base_url)
    ann = await visit(base, extra_http_headers={"authorization": shown["authorization"]})
    await begin(page, "say mine")
    await begin(ann, "say hers")

    await go_on(page, "say more of mine")
    await go_on(ann, "say more of hers")

    await expect(page.locator(".turn").last.locator(".said")).to_have_text("more of mine")
    await expect(ann.locator(".turn").last.locator(".said")).to_have_text("more of hers")
    await ann.goto("/chat")
    await expect(ann.locator(".conversations li")).to_have_count(1)


async def test_a_conversation_works_without_script(product: Served, visit: Visit) -> None:
    """The form waits for the answer."""
    plain = await visit(str(product.web.base_url), java_script_enabled=False)
    await plain.goto("/chat")
    await plain.locator("#message").fill("say **whole**")
    await plain.get_by_role("button", name="Send").click()

    await expect(plain.locator(".said strong")).to_have_text("whole")
    await plain.close()  # without script it cannot tell what went wrong in it
