"""The harness itself: what goes wrong in a page fails its test, and each check finds what it is for."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.api.serving import Served
from tests.browser.checks import axe, schemes, tab_to, too_wide
from tests.browser.conftest import Visit
from tests.browser.problems import Problems
from tests.browser.site import Site, serving_site

PROVOKED = {
    "inline script": ("<script>document.title = 'ran'</script>", "script-src"),
    "inline handler": ("<img src='/icon' alt='' onload='alert(1)'>", "script-src"),
    "inline style": ("<p style='color: red'>Red</p>", "style-src"),
    "image of another host": ("<img src='http://images.invalid/x.png' alt=''>", "images.invalid"),
    "frame": ("<iframe src='/' title='x'></iframe>", "frame-src"),
    "broken script": ("<script src='/broken.js'></script>", "not defined"),
    "missing script": ("<script src='/missing.js'></script>", "404"),
}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """Pages of a test's own."""
    async with serving_site() as site:
        site.pages["/broken.js"] = "thereIsNoSuchFunction()"
        yield site


async def provoked(problems: Problems, expected: str) -> None:
    """What was provoked would fail a test, and is named; allowed, it does not fail this one."""
    await problems.settle()
    with pytest.raises(AssertionError, match=expected):
        problems.check()
    problems.allow("")


async def test_the_product_answers_a_browser(product: Served, visit: Visit) -> None:
    """A page of the product's own port is loaded without a problem."""
    page = await visit(str(product.web.base_url))

    answer = await page.goto("/healthz")

    assert answer is not None
    assert answer.status == 200


@pytest.mark.parametrize(("body", "expected"), PROVOKED.values(), ids=PROVOKED)
async def test_what_the_policy_forbids_is_recorded(
    body: str, expected: str, site: Site, visit: Visit, problems: Problems
) -> None:
    """Scripts and styles of others, other hosts, errors and missing files are problems of the test."""
    site.page("/", body)
    page = await visit(site.url)

    await page.goto("/", wait_until="networkidle")

    await provoked(problems, expected)


async def test_an_error_of_a_script_is_recorded(site: Site, visit: Visit, problems: Problems) -> None:
    """So are errors on the console, unhandled rejections, requests to other hosts and dialogs."""
    site.page("/", "")
    page = await visit(site.url)
    await page.goto("/")

    await page.evaluate("() => { console.error('wrong'); Promise.reject(new Error('unheard')); alert('ran'); }")
    await page.evaluate("() => fetch('http://other.invalid/').catch(() => 0)")

    await provoked(problems, "console: wrong")
    for expected in ("console: wrong", "unheard", "alert dialog: ran", "other.invalid"):
        assert any(expected in problem for problem in problems.seen), problems.seen


async def test_an_answer_that_the_page_shows_is_no_problem(site: Site, visit: Visit) -> None:
    """A page that is not there is an answer: the test looks at what it says."""
    page = await visit(site.url)

    answer = await page.goto("/nowhere")

    assert answer is not None
    assert answer.status == 404


async def test_two_visitors_share_nothing(site: Site, visit: Visit) -> None:
    """Each visit has storage and cookies of its own."""
    site.page("/", "")
    first, second = await visit(site.url), await visit(site.url)
    await first.goto("/")
    await second.goto("/")

    await first.evaluate("() => localStorage.setItem('theme', 'dark')")

    assert await second.evaluate("() => localStorage.getItem('theme')") is None


async def test_axe_finds_what_people_cannot_use(site: Site, visit: Visit) -> None:
    """A field without a label and a pale text are found; a decent page has no finding, in light and dark."""
    site.pages["/pale.css"] = "p { color: #bbb; background: #fff; }"
    site.page("/bad", "<main><h1>Bad</h1><input><p>Pale</p></main><link rel='stylesheet' href='/pale.css'>")
    site.page("/good", "<main><h1>Good</h1><label>Name <input></label></main>")
    page = await visit(site.url)

    await page.goto("/bad")
    bad = await axe(page)
    await page.goto("/good")
    good = [await axe(page) async for _ in schemes(page)]

    assert any(one.startswith("label:") for one in bad), bad
    assert good == [[], []]


async def test_what_is_wider_than_a_phone_is_found(site: Site, visit: Visit) -> None:
    """The element that sticks out is named; the window is as before afterwards."""
    site.page("/wide", f"<main><p>Fits</p><pre>{'wide ' * 100}</pre></main>")
    site.page("/narrow", "<main><p>Fits</p></main>")
    page = await visit(site.url)

    await page.goto("/wide")
    wide, size = await too_wide(page), page.viewport_size
    await page.goto("/narrow")
    narrow = await too_wide(page)

    assert any(one.startswith("pre.") for one in wide), wide
    assert size == {"width": 1280, "height": 720}
    assert narrow == []


async def test_the_keyboard_reaches_or_tells_where_it_stopped(site: Site, visit: Visit) -> None:
    """Tab goes to what can have the focus; what cannot is not reached, and the message lists the stops."""
    site.page("/", "<main><a href='/'>First</a><button>Second</button><p id='never'>Text</p></main>")
    page = await visit(site.url)
    await page.goto("/")

    await tab_to(page, page.get_by_role("button", name="Second"))
    with pytest.raises(AssertionError, match="First") as failure:
        await tab_to(page, page.locator("#never"), stops=4)

    assert "Second" in str(failure.value)
