"""The verb that evaluates conversations.

Invariant: what is opened for it is closed with it, however it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thresher.app import App
from thresher.core import Caller
from thresher.daemon.server.control import Progress, Verb
from thresher.evaluation import (
    Answered,
    evaluate_chat,
    figures_of_chat,
    judge_answers,
    open_judge,
    open_trial,
    read_scripts,
)


def measuring_chat_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verb by its name.

    Args:
        app: The running product.
        caller: For whom it works.
    """

    async def evaluate(arguments: Mapping[str, Any], tell: Progress) -> Any:
        scripts = await asyncio.to_thread(read_scripts, Path(arguments["file"]))

        def follow(stage: str, done: int, total: int) -> None:
            tell({"stage": stage, "done": done, "total": total})

        if judge := str(arguments.get("judge") or ""):
            await open_judge(app.services, caller, judge)  # so that a wrong name costs no conversation
        named = {"model": str(arguments.get("model") or ""), "url": str(arguments.get("url") or "")}
        parts = app.services, app.threads, app.assistant, caller
        async with open_trial(*parts, **named) as trial:
            done, answers = await evaluate_chat(trial, scripts, follow)
        figures, rows = figures_of_chat(done)
        quality = await _quality(app, caller, judge, answers, tell) if judge else None
        return asdict(figures) | {"quality": quality, "each": [asdict(row) for row in rows]}

    return {"evaluate_chat": evaluate}


async def _quality(
    app: App, caller: Caller, judge: str, answers: Sequence[Answered], tell: Progress
) -> Mapping[str, Any]:
    def told(done: int) -> None:
        tell({"stage": "Judging", "done": done, "total": len(answers)})

    model = await open_judge(app.services, caller, judge)
    return asdict(await judge_answers(answers, model, told))
