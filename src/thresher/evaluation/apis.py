"""Evaluates the search for operations: descriptions in a temporary tenant, and questions whose answers are known.

Invariant: a relevant operation that no description has counts as not found, and a warning names its line.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, Final, cast

from thresher.core import Caller, InvalidInput, did_you_mean, nearest
from thresher.evaluation.files import not_empty, read_objects, wrong
from thresher.evaluation.metrics import mean, recall_at
from thresher.evaluation.runs import Progress, temporary_tenant
from thresher.knowledge.apis import ApiService, name_from
from thresher.openapi import read_description
from thresher.store import Database

DEPTH: Final = 10

_HINT: Final = 'Lines are {"query": text, "relevant": ["GET /path", ...]}, paths as the descriptions write them.'

_PLAIN: Final = re.compile(r"[-_. ]?v?\d+(?:\.\d+)*$|[-_. ]?(?:openapi|swagger|api|spec|oas)$", re.I)

_WORD: Final = re.compile(r"[a-z0-9]+")

_KEY: Final = re.compile(r"\s*([A-Za-z]+)\s+(\S.*?)\s*")


@dataclass(frozen=True, slots=True)
class ApiQuestion:
    """A question, and the operations that answer it.

    Attributes:
        query: The question.
        relevant: Keys of the operations, such as `GET /pets`.
        line: Its line in the file, from 1.
    """

    query: str
    relevant: frozenset[str]
    line: int


@dataclass(frozen=True, slots=True)
class ApiFigures:
    """The figures of an evaluation of operations.

    Attributes:
        operations: Number of operations.
        questions: Number of questions.
        hit_at_1: Share of questions with a relevant operation at rank 1.
        hit_at_5: Among the first five.
        hit_at_10: Among the first ten.
        recall_at_5: Share of a question's relevant operations among the first five, on average.
        recall_at_10: Among the first ten.
        mrr: Mean reciprocal rank of the first relevant operation, 0 beyond the tenth.
        p50_ms: Median time of an answer, with embedding.
        p50_without_embedding_ms: The same without embedding.
    """

    operations: int
    questions: int
    hit_at_1: float | None
    hit_at_5: float | None
    hit_at_10: float | None
    recall_at_5: float | None
    recall_at_10: float | None
    mrr: float | None
    p50_ms: float | None
    p50_without_embedding_ms: float | None


@dataclass(frozen=True, slots=True)
class ApiObservation:
    """The result of one question: the keys that were found, best first, and the time in milliseconds."""

    question: ApiQuestion
    found: tuple[str, ...]
    milliseconds: float
    embedding_ms: float


def read_api_questions(path: Path) -> list[ApiQuestion]:
    """Read questions.

    Raises:
        InvalidInput: The file cannot be read, or a line is wrong.
    """
    entries = [_question(path, number, fields) for number, fields in read_objects(path, _HINT)]
    return not_empty(entries, path, "questions", _HINT)


def _question(path: Path, number: int, fields: Mapping[str, Any]) -> ApiQuestion:
    query, relevant = fields.get("query"), fields.get("relevant")
    if not isinstance(query, str) or not query.strip():
        raise wrong(path, number, '"query" must be text', _HINT)
    if not isinstance(relevant, list) or not relevant:
        raise wrong(path, number, '"relevant" must be a list with at least one operation', _HINT)
    keys: set[str] = set()
    for key in cast("list[Any]", relevant):
        found = _KEY.fullmatch(key) if isinstance(key, str) else None
        if found is None:
            raise wrong(path, number, f"{key!r} is not a method and a path", _HINT)
        keys.add(f"{found[1].upper()} {found[2]}")
    return ApiQuestion(query, frozenset(keys), number)


def provider_of(path: Path, title: str) -> str:
    """The name of a description's provider in an evaluation: from the file's name, or from the title."""
    name = path.stem
    while (shorter := _PLAIN.sub("", name)) != name:
        name = shorter
    return "-".join(_WORD.findall(name.lower()))[:60] or name_from(title)


async def evaluate_apis(
    database: Database, apis: ApiService, specs: Sequence[Path], questions: Sequence[ApiQuestion], progress: Progress
) -> tuple[ApiFigures, tuple[ApiObservation, ...], tuple[str, ...]]:
    """Index descriptions and ask every question; also return warnings about operations that no description has.

    Args:
        database: The database of the temporary tenant.
        apis: The service under evaluation.
        specs: Files of descriptions; those with the same name are versions of one provider.
        questions: The questions.
        progress: Called with the progress.

    Raises:
        InvalidInput: A description cannot be read.
    """
    sources, known = await asyncio.to_thread(_sources, specs)
    warnings = _missing(questions, known)
    async with temporary_tenant(database, "evaluation-apis") as caller:
        figures, asked = await _run(caller, apis, sources, questions, progress)
    return figures, asked, warnings


def figures_of_apis(asked: Sequence[ApiObservation], operations: int) -> ApiFigures:
    """The figures of the results."""
    places = [_place(one.found, one.question.relevant) for one in asked]

    def hits(depth: int) -> float | None:
        return mean(float(place is not None and place < depth) for place in places)

    def recalls(depth: int) -> float | None:
        return mean(recall_at(one.found, one.question.relevant, depth) for one in asked)

    return ApiFigures(
        operations,
        len(asked),
        hits(1),
        hits(5),
        hits(DEPTH),
        recalls(5),
        recalls(DEPTH),
        mean(0.0 if place is None else 1 / (place + 1) for place in places),
        median(one.milliseconds for one in asked) if asked else None,
        median(one.milliseconds - one.embedding_ms for one in asked) if asked else None,
    )


async def _run(
    caller: Caller,
    apis: ApiService,
    sources: Mapping[str, Sequence[Path]],
    questions: Sequence[ApiQuestion],
    progress: Progress,
) -> tuple[ApiFigures, tuple[ApiObservation, ...]]:
    for done, (name, paths) in enumerate(sources.items()):
        progress("Indexing", done, len(sources))
        await apis.add(caller, name, [str(path) for path in paths])
        await apis.index_here(caller, name)
    operations = sum(provider.operations for provider in await apis.list_providers(caller))
    asked: list[ApiObservation] = []
    for done, question in enumerate(questions):
        progress("Asking", done, len(questions))
        started = time.perf_counter()
        found = await apis.search(caller, question.query, limit=DEPTH, noted=False)
        milliseconds = (time.perf_counter() - started) * 1000
        keys = tuple(f"{one.method} {one.path}" for one in found.endpoints)
        asked.append(ApiObservation(question, tuple(dict.fromkeys(keys)), milliseconds, found.embedding_ms))
    return figures_of_apis(asked, operations), tuple(asked)


def _missing(questions: Sequence[ApiQuestion], known: Collection[str]) -> tuple[str, ...]:
    """Return a warning for each relevant operation that no description has."""
    missing = [(question.line, key) for question in questions for key in sorted(question.relevant.difference(known))]
    named = (f"Line {line}: no description has '{key}'. {did_you_mean(nearest(key, known))}" for line, key in missing)
    return tuple(one.strip() for one in named)


def _sources(specs: Sequence[Path]) -> tuple[dict[str, list[Path]], set[str]]:
    """Return the files by the name of their provider, and their operations."""
    sources: dict[str, list[Path]] = {}
    known: set[str] = set()
    for path in specs:
        try:
            description = read_description(path.read_bytes(), name=path.name)
        except OSError as error:
            raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.", hint="Correct the path.") from None
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error.message}", hint=error.hint) from None
        known |= {operation.key for operation in description.operations}
        _place_source(sources, provider_of(path, description.title), path.absolute())
    return sources, known


def _place_source(sources: dict[str, list[Path]], name: str, path: Path) -> None:
    """Add a file to those of its provider, once; a second file of the same name is another provider."""
    for number in count(1):
        mine = sources.setdefault(name if number == 1 else f"{name}-{number}", [])
        if path in mine:
            return
        if all(other.stem != path.stem for other in mine):
            mine.append(path)
            return


def _place(found: Sequence[str], relevant: Collection[str]) -> int | None:
    return next((place for place, key in enumerate(found) if key in relevant), None)
