"""Servers on their pages: added, refused, failing, switched, signed in at, removed, and of others."""

from __future__ import annotations

import html
import json
import re
import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.api.serving import Served, served
from tests.console.person import Person, person, said
from tests.support import Databases, eventually
from tests.support.product import LISTED, ListedServer, listed
from tests.upstream.oauth.guarded import Guarded, browse, redirected
from thresher.core import Caller, Settings, Tool

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


@dataclass(frozen=True)
class Filled:
    """A product, and the folder of its servers' listings."""

    product: Served
    files: Path


@pytest.fixture(scope="module")
async def filled(
    databases: Databases, open_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Filled]:
    """A product with a server that answers, and one that does not any more."""
    folder, name, files = open_folder / secrets.token_hex(4), await databases.create(), tmp_path_factory.mktemp("lists")
    folder.mkdir()
    settings = Settings(
        data_dir=folder, allow_root=True, database_url=SecretStr(databases.url(name)), home_packs="off", workers=0
    )
    notes = ListedServer.at(files, "notes", listed("add_note", "Add a note."), description=HOSTILE)
    gone = ListedServer.at(files, "gone", listed("see_thing", "See a thing."))
    async with served(settings) as product:
        tools, caller = product.app.services.tools, product.app.services.caller
        for server in (notes, gone):
            await tools.add_server(caller, server.config)
            await tools.refresh(caller, server.config.name)
        gone.breaks()
        await tools.refresh(caller, "gone")
        yield Filled(product, files)
    await databases.drop(name)


@pytest.fixture
async def reader(filled: Filled) -> AsyncIterator[Person]:
    """The owner of that product."""
    async with person(filled.product) as reader:
        yield reader


@pytest.fixture
def guarded() -> Iterator[Guarded]:
    """A server that wants a sign-in, of a test's own."""
    server = Guarded.start()
    yield server
    server.stop()


def command(files: Path, name: str, *tools: dict[str, object]) -> str:
    """The command line of a server with these tools."""
    file = files / f"{name}.json"
    file.write_text(json.dumps(tools), encoding="utf-8")
    return f"{sys.executable} '{LISTED}' {file}"


async def test_without_servers_the_page_says_what_one_is(owner: Person) -> None:
    """And leads to the form."""
    page = await owner.see("/servers")

    assert "No servers yet" in said(page)
    assert 'href="/servers/add"' in page


async def test_states_and_errors_are_said_in_words(reader: Person) -> None:
    """What does not answer comes first; descriptions of others are escaped."""
    page = await reader.see("/servers")
    gone = await reader.see("/servers/gone")

    assert re.findall(r'<a href="/servers/(\w+)"><strong>', page)[:2] == ["gone", "notes"]
    assert "does not answer; its last tools are kept" in said(page)
    assert "<img src=x" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "It could not be listed." in said(gone)
    assert "gone_see_thing" in gone
    assert "There is no server 'note'" in said(await reader.see("/servers/note", 404))


async def test_calls_are_drawn_and_failures_listed(reader: Person, filled: Filled) -> None:
    """A line of durations, figures, and the last failures by tool."""
    services = filled.product.app.services
    await reader.see("/servers/add")
    tools = command(filled.files, "busy", listed("do_thing", "Do a thing."), listed("fail_thing", "Fail a thing."))
    await reader.do("/servers/add", name="busy", command=tools)
    for tool in ("busy_do_thing", "busy_do_thing", "busy_fail_thing"):
        await reader.see(f"/tools/{tool}")
        await reader.send(f"/tools/{tool}/call", agreed="yes")
    await services.tools.settle()

    page = await reader.see("/servers/busy")
    every = await reader.see("/servers")

    assert "The last 3 calls" in said(page)
    assert 'class="spark broad"' in page
    assert "the tool reports an error" in said(page)
    assert 'class="spark"' in every


async def test_a_server_is_added_by_its_command(reader: Person, filled: Filled) -> None:
    """It is started and listed first; its variables are not shown again."""
    await reader.see("/servers/add")

    page = await reader.do(
        "/servers/add",
        name="clock",
        command=command(filled.files, "clock", listed("tell_time", "Tell the time.")),
        env="TOKEN=hush\n\nLEVEL=2",
        description="Knows the time.",
        trusted="yes",
    )

    assert "1 tools are new or changed" in said(page)
    assert "clock_tell_time" in page
    assert "relied on" in said(page)
    assert "hush" not in page


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"name": ""}, "The server has no name."),
        ({"name": "a"}, "A server is either a command or an address."),
        ({"name": "a", "command": "x", "url": "http://x"}, "A server is either a command or an address."),
        ({"name": "a", "command": "x 'y"}, "The command cannot be read"),
        ({"name": "a", "command": "x", "env": "TOKEN hush"}, "Line 1 is not a variable."),
        ({"name": "a", "url": "http://x", "headers": "hush"}, "Line 1 is not a header."),
        ({"name": "<b>", "command": "x", "untested": "yes"}, "its name may hold only letters"),
        ({"name": "a", "command": "no-such-program"}, "'no-such-program' was not found"),
        ({"name": "a", "url": "ftp://x"}, "is not an http or https address"),
        ({"name": "a", "command": "x", "dialect": "klingon", "untested": "yes"}, "klingon"),
        ({"what": "file", "document": "{"}, "not"),
    ],
)
async def test_what_cannot_be_used_is_said_beside_the_form(reader: Person, form: dict[str, str], message: str) -> None:
    """Nothing is added, what was written stays, and secrets do not come back."""
    await reader.see("/servers/add")

    answer = await reader.send("/servers/add", **form)

    assert answer.status_code == 422, said(answer.text)
    assert message in said(answer.text), said(answer.text)
    assert "hush" not in answer.text
    assert "<b>" not in answer.text
    await reader.see("/servers/a", 404)


async def test_a_pasted_file_says_what_became_of_each(reader: Person, filled: Filled) -> None:
    """Added, not started, not readable; a variable without a value is named."""
    program, *arguments = [sys.executable, str(LISTED), str(filled.files / "pasted.json")]
    command(filled.files, "pasted", listed("paste_thing", "Paste a thing."))
    file: dict[str, Any] = {
        "pasted": {"command": program, "args": arguments},
        "absent": {"command": "no-such-program"},
        "broken": {"args": []},
        "needs": {"command": program, "env": {"KEY": "${SECRET_KEY}"}},
        "filled": {"command": program, "args": arguments, "env": {"KEY": "${FILLED_KEY}"}},
    }
    await reader.see("/servers/add")

    answer = await reader.send(
        "/servers/add", what="file", document=json.dumps({"mcpServers": file}), variables="FILLED_KEY=hush"
    )

    words = said(answer.text)
    assert answer.status_code == 200
    assert "pasted added" in words
    assert "filled added" in words
    assert "absent not added" in words
    assert "'no-such-program' was not found" in words
    assert "broken" in words
    assert "SECRET_KEY" in words
    assert "hush" not in words
    assert "pasted_paste_thing" in await reader.see("/servers/pasted")


async def test_switches_and_sql_are_changed_on_its_page(reader: Person) -> None:
    """Each says what it does; the arguments that are SQL come back into the form."""
    await reader.see("/servers/notes")

    off = await reader.do("/servers/notes/switch", switch="disable")
    on = await reader.do("/servers/notes/switch", switch="enable")
    trusted = await reader.do("/servers/notes/switch", switch="trust")
    accepted = await reader.do("/servers/notes/switch", switch="auto")
    guarded = await reader.do("/servers/notes/sql", dialect="postgresql", arguments="statement query")
    plain = await reader.do("/servers/notes/sql", dialect="")
    refused = await reader.send("/servers/notes/sql", dialect="klingon")

    assert "disabled" in said(off)
    assert "answers" in said(on)
    assert "such calls need no approval" in said(trusted)
    assert "accepted by themselves" in said(accepted)
    assert "guarded as postgresql" in said(guarded)
    assert 'value="statement query"' in guarded
    assert "not read" in said(plain)
    assert refused.status_code == 422
    assert (await reader.send("/servers/notes/switch", switch="explode")).status_code == 422


async def test_a_server_is_listed_again_and_reconnected_to(reader: Person, filled: Filled) -> None:
    """A refresh keeps the process; a reconnection starts another one."""
    await reader.see("/servers/notes")
    before = await reader.do("/servers/notes/refresh")
    again = await reader.do("/servers/notes/refresh", reconnect="yes")
    failed = await reader.do("/servers/gone/refresh")
    every = await reader.do("/servers/refresh")

    process = re.compile(r"process (\d+)")
    assert "as before" in said(before)
    assert process.findall(before) != process.findall(again)
    assert "gone: Server 'gone' refused" in said(failed)
    assert "gone: Server 'gone' refused" in said(every)


async def test_a_server_is_removed_only_by_its_name(reader: Person, filled: Filled) -> None:
    """With its tools."""
    await reader.see("/servers/add")
    await reader.do("/servers/add", name="brief", command=command(filled.files, "brief", listed("be", "Be brief.")))

    refused = await reader.send("/servers/brief/remove", confirm="brie")
    page = await reader.do("/servers/brief/remove", confirm="brief")

    assert refused.status_code == 422
    assert "Nothing was removed" in said(refused.text)
    assert "The server 'brief' and its tools are removed." in said(page)
    await reader.see("/tools/brief_be", 404)


def invited(page: str) -> str:
    """The address that a page asks a person to open."""
    (link,) = re.findall(r'<a href="([^"]+)" target="_blank"', page)
    return html.unescape(link)


async def test_a_person_signs_in_and_out(reader: Person, filled: Filled, guarded: Guarded) -> None:
    """The page shows its address to that person alone; the browser comes back to this machine; the server is listed."""
    await reader.see("/servers/add")
    added = await reader.do("/servers/add", name="guarded", url=guarded.url, untested="yes")
    waiting = await reader.do("/servers/guarded/sign-in")
    _, key = await filled.product.key(filled.product.app.services.caller.tenant.name, None, "curious")
    async with person(filled.product) as somebody:
        await somebody.sign_in(key["authorization"].removeprefix("Bearer "))
        seen = await somebody.see("/servers/guarded")
    await browse(invited(waiting))

    async def done() -> bool:
        return "Sign in again" in said(await reader.see("/servers/guarded"))

    await eventually(done)
    signed_in = reader.last
    out = await reader.do("/servers/guarded/sign-out")

    assert "needs a sign-in" in said(added)
    assert "Under way" in said(waiting)
    assert "Under way" not in said(seen)
    assert "guarded_whoami" in signed_in, said(signed_in)
    assert "Signed out of 'guarded'." in said(out)


async def test_a_browser_elsewhere_hands_its_last_address_over(reader: Person, guarded: Guarded) -> None:
    """Pasted into the page; one of another sign-in is refused."""
    await reader.see("/servers/add")
    await reader.do("/servers/add", name="remote", url=guarded.url, untested="yes")
    waiting = await reader.do("/servers/remote/sign-in")

    wrong = await reader.send("/servers/remote/sign-in/finish", address="http://127.0.0.1/?state=other")
    page = await reader.do("/servers/remote/sign-in/finish", address=await redirected(invited(waiting)))

    assert wrong.status_code == 422
    assert "Sign in again" in said(page)


async def test_a_sign_in_that_fails_says_why(reader: Person, guarded: Guarded) -> None:
    """And is put away; one that nobody finishes is given up."""
    await guarded.becomes(deny="yes")
    await reader.see("/servers/add")
    await reader.do("/servers/add", name="refusing", url=guarded.url, untested="yes")
    page = await reader.do("/servers/refusing/sign-in")
    await browse(invited(page))

    async def failed() -> bool:
        return "Under way" not in said(await reader.see("/servers/refusing"))

    await eventually(failed)
    refused = reader.last
    away = await reader.do("/servers/refusing/sign-in/cancel")
    again = await reader.do("/servers/refusing/sign-in")
    given_up = await reader.do("/servers/refusing/sign-in/cancel")

    assert 'role="alert"' in refused
    assert 'role="alert"' not in away
    assert "Under way" in said(again)
    assert "Under way" not in said(given_up)


async def test_nothing_is_changed_without_a_token(reader: Person) -> None:
    """Every form of these pages."""
    below = ("refresh", "switch", "sql", "remove", "sign-in", "sign-in/finish", "sign-in/cancel", "sign-out")
    for path in ("/servers/refresh", "/servers/add", *(f"/servers/notes/{one}" for one in below)):
        answer = await reader.web.post(path, data={"confirm": "notes", "switch": "disable", "name": "x"})

        assert answer.status_code == 403, path


async def test_nobody_sees_or_changes_the_servers_of_others(filled: Filled) -> None:
    """A user's own are shown to that user alone; shared ones may be looked at, without their log."""
    services = filled.product.app.services
    _, ann = await filled.product.key("pair", "ann")
    tenant, bob = await filled.product.key("pair", "bob", "bobs")
    await services.tools.import_tools(Caller(tenant, "ann"), [Tool("anns", "thing", "", "Hers.")])
    await services.tools.import_tools(Caller(tenant), [Tool("shared", "thing", "", "Everybody's.")])
    async with person(filled.product) as hers, person(filled.product) as his:
        await hers.sign_in(ann["authorization"].removeprefix("Bearer "))
        await his.sign_in(bob["authorization"].removeprefix("Bearer "))

        assert "anns" in said(await hers.see("/servers"))
        page = await his.see("/servers")
        assert "anns" not in said(page)
        assert "notes" not in said(page)
        await his.see("/servers/anns", 404)
        await his.see("/servers/notes", 404)
        shared = await his.see("/servers/shared")
        assert "only a key that names no user may" in said(shared)
        assert (await his.send("/servers/shared/refresh", reconnect="yes")).status_code == 403
        assert (await his.send("/servers/anns/refresh", reconnect="yes")).status_code == 404


async def test_only_the_owner_adds_and_changes_servers(filled: Filled) -> None:
    """Others are told why; a form that they send all the same is refused."""
    _, key = await filled.product.key(filled.product.app.services.caller.tenant.name, None, "whole")
    async with person(filled.product) as somebody:
        await somebody.sign_in(key["authorization"].removeprefix("Bearer "))
        form = await somebody.see("/servers/add")
        assert "You cannot add servers here." in said(form)
        assert 'name="command"' not in form
        page = await somebody.see("/servers/notes")
        assert "Only whoever runs this Thresher may change it here." in said(page)

        added = await somebody.send("/servers/add", name="evil", command="sh -c true")
        assert added.status_code == 403
        assert "Only the owner may do this here" in said(added.text)
        for path, given in (
            ("switch", {"switch": "disable"}),
            ("sql", {"dialect": ""}),
            ("remove", {"confirm": "notes"}),
            ("sign-in", {}),
            ("sign-in/cancel", {}),
            ("sign-in/finish", {"address": "x"}),
            ("sign-out", {}),
        ):
            assert (await somebody.send(f"/servers/notes/{path}", **given)).status_code == 403, path
        assert "notes" in said(await somebody.see("/servers"))
