"""The page of the decision about a message, and of test cases: happy, empty, failing, hostile, and of others."""

from __future__ import annotations

import gzip
import json
import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote_plus

import pytest

from tests.api.serving import Served
from tests.console.filling import filled_product
from tests.console.person import Person, person, said
from tests.support import Databases
from thresher.core import Tool

LOG = "/try?message=show+the+git+log+of+the+repository"
BOTH = "/try?message=show+the+git+log+and+send+an+email+to+Lisa"
PART = {"hx-request": "true"}


@pytest.fixture(scope="module")
async def filled(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """A product with something of every kind, for all tests of this module."""
    async with filled_product(databases, open_folder) as product:
        yield product


@pytest.fixture
async def reader(filled: Served) -> AsyncIterator[Person]:
    """The owner of the filled product."""
    async with person(filled) as reader:
        yield reader


@pytest.fixture
async def guest(filled: Served) -> AsyncIterator[Person]:
    """A user of another tenant, with a key."""
    owner = await filled.app.services.database.tenant("others")
    text, _ = await filled.app.services.keys.add(owner, secrets.token_hex(4), "eve")
    async with person(filled) as guest:
        await guest.sign_in(text)
        yield guest


def lane(page: str, key: str) -> str:
    """The HTML of a lane."""
    return re.split(r"<section|<aside", page.partition(f'id="lane-{key}"')[2])[0]


def given(page: str, key: str = "find_tools") -> list[str]:
    """The names of what got in, in a lane."""
    items = re.findall(r'<li class="given">.*?<code>(.*?)</code>', lane(page, key), re.DOTALL)
    return [str(one) for one in items]


async def test_an_empty_system_says_what_to_add(owner: Person) -> None:
    """With links to where it is added, and the command that shows all of it."""
    page = await owner.see("/try")

    assert "Nothing is connected yet" in page
    for address in ("/servers", "/knowledge/documents", "/knowledge/apis", "/knowledge/databases"):
        assert f'href="{address}"' in page
    assert "thresher demo" in page


async def test_a_message_on_an_empty_system_gets_nothing_in_words(owner: Person) -> None:
    """No tool fits, no rules, an empty context."""
    page = said(await owner.see("/try?message=rotate+the+turbine"))

    assert "No rules." in page
    assert "No tool fits." in page
    assert "Nothing." in page


async def test_examples_are_made_from_what_is_connected(reader: Person) -> None:
    """Each is a link that tries it."""
    page = await reader.see("/try")

    assert "what does handbook say" in page
    assert "how many rows does customer have in shop?" in page
    assert "the API Tracker" in said(page) or "the API tracker" in said(page)
    assert "record changes to the repository" in said(page)
    address = re.search(r'<ul class="examples"><li><a href="([^"]+)"', page)
    assert address
    assert 'id="lane-find_tools"' in await reader.see(address[1].replace("&amp;", "&"))


async def test_the_whole_decision_is_drawn(reader: Person) -> None:
    """How it was split, each lane with its probability, the budgets, the times, and the text as a model gets it."""
    page = await reader.see(BOTH)

    text = said(page)
    assert {"git_git_log", "mail_send_email"} <= set(given(page))
    for key in ("split", "rules", "find_tools", "tools", "passages", "endpoints", "schemas"):
        assert f'id="lane-{key}"' in page
    assert "show the git log" in said(lane(page, "split"))
    assert "send an email to Lisa" in said(lane(page, "split"))
    assert "any tool fits with" in text
    assert re.search(r"meaning #\d+ 0\.\d\d", text)
    assert "words #1" in text
    assert "in full" in text
    assert page.count('class="parts"') == 2
    assert "of all definitions" in text
    assert "Time of each stage" in text
    assert 'id="model-text"' in page
    assert "copy-button" in page


async def test_the_text_is_the_one_that_a_model_gets(filled: Served, reader: Person) -> None:
    """Of each of the three answers, one at a time."""
    services, message = filled.app.services, "show the git log of the repository"
    found = await services.tools.find_tools(services.caller, message=message)

    for name in ("process_prompt", "find_tools", "get_context"):
        page = await reader.see(f"{LOG}&text={name}")
        assert f'aria-label="The text of {name}"' in page
    page = await reader.see(f"{LOG}&text=find_tools")
    assert said(f'<main id="main"{page.partition("<pre")[2].partition("</pre>")[0]}').endswith(
        " ".join(found.text.split())
    )


async def test_every_item_leads_to_its_page(reader: Person) -> None:
    """Tools, packs, passages at their lines, endpoints, tables."""
    pages = [
        await reader.see(f"/try?message={quote_plus(message)}&kinds={kind}")
        for message, kind in (
            ("show the git log", "tools"),
            ("how many days of holiday does everybody have", "passages"),
            ("which operation of the tracker API creates an issue", "endpoints"),
            ("how many invoices has each customer in the shop database", "schemas"),
        )
    ]

    assert 'href="/tools/git_git_log"' in pages[0]
    assert 'href="/knowledge/packs/' in pages[0]
    assert re.search(r'href="/knowledge/documents/handbook/read\?path=leave.md&amp;lines=\d+-\d+"', pages[1])
    assert re.search(r'href="/knowledge/apis/endpoint/[^"]+"', pages[2])
    assert 'href="/knowledge/databases/shop/tables/invoice"' in pages[3]
    for page in pages[1:]:
        for address in re.findall(r'class="what"><a href="(/knowledge/(?:documents|apis|databases)[^"]+)"', page)[:3]:
            await reader.see(address.replace("&amp;", "&"))


async def test_nothing_fits_is_said_in_words(reader: Person) -> None:
    """And not an empty page."""
    page = said(await reader.see("/try?message=hello+there"))

    assert "No rules. No pack's rules fit: process_prompt answers PASS_THROUGH" in page
    assert "No tool fits." in page


async def test_a_threshold_moves_what_gets_in(reader: Person) -> None:
    """What falls below the line says so."""
    message = "/try?message=email+the+report+to+Lisa"
    before = await reader.see(message)
    page = await reader.see(f"{message}&threshold=1")

    assert given(before)[0] == "mail_send_email"
    assert given(page) == []
    assert "below the line" in lane(page, "find_tools") or "nothing fits" in lane(page, "find_tools")
    assert "No tool fits." in page


async def test_servers_and_kinds_are_filters(reader: Person) -> None:
    """A kind that is left out says so."""
    page = await reader.see(f"{BOTH}&servers=mail&kinds=tools")

    assert set(given(page)) <= {"mail_send_email", "mail_list_folders"}
    assert "left out of this try" in said(page)
    assert 'value="mail" checked' in page


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("budget=0", "budget"),
        ("budget=-5", "budget"),
        ("budget=many", "budget is not a number"),
        ("budget=1e99", "budget"),
        ("budget=1000001", "budget"),
        ("find_budget=49", "find_budget"),
        ("find_budget=4001", "find_budget"),
        ("threshold=2", "threshold"),
        ("threshold=nan", "threshold"),
        ("rules=some", "not a number"),
        ("rules=7", "thresholds"),
        ("servers=nowhere", "nowhere"),
        ("kinds=magic", "kinds"),
        ("compare=threshold%3D9", "threshold"),
        ("queries=" + "%0A".join(f"do+{number}" for number in range(30)), "queries"),
        ("&".join(f"expected=tool{number}" for number in range(30)), "More than 20 tools"),
    ],
)
async def test_a_wrong_setting_is_named_where_the_result_stands(reader: Person, query: str, words: str) -> None:
    """The form keeps what was written."""
    page = await reader.see(f"{LOG}&{query}", 422)

    assert words in said(page)
    assert 'role="alert"' in page
    assert "show the git log of the repository</textarea>" in page


@pytest.mark.parametrize("budget", ["1", "60", "1000000"])
async def test_the_bounds_of_a_budget(reader: Person, budget: str) -> None:
    """One too small for anything is an error that names one that gives something; the largest is served."""
    answer = await reader.web.get(f"{LOG}&budget={budget}")

    assert answer.status_code in ((200,) if budget == "1000000" else (200, 422))
    assert "budget" in said(answer.text) or "tokens" in said(answer.text)


async def test_two_settings_stand_side_by_side(reader: Person) -> None:
    """With what came in and what fell out."""
    out = await reader.see(f"{BOTH}&servers=mail&compare=defaults")
    came = await reader.see(f"{BOTH}&compare=servers%3Dmail")
    same = await reader.see(f"{BOTH}&compare=defaults")

    assert re.search(r"fell out</span></td><td><a[^>]*><code>git_git_log", out)
    assert re.search(r"came in</span></td><td><a[^>]*><code>git_git_log", came)
    assert "Held: servers mail" in came
    assert "Nothing differs." in same


async def test_holding_settings_keeps_them_in_the_address(reader: Person) -> None:
    """And they can be let go."""
    page = await reader.see(f"{LOG}&threshold=0.2&servers=git&servers=mail")
    hold = re.search(r'href="([^"]+)#compare">Hold', page)

    assert hold
    held = await reader.see(hold[1].replace("&amp;", "&"))
    assert "Held: tools from 0.2, servers git, mail" in held
    assert "Stop comparing" in held


async def test_a_tool_that_should_have_come_shows_where_it_stands(reader: Person) -> None:
    """And why it did not come; one that is not there at all says so."""
    page = await reader.see(f"{LOG}&expected=weather_forecast&expected=moon_phase")

    part = said(f'<main id="main"{page.partition(chr(34) + "expected" + chr(34) + " class")[2]}')
    assert "weather_forecast should have come" in part
    assert "moon_phase should have come" in part
    assert "Unmark weather_forecast" in part
    assert 'value="tools:weather_forecast" aria-label="tools: weather_forecast must come" checked' in page


async def test_any_tool_is_found_by_words_of_its_name(reader: Person) -> None:
    """As a part for a script, and in the page without one; a mistyped name gets the nearest."""
    part = (await reader.web.get(f"{LOG.replace('/try', '/try/tools')}&tool=Mail+FOLD", headers=PART)).text
    page = await reader.see(f"{LOG}&tool=mail+fold")
    nothing = await reader.see(f"{LOG}&tool=mail_send_emial")

    assert "mail_list_folders" in part
    assert "<html" not in part
    assert "expected=mail_list_folders" in page
    assert "Did you mean" in said(nothing)
    answer = await reader.web.get(f"{LOG.replace('/try', '/try/tools')}&tool=x")
    assert answer.headers["location"].startswith("/try?message=")


async def test_a_script_gets_the_result_alone_with_its_address(reader: Person) -> None:
    """Without the settings that are empty; an error comes in its place."""
    answer = await reader.web.get(f"{LOG}&threshold=0.2&budget=&queries=", headers={**PART, "hx-trigger": "try"})
    failed = await reader.web.get(f"{LOG}&threshold=9", headers=PART)
    empty = await reader.web.get("/try?message=", headers=PART)

    assert "<html" not in answer.text
    assert answer.headers["hx-replace-url"] == f"{LOG}&threshold=0.2"
    assert 'hx-swap-oob="innerHTML"' in answer.text
    assert (failed.status_code, 'role="alert"' in failed.text) == (200, True)
    assert "Write a message." in empty.text


HOSTILE = "<script>alert(1)</script>\u202e\u0007\"'><img src=x onerror=alert(2)>{{ 7*7 }} ${7*7} %00"


async def test_hostile_messages_and_settings_are_text(reader: Person) -> None:
    """In the form, the lanes, links, and what a model gets."""
    hostile = quote_plus(HOSTILE)
    query = f"/try?message={hostile}&queries={hostile}&expected={hostile}&tool={hostile}&history={hostile}"
    page = await reader.see(query)
    error = await reader.see(f"{query}&servers={hostile}", 422)

    for text in (page, error):
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "49" not in re.findall(r"{{ 7\*7 }}|49 \$", text)
    assert "{{ 7*7 }}" in page
    assert "\u202e" not in re.sub(r'<textarea.*?</textarea>|value="[^"]*"', "", page, flags=re.DOTALL)


async def test_hostile_tools_are_text(filled: Served, reader: Person) -> None:
    """Names and descriptions of a server that nobody trusts."""
    services = filled.app.services
    tools = [
        Tool("evil", f"</code><b>x{number}\u202e</b>", description=f"Paint a fence {HOSTILE}") for number in (1, 2)
    ]
    await services.tools.import_tools(services.caller, tools)

    for path in ("/try", "/try?message=paint+a+fence&tool=evil", "/try?message=paint+a+fence&text=get_context"):
        page = await reader.see(path)
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "<b>x" not in page


async def test_another_tenant_sees_none_of_it(guest: Person) -> None:
    """Neither tools nor documents nor cases."""
    page = await guest.see(f"{LOG}&expected=git_git_log&tool=git_log")
    home = await guest.see("/try")

    assert 'href="/tools/git_git_log"' not in page
    assert "handbook" not in page + home
    assert "Nothing is connected yet" in home


async def test_a_try_is_saved_as_a_case_run_and_removed(reader: Person) -> None:
    """What must come and what must not, back where it was tried; then all cases, and what changed."""
    await reader.see(f"{LOG}&expected=git_git_log")
    back = await reader.do(
        "/try/cases",
        message="show the git log of the repository",
        needs=["tools:git_git_log"],
        excluded=["tools:weather_forecast"],
        back=f"{LOG}&expected=git_git_log",
    )
    listed = said(await reader.see("/try/cases"))
    first = said(await reader.do("/try/cases/run"))
    second = said(await reader.do("/try/cases/run"))

    assert "Saved as a test case." in back
    assert "They were never run." in listed
    assert "1 of 1 cases pass." in first
    assert "There is no earlier run." in first
    assert "Nothing changed." in second
    number = re.search(r'name="case" value="(\d+)"', reader.last)
    assert number
    assert "The case is removed." in await reader.do("/try/cases/remove", case=number[1])
    assert "No test cases yet" in reader.last


async def test_a_case_that_breaks_is_named_first(filled: Served, reader: Person) -> None:
    """With what fell out since the run before."""
    await reader.see("/try/cases")
    line = {"message": "what will the weather be like", "needs": {"tools": ["weather:forecast"]}}
    await reader.do("/try/cases/import", lines=json.dumps(line))
    await reader.do("/try/cases/run")
    services = filled.app.services
    await services.tools.set_tool(services.caller, "weather_forecast", enabled=False)
    page = said(await reader.do("/try/cases/run"))
    await services.tools.set_tool(services.caller, "weather_forecast", enabled=True)

    assert "0 of 1 cases pass." in page
    assert "broken what will the weather be like" in page
    assert "fell out tools: weather_forecast" in page
    assert "missing: tools: weather:forecast" in page
    number = re.search(r'name="case" value="(\d+)"', reader.last)
    await reader.do("/try/cases/remove", case=number[1] if number else "")


async def test_cases_come_back_as_they_went(reader: Person) -> None:
    """As JSON lines: pasted, or as a file."""
    line = {
        "message": f"odd {HOSTILE}".strip(),
        "needs": {"tools": ["git_git_log"]},
        "excluded": {},
        "verb": "find_tools",
    }
    await reader.see("/try/cases")
    page = await reader.do("/try/cases/import", {"file": ("cases.jsonl", f"{json.dumps(line)}\n\n".encode())})
    exported = (await reader.web.get("/try/cases/export")).text

    assert "1 cases are new" in said(page)
    assert "<script>alert" not in page
    assert [json.loads(one) for one in exported.splitlines()] == [line]
    number = re.search(r'name="case" value="(\d+)"', page)
    await reader.do("/try/cases/remove", case=number[1] if number else "")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("", "There is no case."),
        ("{", "Line 1 is not JSON."),
        ('{"message": "x"}\n7', "must be an object"),
        ("[" * 99_999, "Line 1"),
    ],
)
async def test_a_wrong_import_is_named(reader: Person, lines: str, words: str) -> None:
    """And stores nothing."""
    await reader.see("/try/cases")
    answer = await reader.send("/try/cases/import", lines=lines)

    assert answer.status_code == 422
    assert words in said(answer.text)
    assert (await reader.web.get("/try/cases/export")).text == ""


async def test_changes_need_the_token_of_the_page(reader: Person) -> None:
    """Of every form."""
    await reader.see("/try/cases")
    for path in ("", "/run", "/remove", "/import"):
        answer = await reader.web.post(f"/try/cases{path}", data={"csrf": "x", "message": "m", "case": "1"})
        assert answer.status_code == 403


@pytest.mark.parametrize(
    "form",
    [
        {"message": ""},
        {"message": "m", "needs": "magic:x"},
        {"message": "m", "needs": "tools:x", "excluded": "tools:x"},
        {"message": "m", "verb": "shout"},
    ],
)
async def test_a_wrong_case_is_refused(reader: Person, form: dict[str, str]) -> None:
    """With what is wrong, and nothing stored."""
    await reader.see(LOG)
    answer = await reader.send("/try/cases", **form)

    assert answer.status_code == 422
    assert (await reader.web.get("/try/cases/export")).text == ""


async def test_a_case_does_not_lead_elsewhere(reader: Person) -> None:
    """Whatever the form says about where to go back to."""
    await reader.see(LOG)
    answer = await reader.send("/try/cases", message="git log", needs="tools:git_git_log", back="//evil.example/try?")

    assert answer.headers["location"] == "/try?message=git+log"
    page = await reader.see("/try/cases")
    number = re.search(r'name="case" value="(\d+)"', page)
    await reader.do("/try/cases/remove", case=number[1] if number else "")


async def test_two_users_have_cases_of_their_own(reader: Person, guest: Person) -> None:
    """Neither sees the other's, nor can remove them."""
    await guest.see("/try/cases")
    await guest.do("/try/cases/import", lines=json.dumps({"message": "eve's own", "needs": {}}))
    mine = re.search(r'name="case" value="(\d+)"', guest.last)
    assert mine
    owners = await reader.see("/try/cases")
    answer = await reader.send("/try/cases/remove", case=mine[1])

    assert "eve&#39;s own" in guest.last
    assert "eve" not in said(owners)
    assert answer.status_code == 404


async def test_a_page_of_a_large_catalogue_stays_small(filled: Served, reader: Person) -> None:
    """However many tools there are: lists are cut, and names are found by their words."""
    services = filled.app.services
    tools = [
        Tool(f"s{number % 40}", f"show_log_{number}", description=f"Show log {number}.") for number in range(1_500)
    ]
    await services.tools.import_tools(services.caller, tools)
    answer = await reader.web.get(f"{LOG}&tool=log&compare=defaults&budget=8000")

    assert answer.status_code == 200
    assert len(gzip.compress(answer.content)) < 60_000
