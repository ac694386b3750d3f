"""Categories of tools: clusters named by their words, and what their owner makes of them."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tests.support.product import CATALOGUE, known
from thresher.core import Caller, InvalidInput, NotAllowed, NotFound
from thresher.knowledge.tools import ToolCategory, ToolService
from thresher.knowledge.tools.categories import clusters, derived_categories

GIT = known("git", "git_log", "Show the commit history of a repository.")
MAIL = [
    known("mail", "send_email", "Send an email to a person."),
    known("mail", "read_email", "Read an email of the inbox."),
    known("mail", "delete_email", "Delete an email of the inbox."),
]
TOOLS = [GIT, known("git", "git_diff", "Show what changed since a commit of a repository."), *MAIL]


def near(*groups: int) -> np.ndarray:
    """Unit vectors of which those of one group lie close together."""
    dice = np.random.default_rng(7)
    rows = np.eye(8, dtype=np.float32)[list(groups)] + dice.normal(0, 0.05, (len(groups), 8)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def of(found: tuple[ToolCategory, ...], tool: str) -> str:
    """The category of a tool."""
    return next((one.name for one in found if tool in one.tools), "")


def test_clusters_are_what_lies_together() -> None:
    """The same vectors always give the same; one of its own is a cluster."""
    vectors = near(0, 0, 0, 1, 1, 2)
    found = clusters(vectors, 3).tolist()

    assert [found[0]] * 3 == found[:3]
    assert len({found[0], found[3], found[5]}) == 3
    assert clusters(vectors, 3).tolist() == found
    assert clusters(vectors[:1], 1).tolist() == [0]


def test_names_are_words_that_the_others_do_not_have() -> None:
    """Two categories of the same words are told apart by a number."""
    texts = ["read mail", "send mail", "show git", "diff git"]
    named = derived_categories(near(0, 0, 1, 1), texts, [""] * 4)
    alike = derived_categories(near(0, 1, 2, 3), ["read mail"] * 4, [""] * 4)

    assert "mail" in named[0]
    assert named[0] == named[1]
    assert "git" in named[2]
    assert len(set(alike)) == 2


def test_a_new_tool_joins_a_category_that_is_near_enough() -> None:
    """What a tool has stays; one that is far from all gets a new category."""
    before = ["post", "post", "post", "", ""]
    found = derived_categories(near(0, 0, 0, 0, 3)[[0, 1, 2, 0, 4]], ["mail"] * 4 + ["weather"], before)

    assert found == ["post", "post", "post", "post", "weather"]
    assert derived_categories(np.empty((0, 8), np.float32), [], []) == []


async def test_derived_categories_are_a_filter_and_a_map(tools: ToolService, caller: Caller) -> None:
    """A search inside one finds nothing else, not even by name; an unknown one is refused."""
    await tools.import_tools(caller, TOOLS)
    assert await tools.categories.categories(caller) == ()
    found = await tools.categories.derive(caller)
    mail = of(found, "mail_send_email")
    inside = await tools.find_tools(caller, message="send a mail, then git_log", categories=[mail], threshold=0)

    assert sum(len(one.tools) for one in found) == len(TOOLS)
    assert mail != of(found, "git_git_log")
    assert {tool.tool.server for tool in inside.tools} == {"mail"}
    assert inside.total_searched == len(MAIL)
    with pytest.raises(NotFound, match="category 'nowhere'"):
        await tools.find_tools(caller, message="send a mail", categories=["nowhere"])


async def test_what_the_owner_chose_stays(tools: ToolService, caller: Caller) -> None:
    """However often categories are derived; tools that come later get one."""
    await tools.import_tools(caller, TOOLS)
    await tools.categories.derive(caller)
    chosen = await tools.categories.choose(caller, "history", ["git_git_log"])
    mail = of(await tools.categories.categories(caller), "mail_send_email")
    renamed = await tools.categories.rename(caller, mail, "post")
    await tools.import_tools(caller, [*MAIL, known("mail", "forward_email", "Forward an email to a person.")])
    await tools.categories.follow(caller)
    again = await tools.categories.derive(caller, again=True)

    assert (chosen.tools, chosen.chosen) == (("git_git_log",), 1)
    assert set(renamed.tools) == {f"mail_{tool.name}" for tool in MAIL}
    assert of(again, "git_git_log") == "history"
    assert of(again, "mail_send_email") == "post"
    assert of(again, "mail_forward_email")
    assert of(again, "git_git_diff")


async def test_a_removed_category_leaves_its_tools_without_one(tools: ToolService, caller: Caller) -> None:
    """Until some are derived; without any, none is derived unasked."""
    await tools.import_tools(caller, CATALOGUE)
    await tools.categories.follow(caller)
    await tools.categories.choose(caller, "post", ["mail_send_email"])

    assert await tools.categories.remove(caller, "post") == "post"
    assert await tools.categories.categories(caller) == ()
    with pytest.raises(NotFound, match="category 'post'"):
        await tools.categories.remove(caller, "post")


async def test_wrong_names_and_other_peoples_tools_are_refused(tools: ToolService, caller: Caller) -> None:
    """Before anything is written."""
    await tools.import_tools(caller, CATALOGUE)

    for name in ("", "12", "x" * 41, "post\x1b[31m", "post\u202e"):
        with pytest.raises(InvalidInput, match="not a name of a category"):
            await tools.categories.choose(caller, name, ["mail_send_email"])
    with pytest.raises(InvalidInput, match="Name the tools"):
        await tools.categories.choose(caller, "post", [])
    with pytest.raises(NotFound, match="nowhere"):
        await tools.categories.choose(caller, "post", ["nowhere"])
    with pytest.raises(NotAllowed):
        await tools.categories.choose(Caller(caller.tenant, "ann"), "post", ["mail_send_email"])
    assert await tools.categories.categories(caller) == ()


async def test_no_category_is_no_filter_of_its_name(tools: ToolService, caller: Caller) -> None:
    """An empty name is refused like any other that nobody gave."""
    await tools.import_tools(caller, CATALOGUE)

    for name in ("", " "):
        with pytest.raises(NotFound, match=f"category '{name}'"):
            await tools.find_tools(caller, message="send a mail", categories=[name])


async def test_whoever_is_last_decides_the_category(tools: ToolService, caller: Caller) -> None:
    """The background derives while an owner does, and several people choose at once: none of them fails."""
    await tools.import_tools(caller, CATALOGUE)

    await asyncio.gather(
        *(tools.categories.derive(caller, again=True) for _ in range(4)),
        *(tools.categories.choose(caller, f"post {name}", ["mail_send_email"]) for name in ("one", "two", "three")),
    )

    found = [one.name for one in await tools.categories.categories(caller) if "mail_send_email" in one.tools]
    assert len(found) == 1
    assert found[0].startswith("post ")
