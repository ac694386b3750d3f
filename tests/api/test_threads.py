"""`/v1/threads`: conversations over HTTP."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.api.serving import Served, assert_problem

THREADS = "/v1/threads"


async def begun(product: Served, **body: Any) -> Any:
    """Begin a thread."""
    answer = await product.web.post(THREADS, json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_thread_is_begun_changed_and_deleted(keyless: Served) -> None:
    """What is not said of it stays."""
    first = await begun(keyless, title="First", settings={"top_k": 3})
    place = f"{THREADS}/{first['id']}"
    renamed = (await keyless.web.patch(place, json={"title": "Second"})).json()
    configured = (await keyless.web.patch(place, json={"settings": {"sql": False, "top_k": None}})).json()
    shown = (await keyless.web.get(place)).json()
    gone = await keyless.web.delete(place)

    assert (first["title"], first["settings"], first["last_checkpoint"]) == ("First", {"top_k": 3}, None)
    assert (renamed["title"], renamed["settings"]) == ("Second", {"top_k": 3})
    assert (configured["title"], configured["settings"]) == ("Second", {"sql": False})
    assert shown == configured
    assert (gone.status_code, gone.content) == (204, b"")
    assert_problem(await keyless.web.get(place), 404, "not_found")
    assert_problem(await keyless.web.delete(place), 404, "not_found")


async def test_threads_are_listed_in_pages(product: Served) -> None:
    """Those that went on last first."""
    made = [(await begun(product, title=str(number)))["id"] for number in range(3)]
    first = (await product.web.get(THREADS, params={"limit": 2})).json()
    rest = (await product.web.get(THREADS, params={"limit": 2, "cursor": first["cursor"]})).json()

    assert [one["id"] for one in (*first["threads"], *rest["threads"])] == made[::-1]
    assert rest["cursor"] == ""


async def test_a_thread_is_forked(keyless: Served) -> None:
    """With or without another title; a body is not needed."""
    first = await begun(keyless, title="First")
    place = f"{THREADS}/{first['id']}"
    plain = (await keyless.web.post(f"{place}/fork")).json()
    named = (await keyless.web.post(f"{place}/fork", json={"title": "Mine"})).json()
    states = (await keyless.web.get(f"{place}/states")).json()

    assert (plain["title"], plain["forked_from"]) == ("First", first["id"])
    assert named["title"] == "Mine"
    assert states == {"states": [], "cursor": ""}
    assert_problem(await keyless.web.post(f"{place}/fork", json={"at": str(uuid4())}), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("get", "/nonsense", None),
        ("patch", "/nonsense", {"title": "x"}),
        ("post", "", {"title": "x" * 201}),
        ("post", "", {"titel": "x"}),
        ("post", "", {"settings": []}),
        ("post", "", {"settings": {"top_k": 0}}),
        ("post", "", {"settings": {"model": "nobody"}}),
        ("get", "?limit=0", None),
        ("get", "/nonsense/states", None),
        ("post", "/nonsense/fork", {"at": "x"}),
    ],
    ids=[
        "id",
        "patched id",
        "long title",
        "field",
        "settings",
        "value",
        "model",
        "limit",
        "states",
        "fork",
    ],
)
async def test_what_does_not_fit_is_a_problem(
    keyless: Served, method: str, path: str, body: dict[str, Any] | None
) -> None:
    """In words that say what to send."""
    before = (await keyless.web.get(THREADS)).json()["threads"]
    answer = await keyless.web.request(method, f"{THREADS}{path}", json=body)

    assert assert_problem(answer, 422, "invalid_input")["hint"]
    assert (await keyless.web.get(THREADS)).json()["threads"] == before


@pytest.mark.parametrize("cursor", ["!", "1." * 20_000], ids=["short", "long"])
async def test_a_cursor_of_something_else_is_a_problem(keyless: Served, cursor: str) -> None:
    """Also that of another list."""
    thread = (await keyless.web.post(THREADS, json={"title": "mine"})).json()["id"]
    await keyless.web.post(THREADS, json={"title": "other"})
    listed = (await keyless.web.get(THREADS, params={"limit": 1})).json()["cursor"]

    answers = [
        await keyless.web.get(THREADS, params={"cursor": cursor}),
        await keyless.web.get(f"{THREADS}/{thread}/states", params={"cursor": cursor}),
        await keyless.web.get(f"{THREADS}/{thread}/states", params={"cursor": listed}),
    ]

    for answer in answers:
        assert assert_problem(answer, 422, "invalid_cursor")["hint"]


async def test_a_stranger_learns_nothing_of_a_thread(product: Served) -> None:
    """Another user of the tenant, and another tenant, get the answer to a thread that never was."""
    _, ada = await product.key("acme", "ada", "ada")
    _, bob = await product.key("acme", "bob", "bob")
    _, eve = await product.key("evil", "ada", "eve")
    thread = (await product.web.post(THREADS, json={"title": "mine"}, headers=ada)).json()["id"]
    place = f"{THREADS}/{thread}"
    for stranger in (bob, eve):
        for method, path, body in (
            ("get", place, None),
            ("patch", place, {"title": "his"}),
            ("delete", place, None),
            ("post", f"{place}/fork", {}),
            ("get", f"{place}/states", None),
        ):
            assert_problem(await product.web.request(method, path, json=body, headers=stranger), 404, "not_found")
        assert (await product.web.get(THREADS, headers=stranger)).json()["threads"] == []

    assert (await product.web.get(place, headers=ada)).json()["title"] == "mine"
