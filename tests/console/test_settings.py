"""Settings: keys, models, conversations, prompts, jobs, and what the owner looks after."""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.api.serving import Served
from tests.console.person import Person, person, said


@pytest.fixture
def name() -> str:
    """A name that no other test has."""
    return f"n{secrets.token_hex(4)}"


async def test_a_key_is_shown_once_serves_and_is_revoked(product: Served, owner: Person, name: str) -> None:
    """Its text is in one answer; with it somebody signs in; revoked, it ends what is open."""
    await owner.see("/settings")
    made = await owner.send("/settings/keys", name=name, user="ann")
    key = re.search(r"thr_[\w-]+", said(made.text))
    assert key is not None
    assert key[0] not in await owner.see("/settings")
    async with person(product) as ann:
        await ann.sign_in(key[0])
        page = said(await ann.see("/settings"))
        assert "User ann" in page
        assert "Keys" not in page.partition("Who you are")[2].partition("Policies")[0]

        assert (await owner.send(f"/settings/keys/{name}/revoke", confirm="other")).status_code == 403
        page = said(await owner.do(f"/settings/keys/{name}/revoke", confirm=name))

        assert "is refused from now on" in page
        assert "revoked" in page
        assert "User ann" not in said((await ann.web.get("/settings")).text)


async def test_a_wrong_key_is_refused(owner: Person, name: str) -> None:
    """An empty name, or one that is taken."""
    await owner.see("/settings")
    await owner.send("/settings/keys", name=name)

    twice = await owner.send("/settings/keys", name=name)
    empty = await owner.send("/settings/keys", name="")

    assert (twice.status_code, empty.status_code) == (422, 422)
    assert 'role="alert"' in twice.text


async def test_a_key_of_a_tenant_manages_no_keys(product: Served, owner: Person, name: str) -> None:
    """Nor components, the log of statements, or the policy; neither is shown."""
    tenant = await product.app.services.database.tenant(name)
    text, _ = await product.app.services.keys.add(tenant, name, None)
    async with person(product) as somebody:
        await somebody.sign_in(text)
        page = await somebody.see("/settings")

        assert "/settings/keys" not in page
        assert "/settings/system" not in page
        for path, form in (
            ("/settings/keys", {"name": "more"}),
            (f"/settings/keys/{name}/revoke", {"confirm": name}),
            ("/settings/floor", {"floor": "none"}),
            ("/settings/system/prune", {"older_than": "0", "confirm": "prune"}),
            ("/settings/system/restart", {"confirm": "restart"}),
            ("/settings/system/components", {}),
        ):
            assert (await somebody.send(path, **form)).status_code == 403, path
        await somebody.see("/settings/system", 403)


async def test_a_policy_holds_for_everybody(product: Served, owner: Person, name: str) -> None:
    """The floor is above what a user chose."""
    tenant = product.app.services.caller.tenant
    text, _ = await product.app.services.keys.add(tenant, name, "ben")
    async with person(product) as ben:
        await ben.sign_in(text)
        await owner.see("/settings")
        await owner.do("/settings/floor", floor="writes")
        await ben.see("/settings/conversations")
        page = said(await ben.do("/settings/conversations", **{"argument.approval": "none", "argument.top_k": "12"}))
        assert "stricter than your choice" in page

        await owner.see("/settings")
        await owner.do("/settings/floor", floor="none")
        page = await ben.see("/settings/conversations")
        assert '<option value="none" selected>' in page
        assert 'value="12"' in page
        page = await ben.do("/settings/conversations")

        assert 'value="12"' not in page
    assert (await owner.send("/settings/floor", floor="some")).status_code == 422
    await owner.do("/settings/floor", floor="writes")


@pytest.mark.parametrize(
    ("field", "value"), [("top_k", "0"), ("top_k", "many"), ("temperature", "9"), ("model", "no-such-model")]
)
async def test_a_wrong_setting_is_refused_with_the_form(owner: Person, field: str, value: str) -> None:
    """What was written is still in its field."""
    await owner.see("/settings/conversations")

    answer = await owner.send("/settings/conversations", **{f"argument.{field}": value})

    assert answer.status_code == 422
    assert f'value="{value}"' in answer.text
    assert 'role="alert"' in answer.text


async def test_a_model_is_registered_checked_switched_and_forgotten(owner: Person, name: str) -> None:
    """One that does not answer says why; its key never comes back."""
    page = await owner.see("/settings/models")
    assert "No model yet" in said(page)
    page = await owner.do(
        "/settings/models", name=name, url="http://127.0.0.1:9/v1", model="<b>tiny</b>", key="sk-secret-of-it"
    )
    assert "&lt;b&gt;tiny&lt;/b&gt;" in page
    assert "sk-secret-of-it" not in page
    checked = await owner.send(f"/settings/models/{name}/check")
    assert "does not answer" in said(checked.text)

    assert "switched off" in said(await owner.do(f"/settings/models/{name}/switch", enabled="no"))
    assert (await owner.send(f"/settings/models/{name}/remove", confirm="x")).status_code == 403
    page = said(await owner.do(f"/settings/models/{name}/remove", confirm=name))

    assert "are forgotten" in page
    assert (await owner.send(f"/settings/models/{name}/dance")).status_code == 422
    wrong = await owner.send("/settings/models", name=name, url="no address", model="tiny")
    assert wrong.status_code == 422
    assert f'value="{name}"' in wrong.text


async def test_a_prompt_is_changed_compared_and_reset(owner: Person) -> None:
    """Versions stay; the difference is marked; a text without its variables, or from an old version, is refused."""
    page = await owner.see("/settings/prompts")
    path = re.findall(r'href="(/settings/prompts/[^"]+)"', page)[0]
    page = await owner.see(path)
    text = html.unescape(page.partition('id="text"')[2].partition(">")[2].partition("</textarea>")[0]).removeprefix(
        "\n"
    )
    page = await owner.do(path, text=f"{text}\nBe <b>kind</b>.", expected="0")
    assert "<ins>+Be &lt;b&gt;kind&lt;/b&gt;.</ins>" in page
    assert "your own" in said(page)

    stale = await owner.send(path, text=f"{text}\nBe quick.", expected="0")
    empty = await owner.send(path, text=" ")
    assert (stale.status_code, empty.status_code) == (422, 422)
    assert "Be quick." in stale.text
    assert "is not a version" in said(await owner.see(f"{path}?old=x", 422))
    await owner.see(f"{path}?old=99", 404)

    await owner.see(path)
    page = said(await owner.do(f"{path}/reset"))
    assert "as shipped" in page
    await owner.see("/settings/prompts/no-such-prompt", 404)


async def test_a_user_reads_prompts_and_changes_none(stranger: Person) -> None:
    """The text without a form."""
    page = await stranger.see("/settings/prompts")
    path = re.findall(r'href="(/settings/prompts/[^"]+)"', page)[0]
    page = await stranger.see(path)

    assert 'name="text"' not in page
    assert (await stranger.send(path, text="mine")).status_code == 403


async def test_no_job_says_what_jobs_are(owner: Person) -> None:
    """An unknown one is not found."""
    assert "No jobs" in said(await owner.see("/settings/jobs"))
    await owner.see("/settings/jobs?job=999999", 404)
    await owner.see("/settings/jobs")
    assert (await owner.send("/settings/jobs/999999/cancel")).status_code == 404


async def test_a_job_is_listed_followed_and_cancelled(user: Person, stranger: Person, tmp_path: Path) -> None:
    """Its stream sends the same part; others neither see nor cancel it."""
    (tmp_path / "a.md").write_text("# A", encoding="utf-8")
    await user.see("/knowledge/documents")
    await user.do("/knowledge/documents", name="waits", source=str(tmp_path))
    page = await user.see("/settings/jobs")
    number = page.partition('id="job-')[2].partition('"')[0]
    assert "waiting" in said(page)
    async with user.web.stream("GET", "/settings/jobs/live") as stream:
        lines = [line async for line in _until_empty(stream)]
    assert any("documents.index" in line for line in lines)

    assert "documents.index" not in said(await stranger.see("/settings/jobs"))
    assert (await stranger.send(f"/settings/jobs/{number}/cancel")).status_code == 404
    page = said(await user.do(f"/settings/jobs/{number}/cancel"))

    assert f"Job {number} has ended" in page
    assert "cancelled" in page
    assert 'class="current"' in await user.see(f"/settings/jobs?job={number}")
    assert (await user.send(f"/settings/jobs/{number}/cancel")).status_code == 409


async def _until_empty(stream: httpx.Response) -> AsyncIterator[str]:
    async for line in stream.aiter_lines():
        if not line:
            return
        yield line


async def test_the_owner_looks_after_components_and_logs(owner: Person) -> None:
    """The folder is loaded again, the log is proven, old lines go after a word; nothing goes without it."""
    page = said(await owner.see("/settings/system?verify=yes"))
    assert "The log is whole" in page

    assert "were loaded" in said(await owner.do("/settings/system/components"))
    assert (await owner.send("/settings/system/prune", older_than="0")).status_code == 403
    assert (await owner.send("/settings/system/restart", confirm="no")).status_code == 403
    assert (await owner.send("/settings/system/prune", confirm="prune", older_than="-1")).status_code == 422
    assert "are removed" in said(await owner.do("/settings/system/prune", confirm="prune", older_than="1"))
    assert "are removed" in said(await owner.do("/settings/system/purge", confirm="purge", older_than="1"))
    assert (await owner.send("/settings/system/dance", confirm="dance")).status_code == 422


async def test_a_change_without_the_token_is_refused(owner: Person) -> None:
    """For each kind of change."""
    await owner.see("/settings")
    for path in ("keys", "floor", "models", "conversations", "prompts/answer", "jobs/1/cancel", "system/prune"):
        answer = await owner.web.post(f"/settings/{path}", data={"csrf": "x", "name": "x"})
        assert answer.status_code == 403, path
