"""Home, Insight and Settings of a product that was used: for everybody, by keys, and two people at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.api.serving import Served
from tests.browser.checks import PHONE, axe, schemes, tab_to, too_wide
from tests.browser.conftest import Visit
from tests.console.filling import HOSTILE, NONSENSE, used_product
from tests.console.hostile import PAYLOADS
from tests.support import Databases
from thresher.calling import Call
from thresher.core import ThresherError

PAGES = ("/", "/?all=yes", "/insight?days=1", "/insight?days=90&all=yes", "/insight/calls?outcome=failed", "/settings")
PATIENCE = 30_000


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """A product that was used."""
    async with used_product(databases, open_folder) as product:
        await product.app.services.keys.add(product.app.services.caller.tenant, "laptop of Ann", "ann")
        yield product


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_of_use_is_accessible_and_fits_a_phone(product: Served, visit: Visit, path: str) -> None:
    """Nothing serious for axe in light and dark; nothing wider than 360 pixels."""
    page = await visit(str(product.web.base_url))
    await page.goto(path)
    assert [await axe(page) async for _ in schemes(page)] == [[], []]
    phone = await visit(str(product.web.base_url), viewport=PHONE)
    await phone.goto(path)

    assert await too_wide(phone) == []


async def test_what_waits_is_settled_by_keys(page: Page) -> None:
    """From Home to the page of the server that does not answer."""
    await page.goto("/")
    await tab_to(page, page.get_by_role("link", name="The server 'safe' cannot be listed"))
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("heading", name="safe", exact=True)).to_be_visible()


async def test_the_strip_follows_the_servers(product: Served, page: Page) -> None:
    """A server that is switched off is shown so, without a click."""
    services = product.app.services
    await page.goto("/")
    strip = page.get_by_role("main").get_by_role("list").filter(has=page.get_by_role("link", name="box"))
    await expect(strip.get_by_text("answers")).to_be_visible()

    await services.tools.set_server_enabled(services.caller, "box", enabled=False)
    await expect(strip.get_by_text("disabled")).to_be_visible(timeout=PATIENCE)
    await services.tools.set_server_enabled(services.caller, "box", enabled=True)
    await expect(strip.get_by_text("disabled")).to_be_hidden(timeout=PATIENCE)


async def test_a_message_without_an_answer_is_tried_by_keys(page: Page) -> None:
    """Its link fills in the page that explains; a hostile one runs nothing."""
    await page.goto("/insight?days=1")
    await expect(page.get_by_text(HOSTILE.partition("\u202e")[0].strip())).to_be_visible()
    row = page.get_by_role("row").filter(has_text=NONSENSE)
    await tab_to(page, row.get_by_role("link", name="Try"))
    await page.keyboard.press("Enter")

    await expect(page.get_by_label("Message", exact=True)).to_have_value(NONSENSE)


async def test_the_period_and_filters_are_links_that_come_back(page: Page) -> None:
    """The address has them; the back button works."""
    await page.goto("/insight")
    await page.get_by_role("link", name="30 days").click()
    await page.get_by_role("link", name="box_open_box").click()
    await expect(page).to_have_url("/insight/calls?tool=box_open_box&days=30")
    await page.get_by_label("Outcome").select_option("failed")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.get_by_text("No such call in this period.")).to_be_visible()

    await page.go_back()
    await page.go_back()
    await expect(page).to_have_url("/insight?days=30")


async def test_a_key_is_made_and_revoked_by_keys(page: Page) -> None:
    """Its text can be copied once; revoking asks for the name."""
    await page.goto("/settings")
    await tab_to(page, page.get_by_text("Make a key"))
    await page.keyboard.press("Enter")
    await tab_to(page, page.get_by_label("Its name"))
    await page.keyboard.type("desk")
    await page.keyboard.press("Enter")
    await expect(page.locator("#made")).to_contain_text("thr_")
    await expect(page.get_by_role("button", name="Copy the key")).to_be_visible()

    row = page.get_by_role("row").filter(has_text="desk")
    await tab_to(page, row.get_by_text("Revoke…"))
    await page.keyboard.press("Enter")
    await tab_to(page, row.get_by_role("textbox"))
    await page.keyboard.type("desk")
    await page.keyboard.press("Enter")

    await expect(page.get_by_text("The key 'desk' is refused from now on")).to_be_visible()


async def test_a_prompt_is_edited_and_reset_by_keys(page: Page) -> None:
    """The difference is shown; one button goes back."""
    await page.goto("/settings/prompts")
    await page.get_by_role("main").get_by_role("row").get_by_role("link").first.press("Enter")
    text = page.get_by_label("Text", exact=True)
    await tab_to(page, text)
    await page.keyboard.press("Control+End")
    await page.keyboard.insert_text("\nBe <i>kind</i>.")
    await tab_to(page, page.get_by_role("button", name="Save as a new version"))
    await page.keyboard.press("Enter")
    await expect(page.locator("ins").filter(has_text="Be <i>kind</i>.")).to_be_visible()
    assert [await axe(page) async for _ in schemes(page)] == [[], []]

    await page.get_by_role("button", name="Go back to the shipped text").press("Enter")
    await expect(page.get_by_text("The shipped text is in force again")).to_be_visible()


async def test_two_people_see_their_own(product: Served, visit: Visit) -> None:
    """Somebody of another tenant has an empty Home while the owner's is full."""
    other = await product.app.services.database.tenant("others")
    key, _ = await product.app.services.keys.add(other, "their", "eve")
    owner, eve = await visit(str(product.web.base_url)), await visit(str(product.web.base_url))
    await eve.goto("/sign-in")
    await eve.get_by_label("Your key").fill(key)
    await eve.get_by_role("button", name="Sign in").click()

    await owner.goto("/")
    await expect(owner.get_by_role("link", name="The server 'safe' cannot be listed")).to_be_visible()
    await expect(eve.get_by_role("heading", name="Nothing is connected yet")).to_be_visible()
    await expect(eve.get_by_text("safe")).to_have_count(0)


async def test_hostile_messages_and_names_of_calls_are_text(product: Served, page: Page) -> None:
    """Sixty of each: in lists, in the log, in a prompt and its difference; none runs, loads or hides anything."""
    services = product.app.services
    for text in PAYLOADS:
        await services.tools.find_tools(services.caller, queries=[text])
        with suppress(ThresherError):
            await services.calling.call(services.caller, Call(text, {}))
    await services.tools.settle()
    whole = await services.prompts.get(services.caller, "basic")
    added = "\n".join(PAYLOADS).replace("\0", "").replace("{{", "{")[:10_000]
    await services.prompts.put(services.caller, "basic", f"{whole.text}\n{added}")

    for path in ("/insight?days=1&all=yes", "/insight/calls?days=1", "/settings/prompts/basic"):
        await page.goto(path)
        assert await page.evaluate("() => window.ran") is None, path
        assert await page.locator("main :is(iframe, object, embed, style, script, img, base)").count() == 0, path
        await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    await services.prompts.reset(services.caller, "basic")
