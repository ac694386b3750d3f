"""The page that tries a message, in a browser: controls move the result, by keyboard alone, and nothing is lost."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.api.serving import Served
from tests.browser.checks import axe, tab_to
from tests.browser.conftest import Visit
from tests.console.filling import filled_product
from tests.support import Databases

SEND = "/try?message=email+the+report+to+Lisa"
TOOLS = "#lane-find_tools .given"


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """A product with something of every kind."""
    async with filled_product(databases, open_folder) as product:
        yield product


async def test_a_slider_moved_by_keyboard_moves_the_result(page: Page) -> None:
    """The number, the result and the address follow, and the focus stays."""
    await page.goto(SEND)
    await expect(page.locator(TOOLS).first).to_contain_text("mail_send_email")
    slider = page.get_by_role("slider", name="Tools fit from, slide")
    await tab_to(page, slider)
    await page.keyboard.press("End")

    await expect(page.locator(TOOLS)).to_have_count(0)
    await expect(page.get_by_text("No tool fits.")).to_be_visible()
    await expect(page.get_by_role("spinbutton", name="Tools fit from")).to_have_value("1")
    await expect(page).to_have_url(re.compile(r"/try\?message=email\+the\+report\+to\+Lisa&threshold=1$"))
    await expect(page.locator("#said")).to_contain_text("0 tools")
    await expect(slider).to_be_focused()
    await page.reload()
    await expect(page.locator(TOOLS)).to_have_count(0)
    assert await axe(page) == []


async def test_what_is_written_moves_the_result(page: Page) -> None:
    """Without a button; a wrong number is named where the result stood."""
    await page.goto(SEND)
    await page.get_by_label("Message", exact=True).fill("how will the weather be in Paris")
    await expect(page.locator("#lane-find_tools")).to_contain_text("weather_forecast")
    await page.get_by_role("spinbutton", name="Context").fill("3")

    await expect(page.get_by_role("alert")).to_contain_text("budget")
    await page.get_by_role("spinbutton", name="Context").fill("")
    await expect(page.locator("#lane-find_tools")).to_contain_text("weather_forecast")


async def test_servers_are_chosen_by_keyboard(page: Page) -> None:
    """Each tick moves the result."""
    await page.goto("/try?message=show+the+git+log+and+email+it+to+Lisa")
    await tab_to(page, page.get_by_text("Servers: all"))
    await page.keyboard.press("Enter")
    await tab_to(page, page.get_by_role("checkbox", name="mail"))
    await page.keyboard.press("Space")

    await expect(page.locator(TOOLS)).to_have_count(2)
    await expect(page.locator(TOOLS, has_text="mail_send_email")).to_be_visible()
    await expect(page).to_have_url(re.compile("servers=mail"))


async def test_two_settings_are_compared_by_keyboard(page: Page) -> None:
    """What fell out is marked while the slider moves, and the text of an answer stays chosen."""
    await page.goto(SEND)
    await page.get_by_role("link", name="get_context").click()
    await expect(page).to_have_url(re.compile("text=get_context"))
    hold = page.get_by_role("link", name="Hold these settings to compare")
    await hold.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Nothing differs.")).to_be_visible()
    await page.get_by_role("slider", name="Tools fit from, slide").press("End")

    await expect(page.locator("#compare tr", has_text="mail_send_email").first).to_contain_text("fell out")
    await expect(page.locator("#compare th").nth(4)).to_have_text("Now: tools from 1")
    await expect(page.get_by_label("The text of get_context")).to_be_visible()
    await page.go_back()
    await expect(page.get_by_role("link", name="Hold these settings to compare")).to_be_visible()


async def test_a_case_is_saved_by_keyboard_alone(page: Page) -> None:
    """From the message to what should have come, to the run of all cases."""
    await page.goto("/try")
    await tab_to(page, page.get_by_label("Message", exact=True))
    await page.keyboard.type("email the report to Lisa")
    await expect(page.locator(TOOLS).first).to_contain_text("mail_send_email")
    await tab_to(page, page.get_by_label("A tool that should have come"), stops=200)
    await page.keyboard.type("folders")
    await tab_to(page, page.get_by_role("link", name="mail_list_folders should have come"))
    await page.keyboard.press("Enter")
    await expect(page.locator("#expected .items")).to_contain_text("mail_list_folders")
    await tab_to(page, page.get_by_role("checkbox", name="tools: mail_send_email must come"), stops=200)
    await page.keyboard.press("Space")
    await tab_to(page, page.get_by_role("button", name="Save the case"), stops=80)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Saved as a test case.")).to_be_visible()
    await tab_to(page, page.get_by_role("link", name="Test cases"))
    await page.keyboard.press("Enter")
    await tab_to(page, page.get_by_role("button", name="Run all"))
    await page.keyboard.press("Enter")

    await expect(page.get_by_text("1 of 1 cases pass.")).to_be_visible()
    assert await axe(page) == []


async def test_the_text_is_copied_as_a_model_gets_it(product: Served, visit: Visit) -> None:
    """To the letter."""
    services = product.app.services
    found = await services.tools.find_tools(services.caller, message="email the report to Lisa")
    page = await visit(str(product.web.base_url), permissions=["clipboard-read", "clipboard-write"])
    await page.goto(SEND)
    await page.get_by_role("button", name="Copy").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()

    assert await page.evaluate("navigator.clipboard.readText()") == found.text


async def test_it_works_without_script(product: Served, visit: Visit) -> None:
    """A button, links and forms are enough."""
    plain = await visit(str(product.web.base_url), java_script_enabled=False)
    await plain.goto("/try")
    await plain.get_by_label("Message", exact=True).fill("email the report to Lisa")
    await plain.get_by_role("spinbutton", name="Tools fit from").fill("0.2")
    await plain.get_by_role("button", name="Try", exact=True).click()
    await expect(plain.locator("#lane-find_tools")).to_contain_text("mail_send_email")
    await plain.get_by_role("link", name="process_prompt").click()
    await expect(plain.get_by_label("The text of process_prompt")).to_be_visible()
    await plain.get_by_label("A tool that should have come").fill("folders")
    await plain.get_by_role("button", name="Find").click()
    await plain.get_by_role("link", name="mail_list_folders should have come").click()

    await expect(plain.locator("#expected .items")).to_contain_text("mail_list_folders")
    await expect(plain.get_by_role("spinbutton", name="Tools fit from")).to_have_value("0.2")
