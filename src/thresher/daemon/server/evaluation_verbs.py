"""Verbs that evaluate: routing, passages, relations on declared keys, conversations on questions.

Invariant: what is opened for it is closed with it, however it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from thresher import evaluation
from thresher.app import App
from thresher.core import Caller, InvalidInput, Settings
from thresher.daemon.server.control import Progress, Verb
from thresher.embedding import Encoder, open_encoder
from thresher.services import Services


def measuring_chat_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verb by its name.

    Args:
        app: The running product.
        caller: For whom it works.
    """

    async def evaluate(arguments: Mapping[str, Any], tell: Progress) -> Any:
        scripts = await asyncio.to_thread(evaluation.read_scripts, Path(arguments["file"]))

        def follow(stage: str, done: int, total: int) -> None:
            tell({"stage": stage, "done": done, "total": total})

        if judge := str(arguments.get("judge") or ""):
            await evaluation.open_judge(app.services, caller, judge)  # so that a wrong name costs no conversation
        named = {"model": str(arguments.get("model") or ""), "url": str(arguments.get("url") or "")}
        async with evaluation.open_trial(app.services, caller, **named) as trial:
            done, answers = await evaluation.evaluate_chat(trial, scripts, follow)
        figures, rows = evaluation.figures_of_chat(done)
        quality = await _quality(app, caller, judge, answers, tell) if judge else None
        return asdict(figures) | {"quality": quality, "each": [asdict(row) for row in rows]}

    return {"evaluate_chat": evaluate}


async def _quality(
    app: App, caller: Caller, judge: str, answers: Sequence[evaluation.ChatAnswer], tell: Progress
) -> Mapping[str, Any]:
    def told(done: int) -> None:
        tell({"stage": "Judging", "done": done, "total": len(answers)})

    model = await evaluation.open_judge(app.services, caller, judge)
    return asdict(await evaluation.judge_answers(answers, model, told))


def measuring_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by their names.

    Args:
        app: The running product.
        caller: For whom it works.
    """
    services = app.services

    async def evaluate(arguments: Mapping[str, Any], tell: Progress) -> Any:
        train = evaluation.read_training(Path(arguments["train"]))
        tests = evaluation.read_tests(Path(arguments["test"])) if arguments.get("test") else None
        if tests is None and not arguments.get("cv"):
            raise InvalidInput("There are no test lines.", hint="Give --test FILE, or --cv for cross-validation.")

        def follow(stage: str, done: int, total: int) -> None:
            tell({"stage": stage, "done": done, "total": total})

        async with AsyncExitStack() as stack:
            encoders = [services.encoder]
            if (other := _other(services.settings, arguments.get("encoder"))) is not None:
                stack.push_async_callback(other.close)
                encoders.append(other)
            results = await evaluation.evaluate_intents(services.database, caller, encoders, train, tests, follow)
        first, *rest = [_row(result) for result in results]
        return first | {"compared_with": rest[0] if rest else None}

    async def documents(arguments: Mapping[str, Any], tell: Progress) -> Any:
        corpus = Path(arguments["corpus"])
        questions, texts = await asyncio.to_thread(
            evaluation.read_document_questions, corpus, Path(arguments["questions"])
        )
        budget, mode = int(arguments["budget"]), arguments["mode"]
        trial = evaluation.DocumentTrial(corpus, texts, questions, (budget,), mode, bool(arguments["rerank"]))

        def follow(stage: str, done: int, total: int) -> None:
            tell({"stage": stage, "done": done, "total": total})

        (result,) = await evaluation.evaluate_documents(
            services.database, services.encoder, services.documents, trial, follow
        )
        return {"mode": mode} | _document_row(result)

    async def apis(arguments: Mapping[str, Any], tell: Progress) -> Any:
        questions = evaluation.read_api_questions(Path(arguments["queries"]))
        specs = [Path(path) for path in arguments["specs"]]

        def follow(stage: str, done: int, total: int) -> None:
            tell({"stage": stage, "done": done, "total": total})

        figures, asked, warnings = await evaluation.evaluate_apis(
            services.database, services.apis, specs, questions, follow
        )
        failed = [_failed(one) for one in asked if not _among_first(one)]
        return asdict(figures) | {"failed": failed, "warnings": warnings}

    return {
        "evaluate_context": partial(_context, services, caller),
        "evaluate_intents": evaluate,
        "evaluate_documents": documents,
        "evaluate_relations": _relations,
        "evaluate_apis": apis,
    }


async def _context(services: Services, caller: Caller, arguments: Mapping[str, Any], tell: Progress) -> Any:
    cases = evaluation.read_context_cases(Path(arguments["cases"]))

    def follow(stage: str, done: int, total: int) -> None:
        tell({"stage": stage, "done": done, "total": total})

    figures, asked = await evaluation.evaluate_context(services, caller, cases, int(arguments["budget"]), follow)
    return asdict(figures) | {"wrong": [_wrong(one) for one in asked if _is_wrong(one)]}


def _is_wrong(asked: evaluation.ContextObservation) -> bool:
    return bool(asked.missing) or (not asked.case.needs and bool(asked.pieces)) or asked.over_budget


def _wrong(asked: evaluation.ContextObservation) -> Mapping[str, Any]:
    return {
        "line": asked.case.line,
        "message": asked.case.message,
        "missing": list(asked.missing),
        "given": list(asked.pieces),
        "tokens": asked.tokens,
        "wasted": asked.wasted,
    }


def _among_first(asked: evaluation.ApiObservation) -> bool:
    return not asked.question.relevant.isdisjoint(asked.found[:5])


def _failed(asked: evaluation.ApiObservation) -> Mapping[str, Any]:
    first = asked.found[0] if asked.found else ""
    question = asked.question
    return {"line": question.line, "query": question.query, "relevant": sorted(question.relevant), "found": first}


async def _relations(arguments: Mapping[str, Any], tell: Progress) -> Any:
    """Hide declared keys and look for them, in a database or in the schemas of a file."""
    samples = not arguments.get("no_data")
    tell({"stage": "Reading", "done": 0, "total": 1})
    if arguments.get("schemas"):
        schemas = await asyncio.to_thread(evaluation.read_schemas, Path(arguments["schemas"]))
        subjects = [evaluation.EvaluatedSchema(schema.name, schema.tables, None) for schema in schemas]
    else:
        subjects = [await evaluation.read_database(str(arguments["database"]), samples=samples)]
    trials: list[evaluation.RelationTrial] = []
    for number, subject in enumerate(subjects, 1):
        trials.append(await asyncio.to_thread(evaluation.try_relations, subject.name, subject.tables, subject.profiles))
        tell({"stage": "Finding", "done": number, "total": len(subjects)})
    with_data = any(subject.profiles is not None for subject in subjects)
    wrong = [asdict(one) for trial in trials for one in evaluation.wrong_relations(trial)]
    return asdict(evaluation.figures_of(trials)) | {"with_data": with_data, "wrong": wrong}


def _other(settings: Settings, folder: str | None) -> Encoder | None:
    """The encoder to compare with: what THRESHER_MODEL_DIR would give, or the packaged one where another is in use."""
    if folder:
        return open_encoder(settings.model_copy(update={"model_dir": Path(folder), "encoder_url": None}))
    packaged = {name: Settings.model_fields[name].default for name in ("model", "model_dir", "encoder_url")}
    other = settings.model_copy(update=packaged)
    return None if other == settings else open_encoder(other)


def _document_row(result: evaluation.DocumentResult) -> dict[str, Any]:
    """The product's figures at the top, those of the plain rules below."""
    row = asdict(result)
    return {"budget": row.pop("budget")} | row.pop("figures") | row


def _row(result: evaluation.IntentResult) -> dict[str, Any]:
    return {"model": result.model, **asdict(result.figures), "wrong": [asdict(line) for line in result.wrong]}
