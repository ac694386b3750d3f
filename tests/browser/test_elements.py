"""The console's own elements, on small pages: each does what it says, under the console's policy."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, expect

from tests.browser.checks import axe
from tests.browser.conftest import Visit
from tests.browser.problems import Problems
from tests.browser.site import Site, serving_site
from tests.support import eventually

ROWS = "".join(f"<tr><td><a href='/row/{name}'>{name} fruit</a></td></tr>" for name in ("apple", "pear", "plum"))
TABLE = f"<table><thead><tr><th>Name</th></tr></thead><tbody>{ROWS}</tbody></table>"
NAV = "<nav><a href='/tools' data-key='t'>Tools</a> <input type='search' data-key='/' aria-label='Search'></nav>"
SCHEMA = {
    "tables": [
        {"name": "orders", "columns": [{"name": "id", "type": "integer"}, {"name": "customer", "type": "integer"}]},
        {"name": "customers", "columns": [{"name": "id", "type": "integer"}]},
        {"name": "odd/<b>name</b> ?#", "columns": []},
        {"name": "alone", "columns": [{"name": f"c{number}", "type": "text"} for number in range(20)]},
    ],
    "relations": [
        {"from": "orders", "to": "customers", "columns": "customer = id", "declared": True, "confidence": 1},
        {"from": "orders", "to": "odd/<b>name</b> ?#", "columns": "", "declared": False, "confidence": 0.871},
        {"from": "orders", "to": "orders", "columns": "id = id", "declared": False, "confidence": 0.5},
        {"from": "orders", "to": "not there", "columns": "", "declared": True, "confidence": 1},
    ],
}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """Pages of a test's own."""
    async with serving_site() as site:
        yield site


@pytest.fixture
async def page(site: Site, visit: Visit) -> Page:
    """A page of the site that may use the clipboard."""
    return await visit(site.url, permissions=["clipboard-read", "clipboard-write"])


async def shown(site: Site, page: Page, body: str, path: str = "/") -> None:
    """Serve a body and go there."""
    site.page(path, body)
    await page.goto(path)


async def hide(page: Page, hidden: bool) -> None:
    """Let the page believe that its tab is hidden, or shown again: a headless browser hides none by itself."""
    await page.evaluate(
        "(hidden) => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        hidden,
    )


async def test_the_copy_button_copies_the_text_of_an_element(site: Site, page: Page) -> None:
    """The clipboard holds the text, the button says so, and screen readers hear it."""
    await shown(
        site, page, "<pre id='it'>line 1\n<b>line 2</b></pre><copy-button from='it' label='Copy it'></copy-button>"
    )

    await page.get_by_role("button", name="Copy it").click()

    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    await expect(page.get_by_role("status")).to_have_text("Copied")
    assert await page.evaluate("() => navigator.clipboard.readText()") == "line 1\nline 2"


async def test_the_copy_button_works_without_a_clipboard(site: Site, page: Page) -> None:
    """Over plain HTTP to another machine browsers offer no clipboard: the older command copies."""
    await page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    await shown(site, page, "<copy-button value='a text'></copy-button><textarea aria-label='Here'></textarea>")

    await page.get_by_role("button", name="Copy").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_focused()
    await page.get_by_label("Here").focus()
    await page.keyboard.press("Control+V")

    await expect(page.get_by_label("Here")).to_have_value("a text")
    await expect(page.locator("textarea")).to_have_count(1)


async def test_keys_search_go_and_step_through_rows(site: Site, page: Page) -> None:
    """`/` focuses the search, where letters are letters; `j` and `k` step; `g t` follows the link."""
    site.page("/tools", "<h1>Tools</h1>")
    await shown(site, page, f"{NAV}<main>{TABLE}</main>")

    await page.keyboard.press("/")
    await page.keyboard.type("jg?t/")
    await expect(page.get_by_label("Search")).to_have_value("jg?t/")
    await page.get_by_label("Search").blur()
    await page.keyboard.type("jjk")
    await expect(page.get_by_role("link", name="apple fruit")).to_be_focused()
    await page.keyboard.type("jjj")
    await expect(page.get_by_role("link", name="plum fruit")).to_be_focused()
    await page.keyboard.type("gt")

    await page.wait_for_url("**/tools")


async def test_a_question_mark_lists_the_keys(site: Site, page: Page) -> None:
    """The dialog has the pages of the navigation; Escape closes it and the focus is where it was."""
    await shown(site, page, f"{NAV}<main><h1>Rows</h1>{TABLE}</main><keyboard-help></keyboard-help>")
    await page.keyboard.press("j")

    await page.keyboard.press("?")

    dialog = page.get_by_role("dialog", name="Keys")
    await expect(dialog.locator("dt")).to_have_text(["/", "g t", "j", "k", "?"])
    await expect(dialog.locator("dd")).to_contain_text(["Search", "Tools"])
    assert await axe(page) == []
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await expect(page.get_by_role("link", name="apple fruit")).to_be_focused()


async def test_single_keys_can_be_switched_off(site: Site, page: Page) -> None:
    """Those who speak to their computer, or press keys by accident, switch them off; the button stays."""
    await shown(site, page, f"{NAV}<main>{TABLE}</main><keyboard-help></keyboard-help>")
    await page.get_by_role("button", name="Keys").click()
    await page.get_by_label("Switch single keys off").check()
    await page.reload()

    await page.keyboard.type("/j?")

    await expect(page.locator("body")).to_be_focused()
    await page.get_by_role("button", name="Keys").click()
    await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


async def test_rows_are_filtered_as_you_type_and_the_address_says_so(site: Site, page: Page) -> None:
    """All words must be in a row; the count and the address follow, without a request."""
    form = "<form><input type='search' name='q' aria-label='Filter'></form><p data-count>3</p>"
    await shown(site, page, f"<main><filter-table total='3'>{form}{TABLE}</filter-table></main>", "/fruit")
    asked = len(site.requests)

    await page.get_by_label("Filter").fill("FRUIT p l")

    await expect(page.locator("tbody tr:visible")).to_have_text(["apple fruit", "plum fruit"])
    await expect(page.locator("[data-count]")).to_have_text("2 of 3")
    await page.wait_for_url("**/fruit?q=FRUIT+p+l")
    await expect(page.get_by_role("status")).to_have_text("2 rows")
    await page.get_by_label("Filter").fill("")
    await page.wait_for_url("**/fruit")
    await expect(page.locator("[data-count]")).to_have_text("3")
    assert len(site.requests) == asked


async def test_the_server_filters_what_is_not_here(site: Site, page: Page) -> None:
    """Where the server has more rows, or filtered these by other words, the form is sent."""
    form = "<form><input type='search' name='q' aria-label='Filter' value='{}'></form>"
    await shown(site, page, f"<filter-table total='900'>{form.format('')}{TABLE}</filter-table>", "/many")
    await page.get_by_label("Filter").fill("pear")
    await page.wait_for_url("**/many?q=pear")
    await shown(site, page, f"<filter-table total='3'>{form.format('fruit')}{TABLE}</filter-table>", "/few")
    asked = len(site.requests)

    await page.get_by_label("Filter").fill("fruit pear")
    await page.wait_for_url("**/few?q=fruit+pear")
    within = len(site.requests) - asked
    await page.get_by_label("Filter").fill("pear")
    await eventually(lambda: len(site.requests) > asked)

    assert within == 0
    assert site.requests[-1].url.query == "q=pear"


async def test_a_live_region_shows_what_the_server_sends(site: Site, page: Page) -> None:
    """Events replace the content, parts of it, or are appended; scripts in them do not run; `end` ends the stream."""
    await shown(site, page, "<main><live-region src='/live?tenant=a' last='6'>before</live-region></main>")

    await site.events.put(("message", "7", "<p id='a'>one</p>\n<ul data-append></ul><p data-announce>1 job</p>"))
    await expect(page.locator("#a")).to_have_text("one")
    await expect(page.get_by_role("status")).to_have_text("1 job")
    await site.events.put(("swap", "8", "<p id='a'>two</p><p id='unknown'>no</p>"))
    await site.events.put(("append", "9", "<li>first</li><li>second</li>"))
    await expect(page.locator("#a")).to_have_text("two")
    await expect(page.locator("li")).to_have_text(["first", "second"])
    await site.events.put(("append", "10", "<li>third<script>document.title = 'ran'</script></li>"))
    await site.events.put(("end", "11", "over"))
    await expect(page.locator("li")).to_have_count(3)
    await eventually(lambda: site.open == 0)

    assert await page.title() == "Test"
    assert site.streams == [("tenant=a&last-event-id=6", None)]


async def test_a_hidden_tab_holds_no_stream_and_goes_on_after_the_last_event(site: Site, page: Page) -> None:
    """A browser has six connections a host: a tab that nobody looks at gives its own back."""
    await shown(site, page, "<live-region src='/live'></live-region>")
    await site.events.put(("message", "41", "<p>seen</p>"))
    await expect(page.get_by_text("seen")).to_be_visible()

    await hide(page, True)
    await eventually(lambda: site.open == 0)
    await hide(page, False)
    await eventually(lambda: site.open == 1)

    assert site.streams == [("", None), ("last-event-id=41", None)]


async def test_a_lost_stream_is_said_and_mended(site: Site, page: Page, problems: Problems) -> None:
    """While the server answers with errors the corner says so; then the stream goes on, and the corner is empty."""
    problems.allow("500")
    await shown(site, page, "<live-region src='/live'></live-region>")
    await eventually(lambda: site.open == 1)

    site.refuses = True
    await site.events.put(None)
    await expect(page.locator(".connection-lost")).to_have_text("Connection lost. Trying again.")
    site.refuses = False

    await expect(page.locator(".connection-lost")).to_have_count(0)
    await site.events.put(("message", "1", "<p>back</p>"))
    await expect(page.get_by_text("back")).to_be_visible()


async def test_a_stream_that_ends_goes_on_after_its_last_event(site: Site, page: Page) -> None:
    """A proxy that cuts streams costs nothing: the browser's own header says where to go on."""
    await shown(site, page, "<live-region src='/live'></live-region>")
    await site.events.put(("message", "5", "<p>five</p>"))
    await site.events.put(None)
    await site.events.put(("message", "6", "<p>six</p>"))

    await expect(page.get_by_text("six")).to_be_visible()

    assert site.streams == [("", None), ("", "5")]


async def test_what_the_reader_selects_or_opened_stays(site: Site, page: Page) -> None:
    """A selected text is not pulled away; focus and opened details are kept when their part is replaced."""
    part = "<details id='d'><summary id='s'>More</summary><p>{}</p></details>"
    await shown(site, page, f"<live-region src='/live'>{part.format('old text')}</live-region>")
    await page.locator("summary").click()
    await page.evaluate("() => getSelection().selectAllChildren(document.querySelector('#d p'))")

    await site.events.put(("message", "1", part.format("new text")))
    await site.events.put(("append", "2", "<p>appended</p>"))
    await eventually(lambda: site.events.empty())
    await expect(page.get_by_text("old text")).to_be_visible()
    await page.evaluate("() => getSelection().empty()")

    await expect(page.get_by_text("new text")).to_be_visible()
    await expect(page.get_by_text("appended")).to_be_visible()
    await expect(page.locator("summary")).to_be_focused()


async def test_the_view_follows_only_a_reader_at_the_end(site: Site, page: Page) -> None:
    """Who scrolled back stays there; who is at the end stays at the end."""
    long = "<p>line</p>" * 200
    await shown(site, page, f"<live-region src='/live' follow>{long}</live-region>")

    await site.events.put(("append", "1", "<p>first</p>"))
    await expect(page.get_by_text("first")).to_be_attached()
    kept = await page.evaluate("() => scrollY")
    await page.get_by_text("first").scroll_into_view_if_needed()
    await page.evaluate("() => scrollTo(0, document.documentElement.scrollHeight)")
    await site.events.put(("append", "2", f"{long}<p>second</p>"))

    await expect(page.get_by_text("second")).to_be_in_viewport()
    assert kept == 0


async def test_htmx_works_under_the_policy(site: Site, page: Page, problems: Problems) -> None:
    """Parts and refusals are swapped in; changes carry the token; `back` loads the page again; nothing is evaluated."""
    problems.allow("htmx:evalDisallowedError")
    site.pages["/part"] = "<p>part</p>"
    await shown(
        site,
        page,
        "<main><button hx-post='/part' hx-target='#here'>Post</button>"
        "<button hx-get='/no' hx-target='#here'>Refused</button>"
        "<button hx-get='/part' hx-target='#here' hx-push-url='/other'>Push</button>"
        "<button hx-get='/part' hx-trigger='click[document.title=\"ran\"]'>Evaluate</button>"
        "<div id='here'></div></main>",
    )

    await page.get_by_text("Post").click()
    await expect(page.locator("#here")).to_have_text("part")
    posted = site.requests[-1]
    await page.get_by_text("Refused").click()
    await expect(page.locator("#here")).to_have_text("There is no such page.")
    await page.get_by_text("Evaluate").click()
    await page.get_by_text("Push").click()
    await page.wait_for_url("**/other")
    await page.go_back()
    await expect(page.locator("#here")).to_have_text("")

    assert posted.method == "POST"
    assert posted.headers["x-csrf-token"] == "the-token"
    assert "x-csrf-token" not in site.requests[-2].headers
    assert await page.title() == "Test"
    assert await page.evaluate("() => sessionStorage.getItem('htmx-history-cache')") is None


async def test_a_schema_is_drawn_with_links_and_relations(site: Site, page: Page) -> None:
    """Tables link to their pages under encoded names; potential relations are dashed and say how sure they are."""
    await shown(site, page, f"<main><h1>Schema</h1>{graph(SCHEMA)}</main>")

    links = page.locator("svg a")
    await expect(links).to_have_count(4)
    assert await links.evaluate_all("(all) => all.map((one) => one.getAttribute('href'))") == [
        "/knowledge/databases/shop%201/tables/orders",
        "/knowledge/databases/shop%201/tables/customers",
        "/knowledge/databases/shop%201/tables/odd%2F%3Cb%3Ename%3C%2Fb%3E%20%3F%23",
        "/knowledge/databases/shop%201/tables/alone",
    ]
    await expect(page.locator("path.declared")).to_have_count(1)
    await expect(page.locator("path.potential[stroke-dasharray]")).to_have_count(2)
    await expect(page.locator("text.confidence")).to_have_text(["87 %", "50 %"])
    await expect(page.locator("svg b, svg [style]")).to_have_count(0)
    await expect(page.get_by_text("+ 12 more")).to_be_visible()
    assert await axe(page) == []


async def test_a_schema_is_moved_by_keys_and_pointer(site: Site, page: Page) -> None:
    """Arrows and dragging move it, plus and minus and pinching zoom, 0 shows all; a drag follows no link."""
    await shown(site, page, graph(SCHEMA))
    drawing = page.locator("svg.schema")
    whole = await drawing.get_attribute("viewBox")

    views = [whole]
    await drawing.focus()
    for key in ("ArrowRight", "+", "0"):
        await page.keyboard.press(key)
        views.append(await drawing.get_attribute("viewBox"))
    box = await page.get_by_role("link", name="orders").bounding_box()
    assert box
    await page.mouse.move(box["x"] + 20, box["y"] + 20)
    await page.mouse.down()
    await page.mouse.move(box["x"] + 90, box["y"] + 60, steps=4)
    await page.mouse.up()
    views.append(await drawing.get_attribute("viewBox"))
    await page.get_by_role("button", name="Fit all").click()

    assert len({*views[:3], views[4]}) == 4
    assert views[3] == whole == await drawing.get_attribute("viewBox")
    assert page.url.endswith("/")
    await page.get_by_role("link", name="customers").click()
    await page.wait_for_url("**/databases/shop%201/tables/customers")


async def test_a_large_schema_is_drawn_in_time(site: Site, page: Page) -> None:
    """Three hundred tables in a few chains, and as many without relations."""
    names = [f"table_{number}" for number in range(600)]
    relations = [
        {"from": one, "to": names[number // 3], "columns": "", "declared": number % 2 == 0, "confidence": 0.5}
        for number, one in enumerate(names[:300])
    ]
    tables = [{"name": name, "columns": []} for name in names]

    await shown(site, page, graph({"tables": tables, "relations": relations}))

    await expect(page.locator("svg a")).to_have_count(600)


async def test_an_empty_schema_is_an_empty_drawing(site: Site, page: Page) -> None:
    """No table at all is no error."""
    await shown(site, page, graph({"tables": [], "relations": []}))

    await expect(page.get_by_role("group", name="Schema: 0 tables")).to_be_visible()


def graph(schema: dict[str, object]) -> str:
    """The element with its data, as a page writes it."""
    data = json.dumps(schema).replace("<", "\\u003c")
    return f"<schema-graph database='shop 1'><script type='application/json'>{data}</script></schema-graph>"
