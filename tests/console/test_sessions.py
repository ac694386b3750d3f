"""Signing in to the console: who is let in, how long, and what nobody can do in another's name."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from starlette.requests import Request as Sent

from tests.api.serving import Served, on_port
from tests.console.person import Person, person, said
from tests.support import Databases
from thresher.app import open_app
from thresher.console.visit import Visit
from thresher.core import Settings, StoreUnavailable, Tenant
from thresher.foreign import visible
from thresher.store.keys import WAITING


@pytest.fixture(scope="module")
async def locked(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """A product whose every request needs a key."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    url = SecretStr(databases.url(name))
    settings = Settings(data_dir=folder, allow_root=True, database_url=url, keyless="off")
    async with open_app(settings) as app, on_port(app.asgi) as web:
        yield Served(app, web)
    await databases.drop(name)


async def key_of(product: Served, tenant: str, user: str | None = None) -> tuple[Tenant, str, str]:
    """A key: its tenant, name and text."""
    owner = await product.app.services.database.tenant(tenant)
    name = secrets.token_hex(4)
    text, _ = await product.app.services.keys.add(owner, name, user)
    return owner, name, text


async def test_nobody_is_sent_to_the_sign_in_and_back(locked: Served) -> None:
    """The page that was asked for is shown after the sign-in."""
    _, _, key = await key_of(locked, "one")
    async with person(locked) as somebody:
        answer = await somebody.web.get("/tools?server=a")
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Ftools%3Fserver%3Da")
        await somebody.see(answer.headers["location"])

        answer = await somebody.send("/sign-in", key=key, next="/tools?server=a")

        assert answer.headers["location"] == "/tools?server=a"


@pytest.mark.parametrize(
    "address",
    ["//evil.example", "https://evil.example/", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "//["],
)
async def test_a_sign_in_leads_to_no_other_host(locked: Served, address: str) -> None:
    """An address of elsewhere counts as none."""
    _, _, key = await key_of(locked, "one")
    async with person(locked) as somebody:
        await somebody.see("/sign-in")

        answer = await somebody.send("/sign-in", key=key, next=address)

        assert answer.headers["location"] == "/"


@pytest.mark.parametrize("key", ["", "thr_" + "x" * 43, "nonsense", "\0"])
async def test_a_wrong_key_opens_nothing(locked: Served, key: str) -> None:
    """It is said, and no session begins."""
    async with person(locked) as somebody:
        await somebody.see("/sign-in")

        answer = await somebody.send("/sign-in", key=key)

        assert answer.status_code == 403
        assert "unknown or revoked" in answer.text
        assert "thresher_session" not in answer.headers.get("set-cookie", "")


async def test_a_session_is_kept_in_a_cookie_that_no_script_reads_and_no_site_sends(locked: Served) -> None:
    """HttpOnly, SameSite, limited, and of this port alone."""
    _, _, key = await key_of(locked, "one")
    async with person(locked) as somebody:
        await somebody.see("/sign-in")

        cookie = (await somebody.send("/sign-in", key=key)).headers["set-cookie"]

        assert re.match(r"thresher_session_\d+=", cookie)
        assert "httponly" in cookie.lower()
        assert "samesite=strict" in cookie.lower()
        assert "max-age=43200" in cookie.lower()
        assert key not in cookie


async def test_signing_out_ends_the_session_for_a_copied_cookie_too(locked: Served) -> None:
    """The cookie alone is worth nothing afterwards."""
    _, _, key = await key_of(locked, "one")
    async with person(locked) as somebody, person(locked) as thief:
        await somebody.sign_in(key)
        thief.web.cookies.update(somebody.web.cookies)
        await thief.see("/")
        await somebody.see("/")

        await somebody.send("/sign-out")

        assert (await thief.web.get("/")).status_code == 303


async def test_a_revoked_key_ends_its_sessions(locked: Served) -> None:
    """At once where it was revoked."""
    tenant, name, key = await key_of(locked, "one")
    async with person(locked) as somebody:
        await somebody.sign_in(key)
        await somebody.see("/")

        await locked.app.services.keys.revoke(tenant, name)

        assert (await somebody.web.get("/")).status_code == 303


@pytest.mark.parametrize("column", ["expires_at = now() - interval '1 second'", "used_at = now() - interval '3 hours'"])
async def test_an_old_or_unused_session_ends(locked: Served, column: str) -> None:
    """Both limits are kept by the database; a new process asks it."""
    tenant, _, key = await key_of(locked, "one")
    sessions = locked.app.services.sessions
    token = await sessions.open(key)
    async with locked.app.services.database.transaction(tenant) as connection:
        await connection.execute(text(f"update console_session set {column}"))

    assert await sessions.find(token) is None


async def test_a_page_that_merely_stays_open_is_no_use_of_its_session(locked: Served) -> None:
    """Its streams only look whether the session is there; a page that is opened counts."""
    tenant, _, key = await key_of(locked, "one")
    sessions, database = locked.app.services.sessions, locked.app.services.database

    async def used() -> bool:
        async with database.transaction(tenant) as connection:
            return bool(await connection.scalar(text("select bool_or(used_at > now() - interval '1 minute')"
                                                     " from console_session")))  # fmt: skip

    async with person(locked) as somebody:
        await somebody.sign_in(key)
        async with database.transaction(tenant) as connection:
            await connection.execute(text("update console_session set used_at = now() - interval '1 hour'"))
        headers = {"accept": "text/event-stream"}
        async with somebody.web.stream("GET", "/settings/jobs/live", headers=headers) as stream:
            assert "data:" in await anext(stream.aiter_text())
        assert not await used()

        await somebody.see("/actions")

        assert await used()
    assert await sessions.find("x", is_use=False) is None


async def test_signing_in_again_ends_the_session_before(locked: Served) -> None:
    """A copy of its cookie is worth nothing afterwards."""
    _, _, key = await key_of(locked, "one")
    async with person(locked) as somebody, person(locked) as thief:
        await somebody.sign_in(key)
        thief.web.cookies.update(somebody.web.cookies)
        await thief.see("/")

        await somebody.sign_in(key)

        await somebody.see("/")
        assert (await thief.web.get("/")).status_code == 303


async def test_a_session_opens_pages_and_nothing_that_programs_use(locked: Served) -> None:
    """A cookie is sent by itself; the HTTP API and MCP want a key."""
    _, _, key = await key_of(locked, "one")
    async with person(locked) as somebody:
        await somebody.sign_in(key)

        assert (await somebody.web.get("/v1/threads")).status_code == 401
        assert (await somebody.web.post("/mcp", json={})).status_code == 401


async def changes(somebody: Person) -> Sequence[str]:
    """A change of which anybody could make somebody's browser send."""
    return ("/actions/intents/list_intents", "/knowledge/documents", "/sign-out", "/theme", "/sign-in")


@pytest.mark.parametrize("token", ["", "x", "0" * 64])
async def test_a_change_without_the_pages_token_is_refused(product: Served, owner: Person, token: str) -> None:
    """For the owner, too, who has no cookie to protect."""
    await owner.see("/")
    for path in await changes(owner):
        answer = await owner.web.post(path, data={"csrf": token, "name": "x", "source": "/"})

        assert answer.status_code == 403, path
        assert "too old" in answer.text


async def test_a_token_of_one_visit_is_worth_nothing_in_another(product: Served, owner: Person) -> None:
    """Somebody who can read their own page cannot write for others."""
    await owner.see("/")
    async with person(product) as other:
        await other.see("/")
        other.last = owner.last

        assert (await other.send("/actions/intents/list_intents")).status_code == 403


async def test_what_http_does_not_serve_is_the_owners(locked: Served, product: Served, owner: Person) -> None:
    """A key's holder sees neither the form's effect nor the action in the list."""
    _, _, key = await key_of(locked, "one")
    async with person(locked) as somebody:
        await somebody.sign_in(key)
        listed = said(await somebody.see("/actions"))
        assert "add_server" not in listed
        assert "find_tools" in listed
        await somebody.see("/actions/tools/remove_server")

        for path in ("/actions/tools/remove_server", "/actions/keys/list_keys", "/actions/keys/add_key"):
            answer = await somebody.send(path, name="x", confirm="x")

            assert "Only the owner" in answer.text
    assert "add_server" in said(await owner.see("/actions"))


async def test_every_answer_carries_the_policy(product: Served, owner: Person) -> None:
    """Pages, errors, files and redirects."""
    for path in ("/", "/no/such/page", "/static/console.css", "/sign-in", "/actions/x/y"):
        answer = await owner.web.get(path)

        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


async def test_a_page_of_another_host_is_refused(product: Served, owner: Person) -> None:
    """The door's checks of Host and Origin hold for pages, too."""
    assert (await owner.web.get("/", headers={"host": "evil.example"})).status_code == 421
    assert (await owner.web.get("/", headers={"origin": "https://evil.example"})).status_code == 403


@pytest.mark.parametrize("path", ["/", "/try?message=x", "/settings/jobs/live", "/static/console.css"])
@pytest.mark.parametrize(
    ("site", "mode", "target", "status"),
    [
        ("cross-site", "no-cors", "image", 403),
        ("cross-site", "navigate", "iframe", 403),
        ("same-site", "cors", "empty", 403),
        ("same-site", "no-cors", "script", 403),
        ("cross-site", "navigate", "document", 200),
        ("same-origin", "cors", "empty", 200),
        ("none", "navigate", "document", 200),
    ],
)
async def test_a_page_of_another_origin_may_link_here_and_load_nothing(
    owner: Person, path: str, site: str, mode: str, target: str, status: int
) -> None:
    """Another site, or another port of this machine, has the owner's browser do no work that nobody sees."""
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": target}
    async with owner.web.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == status


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"key=" + b"a" * 5_000_000, "application/x-www-form-urlencoded", 413),
        (b"&a=1" * 6_000, "application/x-www-form-urlencoded", 400),
        (b"nothing of a form", "multipart/form-data; boundary=x", 400),
        (b"nothing of a form", "multipart/form-data", 400),
        (b'{"csrf": "x"}', "application/json", 403),
    ],
)
@pytest.mark.parametrize("is_part", [False, True])
async def test_a_body_that_cannot_be_read_is_said_to_be_one(
    owner: Person, body: bytes, kind: str, status: int, *, is_part: bool
) -> None:
    """With the policy, and not as a failure of the product; a part of a page shows it in its place."""
    await owner.see("/actions")
    headers = {"content-type": kind} | ({"hx-request": "true"} if is_part else {})

    answer = await owner.web.post("/actions/tools/find_tools", content=body, headers=headers)

    assert answer.status_code == (200 if is_part else status)
    assert "Something went wrong" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


NINES = "9" * 5_000


@pytest.mark.parametrize(
    "path",
    [
        f"/insight/calls?before={NINES}",
        "/insight/calls?tool=%00&server=%00",
        f"/settings/prompts/x?old={NINES}",
        f"/settings/jobs?job={NINES}",
        f"/settings/jobs?job={NINES[:30]}",
        f"/knowledge/documents/x?budget={NINES}",
        f"/try?message=a&budget={NINES}",
        "/tools/%00",
        "/sign-in?next=//[",
    ],
)
async def test_an_address_that_nobody_would_write_is_no_failure(owner: Person, path: str) -> None:
    """Numbers that no database holds, and characters that it cannot."""
    answer = await owner.web.get(path)

    assert answer.status_code < 500
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("path", "form"),
    [
        (f"/settings/jobs/{NINES}/cancel", {}),
        ("/settings/prompts/chat", {"text": "x", "expected": NINES}),
        ("/try/cases/remove", {"case": NINES}),
        ("/actions/tools/add_server", {"server": "[" * 100_000}),
        ("/actions/tools/finish_login", {"address": "http://["}),
        ("/theme", {"theme": "dark", "next": "http://["}),
    ],
)
async def test_a_form_that_nobody_would_send_is_no_failure(owner: Person, path: str, form: dict[str, str]) -> None:
    """What it has is refused, or counts as nothing."""
    await owner.see("/actions")

    answer = await owner.send(path, **form)

    assert answer.status_code < 500
    assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_an_unknown_page_says_what_to_do(product: Served, owner: Person) -> None:
    """With a trace id, and nothing internal."""
    page = said(await owner.see("/no/such/page", 404))

    assert "There is no such page" in page
    assert re.search(r"Trace [0-9a-f]{16}", page)


@pytest.mark.parametrize("notice", ["\U0001f511" * 1_000, "\0\ud800\n;\u202e" * 500, "x"])
async def test_a_long_sentence_about_a_change_fits_a_cookie(product: Served, notice: str) -> None:
    """Browsers keep 4,096 bytes, and proxies refuse long headers: what does not fit is left out."""
    services = product.app.services

    def visit(cookies: str) -> Visit:
        headers = [(b"host", b"localhost:80"), (b"cookie", cookies.encode())]
        sent: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": "/",
            "query_string": b"",
            "headers": headers,
            "state": {},
        }
        return Visit(Sent(sent), services, product.app.conversations, services.caller, is_owner=True)

    cookie = visit("thresher_visit_80=x").go("/", notice, is_error=True).headers["set-cookie"]

    assert len(cookie) < 4_096
    page = visit(f"thresher_visit_80=x; {cookie.partition(';')[0]}").page("error.html", message="", hint="", trace="")
    assert visible(notice[:1]) in said(bytes(page.body).decode())


async def test_colours_are_remembered(product: Served, owner: Person) -> None:
    """By a form that works without script."""
    await owner.see("/actions")

    page = await owner.do("/theme", theme="dark", next="/actions")

    assert '<html lang="en" data-theme="dark">' in page


async def test_a_flood_of_unknown_sessions_takes_no_more_than_its_turns(locked: Served) -> None:
    """Beyond those that may wait they are refused at once, and afterwards everybody is served as before."""
    sessions = locked.app.services.sessions

    found = await asyncio.gather(*(sessions.find(secrets.token_urlsafe()) for _ in range(200)), return_exceptions=True)

    refused = [one for one in found if isinstance(one, StoreUnavailable)]
    assert len(refused) == 200 - WAITING
    assert [one for one in found if one not in refused] == [None] * WAITING
    _, _, key = await key_of(locked, "one")
    assert await sessions.find(await sessions.open(key)) is not None
