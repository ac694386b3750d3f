"""What holds in a conversation: defaults, an owner's choices, a thread's, a turn's."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from thresher.agent import AgentSettings, ChatSettings, Threads
from thresher.core import Caller, InvalidInput, NotFound, Tenant
from thresher.store import Database

DEFAULTS = ChatSettings.model_validate({})


async def known(_caller: Caller) -> dict[str, bool]:
    """The models that there are, and whether each is enabled."""
    return {"default": True, "sonnet": True, "asleep": False}


@dataclass(frozen=True)
class Shop:
    """A connection to a database."""

    name: str


async def connected(caller: Caller) -> tuple[Shop, ...]:
    """The connections that a user sees."""
    return (Shop("shop"), Shop("films")) if caller.user == "ada" else ()


@pytest.fixture
def settings(database: Database) -> AgentSettings:  # type: ignore[override]
    """The service under test."""
    return AgentSettings(database, known, connections=connected)


@pytest.fixture
async def threads(database: Database) -> AsyncIterator[Threads]:
    """Conversations."""
    threads = Threads(database)
    yield threads
    await threads.close()


@pytest.fixture
def ada(tenant: Tenant) -> Caller:
    """A user."""
    return Caller(tenant, "ada")


@pytest.fixture
def bob(tenant: Tenant) -> Caller:
    """Another user of the same tenant."""
    return Caller(tenant, "bob")


async def test_without_a_choice_the_defaults_hold(settings: AgentSettings, ada: Caller) -> None:
    """Also in a thread that is not there yet."""
    assert await settings.of(ada) == DEFAULTS
    assert await settings.of(ada, uuid4()) == DEFAULTS


async def test_a_turn_wins_over_a_thread_and_that_over_its_owner(
    settings: AgentSettings, threads: Threads, ada: Caller
) -> None:
    """Field by field; and it is told where each value comes from."""
    thread = (await threads.create(ada)).id
    await settings.put(ada, {"top_k": 3, "tools": 4, "temperature": 0.2})
    view = await settings.put(ada, {"tools": 5, "temperature": 0.4}, thread)

    now = await settings.of(ada, thread, {"temperature": 0.6, "top_k": None})

    assert (now.top_k, now.tools, now.temperature) == (3, 5, 0.6)
    assert (view.settings.top_k, view.settings.tools, view.settings.recursion) == (3, 5, 50)
    assert (view.sources["top_k"], view.sources["tools"], view.sources["recursion"]) == ("owner", "thread", "default")
    assert (await settings.get(ada)).sources["tools"] == "owner"
    assert await settings.get(ada, str(thread)) == view


async def test_a_null_takes_a_choice_back_and_other_fields_stay(
    settings: AgentSettings, threads: Threads, ada: Caller
) -> None:
    """For the owner as for a thread."""
    thread = (await threads.create(ada)).id
    await settings.put(ada, {"sql": False, "top_k": 3})
    await settings.put(ada, {"sql": True, "packs": False}, thread)

    await settings.put(ada, {"top_k": None})
    await settings.put(ada, {"sql": None}, thread)

    view = await settings.get(ada, thread)
    assert (view.settings.sql, view.settings.top_k, view.settings.packs) == (False, 8, False)


async def test_settings_are_their_owners_alone(
    settings: AgentSettings, threads: Threads, tenant: Tenant, ada: Caller, bob: Caller
) -> None:
    """Of a user, of callers that stand for none; another caller's thread stays unknown."""
    thread = (await threads.create(ada)).id
    await settings.put(ada, {"top_k": 3})
    await settings.put(Caller(tenant), {"top_k": 4})
    await settings.put(ada, {"top_k": 5}, thread)

    assert (await settings.of(bob, thread)).top_k == 8
    assert (await settings.of(Caller(tenant))).top_k == 4
    assert (await settings.of(ada)).top_k == 3
    for refused in (settings.get(bob, thread), settings.put(bob, {"top_k": 9}, thread), settings.get(ada, uuid4())):
        with pytest.raises(NotFound, match="no thread"):
            await refused


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"top_k": 0}, "top_k.*whole numbers from 1 to 50"),
        ({"top_k": "many"}, "top_k.*whole numbers from 1 to 50"),
        ({"temperature": 2.1}, "temperature.*numbers from 0.* to 2"),
        ({"approval": "some"}, "approval.*writes, destructive, all, none"),
        ({"sql": "perhaps"}, "sql.*true, false"),
        ({"model_seconds": 0}, "model_seconds.*more than 0.* to 3600"),
        ({"connection": "x" * 65}, "connection.*up to 64 characters"),
        ({"recursion": {"a": 1}}, "recursion.*from 4 to 500"),
        ({"topk": 3}, "no setting 'topk'.*top_k"),
        ({"topk": None}, "no setting 'topk'.*top_k"),
        ({"model": "sonet"}, "model.*sonnet"),
        ({"model": "asleep"}, "model.*disabled.*thresher models enable asleep"),
        ({"model_seconds": float("nan")}, "model_seconds"),
        ({"connection": "shp"}, "connection.*none of this name.*shop"),
        ({"connection": "warehouse"}, "connection.*none of this name.*There are: shop, films"),
    ],
    ids=range(15),
)
async def test_what_is_not_allowed_is_refused_with_what_is(
    settings: AgentSettings, ada: Caller, changes: dict[str, Any], words: str
) -> None:
    """And nothing of the same change is kept."""
    with pytest.raises(InvalidInput) as refused:
        await settings.put(ada, {"tools": 2, **changes})

    assert re.search(words, str(refused.value)), str(refused.value)
    assert (await settings.of(ada)).tools == 8


async def test_a_database_that_the_user_sees_can_be_chosen(settings: AgentSettings, ada: Caller, bob: Caller) -> None:
    """No other one; and the choice is taken back by an empty name, as by a null."""
    chosen = (await settings.put(ada, {"connection": "shop"})).settings.connection
    none = (await settings.put(ada, {"connection": ""})).settings.connection
    with pytest.raises(InvalidInput, match="thresher db add"):
        await settings.put(bob, {"connection": "shop"})

    assert (chosen, none) == ("shop", "")


async def test_a_turns_own_choices_are_checked_too(settings: AgentSettings, ada: Caller) -> None:
    """As what somebody writes."""
    with pytest.raises(InvalidInput, match="top_k"):
        await settings.of(ada, extra={"top_k": 99})


async def test_what_a_row_holds_never_breaks_a_conversation(
    settings: AgentSettings, threads: Threads, database: Database, ada: Caller
) -> None:
    """Fields of another version, values out of bounds, rows of another form: they are as if they were not there."""
    odd = {"top_k": 999, "gone": 1, "sql": False, "approval": 7, "tools": None}
    thread = (await threads.create(ada, settings=odd)).id
    await settings.put(ada, {"tools": 3})

    assert (await settings.of(ada, thread)).model_dump() == {**DEFAULTS.model_dump(), "sql": False, "tools": 3}

    await database.once(
        ada.tenant, lambda driver: driver.execute("update chat_setting set settings = '[1]' returning id")
    )
    assert (await settings.of(ada)) == DEFAULTS


async def test_values_are_kept_as_what_they_are(settings: AgentSettings, ada: Caller) -> None:
    """A number that was written as a text is a number."""
    view = await settings.put(ada, {"top_k": "5", "sql": "false", "model": " sonnet "})

    assert (view.settings.top_k, view.settings.sql, view.settings.model) == (5, False, "sonnet")
    assert await settings.of(ada) == view.settings
