"""Questions over everything at once: whether the assistant answers from the right kind, and the right source of it.

`python -m benchmarks ask` asks the questions that come with the project over what `questions/ask*.json` list;
`python -m benchmarks.ask INSTALLATION QUESTIONS` asks others. A question is a line of JSON: `id`, `messages` (those
before the last are asked first, in the same conversation), `kind` (`tools`, `sql`, `apis`, `documents`) and `source`
(a server, a database, an API, a repository). Counted is what the first result of the last answer is from.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks import machine, product
from benchmarks.ask_installation import install
from thresher.agent import AssistantAnswer
from thresher.app import App

QUESTIONS: Final = Path(__file__).with_name("questions")
SETS: Final = (
    (QUESTIONS / "ask.json", {"tuned_on": QUESTIONS / "ask.jsonl", "held_out": QUESTIONS / "ask_held_out.jsonl"}),
    (QUESTIONS / "ask_blind.json", {"blind": QUESTIONS / "ask_blind.jsonl"}),
)
"""What is set up, and the questions that are asked over it."""
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(("tool", "tool_details", "tool_result"), ("tools", "server")),
    **dict.fromkeys(("schema", "rows", "statement"), ("sql", "connection")),
    **dict.fromkeys(("endpoint", "endpoint_details", "tag", "usage", "score", "finding"), ("apis", "provider")),
    **dict.fromkeys(("passage", "page"), ("documents", "repository")),
}
"""What a result counts as, and the field that names its source."""


async def run() -> None:
    """Measure and save."""
    figures: dict[str, Any] = {}
    for installation, sets in SETS:
        figures |= await measure(installation, sets)
    machine.save("ask", figures)


async def measure(installation: Path, sets: Mapping[str, Path]) -> dict[str, Any]:
    """Set up an installation and ask the questions of some files; returns the figures of each."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="thresher-ask-") as folder:
        async with product.opened(workers=0) as app:
            await install(app.services, installation, Path(folder))
            await app.services.assistant.prepare(app.services.caller)
            for name, file in sets.items():
                lines = file.read_text(encoding="utf-8").splitlines()
                figures[name] = figures_of([await asked(app, json.loads(line)) for line in lines if line.strip()])
                print(name, json.dumps({key: value for key, value in figures[name].items() if key != "wrong"}))
    return figures


async def asked(app: App, question: Mapping[str, Any]) -> dict[str, Any]:
    """Ask one question after those before it; says what it was answered from."""
    *before, last = question["messages"]
    session = ""
    for message in before:
        session = (await app.services.assistant.ask(app.services.caller, message, session_id=session)).session_id
    started = time.perf_counter()
    answer = await app.services.assistant.ask(app.services.caller, last, session_id=session)
    ms = (time.perf_counter() - started) * 1000
    kind, source = answered_from(answer)
    right = kind == question["kind"]
    return {**question, "got": [kind, source], "right": right, "both": right and source == question["source"], "ms": ms}


def answered_from(answer: AssistantAnswer) -> tuple[str, str]:
    """The kind and the source of an answer's first result; empty where there is none."""
    first = next(iter(answer.response.results), None)
    if first is None or first["kind"] not in KINDS:
        return "", ""
    kind, field = KINDS[first["kind"]]
    return kind, str(first.get(field) or "")


def figures_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The shares, overall, of follow-ups and by kind, and the questions that went wrong."""
    follow_ups = [row for row in rows if len(row["messages"]) > 1]
    kinds = dict.fromkeys(row["kind"] for row in rows)
    return {
        **_shares(rows),
        "follow_ups": _shares(follow_ups),
        "kinds": {kind: _shares([row for row in rows if row["kind"] == kind]) for kind in kinds},
        "p50_ms": round(statistics.median(row["ms"] for row in rows), 1),
        "wrong": [
            {key: row[key] for key in ("id", "messages", "kind", "source", "got")} for row in rows if not row["both"]
        ],
    }


def _shares(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    count = len(rows)
    shares = {name: round(sum(row[name] for row in rows) / count, 3) if count else None for name in ("right", "both")}
    return {"questions": count, "right_kind": shares["right"], "right_kind_and_source": shares["both"]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("installation", type=Path)
    parser.add_argument("questions", type=Path)
    given = parser.parse_args()
    found = asyncio.run(measure(given.installation, {given.questions.stem: given.questions}))
    print(json.dumps(found, indent=1, ensure_ascii=False))
