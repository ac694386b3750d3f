"""The verb that evaluates the router on a user's lines, with the encoder in use and with another one beside it.

Invariant: what is opened for it is closed with it, however it ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thresher.app import App
from thresher.core import Caller, InvalidInput, Settings
from thresher.daemon.server.control import Progress, Verb
from thresher.embedding import Encoder, open_encoder
from thresher.evaluation import IntentResult, evaluate_intents, read_tests, read_training


def measuring_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verb by its name.

    Args:
        app: The running product.
        caller: For whom it works.
    """
    services = app.services

    async def evaluate(arguments: Mapping[str, Any], tell: Progress) -> Any:
        train = read_training(Path(arguments["train"]))
        tests = read_tests(Path(arguments["test"])) if arguments.get("test") else None
        if tests is None and not arguments.get("cv"):
            raise InvalidInput("There are no test lines.", hint="Give --test FILE, or --cv for cross-validation.")

        def follow(stage: str, done: int, total: int) -> None:
            tell({"stage": stage, "done": done, "total": total})

        async with AsyncExitStack() as stack:
            encoders = [services.encoder]
            if (other := _other(services.settings, arguments.get("encoder"))) is not None:
                stack.push_async_callback(other.close)
                encoders.append(other)
            results = await evaluate_intents(services.database, caller, encoders, train, tests, follow)
        first, *rest = [_row(result) for result in results]
        return first | {"compared_with": rest[0] if rest else None}

    return {"evaluate_intents": evaluate}


def _other(settings: Settings, folder: str | None) -> Encoder | None:
    """The encoder to compare with: what THRESHER_MODEL_DIR would give, or the packaged one where another is in use."""
    if folder:
        return open_encoder(settings.model_copy(update={"model_dir": Path(folder), "encoder_url": None}))
    packaged = {name: Settings.model_fields[name].default for name in ("model", "model_dir", "encoder_url")}
    other = settings.model_copy(update=packaged)
    return None if other == settings else open_encoder(other)


def _row(result: IntentResult) -> dict[str, Any]:
    return {"model": result.model, **asdict(result.figures), "wrong": [asdict(line) for line in result.wrong]}
