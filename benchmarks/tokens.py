"""Tokens end to end: what a model reads and writes through Thresher, against all definitions in every request."""

from __future__ import annotations

from statistics import mean, median
from typing import Any

from fastmcp import Client

from benchmarks import data, machine, product
from benchmarks.data import Case
from thresher.core import dumps
from thresher.embedding import count_tokens
from thresher.gateway import build_gateway, instructions

READ = ("name", "description", "inputSchema")
"""What a client hands to its model of a definition; counted alike for Thresher's own tools and for all others."""


async def _task(client: Client[Any], case: Case, named: dict[str, list[str]]) -> dict[str, int]:
    """Tokens of one task: the search, the definitions of its gold tools, and the wrapping of each call."""
    asked = {"message": case.message}
    found = await client.call_tool("find_tools", asked)
    wanted = sorted({named[name][0] for keys in case.relevant for name in [sorted(keys)[0]]})
    described = await client.call_tool("describe_tools", {"names": wanted})
    calls = sum(count_tokens(dumps({"name": name, "arguments": {}})) for name in wanted)
    return {
        "find": count_tokens(dumps(asked)) + _read(found),
        "describe": count_tokens(dumps({"names": wanted})) + _read(described),
        "call": calls,
        "structured": count_tokens(dumps(found.structured_content)) + count_tokens(dumps(described.structured_content)),
    }


def _read(result: Any) -> int:
    return sum(count_tokens(block.text) for block in result.content if block.type == "text")


async def run() -> dict[str, Any]:
    """Measure on LiveMCPBench's pool and save."""
    bench = data.livemcpbench()
    async with product.running() as services:
        await services.tools.import_tools(services.caller, bench.tools, bench.descriptions)
        named: dict[str, list[str]] = {}
        for definition in await services.tools.all_tools(services.caller):
            named.setdefault(definition.tool.key, []).append(definition.name)
        definitions = [
            count_tokens(dumps({"name": t.name, "description": t.description, "inputSchema": t.input_schema}))
            for t in bench.tools
        ]
        told = count_tokens(instructions(await services.tools.overview(services.caller)))
        async with Client(build_gateway(services)) as client:
            listed = [tool.model_dump(exclude_none=True, by_alias=True) for tool in await client.list_tools()]
            whole = sum(count_tokens(dumps(tool)) for tool in listed)
            fixed = sum(count_tokens(dumps({field: tool[field] for field in READ})) for tool in listed)
            tasks = [await _task(client, case, named) for case in bench.cases]
    spent = [fixed + told + task["find"] + task["describe"] + task["call"] for task in tasks]
    everything = sum(definitions)
    figures = {
        "pool": len(bench.tools),
        "all_definitions": everything,
        "meta_tools": fixed,
        "meta_tools_with_output_schemas": whole,
        "instructions": told,
        "per_task_mean": {part: round(mean(task[part] for task in tasks), 1) for part in tasks[0]},
        "end_to_end_mean": round(mean(spent), 1),
        "saved": round(1 - mean(spent) / everything, 4),
        "pays_from_tools_mean_definition": round(mean(spent) / mean(definitions), 1),
        "pays_from_tools_median_definition": round(mean(spent) / median(definitions), 1),
    }
    print(figures, flush=True)
    machine.save("tokens", figures)
    return figures
