"""Training for a tenant: on the log or on examples, kept if it helps, shown and removed.

Invariant: what is kept gained on messages that it was not fitted on. Nothing but the database is read or written, and
a tenant has one adapter at most.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from thresher.core import Caller, Conflict, InvalidInput, NotAllowed
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import CatalogueCache, ToolCatalogue
from thresher.knowledge.tools.learning.adapter import (
    LEAST_EACH,
    LEAST_MESSAGES,
    PARTS,
    AdapterFigures,
    Samples,
    figures,
    fitted,
    places,
    samples_of,
)
from thresher.knowledge.tools.learning.service import Learning
from thresher.knowledge.tools.models import KIND, Use
from thresher.search import Adapter, Filter, Progress, SearchIndex
from thresher.store import Database, run_retrying

MOST_EXAMPLES: Final = 4_000
"""Examples of one training, as many as uses of a log count."""
_DEPTH: Final = 60
"""Tools whose scores an example is trained on."""
_MOST_CHARACTERS: Final = 2_000
_HINT: Final = 'An example is {"query": text, "relevant": ["server/name", ...]}, as in a file of `thresher eval tools`.'


@dataclass(frozen=True, slots=True)
class TrainingState:
    """The adapter of a tenant.

    Attributes:
        in_use: Whether searches use it.
        reason: Why not; empty if they do.
        model: The model that it was trained for; empty without an adapter, as all that follows.
        source: `log` or `file`.
        made_by: `owner` or `key`.
        made_at: When.
        figures: What it was fitted on, and what it gained on messages that it had not seen.
    """

    in_use: bool
    reason: str
    model: str = ""
    source: str = ""
    made_by: str = ""
    made_at: dt.datetime | None = None
    figures: AdapterFigures | None = None


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What a training has come to.

    Attributes:
        kept: Whether the new adapter is in use now; else what was there before still is.
        reason: Why not; empty if it is.
        figures: What it was fitted on, and what it gained on messages that it had not seen.
        left_out: Examples that name no tool which is there.
    """

    kept: bool
    reason: str
    figures: AdapterFigures
    left_out: int = 0


class Training:
    """Training of one process."""

    def __init__(self, database: Database, index: SearchIndex, catalogues: CatalogueCache, learning: Learning) -> None:
        self._database = database
        self._index = index
        self._catalogues = catalogues
        self._learning = learning

    async def state(self, caller: Caller) -> TrainingState:
        """Return the adapter of a caller's tenant, and whether it is in use."""
        async with self._database.transaction(caller.tenant) as connection:
            row = await queries.read_adapter(connection, caller.tenant)
            there = row is not None and await queries.are_there(connection, caller.tenant, row.tools)
        if row is None:
            return TrainingState(in_use=False, reason="Nothing was trained.")
        serving = await self._index.serving_model(caller.tenant, KIND)
        reason = ""
        if serving != row.model:
            reason = f"It was trained for {row.model}; the vectors in use are of {serving or 'no model'}: train again."
        elif not there:
            reason = "None of the tools that it was trained on is there any more: train again."
        source = "file" if row.log_at is None else "log"
        known = AdapterFigures(**row.figures)
        return TrainingState(not reason, reason, row.model, source, row.made_by, row.made_at, known)

    async def train(
        self, caller: Caller, examples: Sequence[Mapping[str, Any]] | None, progress: Progress
    ) -> TrainingResult:
        """Fit an adapter on the log of all users, or on examples, and keep it if it helps.

        Args:
            caller: The tenant.
            examples: Objects `{"query", "relevant"}`; None for the log.
            progress: Called with the steps that are done, and all.

        Raises:
            Conflict: Uses were erased meanwhile.
            InvalidInput: An example is not valid, or none names a tool that is there.
            NotAllowed: The caller is one of the tenant's users.
            StoreUnavailable: The database cannot be reached.
        """
        _check_owner(caller)
        left_out, log_at, removals = 0, None, None
        if examples is None:
            await self._learning.write_pending()
            async with self._database.transaction(caller.tenant) as connection:
                removals = (await queries.read_learning(connection, caller.tenant)).removals
                uses = [*(await queries.read_uses(connection, Caller(caller.tenant))).values()]
            log_at = max((use.at for use in uses), default=None)
        else:
            uses, left_out = await self._searched(caller, examples, progress)
        stored = await self._index.item_vectors(caller.tenant, KIND)
        samples = await asyncio.to_thread(samples_of, uses, stored)
        found = await asyncio.to_thread(figures, samples, await _held_out(samples, progress))
        if reason := _refusal(found, sum(use.model != stored.model for use in uses)):
            return TrainingResult(kept=False, reason=reason, figures=found, left_out=left_out)
        offsets = await asyncio.to_thread(fitted, samples, np.ones(len(samples), np.bool_))
        adapter = Adapter(stored.model, samples.tools, offsets)
        by = "key" if caller.keyed else "owner"
        stored_it = await run_retrying(
            self._database,
            caller.tenant,
            lambda run: queries.put_adapter(run, caller.tenant, adapter, asdict(found), by, log_at, removals),
        )
        if not stored_it:
            raise Conflict("Uses were erased while an adapter was fitted on them.", hint="Train again.")
        self._learning.changed(caller.tenant)
        return TrainingResult(kept=True, reason="", figures=found, left_out=left_out)

    async def remove(self, caller: Caller) -> bool:
        """Remove the adapter of a caller's tenant; returns whether there was one.

        Raises:
            NotAllowed: The caller is one of the tenant's users.
        """
        _check_owner(caller)
        removed = await run_retrying(
            self._database, caller.tenant, lambda run: queries.delete_adapter(run, caller.tenant)
        )
        self._learning.changed(caller.tenant)
        return removed

    async def _searched(
        self, caller: Caller, examples: Sequence[Mapping[str, Any]], progress: Progress
    ) -> tuple[list[Use], int]:
        """Examples as if they were uses, and how many name no tool that is there."""
        if not 0 < len(examples) <= MOST_EXAMPLES:
            raise InvalidInput(f"{len(examples)} examples cannot be trained on.", hint=f"Give 1 to {MOST_EXAMPLES:,}.")
        catalogue = await self._catalogues.current(caller)
        known = _numbers_by_name(catalogue)
        named = [_example(number, example, known) for number, example in enumerate(examples, 1)]
        uses: list[Use] = []
        left_out = 0
        for number, (message, tools) in enumerate(named, 1):
            uses += await self._example_uses(caller, catalogue, number, message, tools)
            left_out += not tools
            progress(number, len(named))
        if not uses:
            raise InvalidInput("None of the examples names a tool that is there.", hint=_HINT)
        return uses, left_out

    async def _example_uses(
        self, caller: Caller, catalogue: ToolCatalogue, number: int, message: str, tools: Sequence[int]
    ) -> list[Use]:
        if not tools:
            return []
        visible = Filter(facets=catalogue.facets(None))
        found = await self._index.search(
            caller, KIND, [message], limit=_DEPTH, filter=visible, threshold=0.0, split=False
        )
        if found.vectors is None:
            raise InvalidInput("Examples cannot be embedded now.", hint=found.degraded)
        now = dt.datetime.now(dt.UTC)
        return [
            Use(
                at=now,
                searched_at=now,
                owner=None,
                voter="",
                trace_id=str(number),
                model=found.model,
                vector=found.vectors[0].astype(np.float16).tobytes(),
                tool_id=tool,
                weight=1.0,
                passed=(),
                failed=(),
                offered=tuple(hit.id for hit in found.hits),
                standings=tuple(hit.standing for hit in found.hits),
                message=None,
            )
            for tool in tools
        ]


def _check_owner(caller: Caller) -> None:
    if caller.user is not None:
        raise NotAllowed("What is trained ranks the tools of all users.", hint="Ask the tenant's owner.")


def _numbers_by_name(catalogue: ToolCatalogue) -> Mapping[str, list[int]]:
    """The enabled tools by the names that an example may give them."""
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for tool in catalogue.by_id.values():
        for name in {tool.name, f"{tool.row.server}/{tool.row.name}"}:
            numbers[name].append(tool.row.id)
    return numbers


def _example(number: int, example: Mapping[str, Any], known: Mapping[str, list[int]]) -> tuple[str, list[int]]:
    """The message of an example, and the tools that it names and that are there."""
    message, relevant = example.get("query"), example.get("relevant")
    if not isinstance(message, str) or not message.strip() or len(message) > _MOST_CHARACTERS:
        raise InvalidInput(f"Example {number} has no query of 1 to {_MOST_CHARACTERS:,} characters.", hint=_HINT)
    if not isinstance(relevant, list | tuple):
        raise InvalidInput(f"Example {number} has no list of relevant tools.", hint=_HINT)
    named = map(str, cast("Sequence[object]", relevant))
    return message, sorted({number for name in named for number in known.get(name, ())})


async def _held_out(samples: Samples, progress: Progress) -> dict[int, NDArray[np.float64]]:
    """The places of the samples of each part, ranked with what the other parts teach."""
    measured: dict[int, NDArray[np.float64]] = {}
    for part in range(PARTS):
        rest = samples.part != part
        rows = ~rest & samples.ranked
        if rest.any() and rows.any():
            offsets = await asyncio.to_thread(fitted, samples, rest)
            used = np.isin(np.arange(len(samples.tools)), samples.target[rest])
            measured[part] = await asyncio.to_thread(places, samples, rows, offsets, used)
        progress(part + 1, PARTS + 1)
    return measured


def _refusal(found: AdapterFigures, others: int) -> str:
    """Why an adapter is not kept; empty if it helps.

    Args:
        found: What it gained.
        others: Uses of another model than that in use.
    """
    if found.messages < LEAST_MESSAGES:
        few = f"{found.messages} different messages are too few; {LEAST_MESSAGES} are needed, and only those count"
        left = f" {others:,} of another model are left out." if others else ""
        return f"{few} whose tool {LEAST_EACH} or more different messages need.{left}"
    if found.low <= 0:
        return "It does not gain on messages that it has not seen: the lower bound is not above zero."
    return "" if found.helps else "As many users and keys lose by it as gain."
