"""Evaluates the search for tools: a pool of tools in a temporary tenant, and questions whose answers are known.

Invariant: a wrong file is refused with its line before anything is indexed. Shares are 0 to 1, and a
figure without data is None.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from thresher.core import Caller, Tool
from thresher.evaluation.files import not_empty, read_objects, read_text, wrong
from thresher.evaluation.metrics import all_in, auc, mean, ndcg_at, percentile, recall_at, refused_at, wilson
from thresher.evaluation.runs import PAUSE_SECONDS, Progress, temporary_tenant
from thresher.knowledge.tools import MOST_BUDGET, FindResult, Form, FoundTool, ToolService
from thresher.store import Database

_POOL_HINT = 'The pool is a JSON list of {"server", "name", "description", "inputSchema"}.'

_QUERY_HINT = 'Queries are JSON lines {"query": text, "queries"?: [text, ...], "relevant": ["server/name", ...]}.'


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """A message, and the tools that fit it.

    Attributes:
        text: The message.
        phrases: Its action phrases; may be empty.
        relevant: Keys `server/name` of the tools that fit; empty if none does.
        line: Its line in the file.
    """

    text: str
    phrases: tuple[str, ...]
    relevant: frozenset[str]
    line: int


def read_pool(path: Path) -> list[Tool]:
    """Read tool definitions; a server may have a name more than once.

    Raises:
        InvalidInput: The file cannot be read or an entry is wrong; the message names the line.
    """
    tools = [_tool(path, line, entry) for line, entry in _elements(path, read_text(path))]
    return not_empty(tools, path, "tools", _POOL_HINT)


def read_questions(path: Path) -> list[ToolQuestion]:
    """Read messages and the tools that fit them; blank lines are skipped.

    Raises:
        InvalidInput: The file cannot be read or a line is wrong; the message names it.
    """
    entries = [_question(path, line, fields) for line, fields in read_objects(path, _QUERY_HINT)]
    return not_empty(entries, path, "queries", _QUERY_HINT)


def _elements(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """Each element of a JSON list with the line where it begins."""
    decoder = json.JSONDecoder()
    place = _skip(text, 0)
    if text[place : place + 1] != "[":
        raise wrong(path, _line(text, place), "a list was expected", _POOL_HINT)
    place = _skip(text, place + 1)
    while text[place : place + 1] != "]":
        try:
            element, end = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            at = error.pos if isinstance(error, json.JSONDecodeError) else place
            raise wrong(path, _line(text, at), "not valid JSON", _POOL_HINT) from None
        yield _line(text, place), element
        place = _skip(text, end)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] != "]":
            raise wrong(path, _line(text, place), "a comma or the end of the list was expected", _POOL_HINT)
    if text[_skip(text, place + 1) :]:
        raise wrong(path, _line(text, place + 1), "something follows the list", _POOL_HINT)


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _tool(path: Path, line: int, entry: Any) -> Tool:
    if not isinstance(entry, Mapping):
        raise wrong(path, line, "not a JSON object", _POOL_HINT)
    fields = cast("Mapping[str, Any]", entry)
    for name in ("server", "name"):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise wrong(path, line, f'"{name}" must be text', _POOL_HINT)
    description = fields.get("description") or ""
    schema: Any = fields.get("inputSchema") or {}
    if not isinstance(description, str):
        raise wrong(path, line, '"description" must be text', _POOL_HINT)
    if not isinstance(schema, Mapping):
        raise wrong(path, line, '"inputSchema" must be an object', _POOL_HINT)
    return Tool(
        server=fields["server"], name=fields["name"], description=description,
        input_schema=cast("Mapping[str, Any]", schema),
    )  # fmt: skip


def _question(path: Path, line: int, fields: Mapping[str, Any]) -> ToolQuestion:
    message = fields.get("query")
    if not isinstance(message, str) or not message.strip():
        raise wrong(path, line, '"query" must be text', _QUERY_HINT)
    if "relevant" not in fields:
        raise wrong(path, line, '"relevant" is missing (an empty list says that no tool fits)', _QUERY_HINT)
    phrases = tuple(_texts(path, line, "queries", fields.get("queries")))
    return ToolQuestion(message, phrases, frozenset(_texts(path, line, "relevant", fields["relevant"])), line)


def _texts(path: Path, line: int, name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(
        isinstance(item, str) and item.strip() for item in cast("list[Any]", value)
    ):
        raise wrong(path, line, f'"{name}" must be a list of texts', _QUERY_HINT)
    return cast("list[str]", value)


BUDGETS = (150, 300, 600)
"""Tokens of the answers that are measured; the one in the middle is the usual one."""
USUAL = 300
ANSWERED = 0.95
"""The share of answerable messages that are answered where `foreign_refused` is read."""


@dataclass(frozen=True, slots=True)
class ToolObservation:
    """The result of one question.

    Attributes:
        relevant: Keys of the tools that fit; empty if none does.
        ranked: The first ten of the ranking alone, best first.
        answers: Key to form of the tools in the answer as delivered, by its budget in tokens.
        abstained: Whether the search found that nothing fits.
        probability: The probability that any tool fits.
        tokens_sent: Tokens of the usual answer.
        tokens_all: Tokens of all definitions.
        first_ms: Time of the first search, without cached vectors.
        again_ms: Time of the same search again.
    """

    relevant: frozenset[str]
    ranked: tuple[str, ...]
    answers: Mapping[int, Mapping[str, Form]]
    abstained: bool
    probability: float
    tokens_sent: int
    tokens_all: int
    first_ms: float
    again_ms: float

    def needed(self, budget: int) -> float:
        """The share of the relevant tools in an answer, in whatever form."""
        return len(self.relevant & self.answers[budget].keys()) / len(self.relevant)

    @property
    def in_full(self) -> frozenset[str]:
        """Keys of the tools with a full line in the usual answer."""
        return frozenset(key for key, form in self.answers[USUAL].items() if form == "full")

    @property
    def confused(self) -> bool:
        """Whether another tool of the same server has a full line, and the relevant one has none."""
        missing = self.relevant - self.in_full
        servers = {key.partition("/")[0] for key in missing}
        return any(key.partition("/")[0] in servers for key in self.in_full - self.relevant)


@dataclass(frozen=True, slots=True)
class ToolFigures:
    """The figures; `docs/reference/evaluation.md` defines each."""

    needed_at_150: float | None
    needed_at_300: float | None
    needed_at_600: float | None
    signature_at_300: float | None
    confusion: float | None
    full_precision: float | None
    needed_by_tasks: Mapping[str, float]
    foreign_refused: float | None
    abstention_auc: float | None
    abstention_accuracy: float | None
    tokens_mean: float | None
    tokens_saved: float | None
    tools_mean: float | None
    recall_at_1: float | None
    recall_at_3: float | None
    recall_at_5: float | None
    recall_at_10: float | None
    ndcg_at_10: float | None
    all_in_10: float | None
    intervals: Mapping[str, tuple[float, float]]
    p50_ms: float | None
    p95_ms: float | None
    cached_p50_ms: float | None
    index_seconds: float
    tools_per_second: float
    tools: int
    queries: int
    queries_without_tool: int
    unknown_relevant: int
    repeated: tuple[str, ...]


def tool_figures(
    observations: Sequence[ToolObservation],
    *,
    tools: int,
    index_seconds: float,
    unknown_relevant: int,
    repeated: Sequence[str] = (),
) -> ToolFigures:
    """Compute the figures.

    Args:
        observations: One for each question.
        tools: Number of tools in the pool.
        index_seconds: The time to index them.
        unknown_relevant: Number of relevant keys that the pool lacks.
        repeated: Keys that the pool has more than once.
    """
    fitting = [seen for seen in observations if seen.relevant]
    others = [seen for seen in observations if not seen.relevant]
    shares: dict[str, float | None] = {
        **{f"needed_at_{budget}": mean(seen.needed(budget) for seen in fitting) for budget in BUDGETS},
        "signature_at_300": mean(len(seen.relevant & seen.in_full) / len(seen.relevant) for seen in fitting),
        "confusion": mean(seen.confused for seen in fitting),
        **{
            f"recall_at_{depth}": mean(recall_at(seen.ranked, seen.relevant, depth) for seen in fitting)
            for depth in (1, 3, 5, 10)
        },
    }
    probable, foreign = [seen.probability for seen in fitting], [seen.probability for seen in others]
    right = [seen.abstained != bool(seen.relevant) for seen in observations]
    tasks = sorted({len(seen.relevant) for seen in fitting})
    return ToolFigures(
        **shares,
        full_precision=mean(len(seen.in_full & seen.relevant) / len(seen.in_full) for seen in fitting if seen.in_full),
        needed_by_tasks={
            str(count): mean(seen.needed(USUAL) for seen in fitting if len(seen.relevant) == count) or 0.0
            for count in tasks
        },
        foreign_refused=refused_at(probable, foreign, ANSWERED),
        abstention_auc=auc(probable, foreign),
        abstention_accuracy=mean(right) if fitting and others else None,
        tokens_mean=mean(seen.tokens_sent for seen in observations),
        tokens_saved=_saved(observations),
        tools_mean=mean(len(seen.answers[USUAL]) for seen in observations),
        ndcg_at_10=mean(ndcg_at(seen.ranked, seen.relevant, 10) for seen in fitting),
        all_in_10=mean(all_in(seen.ranked, seen.relevant, 10) for seen in fitting),
        intervals={name: wilson(share, len(fitting)) for name, share in shares.items() if share is not None},
        p50_ms=percentile([seen.first_ms for seen in observations], 0.5),
        p95_ms=percentile([seen.first_ms for seen in observations], 0.95),
        cached_p50_ms=percentile([seen.again_ms for seen in observations], 0.5),
        index_seconds=index_seconds,
        tools_per_second=tools / index_seconds if index_seconds > 0 else 0.0,
        tools=tools,
        queries=len(observations),
        queries_without_tool=len(others),
        unknown_relevant=unknown_relevant,
        repeated=tuple(repeated),
    )


def _saved(observations: Sequence[ToolObservation]) -> float | None:
    shares = [1 - seen.tokens_sent / seen.tokens_all for seen in observations if seen.tokens_all]
    saved = mean(shares)
    return None if saved is None else max(0.0, saved)


DEPTH = 10


async def evaluate_tools(
    database: Database, tools: ToolService, pool: Sequence[Tool], questions: Sequence[ToolQuestion], progress: Progress
) -> ToolFigures:
    """Index a pool and ask every question.

    Args:
        database: The database of the temporary tenant.
        tools: The service under evaluation.
        pool: The tools to choose from.
        questions: The messages, with the tools that fit.
        progress: Called with the progress.
    """
    async with temporary_tenant(database, "evaluation") as caller:
        return await _run(caller, tools.for_measuring(local=False), pool, questions, progress)


async def _run(
    caller: Caller, tools: ToolService, pool: Sequence[Tool], questions: Sequence[ToolQuestion], progress: Progress
) -> ToolFigures:
    started = time.perf_counter()
    await tools.import_tools(caller, pool, progress=lambda done, total: progress("Indexing", done, total))
    seconds = time.perf_counter() - started
    keys = {entry.name: entry.tool.key for entry in await tools.list_tools(caller)}
    observations: list[ToolObservation] = []
    for place, question in enumerate(questions):
        observations.append(await _observe(caller, tools, keys, question))
        progress("Asking", place + 1, len(questions))
        await asyncio.sleep(PAUSE_SECONDS)
    counted = Counter(tool.key for tool in pool)
    unknown = {key for question in questions for key in question.relevant - counted.keys()}
    return tool_figures(
        observations,
        tools=len(counted),
        index_seconds=seconds,
        unknown_relevant=len(unknown),
        repeated=[key for key, times in counted.items() if times > 1],
    )


async def _observe(
    caller: Caller, tools: ToolService, keys: Mapping[str, str], question: ToolQuestion
) -> ToolObservation:
    usual, first_ms = await _timed(caller, tools, question, budget=USUAL)
    _, again_ms = await _timed(caller, tools, question, budget=USUAL)
    ranking, _ = await _timed(caller, tools, question, budget=MOST_BUDGET, limit=DEPTH, threshold=0.0)
    answers = {USUAL: _forms(usual.tools, keys)}
    for budget in BUDGETS:
        if budget != USUAL:
            answers[budget] = _forms((await _timed(caller, tools, question, budget=budget))[0].tools, keys)
    return ToolObservation(
        relevant=question.relevant,
        ranked=_keys(ranking.tools, keys, question.relevant),
        answers=answers,
        abstained=usual.abstained,
        probability=usual.probability,
        tokens_sent=usual.tokens_sent,
        tokens_all=usual.tokens_all,
        first_ms=first_ms,
        again_ms=again_ms,
    )


async def _timed(
    caller: Caller,
    tools: ToolService,
    question: ToolQuestion,
    *,
    budget: int,
    limit: int | None = None,
    threshold: float | None = None,
) -> tuple[FindResult, float]:
    started = time.perf_counter()
    result = await tools.find_tools(
        caller,
        message=None if question.phrases else question.text,
        queries=question.phrases or None,
        budget=budget,
        limit=limit,
        threshold=threshold,
    )
    return result, (time.perf_counter() - started) * 1000


def _forms(found: Sequence[FoundTool], keys: Mapping[str, str]) -> dict[str, Form]:
    """The form of each tool of an answer; a copy is there where it stands beside a tool in full."""
    return {
        keys.get(name, name): tool.form
        for tool in found
        for name in (tool.name, *(tool.also if tool.form == "full" else ()))
    }


def _keys(found: Sequence[FoundTool], keys: Mapping[str, str], relevant: frozenset[str]) -> tuple[str, ...]:
    """The key of each rank; a relevant copy that was left out counts for the one it is beside."""
    return tuple(
        next((key for name in entry.also if (key := keys.get(name, "")) in relevant - {entry.tool.key}), entry.tool.key)
        if entry.tool.key not in relevant
        else entry.tool.key
        for entry in found
    )
