"""Settings of conversations and chat models over a real port."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tests.api.serving import Served, assert_problem, served
from tests.fakes.chat_server import ChatServer
from tests.support import Databases
from thresher.core import Settings

KEY = "sk-very-secret"
HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def fake() -> Iterator[ChatServer]:
    """A chat service."""
    server = ChatServer()
    yield server
    server.stop()


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """The product, shared by all tests of this module: each has a tenant of its own."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    url = SecretStr(databases.url(name))
    settings = Settings(data_dir=folder, allow_root=True, database_url=url, workers=0, model_hosts=(HOST,))
    async with served(settings) as product:
        yield product
    await databases.drop(name)


class Asker:
    """A key of a user, and what it asks."""

    def __init__(self, product: Served, headers: dict[str, str]) -> None:
        self._web = product.web
        self._headers = headers

    async def ask(self, method: str, path: str = "", body: Any = None, **query: Any) -> httpx.Response:
        """One request below `/v1/settings`."""
        address = f"/v1/settings{path}"
        return await self._web.request(method, address, json=body, params=query, headers=self._headers)


@pytest.fixture
async def ada(product: Served) -> Asker:
    """A user of a fresh tenant."""
    _, headers = await product.key(f"tenant-{secrets.token_hex(6)}", "ada")
    return Asker(product, headers)


async def test_settings_are_shown_and_chosen(ada: Asker) -> None:
    """Field by field, with where each value comes from."""
    before = (await ada.ask("GET")).json()
    chosen = await ada.ask("PUT", body={"top_k": 3, "temperature": 0.5})
    back = (await ada.ask("PUT", body={"temperature": None})).json()

    assert (before["settings"]["top_k"], before["sources"]["top_k"]) == (8, "default")
    assert chosen.status_code == 200
    assert (chosen.json()["settings"]["temperature"], chosen.json()["sources"]["temperature"]) == (0.5, "owner")
    assert (back["settings"]["top_k"], back["settings"]["temperature"]) == (3, None)
    assert (await ada.ask("GET")).json() == back


async def test_a_thread_has_its_own_choices(product: Served, ada: Asker) -> None:
    """The query names it; an unknown one is not found."""
    made = await product.web.post("/v1/threads", json={}, headers=ada._headers)
    thread = made.json()["id"]

    await ada.ask("PUT", body={"sql": False}, thread=thread)

    assert (await ada.ask("GET", thread=thread)).json()["sources"]["sql"] == "thread"
    assert (await ada.ask("GET")).json()["settings"]["sql"] is True
    assert_problem(await ada.ask("GET", thread="0197a3b2-0000-7000-8000-000000000000"), 404, "not_found")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"top_k": 99}, "top_k"),
        ({"nothing": 1}, "no setting 'nothing'"),
        ({"model": "gone"}, "none of this name"),
        ([1], "is not valid"),
    ],
    ids=range(4),
)
async def test_what_is_not_allowed_is_refused(ada: Asker, body: Any, words: str) -> None:
    """Naming the field."""
    problem = assert_problem(await ada.ask("PUT", body=body), 422, "invalid_input")

    assert words in problem["detail"]


async def test_a_model_is_registered_checked_switched_and_removed(ada: Asker, fake: ChatServer) -> None:
    """Its key is never told."""
    fake.model = lambda _: "ok"
    given = {"name": "m", "url": fake.url, "model": "fake", "key": KEY}

    added = await ada.ask("POST", "/models", given)
    listed = await ada.ask("GET", "/models")
    tried = await ada.ask("POST", "/models/m/check")
    switched = await ada.ask("PATCH", "/models/m", {"enabled": False})
    shown = await ada.ask("GET", "/models/m")
    gone = await ada.ask("DELETE", "/models/m")

    assert added.status_code == 201
    assert (added.json()["keyed"], added.json()["owner"]) == (True, "ada")
    assert [one["name"] for one in listed.json()["models"]] == ["m"]
    assert (tried.json()["ok"], tried.json()["says"]) == (True, "ok")
    assert fake.authorizations[-1] == f"Bearer {KEY}"
    assert (switched.json()["enabled"], shown.json()["enabled"]) == (False, False)
    assert gone.status_code == 204
    assert_problem(await ada.ask("GET", "/models/m"), 404, "not_found")
    assert all(KEY not in answer.text for answer in (added, listed, tried, switched, shown))


async def test_what_is_no_model_is_a_problem(ada: Asker, fake: ChatServer) -> None:
    """A taken name, a host that is not named, a body that is not valid."""
    given = {"name": "m", "url": fake.url, "model": "fake"}
    await ada.ask("POST", "/models", given)

    assert_problem(await ada.ask("POST", "/models", {**given, "model": "other"}), 409, "conflict")
    assert_problem(await ada.ask("POST", "/models", {**given, "url": "http://10.0.0.1/v1"}), 403, "not_allowed")
    assert_problem(await ada.ask("POST", "/models", {**given, "url": "nowhere"}), 422, "invalid_input")
    assert_problem(await ada.ask("POST", "/models", {"name": "m"}), 422, "invalid_input")
    assert_problem(await ada.ask("PATCH", "/models/other", {"enabled": True}), 404, "not_found")


async def test_a_disabled_model_is_not_chosen(ada: Asker, fake: ChatServer) -> None:
    """The refusal says what to do."""
    await ada.ask("POST", "/models", {"name": "m", "url": fake.url, "model": "fake"})
    await ada.ask("PATCH", "/models/m", {"enabled": False})

    problem = assert_problem(await ada.ask("PUT", body={"model": "m"}), 422, "invalid_input")

    assert "disabled" in problem["detail"]
    assert "thresher models enable m" in problem["hint"]


async def test_models_that_a_request_may_name_are_listed_once(product: Served, ada: Asker) -> None:
    """Where another one was named."""
    answer = await product.web.get("/v1/models/nope", headers=ada._headers)

    assert answer.status_code == 404
    assert answer.text.count("thresher") == 1
