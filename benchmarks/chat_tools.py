"""Sixty messages of three kinds: are the right tools among those that the model is offered?

The messages were written before anything was tuned, by somebody who did not know how tools are chosen. Twenty want
documents, twenty data, twenty both. Beside two repositories and a database there is LiveMCPBench's catalogue, so that
tools compete. Each message is a conversation of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import chat, data, machine
from benchmarks.chat_model import serving_model
from thresher.embedding import count_tokens
from thresher.evaluation import ChatTurn, Script, ScriptedTurn, evaluate_chat, open_trial

MESSAGES = Path(__file__).with_name("questions") / "chat_messages.jsonl"
NEEDED: Mapping[str, frozenset[str]] = {
    "documents": frozenset({"search_documents"}),
    "data": frozenset({"query_database_schema", "sql_query"}),
}


def messages() -> list[dict[str, Any]]:
    """The messages, each with its kind and what it needs."""
    return [json.loads(line) for line in MESSAGES.read_text(encoding="utf-8").splitlines()]


def missing(row: Mapping[str, Any], offered: frozenset[str]) -> frozenset[str]:
    """The tools that a message needs and that were not offered."""
    return frozenset[str]().union(*(NEEDED[need] for need in row["needs"])) - offered


def figures_of(rows: Sequence[Mapping[str, Any]], spoken: Sequence[ChatTurn]) -> dict[str, Any]:
    """The share of messages with all tools that they need, whole and by kind."""
    right = [not missing(row, turn.offered) for row, turn in zip(rows, spoken, strict=True)]
    kinds = dict.fromkeys(row["kind"] for row in rows)
    by_kind = {kind: [good for row, good in zip(rows, right, strict=True) if row["kind"] == kind] for kind in kinds}
    return {
        "messages": len(rows),
        "right": round(sum(right) / len(right), 4),
        "right_by_kind": {kind: round(sum(found) / len(found), 4) for kind, found in by_kind.items()},
        "offered_mean": round(sum(len(turn.offered) for turn in spoken) / len(spoken), 2),
        "wrong": [row["id"] for row, good in zip(rows, right, strict=True) if not good],
    }


async def run() -> dict[str, Any]:
    """Measure and save."""
    rows, pool = messages(), data.livemcpbench()
    scripts = [Script(row["id"], (ScriptedTurn(row["message"]),)) for row in rows]
    async with serving_model("--text", "I see.") as url, chat.opened() as app:
        await app.services.tools.import_tools(app.services.caller, pool.tools, pool.descriptions)
        async with open_trial(app.services, app.services.caller, model="fake", url=url) as trial:
            done, _ = await evaluate_chat(trial, scripts, lambda *_: None)
    spoken = [one.turns[0] for one in done]
    tools = [json.dumps(one.prompts[0].tools) for one in done]
    tokens = round(sum(map(count_tokens, tools)) / len(tools))
    figures = figures_of(rows, spoken) | {"catalogue": len(pool.tools), "offered_tokens_mean": tokens}
    print(figures, flush=True)
    machine.save("chat_tools", figures)
    return figures
