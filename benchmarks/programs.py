"""Tasks of several steps over real servers, done in three ways: direct calls, `run_code`, and FastMCP's code mode.

The servers are mcp-server-git, mcp-server-time, and those of files and memory from npm, over a made repository and made
folders. Each task is scripted once, as a program whose calls are written `server.tool(...)`; from it come the program
for `run_code`, the one for FastMCP, and the direct calls. What is counted is what the model reads and writes: the
definitions listed, all results, and its own calls. Results are left whole, as a right answer from direct calls needs.
"""

from __future__ import annotations

import ast
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy

from benchmarks import machine, product
from benchmarks.program_tasks import TASKS, Task, World, make
from tests.conformance import npm
from thresher.core import dumps
from thresher.embedding import count_tokens
from thresher.gateway import build_gateway, instructions
from thresher.services import Services
from thresher.upstream import ServerConfig

READ = ("name", "description", "inputSchema")
OWN_WRITES = {"run_code", "run_code_write"}
FORMS = "run_code_with_forms"
"""Programs of a client that asks its user in the middle of a call, so that the model need not call again."""
ROUNDS = 40
INNER = 10
"""Calls of one timed program."""


@dataclass
class Spent:
    """Tokens of one task in one way.

    Attributes:
        definitions: What is listed, and instructions.
        results: What calls answered.
        calls: What the model wrote to make them.
        answer: What came out.
        steps: How many calls the model made.
        asked: What the search named that the task needs, as a share.
    """

    definitions: int
    results: int = 0
    calls: int = 0
    answer: Any = None
    steps: int = 0
    asked: float = 0.0

    @property
    def whole(self) -> int:
        """All of them."""
        return self.definitions + self.results + self.calls

    def figures(self) -> dict[str, Any]:
        """As saved."""
        parts = {"definitions": self.definitions, "results": self.results, "calls": self.calls}
        return {"tokens": self.whole, **parts, "steps": self.steps, "named_by_search": self.asked}


@dataclass
class Model:
    """What stands for the model: it calls, and reads all that comes back."""

    client: Client[Any]
    spent: Spent
    said: str = field(default="")

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """One call; returns its result."""
        result = await self.client.call_tool_mcp(name, arguments)
        self.said = "\n".join(block.text for block in result.content if block.type == "text")
        if result.is_error:
            raise RuntimeError(f"{name}: {self.said}")
        self.spent.calls += count_tokens(dumps({"name": name, "arguments": arguments}))
        self.spent.results += count_tokens(self.said)
        self.spent.steps += 1
        return result


class Rewritten(ast.NodeTransformer):
    """Writes `server.tool(...)` as one of the ways calls it.

    Args:
        call: Makes the call from the server, the tool and its keywords.
    """

    def __init__(self, call: Callable[[str, str, list[ast.keyword]], ast.expr]) -> None:
        self._call = call

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call of a tool, or any other."""
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(ast.Name(server), tool) if server in SERVERS:
                return self._call(server, tool, node.keywords)
            case _:
                return node


SERVERS = ("git", "time", "filesystem", "memory")


def used(code: str) -> list[str]:
    """The tools that a program calls, as server and tool, in order."""
    found: dict[str, None] = {}
    Rewritten(lambda server, tool, _: (found.setdefault(f"{server}_{tool}"), ast.Constant(0))[1]).visit(ast.parse(code))
    return list(found)


def for_thresher(code: str, names: dict[str, str]) -> str:
    """The program whose functions are tools."""
    rewritten = Rewritten(lambda server, tool, given: ast.Call(ast.Name(names[f"{server}_{tool}"]), [], given))
    return ast.unparse(rewritten.visit(ast.parse(code)))


def for_fastmcp(code: str) -> str:
    """The program that calls tools by name."""

    def call(server: str, tool: str, given: list[ast.keyword]) -> ast.expr:
        arguments = ast.Dict([ast.Constant(one.arg) for one in given], [one.value for one in given])
        return ast.Call(ast.Name("call_tool"), [ast.Constant(f"{server}_{tool}"), arguments], [])

    return ast.unparse(Rewritten(call).visit(ast.parse(code)))


def as_function(code: str) -> Callable[[Any], Awaitable[Any]]:
    """The program as a function of `call(name, arguments)`, to make the calls one by one and know their answer."""
    tree = ast.parse(for_fastmcp(code))
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    body = [*tree.body, ast.Return(last.value)]
    tree.body = [*ast.parse("async def run(call_tool): pass").body]
    tree.body[0].body = body  # type: ignore[attr-defined] - a function has a body
    names: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(tree), "task", "exec"), names)
    return names["run"]


def commands(world: World) -> dict[str, tuple[list[str], dict[str, str]]]:
    """How each server is started: command, and environment."""
    python = [sys.executable, "-m"]
    return {
        "git": ([*python, "mcp_server_git"], {}),
        "time": ([*python, "mcp_server_time", "--local-timezone", "UTC"], {}),
        "filesystem": ([*npm.program("filesystem"), str(world.folder)], {}),
        "memory": (npm.program("memory"), {"MEMORY_FILE_PATH": str(world.memory)}),
    }


def listed(tools: list[Any]) -> int:
    """Tokens of definitions, as a client hands them to its model."""
    dumped = [tool.model_dump(exclude_none=True, by_alias=True) for tool in tools]
    return sum(count_tokens(dumps({key: tool[key] for key in READ if key in tool})) for tool in dumped)


def named(text: str, names: list[str]) -> float:
    """The share of tools that an answer names."""
    return round(sum(name in text for name in names) / len(names), 2)


def data(text: str) -> Any:
    """What an answer says."""
    try:
        return json.loads(text)
    except ValueError:
        return text


async def direct(client: Client[Any], task: Task, code: str, names: dict[str, str], fixed: int) -> Spent:
    """Each step a call of its own."""
    model = Model(client, Spent(fixed))
    await model.call("find_tools", {"message": task.message})
    wanted = used(code)
    model.spent.asked = named(model.said, [names[one] for one in wanted])

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        by = "call_tool_write" if name in task.writes else "call_tool"
        result = await model.call(by, {"name": names[name], "arguments": arguments})
        return model.said if result.structured_content is None else result.structured_content

    model.spent.answer = await as_function(code)(call)
    return model.spent


async def by_program(client: Client[Any], task: Task, code: str, names: dict[str, str], fixed: int) -> Spent:
    """One program; what it wants to change is allowed."""
    model = Model(client, Spent(fixed))
    await model.call("find_tools", {"message": task.message})
    model.spent.asked = named(model.said, [names[one] for one in used(code)])
    result = await model.call("run_code", {"code": for_thresher(code, names)})
    while run := dict[str, Any](result.meta or {}).get("thresher/run"):
        written = json.loads(model.said.partition("call run_code_write with ")[2].splitlines()[0])
        assert written["run"] == run
        result = await model.call("run_code_write", written)
    model.spent.answer = data(model.said)
    return model.spent


async def by_fastmcp(client: Client[Any], task: Task, code: str, fixed: int) -> Spent:
    """Search, schemas, one program."""
    model = Model(client, Spent(fixed))
    wanted = used(code)
    await model.call("search", {"query": task.message})
    model.spent.asked = named(model.said, wanted)
    await model.call("get_schema", {"tools": wanted})
    await model.call("execute", {"code": for_fastmcp(code)})
    model.spent.answer = data(model.said)
    return model.spent


async def allowed(*_: Any) -> ElicitResult[Any]:
    """A person who says yes."""
    return ElicitResult(action="accept", content={})


async def ours(stack: AsyncExitStack, world: World) -> tuple[Services, Client[Any], dict[str, str]]:
    """The product with these servers, its client, and the names of tools."""
    services = await stack.enter_async_context(product.running(run_code="on", result_tokens=0, rules_first="off"))
    for name, (command, environment) in commands(world).items():
        config = ServerConfig(name, "stdio", command=command[0], args=tuple(command[1:]), env=environment)
        await services.tools.add_server(services.caller, config, trusted=True)
        await services.tools.refresh(services.caller, name)
    names = {f"{one.tool.server}_{one.tool.name}": one.name for one in await services.tools.all_tools(services.caller)}
    return services, await stack.enter_async_context(Client(build_gateway(services))), names


async def theirs(stack: AsyncExitStack, world: World) -> Client[Any]:
    """FastMCP's code mode over the same servers."""
    server: FastMCP[Any] = FastMCP("all")
    for name, (command, environment) in commands(world).items():
        transport = StdioTransport(command[0], command[1:], env={**os.environ, **environment})
        server.mount(create_proxy(Client(transport, mode="legacy")), namespace=name)
    server.add_transform(CodeMode())
    return await stack.enter_async_context(Client(server))


async def inner_calls(client: Client[Any], names: dict[str, str]) -> dict[str, Any]:
    """The time of a call inside a program, and of the same call by `call_tool`, measured by turns."""
    tool, given = names["time_get_current_time"], {"timezone": "UTC"}
    program = f"for _ in range({INNER}):\n    await {tool}(timezone='UTC')\n1"
    alone: list[float] = []
    inside: list[float] = []
    empty: list[float] = []

    async def timed(times: list[float], name: str, arguments: dict[str, Any], share: int = 1) -> None:
        started = time.perf_counter()
        result = await client.call_tool_mcp(name, arguments)
        times.append((time.perf_counter() - started) * 1000 / share)
        assert not result.is_error, result

    for _ in range(ROUNDS):
        for _ in range(INNER):
            await timed(alone, "call_tool", {"name": tool, "arguments": given})
        await timed(inside, "run_code", {"code": program}, INNER)
        await timed(empty, "run_code", {"code": "1"})
    start, call, whole = statistics.median(empty), statistics.median(alone), statistics.median(inside)
    return {
        "call_tool_ms": round(call, 2),
        "inner_call_ms": round(whole - start / INNER, 2),
        "program_start_ms": round(start, 2),
        "ratio": round((whole - start / INNER) / call, 3),
        "ratio_with_start_of_program": round(whole / call, 3),
    }


def saved(ways: list[dict[str, Spent]], against: str, way: str = "run_code") -> dict[str, float]:
    """Of the tokens of another way, the share that programs save: median and least, with definitions and without."""
    shares = [1 - one[way].whole / one[against].whole for one in ways]
    used_up = [
        1 - (one[way].whole - one[way].definitions) / (one[against].whole - one[against].definitions) for one in ways
    ]
    sums = sum(one[way].whole for one in ways) / sum(one[against].whole for one in ways)
    return {
        "median": round(statistics.median(shares), 3),
        "least": round(min(shares), 3),
        "of_all_tasks_together": round(1 - sums, 3),
        "median_without_definitions": round(statistics.median(used_up), 3),
    }


async def run() -> dict[str, Any]:
    """Measure and save."""
    ways: dict[str, dict[str, Spent]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="thresher-programs-") as place:
        world = make(Path(place))
        async with AsyncExitStack() as stack:
            services, client, names = await ours(stack, world)
            forms = await stack.enter_async_context(Client(build_gateway(services), elicitation_handler=allowed))
            other = await theirs(stack, world)
            told = count_tokens(instructions(await services.tools.overview(services.caller)))
            tools = await client.list_tools()
            all_ours = listed(tools) + told
            without = listed([tool for tool in tools if tool.name not in OWN_WRITES]) + told
            all_theirs = listed(await other.list_tools())
            for task in TASKS:
                code = task.code(world)
                done: dict[str, Spent] = {}
                world.reset()
                done["direct"] = await direct(client, task, code, names, without)
                world.reset()
                done["run_code"] = await by_program(client, task, code, names, all_ours)
                world.reset()
                done[FORMS] = await by_program(forms, task, code, names, all_ours)
                world.reset()
                done["fastmcp"] = await by_fastmcp(other, task, code, all_theirs)
                expected = json.loads(json.dumps(task.answer(world)))
                wrong += [f"{task.name} {way}" for way, one in done.items() if one.answer != expected]
                ways[task.name] = done
                print(task.name, {way: one.whole for way, one in done.items()}, flush=True)
            times = await inner_calls(client, names)
    every = list(ways.values())
    figures: dict[str, Any] = {
        "tasks": len(TASKS),
        "definitions": {"direct": without, "run_code": all_ours, "fastmcp": all_theirs},
        "saved_against_direct_calls": saved(every, "direct"),
        "saved_with_forms": saved(every, "direct", FORMS),
        "saved_against_fastmcp": saved(every, "fastmcp"),
        "fewer_than_fastmcp": sum(one["run_code"].whole < one["fastmcp"].whole for one in every),
        "wrong_answers": wrong,
        "inner_calls": times,
        "per_task": {name: {way: one.figures() for way, one in done.items()} for name, done in ways.items()},
    }
    print(json.dumps({key: value for key, value in figures.items() if key != "per_task"}), flush=True)
    machine.save("programs", figures)
    return figures


if __name__ == "__main__":
    asyncio.run(run())
