"""Everyday messages to real servers from the package indexes: `python -m benchmarks everyday`.

The messages were written by somebody who saw the servers' tools and nothing of Thresher: three sets of 120, each with
60 more that no tool can serve. A set is blind until it is asked; what it says then belongs to development, and the next
one is the measure. `THRESHER_EVERYDAY_SET` names the set (1). The servers are installed and started by `uvx` and `npx`,
which must be there, at pinned versions (`questions/everyday/servers.json`); `THRESHER_EVERYDAY_TOOLS` names a file in
which their definitions are kept.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from benchmarks import machine, product
from thresher.core import Caller, Tool
from thresher.evaluation.metrics import auc, refused_at, wilson
from thresher.knowledge.tools import FindResult
from thresher.services import Services

FOLDER: Final = Path(__file__).parent / "questions" / "everyday"
BUDGETS: Final = (150, 300, 600)
USUAL: Final = 300
ANSWERED: Final = 0.95
INSTALLING: Final = 300
"""Seconds that a server may take to be installed and to list its tools."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        text: What somebody wrote.
        needed: One tool for each task.
        acceptable: Other tools that do for one of them.
    """

    text: str
    needed: tuple[str, ...]
    acceptable: frozenset[str]


@dataclass(frozen=True, slots=True)
class Seen:
    """The answer to one message at the usual budget or another one.

    Attributes:
        message: The message.
        full: Keys of the tools in full.
        every: Keys of all tools.
        result: The answer.
    """

    message: Message
    full: frozenset[str]
    every: frozenset[str]
    result: FindResult

    @property
    def helps(self) -> bool:
        """Whether any tool of the answer does for the message."""
        return bool(self.every & (self.message.acceptable | set(self.message.needed)))

    @property
    def confused(self) -> bool:
        """Whether a sibling of a needed tool stands in full, and the needed one does not."""
        servers = {key.partition("/")[0] for key in self.message.needed if key not in self.full}
        others = self.full.difference(self.message.needed, self.message.acceptable)
        return any(key.partition("/")[0] in servers for key in others)

    @property
    def one_wrong_write(self) -> bool:
        """Whether the whole answer is one tool that writes and does not help."""
        return len(self.every) == 1 and self.result.tools[0].write and not self.helps


def messages(number: str) -> list[Message]:
    """The messages of a set that tools serve."""
    rows = lines(FOLDER, f"messages-{number}")
    return [
        Message(
            row["message"],
            tuple("/".join(pair) for pair in row["needed"]),
            frozenset("/".join(pair) for pair in row["acceptable"]),
        )
        for row in rows
    ]


def lines(folder: Path, name: str) -> list[dict[str, Any]]:
    """The records of a file of questions."""
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def definitions() -> list[Tool]:
    """The tools of all servers as these list them, or as they are kept."""
    kept = os.environ.get("THRESHER_EVERYDAY_TOOLS")
    if kept and Path(kept).is_file():
        return [Tool(**fields) for fields in json.loads(Path(kept).read_text(encoding="utf-8"))]
    tools = asyncio.run(_all_listed(json.loads((FOLDER / "servers.json").read_text(encoding="utf-8"))))
    if kept:
        fields = ("server", "name", "title", "description", "input_schema", "annotations")
        rows = [{name: getattr(tool, name) for name in fields} for tool in tools]
        Path(kept).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return tools


async def _all_listed(servers: Sequence[dict[str, Any]]) -> list[Tool]:
    tools: list[Tool] = []
    with tempfile.TemporaryDirectory(prefix="thresher-everyday-") as folder:
        for server in servers:
            command = [part.replace("{folder}", folder) for part in server["command"]]
            tools += await asyncio.wait_for(_listed(server["server"], command, folder), INSTALLING)
    return tools


async def _listed(server: str, command: Sequence[str], folder: str) -> list[Tool]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))  # uvx is installed there
    env = {**os.environ, "HOME": folder, "PATH": path}
    transport = StdioTransport(command[0], list(command[1:]), env=env, cwd=folder)
    async with Client(transport) as client:
        listed = await client.list_tools()
    return [
        Tool(
            server,
            tool.name,
            tool.title or "",
            tool.description or "",
            tool.input_schema,
            annotations=tool.annotations.model_dump(by_alias=True, exclude_none=True) if tool.annotations else {},
        )
        for tool in listed
    ]


async def run() -> dict[str, Any]:
    """Ask one set, and save its figures beside those of the others."""
    number = os.environ.get("THRESHER_EVERYDAY_SET", "1")
    asked, foreign = messages(number), [row["message"] for row in lines(FOLDER, f"foreign-{number}")]
    pool = await asyncio.to_thread(definitions)
    async with product.running() as services, product.pool(services, "everyday", pool, {}) as caller:
        keys = {tool.name: tool.tool.key for tool in await services.tools.list_tools(caller)}
        seen = {
            budget: [_seen(message, await _asked(services, caller, message.text, budget), keys) for message in asked]
            for budget in BUDGETS
        }
        refused = [await _asked(services, caller, text, USUAL) for text in foreign]
    usual = seen[USUAL]
    probable, others = [one.result.probability for one in usual], [one.probability for one in refused]
    figures: dict[str, Any] = {"tools": len(pool), "messages": len(asked), "foreign": len(foreign)}
    for budget, answers in seen.items():
        helped = float(np.mean([one.helps for one in answers]))
        figures[f"any_at_{budget}"] = round(helped, 4)
        figures[f"any_at_{budget}_interval"] = [round(bound, 3) for bound in wilson(helped, len(answers))]
        figures[f"needed_at_{budget}"] = _mean([_share(one.message.needed, one.every) for one in answers])
    figures |= {
        "signature_at_300": _mean([_share(one.message.needed, one.full) for one in usual]),
        "confusion": _mean([one.confused for one in usual]),
        "one_wrong_write": _mean([one.one_wrong_write for one in usual]),
        "tokens_mean": _mean([one.result.tokens_sent for one in usual]),
        "tokens_one_task": _mean([one.result.tokens_sent for one in usual if len(one.message.needed) == 1]),
        "tokens_foreign": _mean([one.tokens_sent for one in refused]),
        "abstained": _mean([one.result.abstained for one in usual]),
        "foreign_abstained": _mean([one.abstained for one in refused]),
        "foreign_refused": refused_at(probable, others, ANSWERED),
        "abstention_auc": auc(probable, others),
    }
    print(number, figures, flush=True)
    path = machine.RESULTS / "everyday.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    sets = {name: value for name, value in before.items() if name.startswith("set_")}
    machine.save("everyday", sets | {f"set_{number}": figures})
    return figures


async def _asked(services: Services, caller: Caller, text: str, budget: int) -> FindResult:
    return await services.tools.find_tools(caller, message=text, budget=budget, include_core_tools=False)


def _seen(message: Message, result: FindResult, keys: dict[str, str]) -> Seen:
    full = frozenset(keys[name] for tool in result.tools if tool.form == "full" for name in (tool.name, *tool.also))
    return Seen(message, full, full.union(keys[tool.name] for tool in result.tools), result)


def _share(needed: Sequence[str], there: frozenset[str]) -> float:
    return len(there.intersection(needed)) / len(needed)


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4)
