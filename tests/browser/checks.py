"""What every page of the console must pass: axe, a narrow screen, the keyboard alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import cache
from typing import Any, Literal

from playwright.async_api import Locator, Page, ViewportSize

from scripts.build_console import FRONTEND

PHONE = ViewportSize(width=360, height=740)
GRAVE = ("serious", "critical")
_FOCUSED = "(element) => element === document.activeElement || element.contains(document.activeElement)"
_NAME = """() => {
  const element = document.activeElement;
  const name = element.ariaLabel || element.textContent || element.name || "";
  return `${element.tagName.toLowerCase()} ${name.trim().slice(0, 40)}`;
}"""
_WIDE = """() => {
  const width = (element) => Math.max(element.offsetWidth ?? 0, element.scrollWidth);
  const right = (element) => element.getBoundingClientRect().left + width(element);
  const wide = [...document.querySelectorAll("body *")]
    .filter((element) => right(element) > innerWidth + 1 && !element.closest("[data-scroll-x]"));
  const innermost = wide.filter((element) => !wide.some((other) => other !== element && element.contains(other)));
  const name = (element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`;
  return innermost.slice(0, 5).map((element) => `${name(element)} ${element.textContent.trim().slice(0, 40)}`);
}"""


async def axe(page: Page) -> list[str]:
    """What axe finds serious or critical in a page as it is: `rule: help (element, ...)`."""
    await page.evaluate(_axe_source())
    found: dict[str, Any] = await page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [_finding(one) for one in found["violations"] if one["impact"] in GRAVE]


@cache
def _axe_source() -> str:
    return (FRONTEND / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def _finding(violation: dict[str, Any]) -> str:
    nodes = [f"{node['target'][0]}: {node['failureSummary'].splitlines()[-1].strip()}" for node in violation["nodes"]]
    return f"{violation['id']}: {violation['help']} ({'; '.join(nodes[:5])})"


async def schemes(page: Page) -> AsyncGenerator[Literal["light", "dark"]]:
    """Show a page in light, then in dark; gives the name of each."""
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        yield scheme


async def too_wide(page: Page) -> list[str]:
    """What makes a page scroll sideways on a phone of 360 px; elements in `[data-scroll-x]` scroll by themselves."""
    before = page.viewport_size
    await page.set_viewport_size(PHONE)
    scrolls = await page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
    found: list[str] = await page.evaluate(_WIDE) if scrolls else []
    if before:
        await page.set_viewport_size(before)
    return found or (["the page itself"] if scrolls else [])


async def tab_to(page: Page, target: Locator, stops: int = 60) -> None:
    """Press Tab until an element, or something in it, has the focus; fails with what was passed."""
    passed: list[str] = []
    for _ in range(stops):
        await page.keyboard.press("Tab")
        if await target.evaluate(_FOCUSED):
            return
        passed.append(await page.evaluate(_NAME))
    raise AssertionError(f"Tab does not reach {target}; it stops at {passed}")
