"""Every page in a browser: nothing serious for axe in light or dark, no wider than a phone, usable without script."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.api.serving import Served
from tests.browser.checks import PHONE, axe, schemes, too_wide
from tests.browser.conftest import Visit
from tests.console.filling import filled_product
from tests.support import Databases

PAGES = (
    "/",
    "/try",
    "/try?message=show+the+git+log+and+email+it+to+Lisa&compare=threshold%3D1&expected=weather_forecast&tool=mail",
    "/try?message=how+many+days+of+holiday&text=get_context",
    "/try?message=hello",
    "/try?message=hello&budget=x",
    "/try/cases",
    "/tools",
    "/actions",
    "/actions/tools/find_tools",
    "/actions/tools/remove_server",
    "/knowledge/documents",
    "/knowledge/documents/handbook?q=how+many+days+of+holiday&budget=500",
    "/knowledge/documents/handbook/read?path=leave.md",
    "/knowledge/apis",
    "/knowledge/apis/tracker?q=create+an+issue",
    "/knowledge/databases",
    "/knowledge/databases/shop",
    "/knowledge/databases/shop/tables/invoice",
    "/knowledge/databases/shop/audit?verify=yes",
    "/insight",
    "/insight/calls",
    "/settings",
    "/settings/conversations",
    "/settings/models",
    "/settings/prompts",
    "/settings/prompts/basic",
    "/settings/jobs",
    "/settings/system?verify=yes",
    "/sign-in",
    "/no/such/page",
)


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """A product with something of every kind."""
    async with filled_product(databases, open_folder) as product:
        yield product


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_accessible_in_light_and_dark(page: Page, path: str) -> None:
    """No serious or critical finding."""
    await page.goto(path)

    assert [await axe(page) async for _ in schemes(page)] == [[], []]


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_fits_a_phone(product: Served, visit: Visit, path: str) -> None:
    """Nothing is wider than 360 pixels, but tables that scroll by themselves."""
    phone = await visit(str(product.web.base_url), viewport=PHONE)
    await phone.goto(path)

    assert await too_wide(phone) == []


async def test_pages_are_reached_and_changed_without_script(product: Served, visit: Visit) -> None:
    """Links and forms are enough."""
    plain = await visit(str(product.web.base_url), java_script_enabled=False)
    await plain.goto("/")
    await plain.get_by_role("link", name="Knowledge").click()
    await plain.get_by_role("link", name="handbook").click()
    await plain.get_by_label("Question").fill("how many days of holiday")
    await plain.get_by_role("button", name="Ask").click()

    await expect(plain.get_by_text("Everybody has thirty days of holiday.").first).to_be_visible()
    await plain.get_by_role("button", name="dark").click()
    await expect(plain.locator("html")).to_have_attribute("data-theme", "dark")
