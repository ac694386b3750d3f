"""In which conversation work is done."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from pydantic import TypeAdapter

from thresher.core import Talk, current_talk, talking_in


def test_outside_of_a_conversation_there_is_an_empty_one() -> None:
    """Nobody has to ask whether there is any."""
    talk = current_talk()

    assert talk == Talk()
    assert (talk.id, talk.connection, talk.model) == (None, "", None)


def test_a_block_inside_a_block_has_its_own_conversation() -> None:
    """None says that it is part of none; the former one is there again afterwards."""
    outer, inner = Talk(uuid4(), "outer"), Talk(uuid4(), "inner")
    with talking_in(outer):
        with talking_in(inner):
            first = current_talk()
        with talking_in(None):
            second = current_talk()
        third = current_talk()

    assert (first, second, third) == (inner, Talk(), outer)


async def test_tasks_stay_in_the_conversation_that_they_were_begun_in() -> None:
    """Whatever their starter does later."""
    go = asyncio.Event()

    async def title() -> str:
        await go.wait()
        return current_talk().title

    with talking_in(Talk(title="one")):
        one = asyncio.create_task(title())
    with talking_in(Talk(title="two")):
        two = asyncio.create_task(title())
        go.set()

        assert (await one, await two) == ("one", "two")


def test_settings_are_the_askers_own() -> None:
    """What one tool changes in them, no other reads."""
    with talking_in(Talk(settings={"connection": "shop"})):
        first = current_talk()
        first.settings["connection"] = "other"  # type: ignore[index]

        assert current_talk().connection == "shop"


@pytest.mark.parametrize("kind", [Talk, Talk | None, list[Talk]], ids=["bare", "optional", "list"])
def test_no_schema_can_be_made_of_a_conversation(kind: object) -> None:
    """So no tool can take one from its caller by mistake."""
    with pytest.raises(TypeError, match="annotated `Thread`"):
        TypeAdapter(kind)
