"""The agent's prompts over a real port."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tests.api.serving import Served, assert_problem, served
from tests.support import Databases
from thresher.core import Settings

NAMES = ["basic", "tools", "context", "table_selection", "grade", "rephrase"]


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """The product, shared by all tests of this module: each has a tenant of its own."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    settings = Settings(data_dir=folder, allow_root=True, database_url=SecretStr(databases.url(name)), workers=0)
    async with served(settings) as product:
        yield product
    await databases.drop(name)


class Prompting:
    """A key of a tenant, and what it asks."""

    def __init__(self, product: Served, headers: dict[str, str], user: dict[str, str]) -> None:
        self._web = product.web
        self._headers = headers
        self.user = user

    async def ask(self, method: str, path: str = "", *, user: bool = False, **body: Any) -> httpx.Response:
        """One request, of the tenant's key or of its user's."""
        headers = self.user if user else self._headers
        return await self._web.request(method, f"/v1/prompts{path}", json=body or None, headers=headers)


@pytest.fixture
async def prompts(product: Served) -> Prompting:
    """A fresh tenant, and a user of it."""
    tenant = f"tenant-{secrets.token_hex(6)}"
    _, headers = await product.key(tenant)
    _, user = await product.key(tenant, "ada", "hers")
    return Prompting(product, headers, user)


async def test_prompts_are_listed_and_shown(prompts: Prompting) -> None:
    """As they are in force, in a fixed order; each by itself too."""
    listed = (await prompts.ask("GET")).json()["prompts"]
    shown = (await prompts.ask("GET", "/grade")).json()

    assert [one["name"] for one in listed] == NAMES
    assert shown == listed[4]
    assert set(shown) == {
        *("name", "title", "description", "text", "version", "shipped", "variables", "author", "created_at"),
    }
    assert (shown["version"], shown["shipped"], shown["variables"]) == (0, True, ["QUESTION", "PASSAGES"])


async def test_a_prompt_is_changed_compared_and_reset(prompts: Prompting) -> None:
    """Each change is a version, and all of them stay."""
    shipped = (await prompts.ask("GET", "/basic")).json()
    changed = await prompts.ask("PUT", "/basic", text="Be kind.\nBe brief.", expected=0)
    again = (await prompts.ask("PUT", "/basic", text="Be kind.\nBe long.")).json()
    diff = (await prompts.ask("GET", "/basic/diff?old=1&new=2")).json()
    whole = (await prompts.ask("GET", "/basic/diff")).json()["diff"]
    reset = (await prompts.ask("DELETE", "/basic")).json()
    versions = (await prompts.ask("GET", "/basic/versions")).json()["versions"]
    first = (await prompts.ask("GET", "/basic?version=1")).json()

    assert (changed.status_code, changed.json()["version"], changed.json()["author"]) == (200, 1, "key")
    assert again["version"] == 2
    assert diff["diff"].endswith("@@ -1,2 +1,2 @@\n Be kind.\n-Be brief.\n+Be long.\n")
    assert whole.startswith("--- basic (shipped)\n+++ basic (version 2)\n")
    assert (reset["version"], reset["shipped"], reset["text"]) == (3, True, shipped["text"])
    assert [one["version"] for one in versions] == [3, 2, 1, 0]
    assert first == versions[2] == changed.json()


async def test_a_user_reads_what_the_tenant_says_and_does_not_change_it(prompts: Prompting) -> None:
    """403 for a key that stands for a user."""
    put = await prompts.ask("PUT", "/basic", user=True, text="Mine.")
    reset = await prompts.ask("DELETE", "/basic", user=True)
    await prompts.ask("PUT", "/basic", text="Ours.")
    read = await prompts.ask("GET", "/basic", user=True)

    assert_problem(put, 403, "not_allowed")
    assert_problem(reset, 403, "not_allowed")
    assert read.json()["text"] == "Ours."


async def test_what_was_changed_in_between_is_a_conflict(prompts: Prompting) -> None:
    """The former words stay in force."""
    await prompts.ask("PUT", "/basic", text="One.")
    late = await prompts.ask("PUT", "/basic", text="Two.", expected=0)

    assert_problem(late, 409, "conflict")
    assert (await prompts.ask("GET", "/basic")).json()["text"] == "One."


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("GET", "/nothing", {}, 404, "not_found"),
        ("PUT", "/nothing", {"text": "x"}, 404, "not_found"),
        ("DELETE", "/nothing", {}, 404, "not_found"),
        ("GET", "/nothing/versions", {}, 404, "not_found"),
        ("GET", "/basic/diff?old=7", {}, 404, "not_found"),
        ("GET", "/basic/diff?old=x", {}, 422, "invalid_input"),
        ("GET", "/basic?version=-1", {}, 404, "not_found"),
        ("PUT", "/basic", {"text": ""}, 422, "invalid_input"),
        ("PUT", "/basic", {"text": "{{QUESTION}}"}, 422, "invalid_input"),
        ("PUT", "/basic", {"text": "x\0"}, 422, "invalid_input"),
        ("PUT", "/basic", {"text": "x", "expected": -1}, 422, "invalid_input"),
        ("PUT", "/basic", {"text": "x", "more": 1}, 422, "invalid_input"),
        ("PUT", "/grade", {"text": "{{QUESTION}} {{PASSAGES}}" + "x" * 20_000}, 422, "invalid_input"),
    ],
    ids=[
        *("show nothing", "put nothing", "reset nothing", "versions of nothing", "no version", "no number"),
        *("negative", "empty", "unknown variable", "NUL", "negative expectation", "unknown field", "too long"),
    ],
)
async def test_what_cannot_be_is_a_problem(
    prompts: Prompting, method: str, path: str, body: dict[str, Any], status: int, kind: str
) -> None:
    """With a way out, and nothing is written."""
    assert_problem(await prompts.ask(method, path, **body), status, kind)
    assert (await prompts.ask("GET", "/basic")).json()["version"] == 0
