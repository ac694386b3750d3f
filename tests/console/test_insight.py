"""Insight: what got nothing, figures over time, calls, exports, and test cases."""

from __future__ import annotations

import csv
import html
import io
import json
from typing import Any

import pytest

from tests.api.serving import Served
from tests.console.filling import HOSTILE, NONSENSE
from tests.console.person import Person, person, said


async def test_without_any_use_each_page_says_so(owner: Person) -> None:
    """With what fills it."""
    overview = said(await owner.see("/insight"))
    calls = said(await owner.see("/insight/calls"))
    cases = said(await owner.see("/insight/cases"))

    assert "nobody asked anything" in overview
    assert "Nothing in this period." in overview
    assert "THRESHER_LOG_TEXT=on" in overview
    assert "No calls yet" in calls
    assert "No test cases yet" in cases
    assert "thresher cases add" in cases


async def test_messages_that_got_nothing_come_first(user: Person) -> None:
    """Equal ones together, each with ways to try it and to save it; as text, whatever it is."""
    page = await user.see("/insight?days=1")

    text = said(page)
    assert text.index("Messages nobody answered") < text.index("Time of an answer")
    assert f"{NONSENSE} nothing was delivered 2" in text
    assert "/insight/cases/add?message=zxqv+wvut+plomb&amp;verb=get_context" in page
    assert "/try?message=zxqv+wvut+plomb" in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; plomb &lt;U+202E&gt; zxqv" in page


async def test_plots_show_days_and_a_table_has_the_same(user: Person) -> None:
    """Calls by outcome, times, tokens; by server and by tool."""
    page = await user.see("/insight?days=7")

    text = said(page)
    assert page.count('class="plot"') == 7
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


async def test_a_message_becomes_a_case_that_is_run_and_compared(user: Person) -> None:
    """Saved from its link, asked as a client asks; what changes is named; removed, and put back."""
    await user.see("/insight/cases/add?message=open+the+box+and+show+what+is+in+it&verb=find_tools")
    assert "open the box and show what is in it</textarea>" in user.last
    fields: dict[str, Any] = {"needs.tools": "box:open_box\n", "verb": "find_tools"}
    page = said(await user.do("/insight/cases/add", message="open the box and show what is in it", **fields))
    assert "not run yet" in page
    page = said(await user.do("/insight/cases/run"))
    assert "1 of 1 cases passed" in page

    await user.see("/insight/cases/add")
    fields |= {"needs.tools": "box:open_box\nsafe:never_there"}
    await user.do("/insight/cases/add", message="open the box and show what is in it", **fields)
    page = said(await user.do("/insight/cases/run", budget="2000"))
    assert "0 of 1 cases passed" in page
    assert "Changed since the run before" in page
    assert "broken open the box" in page
    assert "missing: tools: safe:never_there" in page

    number = user.last.partition('id="case-')[2].partition('"')[0]
    removed = await user.send(f"/insight/cases/{number}/remove")
    assert "The case is removed" in said(removed.text)
    hidden = removed.text.partition('name="cases" value="')[2].partition('"')[0]
    page = said(await user.do("/insight/cases/import", cases=html.unescape(hidden)))
    assert "1 cases are new" in page
    assert "safe:never_there" in page


async def test_cases_are_imported_and_exported(user: Person) -> None:
    """A file, an array, or an object a line; hostile messages are text."""
    lines = "\n".join(
        json.dumps({"message": message, "needs": {}}) for message in (HOSTILE, "=cmd()", "what is \u200b here")
    )
    await user.see("/insight/cases")
    page = await user.do("/insight/cases/import", files=[("file", ("cases.jsonl", lines.encode()))])
    assert "3 cases are new" in said(page)
    assert "<script>alert" not in page

    await user.do("/insight/cases/import", cases=json.dumps([{"message": "=cmd()", "needs": {"tools": ["a"]}}]))
    exported = (await user.web.get("/insight/cases/export.json")).json()

    assert {one["message"] for one in exported} >= {HOSTILE, "=cmd()"}
    assert next(one for one in exported if one["message"] == "=cmd()")["needs"] == {"tools": ["a"]}


@pytest.mark.parametrize(
    "cases", ["", "no json", "[1]", '[{"needs": {}}]', '[{"message": "a", "needs": {"cats": []}}]']
)
async def test_a_wrong_import_changes_nothing(user: Person, cases: str) -> None:
    """It says what is wrong, and what was pasted stays."""
    await user.see("/insight/cases")
    before = (await user.web.get("/insight/cases/export.json")).json()

    answer = await user.send("/insight/cases/import", cases=cases)

    if cases:
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text
    assert (await user.web.get("/insight/cases/export.json")).json() == before


async def test_a_wrong_case_or_budget_is_refused_with_its_form(user: Person) -> None:
    """What was written is still there."""
    await user.see("/insight/cases/add")
    answer = await user.send("/insight/cases/add", message="  ", **{"needs.tools": "a:b"})
    assert answer.status_code == 422
    assert "a:b</textarea>" in answer.text

    await user.see("/insight/cases")
    assert (await user.send("/insight/cases/run", budget="many")).status_code == 422
    assert (await user.send("/insight/cases/999999/remove")).status_code == 404


async def test_others_see_and_change_nothing_of_it(used: Served, user: Person, stranger: Person) -> None:
    """Another tenant's user has their own figures and cases; a change without the token is refused."""
    await user.see("/insight/cases/add")
    await user.do("/insight/cases/add", message="of the owner")
    number = user.last.rpartition('id="case-')[2].partition('"')[0]

    page = said(await stranger.see("/insight"))
    assert NONSENSE not in page
    assert "of your own messages" in page
    assert "of the owner" not in await stranger.see("/insight/cases")
    assert (await stranger.send(f"/insight/cases/{number}/remove")).status_code == 404
    assert "box_open_box" not in (await stranger.web.get("/insight/export/calls.csv?days=7")).text

    async with person(used) as another:
        answer = await another.web.post("/insight/cases/run", data={"csrf": "x"})
    assert answer.status_code == 403
