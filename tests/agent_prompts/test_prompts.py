"""The service: a tenant's own words, their versions, and the way back."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging

import pytest

from thresher.agent import Prompts
from thresher.agent.prompts import SHIPPED
from thresher.core import Caller, Conflict, InvalidInput, NotAllowed, NotFound, Tenant
from thresher.store import Database

OWN = "Grade: {{PASSAGES}}\nfor {{QUESTION}}"


async def test_without_own_words_the_shipped_ones_are_in_force(prompts: Prompts, owner: Caller) -> None:
    """Six of them, in a fixed order, all of version 0."""
    listed = await prompts.list(owner)

    assert [one.name for one in listed] == ["basic", "tools", "context", "table_selection", "grade", "rephrase"]
    assert {(one.version, one.shipped, one.author, one.created_at) for one in listed} == {(0, True, "", None)}
    assert all(one.title and one.description and one.text for one in listed)
    assert await prompts.get(owner, "grade") == SHIPPED["grade"]
    assert (await prompts.versions(owner, "grade")) == (SHIPPED["grade"],)
    assert await prompts.diff(owner, "grade") == ""


async def test_own_words_are_in_force_at_once_for_the_whole_tenant(
    prompts: Prompts, owner: Caller, ada: Caller, database: Database
) -> None:
    """Also for its users, in other processes, and in what is read for a turn."""
    kept = await prompts.put(owner, "grade", f"\n{OWN}\n")
    elsewhere = Prompts(database)

    assert (kept.text, kept.version, kept.shipped, kept.author) == (OWN, 1, False, "local")
    assert kept.created_at is not None
    assert kept.created_at <= dt.datetime.now(dt.UTC)
    assert await elsewhere.get(ada, "grade") == kept
    assert (await elsewhere.all(ada))["grade"] == kept
    assert (await elsewhere.all(ada))["basic"] == SHIPPED["basic"]
    assert (await elsewhere.fill(ada, "grade", question="who?", passages="1: she")).startswith("Grade: [")


async def test_own_words_are_one_tenants(prompts: Prompts, owner: Caller, other_tenant: Tenant) -> None:
    """Another one sees neither them nor their versions."""
    await prompts.put(owner, "basic", "Be kind.")
    other = Caller(other_tenant)

    assert await prompts.get(other, "basic") == SHIPPED["basic"]
    assert await prompts.versions(other, "basic") == (SHIPPED["basic"],)
    with pytest.raises(NotFound):
        await prompts.get(other, "basic", 1)


async def test_every_version_stays(prompts: Prompts, owner: Caller) -> None:
    """Newest first, what is shipped last; a reset is a version too."""
    first = await prompts.put(owner, "basic", "One.")
    second = await prompts.put(Caller(owner.tenant, keyed=True), "basic", "Two.")
    third = await prompts.reset(owner, "basic")

    assert (second.version, second.author) == (2, "key")
    assert (third.version, third.shipped, third.text) == (3, True, SHIPPED["basic"].text)
    assert await prompts.versions(owner, "basic") == (third, second, first, SHIPPED["basic"])
    assert await prompts.get(owner, "basic") == third
    assert await prompts.get(owner, "basic", 1) == first
    assert await prompts.get(owner, "basic", 0) == SHIPPED["basic"]


async def test_the_same_words_make_no_version(prompts: Prompts, owner: Caller) -> None:
    """A request that is sent twice changes things once, whatever version it expects."""
    await prompts.reset(owner, "basic")
    await prompts.put(owner, "basic", SHIPPED["basic"].text)
    await prompts.put(owner, "basic", "One.", expected=0)
    again = await prompts.put(owner, "basic", "One.", expected=0)
    await prompts.reset(owner, "basic")
    last = await prompts.reset(owner, "basic")

    assert again.version == 1
    assert last.version == 2


async def test_a_change_of_other_words_than_expected_is_a_conflict(prompts: Prompts, owner: Caller) -> None:
    """It names the version in force, and nothing is written."""
    await prompts.put(owner, "basic", "One.")

    with pytest.raises(Conflict, match="Version 1 of the prompt 'basic'"):
        await prompts.put(owner, "basic", "Two.", expected=0)
    with pytest.raises(Conflict):
        await prompts.put(owner, "basic", "Two.", expected=7)
    assert (await prompts.put(owner, "basic", "Two.", expected=1)).version == 2


async def test_of_changes_at_once_with_one_expectation_one_wins(prompts: Prompts, owner: Caller) -> None:
    """The others are told; no version is written over."""
    changes = [prompts.put(owner, "basic", f"Words {number}.", expected=0) for number in range(8)]

    results = await asyncio.gather(*changes, return_exceptions=True)

    assert sum(isinstance(one, Conflict) for one in results) == 7
    assert len(await prompts.versions(owner, "basic")) == 2


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (1, 2, "--- basic (version 1)\n+++ basic (version 2)\n@@ -1,2 +1,2 @@\n Be kind.\n-Be brief.\n+Be long.\n"),
        (2, 2, ""),
        (2, 1, "--- basic (version 2)\n+++ basic (version 1)\n@@ -1,2 +1,2 @@\n Be kind.\n-Be long.\n+Be brief.\n"),
    ],
    ids=["forth", "same", "back"],
)
async def test_a_difference_is_a_unified_diff(prompts: Prompts, owner: Caller, old: int, new: int, told: str) -> None:
    """Between any two versions."""
    await prompts.put(owner, "basic", "Be kind.\nBe brief.")
    await prompts.put(owner, "basic", "Be kind.\nBe long.")

    assert await prompts.diff(owner, "basic", old, new) == told


async def test_a_difference_is_from_shipped_to_in_force_by_default(prompts: Prompts, owner: Caller) -> None:
    """That is what the tenant has changed."""
    await prompts.put(owner, "basic", SHIPPED["basic"].text + "\nCall everybody captain.")

    told = await prompts.diff(owner, "basic")

    assert told.startswith("--- basic (shipped)\n+++ basic (version 1)\n")
    assert [line for line in told.splitlines()[2:] if line[0] in "+-"] == ["+Call everybody captain."]


async def test_users_read_and_do_not_change(prompts: Prompts, owner: Caller, ada: Caller) -> None:
    """The words are the whole tenant's."""
    with pytest.raises(NotAllowed):
        await prompts.put(ada, "basic", "Mine.")
    await prompts.put(owner, "basic", "Ours.")
    with pytest.raises(NotAllowed):
        await prompts.reset(ada, "basic")

    assert (await prompts.get(ada, "basic")).text == "Ours."


async def test_an_unknown_prompt_is_refused_with_the_known_ones(prompts: Prompts, owner: Caller) -> None:
    """By every verb, before anything else."""
    asked = [
        prompts.get(owner, "nothing"),
        prompts.put(owner, "nothing", ""),
        prompts.reset(owner, "nothing"),
        prompts.versions(owner, "nothing"),
        prompts.diff(owner, "nothing"),
        prompts.fill(owner, "nothing"),
    ]

    for one in asked:
        with pytest.raises(NotFound, match="There is no prompt 'nothing'") as raised:
            await one
        assert raised.value.hint.startswith("There are basic, tools, context, table_selection, grade, rephrase. ")
        assert "drop-in component in its module" in raised.value.hint


@pytest.mark.parametrize("version", [7, -1, 2**70], ids=["later", "negative", "huge"])
async def test_an_unknown_version_is_not_found(prompts: Prompts, owner: Caller, version: int) -> None:
    """Whatever number it is."""
    with pytest.raises(NotFound, match="has no version"):
        await prompts.get(owner, "basic", version)
    with pytest.raises(NotFound):
        await prompts.diff(owner, "basic", version)


async def test_words_that_are_refused_change_nothing(prompts: Prompts, owner: Caller) -> None:
    """The former stay in force."""
    await prompts.put(owner, "grade", OWN)

    with pytest.raises(InvalidInput):
        await prompts.put(owner, "grade", "Grade: {{QUESTION}}")
    assert (await prompts.get(owner, "grade")).version == 1


async def test_a_row_of_a_prompt_that_is_no_more_is_passed_over(
    prompts: Prompts, owner: Caller, database: Database
) -> None:
    """As after going back to an earlier release."""
    async with database.transaction(owner.tenant) as connection:
        await connection.exec_driver_sql(
            "insert into prompt_version (tenant_id, name, version, text) values (%s, 'later', 1, 'x')",
            (owner.tenant.id,),
        )

    assert list(await prompts.all(owner)) == list(SHIPPED)


async def test_a_change_is_logged_without_its_words(
    prompts: Prompts, owner: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    """Who reads the log learns which prompt, not what it says."""
    with caplog.at_level(logging.INFO, logger="thresher.agent"):
        await prompts.put(owner, "basic", "Secret words.")

    record = next(one for one in caplog.records if "prompt changed" in one.getMessage())
    assert "Secret words" not in str(vars(record))
