"""Conversations beside the standard pattern: prompt tokens, what of them is cached, what should not be in prompts.

Twenty questions over the users manual of PEST++, the first of those in its own words in `questions/pestpp.jsonl`, are
one conversation, had under several settings. `questions/conversations.jsonl` has four of another kind. The model is
deterministic, a process of its own, and speaks real HTTP; it makes the calls that the scripts name. In the long
conversation it takes every passage for relevant, so that the tokens of passages stay what they shall be.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import data, documents, machine, product
from benchmarks.chat_model import serving_model
from thresher.app import App
from thresher.evaluation import Script, evaluate_chat, figures_of_chat, open_trial, read_scripts
from thresher.knowledge.documents import origin_of

TURNS = 20
_MANY = {"top_k": 50, "document_tokens": 6_000}
LONG: Mapping[str, Any] = {"graded": _MANY, "ungraded": {**_MANY, "grading": False}, "defaults": {}}
"""Settings of the long conversation: about 5,000 tokens of passages a turn, and the defaults, which take eight."""
SCRIPTS = Path(__file__).with_name("questions") / "conversations.jsonl"


@asynccontextmanager
async def opened() -> AsyncGenerator[App]:
    """The product with the manual, three texts and the database chinook."""
    async with product.opened(workers=0) as app:
        services = app.services
        for name, folder in (("manual", "pestpp"), ("texts", "chunking_evaluation")):
            await services.documents.index_here(services.caller, name, origin_of(str(documents.folder() / folder)))
        chinook = data.folder().parent / "databases" / "chinook" / "chinook.sqlite"
        await services.databases.add_connection(services.caller, "chinook", f"sqlite:///{chinook}")
        await services.databases.refresh_schema(services.caller, "chinook")
        yield app


def long_lines() -> list[str]:
    """The long conversation as lines of a script, under each of its settings."""
    asked = [json.loads(line) for line in documents.QUESTIONS.read_text(encoding="utf-8").splitlines()]
    questions = [row["question"] for row in asked if row["words"] == "same"][:TURNS]
    turns = [{"user": question, "calls": ["search_documents"]} for question in questions]
    return [json.dumps({"name": name, "settings": chosen, "turns": turns}) for name, chosen in LONG.items()]


async def measured(app: App, scripts: Sequence[Script], url: str) -> dict[str, Any]:
    """The figures of some conversations."""
    async with open_trial(app.services, app.services.caller, model="fake", url=url) as trial:
        done, _ = await evaluate_chat(trial, scripts, lambda *_: None)
    figures, rows = figures_of_chat(done)
    short = {name: _rounded(value) for name, value in asdict(figures).items()}
    each = [{name: _rounded(value) for name, value in asdict(row).items()} for row in rows]
    return short | {"each": [{key: row[key] for key in _SHOWN} for row in each]}


_SHOWN = ("turn", "calls", "prompt_tokens", "standard_prompt_tokens", "documents", "document_tokens", "ms")


def _rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value


async def run() -> dict[str, Any]:
    """Measure and save."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="thresher-scripts-") as place:
        path = Path(place) / "scripts.jsonl"
        path.write_text("\n".join((*long_lines(), SCRIPTS.read_text(encoding="utf-8"))), encoding="utf-8")
        scripts = read_scripts(path)
        follows = ("--scripts", str(path))
        async with serving_model(*follows, "--keeps-all") as url, serving_model(*follows) as choosy, opened() as app:
            for name in LONG:
                figures[name] = await measured(app, [one for one in scripts if one.name == name], url)
                print(name, {key: figures[name][key] for key in figures[name] if key != "each"}, flush=True)
            others = [one for one in scripts if one.name not in figures]
            figures["scripted"] = {one.name: await measured(app, [one], choosy) for one in others}
            print("scripted", json.dumps(figures["scripted"]), flush=True)
    machine.save("chat", figures)
    return figures
