"""Runs the steps of a session by a real client on a git repository, and records what each step changed."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from mcp_types import CallToolResult

from tests.solutions_session.steps import Person, Step
from thresher.gateway import build_gateway
from thresher.services import Services

_GOLDEN_RATIO = 0x9E3779B1
_GIT = ("git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "core.autocrlf=false")
_TRACE = re.compile(r" \[trace [0-9a-f]+\]")
_INDEX = re.compile(r"^index [0-9a-f]+\.\.[0-9a-f]+( \d+)?\n", re.MULTILINE)


def number_uuids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Number new UUIDs: the last group is the number, the first its position in an order.

    Real UUIDs fall anywhere between existing ones, and items are sorted by them. The first group of these is spread
    over all values (Fibonacci hashing), so that a golden file shows where a new item is in its list.
    """
    count = itertools.count(1)

    def numbered() -> uuid.UUID:
        number = next(count)
        first = number * _GOLDEN_RATIO % 2**32
        return uuid.UUID(f"{first:08x}-0000-4000-8000-{number:012d}")

    chance = SimpleNamespace(uuid4=numbered)
    monkeypatch.setattr("thresher.servoy.names.uuid", chance)


class Repository:
    """A workspace under version control.

    Args:
        root: Its folder; all its content is committed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._git("init", "--quiet")
        self.keep("as it was")

    def keep(self, message: str) -> None:
        """Commit everything."""
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", "--message", message)

    def diff(self, since: str = "HEAD") -> str:
        """The diff, including new and moved files, without content digests."""
        self._git("add", "--all")
        return _INDEX.sub("", self._git("diff", "--cached", "--find-renames=20%", "--no-color", since))

    def lines_changed(self) -> int:
        """How many lines were added or removed since the last commit."""
        self._git("add", "--all")
        rows = self._git("diff", "--cached", "--find-renames=20%", "--numstat", "HEAD").splitlines()
        return sum(int(number) for row in rows for number in row.split("\t")[:2])

    def first(self) -> str:
        """The first commit."""
        return self._git("rev-list", "--max-parents=0", "HEAD").strip()

    def _git(self, *arguments: str) -> str:
        done = subprocess.run([*_GIT, *arguments], cwd=self.root, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()


class Clients:
    """Clients of one gateway: one without a person, and two whose person says yes or no.

    Attributes:
        asked: The questions to persons.
    """

    def __init__(self, clients: Mapping[Person, Client[Any]], asked: list[str]) -> None:
        self._clients = clients
        self.asked = asked

    async def call(self, tool: str, arguments: Mapping[str, Any], person: Person = "absent") -> CallToolResult:
        """The answer as it comes over the wire, errors included."""
        return await self._clients[person].call_tool_mcp(tool, dict(arguments))


@asynccontextmanager
async def clients_of(services: Services, mode: Any) -> AsyncGenerator[Clients]:
    """Clients of an era; all are the same caller."""
    asked: list[str] = []

    def says(action: Any) -> Any:
        async def handler(message: str, *_: Any) -> ElicitResult[Any]:
            asked.append(message)
            return ElicitResult(action=action, content={} if action == "accept" else None)

        return handler

    handlers: dict[Person, Any] = {"absent": None, "agrees": says("accept"), "declines": says("decline")}
    gateway = build_gateway(services)
    async with AsyncExitStack() as stack:
        clients = {
            person: await stack.enter_async_context(Client(gateway, mode=mode, elicitation_handler=handler))
            for person, handler in handlers.items()
        }
        yield Clients(clients, asked)


def words(result: CallToolResult) -> str:
    """The text of an answer."""
    return "".join(block.text for block in result.content if block.type == "text")


async def taken_back(clients: Clients) -> int:
    """Undo every change that still stands, the last first; return their number."""
    made = (await clients.call("list_solution_changes", {})).structured_content["changes"]
    standing = [one["id"] for one in made if not one["undone"] and not one["action"].startswith("undo")]
    for change in standing:
        undone = await clients.call("undo_solution_change", {"change_id": change})
        assert not undone.is_error, words(undone)
    return len(standing)


def transcript(step: Step, result: CallToolResult, asked: Sequence[str], diff: str) -> str:
    """A step in the form of its golden file: the call, questions and answers, and the diff."""
    said = json.dumps(dict(step.arguments), indent=2, ensure_ascii=False) if step.arguments else ""
    back = f' change_id of "{step.takes_back}"' if step.takes_back else ""
    lines = [f"{step.tool}{back} {said}".rstrip(), *(f"asked: {one}" for one in asked)]
    lines += (
        [f"refused: {_TRACE.sub('', words(result))}"] if result.is_error else _answer(result.structured_content or {})
    )
    return "\n".join([*lines, "", diff])


def _answer(said: Mapping[str, Any]) -> list[str]:
    """The parts of an answer that are the same in every run."""
    change = said.get("change") or said
    lines: list[str] = []
    if "action" in change:
        lines = [f"answer: {change['action']}"]
        lines += [_place(said)] if "place" in said else []
        lines += [f"{word}: {_reference(one)}" for word in ("rewritten", "left") for one in change.get(word, ())]
    if "objects" in said:
        lines = [f"answer: {len(said['objects'])} of {said['total']}, {'more' if said['cursor'] else 'all'}"]
        lines += [f"    {one['project']} {one['name']}: {one['summary']}" for one in said["objects"]]
    if "active" in said and "projects" in said:
        lines = [f"answer: {said['active']} in {said['workspace']} ({said['source']}), using {said['modules']}"]
    if "changes" in said:
        lines = [f"    {one['action']}{' (undone)' if one['undone'] else ''}" for one in said["changes"]]
    lines += [f"because: {said['reason']}"] if said.get("reason") else []
    lines += [f"evidence: {one}" for one in said.get("evidence", ())]
    return lines + [f"note: {one}" for one in said.get("notes", ())]


def _place(said: Mapping[str, Any]) -> str:
    place = said["place"]
    assert place["uri"].endswith(f"{place['path'].replace('$', '%24')}:{place['line']}")
    return f"place: {place['path']}:{place['line']} in {said['project']}"


def _reference(one: Mapping[str, Any]) -> str:
    sure = "" if one["certain"] else " (perhaps)"
    return f"{one['place']['path']}:{one['place']['line']} {one['text']}{sure}"
