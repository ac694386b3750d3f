"""Embeds what a search looks for.

Invariant: a failing encoder is an outcome, not an error: the words still answer.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from thresher.core import EncoderError
from thresher.embedding import Encoder, Matrix
from thresher.search.planning import Plan, pieces_of

_LONG_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of a plan.

    Attributes:
        matrix: float32 (pieces, dimension); None when the encoder failed.
        owners: The phrase that each piece belongs to.
        model: The model of the vectors; empty when it failed.
        milliseconds: What embedding took.
        note: What was left out or went wrong, in words.
    """

    matrix: Matrix | None
    owners: tuple[int, ...]
    model: str
    milliseconds: float
    note: str = ""


async def embed(plan: Plan, encoder: Encoder) -> Embedded:
    """Embed all pieces of a plan in one batch, with the model's query prefix."""
    started = time.perf_counter()
    try:
        # A megabyte is cut beside the event loop, which serves others meanwhile.
        long = sum(map(len, plan.phrases)) > _LONG_CHARACTERS
        pieces = await asyncio.to_thread(pieces_of, plan, encoder) if long else pieces_of(plan, encoder)
        matrix = await encoder.embed_queries(pieces.texts, prefixed=True)
        model = encoder.model.id
    except EncoderError as error:
        return Embedded(None, (), "", _since(started), f"Searched by words alone: {error}")
    note = f"{pieces.left_out:,} characters in the middle were not embedded." if pieces.left_out else ""
    return Embedded(matrix, pieces.owners, model, _since(started), note)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
