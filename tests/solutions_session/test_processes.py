"""Daemons that write to one workspace at once, and one that is killed during a write, as clients see them."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.home import Client, Home, opened
from tests.solutions_session.day import Repository
from tests.support import Databases
from tests.support.servoy_workspace import bookshop
from thresher.knowledge.solutions import check_round_trip

pytestmark = [
    pytest.mark.timeout(300),  # several processes import everything, beside other tests
    pytest.mark.skipif(sys.platform == "win32", reason="there is no signal 9"),
]
TIMES = 8
LINES = "shop_data/relations/orders_to_order_lines.rel"
RENAME = {"name": "order_lines_to_books", "new_name": "order_lines_to_titles", "confirm": True}
KILLING = """
import os, signal, sys

ORDER = {order!r}

def hook(event, arguments):
    if event in ("os.link", "os.rename") and ".thresher-" in str(arguments[0]) and os.path.exists(ORDER):
        with open(ORDER, "r+") as file:
            left = int(file.read())
            file.seek(0)
            file.write(str(left - 1))
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
"""
"""Loaded by Python before the daemon; kills it before the step of a write whose number is in a file."""


@pytest.fixture
def shop(tmp_path: Path) -> Repository:
    """A workspace under version control."""
    return Repository(bookshop(tmp_path / "books", "json").root)


@pytest.fixture
async def homes(open_folder: Path, databases: Databases, tmp_path: Path) -> AsyncIterator[tuple[Home, Home]]:
    """Two data folders, each with its own database; a file `kill` in `tmp_path` says when to kill a daemon."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(KILLING.format(order=str(tmp_path / "kill")))
    names = [await databases.create() for _ in range(2)]
    settings = {"THRESHER_RULES_FIRST": "off", "PYTHONPATH": str(tmp_path / "site")}
    with ExitStack() as stack:
        one, two = (
            opened(open_folder / secrets.token_hex(4), THRESHER_DATABASE_URL=databases.url(name), **settings)
            for name in names
        )
        yield stack.enter_context(one), stack.enter_context(two)
    for name in names:
        await databases.drop(name)


def greeted(home: Home) -> Client:
    """A client after the handshake."""
    client = home.client()
    client.greet()
    return client


def working(home: Home, shop: Repository) -> Client:
    """A client of a home that has the workspace and works in its data module."""
    home.json("solutions", "add", str(shop.root), "--name", "books")
    home.json("solutions", "use", "shop_data")
    return greeted(home)


def told(answer: dict[str, Any]) -> str:
    """The text of an answer."""
    return "".join(block["text"] for block in answer["content"])


def writes(client: Client, who: str) -> list[str]:
    """Create value lists, and change a property of a file that others change; return the errors."""
    refusals: list[str] = []
    for number in range(TIMES):
        made = client.call("open_value_list", name=f"{who}_{number}", custom_values=[who])
        assert not made.get("isError"), told(made)
        while (changed := client.call("update_relation", **{"name": LINES[20:-4], who: f"{who} {number}"})).get(
            "isError"
        ):
            refusals.append(told(changed))
            assert len(refusals) < 50 * TIMES
    return refusals


def test_two_daemons_lose_nothing_that_either_writes(homes: tuple[Home, Home], shop: Repository) -> None:
    """The files of both exist, with what each wrote into the same file; the later one got an error."""
    with ThreadPoolExecutor() as pool:
        clients = list(pool.map(lambda home: working(home, shop), homes))
        refusals = [said for every in pool.map(writes, clients, ("comment", "deprecated")) for said in every]
    text = json.loads((shop.root / LINES).read_text())
    lists = {file.stem for file in (shop.root / "shop_data/valuelists").glob("*.val")}
    trip = check_round_trip(shop.root)

    assert {f"{who}_{number}" for who in ("comment", "deprecated") for number in range(TIMES)} <= lists
    assert (text["comment"], text["deprecated"]) == (f"comment {TIMES - 1}", f"deprecated {TIMES - 1}")
    assert [said for said in refusals if f"Changed on disk since it was read: {LINES}" not in said] == []
    assert (trip.differ, trip.broken) == ((), ())
    assert [file.name for file in shop.root.rglob(".thresher-*")] == []


def test_a_change_of_a_killed_daemon_is_completed_by_the_next(
    homes: tuple[Home, Home], shop: Repository, tmp_path: Path
) -> None:
    """A rename of two files, between the first and the second; it can be undone like any other change."""
    home, _ = homes
    client = working(home, shop)
    (tmp_path / "kill").write_text("1")
    client.send({"id": 99, "method": "tools/call", "params": {"name": "rename_relation", "arguments": RENAME}})
    exit_code = client.process.wait(60)
    said = client.error()
    half = {file.suffix for file in shop.root.rglob("*order_lines_to_*")}, list(shop.root.rglob(".thresher-*"))
    client = greeted(home)
    listed = client.call("list_relations", scope="current")["structuredContent"]["objects"]
    done, left = shop.diff(), list(shop.root.rglob(".thresher-*"))
    last = client.call("list_solution_changes")["structuredContent"]["changes"][0]
    undone = client.call("undo_solution_change", change_id=last["id"])

    assert (exit_code, half[0], len(half[1])) == (9, {".rel"}, 1)
    assert "The daemon ended while this client was connected" in said
    assert RENAME["new_name"] in {one["name"] for one in listed}
    assert '+    "name":"order_lines_to_titles"' in done
    assert "orders_to_order_lines.order_lines_to_titles.title" in done
    assert left == []
    assert not undone.get("isError"), told(undone)
    assert shop.diff() == ""
