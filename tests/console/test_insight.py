"""Insight: what got nothing, figures over time, calls and exports."""

from __future__ import annotations

import csv
import io

import pytest

from tests.api.serving import Served
from tests.console.filling import NONSENSE
from tests.console.person import Person, person, said


async def test_without_any_use_each_page_says_so(owner: Person) -> None:
    """With what fills it."""
    overview = said(await owner.see("/insight"))
    calls = said(await owner.see("/insight/calls"))

    assert "nobody asked anything" in overview
    assert "Nothing in this period." in overview
    assert "THRESHER_LOG_TEXT=on" in overview
    assert "No calls yet" in calls


async def test_messages_that_got_nothing_come_first(user: Person) -> None:
    """Equal ones together, each with ways to try it and to save it; as text, whatever it is."""
    page = await user.see("/insight?days=1")

    text = said(page)
    assert text.index("Messages nobody answered") < text.index("Time of an answer")
    assert f"{NONSENSE} nothing was delivered 2" in text
    assert "/try?message=zxqv+wvut+plomb#expected" in page
    assert "/try?message=zxqv+wvut+plomb" in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; plomb &lt;U+202E&gt; zxqv" in page


async def test_plots_show_days_and_a_table_has_the_same(user: Person) -> None:
    """Calls by outcome, times, tokens; by server and by tool."""
    page = await user.see("/insight?days=7")

    text = said(page)
    assert page.count('<figure class="plot">') == 7
    assert "worked 2, failed 1" in page
    assert 'class="bad"' in page
    assert '<th scope="row">' in page
    assert "box_open_box" in text.partition("By tool")[2]
    assert "/insight/calls?tool=box_open_box&amp;days=7" in page


@pytest.mark.parametrize("days", ["0", "2", "-1", "many", "1e9", "9" * 400])
async def test_a_period_that_is_not_offered_is_refused(user: Person, days: str) -> None:
    """On every page that has one."""
    for path in ("/insight", "/insight/calls", "/insight/export/usage.csv"):
        assert "Choose 1, 7, 30 or 90 days" in said(await user.see(f"{path}?days={days}", 422))


async def test_a_price_turns_tokens_into_money(user: Person) -> None:
    """The browser keeps it; Home shows it, too; an empty one takes it away."""
    await user.see("/insight?days=30")

    page = said(await user.do("/insight/price", price="2,50", next="/insight?days=30"))
    assert "at 2.5 a million" in page
    assert "about" in said(await user.see("/"))
    await user.see("/insight")
    page = said(await user.do("/insight/price", price="", next="//evil.example"))

    assert "a million tokens cost" not in page  # it leads to Home, not to another host
    assert "at 2.5 a million" not in said(await user.see("/insight"))


@pytest.mark.parametrize("price", ["cheap", "-1", "nan", "inf", "1e300"])
async def test_a_wrong_price_is_refused(user: Person, price: str) -> None:
    """With an example."""
    await user.see("/insight")

    answer = await user.send("/insight/price", price=price)

    assert answer.status_code == 422
    assert "such as 2.50" in said(answer.text)


async def test_calls_are_filtered_and_paged(used: Served, user: Person) -> None:
    """By server, tool and outcome; the address keeps all of it."""
    everything = said(await user.see("/insight/calls"))
    failed = said(await user.see("/insight/calls?outcome=failed"))
    box = said(await user.see("/insight/calls?server=box&tool=box_open_box&outcome=ok"))
    none = said(await user.see("/insight/calls?tool=%3Cscript%3E"))

    assert "box_open_box" in everything
    assert "safe_open_safe" in everything
    assert "box_open_box" not in failed.partition("Filter")[2]
    assert "safe_open_safe" not in box.partition("Filter")[2]
    assert "No such call in this period" in none
    assert "does not say which page" in said(await user.see("/insight/calls?before=x", 422))
    assert "safe_open_safe" not in said(await user.see("/insight/calls?before=1")).partition("Filter")[2]


@pytest.mark.parametrize("what", ["usage", "tools", "unanswered", "intents", "calls"])
async def test_everything_is_exported(user: Person, what: str) -> None:
    """As CSV with a line of names, and as JSON."""
    table = await user.web.get(f"/insight/export/{what}.csv?days=7")
    whole = await user.web.get(f"/insight/export/{what}.json?days=7")

    first, *rows = csv.reader(io.StringIO(table.text))
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert f'filename="thresher-{what}-7-days.csv"' in table.headers["content-disposition"]
    assert rows
    assert all(len(row) == len(first) for row in rows)
    assert isinstance(whole.json(), dict)


async def test_exports_follow_the_filters(user: Person) -> None:
    """And a name that is not one is refused."""
    answer = await user.web.get("/insight/export/calls.csv?outcome=failed")

    assert "safe_open_safe" in answer.text
    assert "box_open_box" not in answer.text
    await user.see("/insight/export/secrets.csv", 404)
    await user.see("/insight/export/usage.exe", 404)


async def test_the_last_run_of_the_test_cases_is_summed_up(used: Served, user: Person) -> None:
    """How many pass, and what changed since the run before."""
    services = used.app.services
    await services.cases.add(services.caller, "open the box and show what is in it", {"tools": ["box:open_box"]}, {})
    await services.cases.run(services.caller)
    await services.cases.add(services.caller, NONSENSE, {"tools": ["box:open_box"]}, {})
    await services.cases.run(services.caller)

    page = said(await user.see("/insight"))

    assert "1 of 2 pass" in page
    assert "since the run before: 1 new" in page
    assert "Run all" in page


async def test_others_see_nothing_of_it(used: Served, stranger: Person) -> None:
    """Another tenant's user has their own figures; a change without the token is refused."""
    page = said(await stranger.see("/insight"))

    assert NONSENSE not in page
    assert "of your own messages" in page
    assert "box_open_box" not in (await stranger.web.get("/insight/export/calls.csv?days=7")).text
    assert "box_open_box" not in said(await stranger.see("/insight/calls?tool=box_open_box")).partition("Filter")[2]
    async with person(used) as another:
        answer = await another.web.post("/insight/price", data={"csrf": "x", "price": "1"})
    assert answer.status_code == 403
