"""Evaluates `get_context`: messages of all kinds over what a caller has indexed, each with what it needs.

Invariant: nothing is indexed, changed or recorded as given; what a message needs and nobody has is never found, and
is named with its line.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final, cast

from thresher.cases import PARTS, meets, names_of, server_names
from thresher.core import Caller, ContextPack, InvalidInput, NotFound, dumps
from thresher.embedding import count_tokens
from thresher.evaluation.files import not_empty, read_objects, wrong
from thresher.evaluation.metrics import mean, wilson
from thresher.evaluation.runs import PAUSE_SECONDS, Progress
from thresher.services import Services

_RULED: Final = {"documents": "documents", "endpoints": "apis", "tables": "databases"}
"""The built-in packs whose rules say how to use what is needed of a kind."""
_HINT: Final = (
    'Lines are {"message": text, "needs": {"tools": [], "intents": [], "documents": [], "endpoints": [], "tables": []},'
    ' "answers"?: [text]}.'
)


@dataclass(frozen=True, slots=True)
class ContextCase:
    """A message, and what it needs.

    Attributes:
        message: The message.
        needs: Names by kind, as in the file; a kind that is not needed is absent.
        acceptable: Names by kind that are not required, and are no waste.
        answers: Texts that must stand verbatim in what is delivered.
        line: Its line in the file, from 1.
    """

    message: str
    needs: Mapping[str, tuple[str, ...]]
    acceptable: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    answers: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class ContextObservation:
    """What one message got.

    Attributes:
        case: The message.
        missing: What it needs and did not get, as `kind: name`.
        tokens: Tokens of what was delivered, without the frame around it.
        wasted: Tokens of it that nothing needed.
        pieces: What was delivered, as `kind: name`.
        over_budget: Whether text or data have more tokens than the budget.
        milliseconds: Time of the answer.
        embedding_ms: Of it, in the encoder.
    """

    case: ContextCase
    missing: tuple[str, ...]
    tokens: int
    wasted: int
    pieces: tuple[str, ...]
    over_budget: bool
    milliseconds: float
    embedding_ms: float


@dataclass(frozen=True, slots=True)
class ContextFigures:
    """The figures of an evaluation of contexts.

    Attributes:
        budget: Tokens of each answer at most.
        messages: Messages that need something.
        complete: Share of them that got everything they need.
        complete_interval: Its 95 % interval.
        complete_by_kind: The same, of the messages that need something of a kind.
        wasted_tokens: Share of all tokens delivered that no message needed.
        nothing_needed: Messages that need nothing.
        nothing_given: Share of them that got nothing.
        nothing_given_interval: Its 95 % interval.
        answerable_lost: Share of the messages that need something and got nothing.
        tokens_mean: Tokens of an answer to a message that needs something.
        budget_violations: Answers whose text or data have more tokens than the budget.
        p50_ms: Median time of an answer.
        p50_without_embedding_ms: The same, without the encoder's time.
        unknown: Needs that nobody has, as `line: kind: name`.
    """

    budget: int
    messages: int
    complete: float | None
    complete_interval: tuple[float, float] | None
    complete_by_kind: Mapping[str, float]
    wasted_tokens: float | None
    nothing_needed: int
    nothing_given: float | None
    nothing_given_interval: tuple[float, float] | None
    answerable_lost: float | None
    tokens_mean: float | None
    budget_violations: int
    p50_ms: float | None
    p50_without_embedding_ms: float | None
    unknown: tuple[str, ...] = ()


def read_context_cases(path: Path) -> list[ContextCase]:
    """Read messages with their needs.

    Raises:
        InvalidInput: The file cannot be read, or a line is wrong.
    """
    return not_empty([_case(path, *entry) for entry in read_objects(path, _HINT)], path, "messages", _HINT)


def _case(path: Path, number: int, entry: Mapping[str, Any]) -> ContextCase:
    message = entry.get("message")
    if not isinstance(message, str) or not message.strip():
        raise wrong(path, number, '"message" must be text', _HINT)
    if "needs" not in entry:
        raise wrong(path, number, '"needs" is missing; {} says that nothing is needed', _HINT)
    needs, acceptable = (_names(path, number, name, entry.get(name, {})) for name in ("needs", "acceptable"))
    answers = _texts(path, number, "answers", entry.get("answers", []))
    if answers and "documents" not in needs:
        raise wrong(path, number, '"answers" needs "documents", in which they stand', _HINT)
    return ContextCase(message, needs, acceptable, answers, number)


def _names(path: Path, number: int, name: str, value: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise wrong(path, number, f'"{name}" must be an object', _HINT)
    kinds = cast("Mapping[str, object]", value)
    if unknown := sorted(set(kinds) - set(PARTS)):
        raise wrong(path, number, f'"{name}" has an unknown kind "{unknown[0]}"; there are {", ".join(PARTS)}', _HINT)
    texts = {kind: _texts(path, number, f"{name}.{kind}", names) for kind, names in kinds.items()}
    return {kind: found for kind, found in texts.items() if found}


def _texts(path: Path, number: int, name: str, value: object) -> tuple[str, ...]:
    entries = cast("list[object]", value) if isinstance(value, list) else None
    if entries is None or not all(isinstance(one, str) and one.strip() for one in entries):
        raise wrong(path, number, f'"{name}" must be a list of texts', _HINT)
    return tuple(cast("list[str]", entries))


async def evaluate_context(
    services: Services, caller: Caller, cases: Sequence[ContextCase], budget: int, progress: Progress
) -> tuple[ContextFigures, tuple[ContextObservation, ...]]:
    """Ask every message, one after the other with a short pause.

    Args:
        services: The services under evaluation.
        caller: Whose tools, rules, documents, APIs and databases are asked.
        cases: The messages.
        budget: Tokens of each answer at most.
        progress: Called with the progress.

    Raises:
        InvalidInput: The budget is out of bounds.
    """
    servers = await server_names(services.tools, caller)
    unknown = await unknown_needs(services, caller, cases)
    observed: list[ContextObservation] = []
    for done, case in enumerate(cases):
        progress("Asking", done, len(cases))
        await asyncio.sleep(PAUSE_SECONDS)
        started = time.perf_counter()
        pack = await services.context.get_context(caller, case.message, budget=budget, delivers=False)
        observed.append(observation(case, pack, servers, (time.perf_counter() - started) * 1000))
    return figures_of_context(observed, budget, unknown), tuple(observed)


async def unknown_needs(services: Services, caller: Caller, cases: Sequence[ContextCase]) -> list[str]:
    """Return the needs that nothing of the caller's meets, as `line N: kind: name`: they are never found."""
    servers = await server_names(services.tools, caller)
    names = {
        "tools": {*servers, *servers.values(), *(full.partition(":")[2] for full in servers.values())},
        "intents": {pack.name for pack in (await services.intents.packs(caller)).active},
        "tables": {name async for name in _tables(services, caller)},
    }
    known = {kind: {name.lower() for name in found} for kind, found in names.items()}
    repositories = [repository.name for repository in await services.documents.list_repositories(caller)]
    unknown: list[str] = []
    for case in cases:
        for kind, needed in case.needs.items():
            for name in needed:
                if kind == "documents":
                    there = await _has_document(services, caller, repositories, name)
                elif kind == "endpoints":
                    there = await _has_endpoint(services, caller, name)
                else:
                    there = " ".join(name.lower().split()) in known[kind]
                if not there:
                    unknown.append(f"line {case.line}: {kind}: {name}")
    return unknown


async def _tables(services: Services, caller: Caller) -> AsyncIterator[str]:
    for connection in await services.databases.list_connections(caller):
        if connection.tables:
            listed = await services.databases.list_tables(caller, connection.name, limit=_TABLES)
            for table in listed.tables:
                qualified = f"{table.schema}.{table.name}" if table.schema else table.name
                for name in (table.name, qualified):
                    yield name
                    yield f"{connection.name}.{name}"


async def _has_document(services: Services, caller: Caller, repositories: Sequence[str], name: str) -> bool:
    first, _, rest = name.partition("/")
    tried = [(first, rest)] if first in repositories and rest else []
    for repository, path in [*tried, *((one, name) for one in repositories)]:
        with suppress(NotFound):
            await services.documents.read_document(caller, repository, path, lines=(1, 1))
            return True
    return False


async def _has_endpoint(services: Services, caller: Caller, name: str) -> bool:
    provider, colon, call = name.partition(": ")
    call, providers = (call, [provider]) if colon else (name, [])
    with suppress(NotFound, InvalidInput):
        found = await services.apis.search(caller, call, providers=providers, limit=_OPERATIONS, noted=False)
        return any(f"{one.method} {one.path}".lower() == " ".join(call.lower().split()) for one in found.endpoints)
    return False


_TABLES: Final = 1_000
_OPERATIONS: Final = 50


def observation(
    case: ContextCase, pack: ContextPack, servers: Mapping[str, str], milliseconds: float = 0.0
) -> ContextObservation:
    """Compare what a message got with what it needs.

    Args:
        case: The message.
        pack: What it got.
        servers: `server:name` of each tool by the name that a model calls.
        milliseconds: How long it took.
    """
    found = [(piece, names_of(piece, servers)) for piece in pack.pieces]
    missing = [
        f"{kind}: {name}"
        for kind, names in case.needs.items()
        for name in names
        if not any(piece.kind == PARTS[kind] and meets(name, own) for piece, own in found)
    ]
    text = " ".join(pack.text.split())
    missing += [f"answers: {answer}" for answer in case.answers if " ".join(answer.split()) not in text]
    tokens = [count_tokens(piece.text) for piece, _ in found]
    # Rules that say how to use what a message needs are no waste either.
    ruled = {"intents": tuple(pack for kind, pack in _RULED.items() if kind in case.needs)}
    useful = [
        any(
            PARTS[kind] == piece.kind and meets(name, own)
            for wanted in (case.needs, case.acceptable, ruled)
            for kind, names in wanted.items()
            for name in names
        )
        for piece, own in found
    ]
    spent = max(count_tokens(pack.text), count_tokens(dumps(pack.data)))
    return ContextObservation(
        case,
        tuple(missing),
        sum(tokens),
        sum(cost for cost, used in zip(tokens, useful, strict=True) if not used),
        tuple(f"{piece.kind}: {piece.name}" for piece in pack.pieces),
        spent > pack.budget,
        milliseconds,
        pack.timings.get("embedding", 0.0),
    )


def figures_of_context(asked: Sequence[ContextObservation], budget: int, unknown: Sequence[str] = ()) -> ContextFigures:
    """The figures of the results.

    Args:
        asked: The results.
        budget: Tokens of each answer at most.
        unknown: Needs that nobody has.
    """
    needing = [one for one in asked if one.case.needs]
    empty = [one for one in asked if not one.case.needs]
    complete, nothing = mean(not one.missing for one in needing), mean(not one.pieces for one in empty)
    kinds = [kind for kind in PARTS if any(kind in one.case.needs for one in needing)]
    delivered = sum(one.tokens for one in asked)
    return ContextFigures(
        budget=budget,
        messages=len(needing),
        complete=complete,
        complete_interval=None if complete is None else wilson(complete, len(needing)),
        complete_by_kind={
            kind: mean(not one.missing for one in needing if kind in one.case.needs) or 0.0 for kind in kinds
        },
        wasted_tokens=sum(one.wasted for one in asked) / delivered if delivered else None,
        nothing_needed=len(empty),
        nothing_given=nothing,
        nothing_given_interval=None if nothing is None else wilson(nothing, len(empty)),
        answerable_lost=mean(not one.pieces for one in needing),
        tokens_mean=mean(one.tokens for one in needing),
        budget_violations=sum(one.over_budget for one in asked),
        p50_ms=median(one.milliseconds for one in asked) if asked else None,
        p50_without_embedding_ms=median(one.milliseconds - one.embedding_ms for one in asked) if asked else None,
        unknown=tuple(unknown),
    )
