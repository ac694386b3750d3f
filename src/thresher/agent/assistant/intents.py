"""Classifies questions: to find something, to read about it, figures, or to be shown how something is done.

A linear head on the embeddings of shipped lines decides, as in the router of packs; it is fitted once per process,
beginning with the first question. Without an encoder, and until then, a few words decide.

Invariant: a question that resembles none of the lines is a search, with low confidence.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast, get_args

import numpy as np

from thresher.agent.assistant.records import IntentType
from thresher.core import EncoderError, LazyPattern, StoreUnavailable, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.intents import Head, fit_head
from thresher.search import text_vectors
from thresher.store import Database

TYPES: Final = cast("tuple[IntentType, ...]", get_args(IntentType))
UNRECOGNISED: Final = 0.3
"""Most confidence in a search for which only the lack of another wish speaks."""
LEAST: Final = 0.4
"""A wish of lower probability does not count."""
WORDS_CONFIDENCE: Final = 0.5
PATIENCE: Final = 1.5
"""How long a question waits for the head: enough to read its lines' vectors, not to compute them."""
SIGN: Final = 1.5
"""Log odds that such words add to a type."""
USUAL: Final = 0.4
"""Log odds added to a search, since most questions are one: the lines show what questions are like, not how frequent
each type is. With both, 97 of 100 tasks and keywords from another author are searches; 94 without."""
_OTHER: Final = "other"
_CLASSES: Final = (*TYPES, _OTHER)
_LINES: Final = Path(__file__).with_name("lines")

_SIGNS: Final[Mapping[IntentType, LazyPattern]] = {
    "tutorial": LazyPattern(
        r"\b(?:step[- ]by[- ]step|walk(?: me)? through|walk-?through|tutorial|quick ?start|get(?:ting)? started|"
        r"first steps|(?:example|sample|working) (?:code|script)|snippet|teach me|curl|in python|httpx|"
        r"python (?:code|script|example)|how do i (?:use|call) (?:it|that|this)\b)",
        re.I,
    ),
    "analytics": LazyPattern(
        r"\b(?:(?:top|rising|zero[- ]result|frequent|popular) (?:queries|searches|questions)|"
        r"searche[sd]\b.{0,40}\b(?:week|month|today|yesterday|days?)|usage (?:report|figures|statistics)|analytics|"
        r"suggest improvements|quality score|"
        r"(?:wrong with|problems? (?:in|with|of)|improv\w+|review\w*|lint\w*)\b.{0,30}\b(?:descriptions?|openapi))\b",
        re.I,
    ),
    "endpoint_info": LazyPattern(
        r"\b(?:(?:parameters?|arguments?|columns|fields?|schema|responses?|scopes?|status codes?) (?:of|does|do|for)|"
        r"(?:which|what) (?:parameters?|arguments?|columns|(?:required |optional )?fields?|scopes?|status codes?)|"
        r"(?:which|what) headers?|tell me more|details|its (?:parameters?|responses?|fields?|body|errors?))\b",
        re.I,
    ),
    "search": LazyPattern(r"\b(?:find|search|list|which|is there|how (?:do|can) i|endpoint|where|look for)\b", re.I),
}
"""Words that nearly always mean a type; those for a search count only without a head."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a question wants.

    Attributes:
        type: A search if nothing else is recognised.
        confidence: 0 to 1.
        degraded: Why this is weaker than it could be; else empty.
    """

    type: IntentType
    confidence: float
    degraded: str = ""


def training_lines() -> Mapping[str, tuple[str, ...]]:
    """Return the shipped lines by class: the types, and `other` for none of them."""
    texts = {name: (_LINES / f"{name}.txt").read_text(encoding="utf-8") for name in _CLASSES}
    return {name: tuple(line for line in text.splitlines() if line.strip()) for name, text in texts.items()}


class IntentReader:
    """Classifies questions. One per process.

    Args:
        database: The database of the lines' vectors.
        encoder: Embeds lines and questions, as for the router of packs, so that each is embedded once.
    """

    def __init__(self, database: Database, encoder: Encoder) -> None:
        self._database = database
        self._encoder = encoder
        self._fitting: asyncio.Task[Head] | None = None
        self._model = ""

    async def read(self, tenant: Tenant, text: str) -> Wish:
        """Return what a question wants; by its words if the encoder does not answer, or the head is not ready."""
        try:
            head = await self._fitted(tenant, PATIENCE)
            if head is None:
                return wish_of_words(text, "the lines that teach it are being embedded")
            vectors = await self._encoder.embed_queries([text], prefixed=True)
        except (EncoderError, StoreUnavailable) as error:
            return wish_of_words(text, error.message)
        return wish_of(weighed(head.log_probabilities(vectors)[0].tolist(), text))

    async def prepare(self, tenant: Tenant) -> None:
        """Wait until the head is fitted, or has failed."""
        with suppress(EncoderError, StoreUnavailable):
            await self._fitted(tenant, None)

    async def close(self) -> None:
        """Cancel the fit in progress and make no more."""
        if self._fitting is not None:
            self._fitting.cancel()
            await asyncio.wait([self._fitting])

    async def _fitted(self, tenant: Tenant, seconds: float | None) -> Head | None:
        """Return the head of the running model; None if it is not ready within so many seconds."""
        model = (await self._encoder.warm()).id
        task = self._fitting
        if task is None or model != self._model or (task.done() and (task.cancelled() or task.exception())):
            self._model, task = model, asyncio.create_task(self._fit(tenant))
            task.add_done_callback(
                lambda ended: ended.cancelled() or ended.exception()
            )  # the next question retrieves the error
            self._fitting = task
        done, _ = await asyncio.wait([task], timeout=seconds)
        return task.result() if done else None

    async def _fit(self, tenant: Tenant) -> Head:
        lines = await asyncio.to_thread(training_lines)
        texts = [line for name in _CLASSES for line in lines[name]]
        labels = np.repeat(np.arange(len(_CLASSES)), [len(lines[name]) for name in _CLASSES]).astype(np.int32)
        found = await text_vectors(self._database, tenant, self._encoder, texts, prefixed=True)
        return await asyncio.to_thread(fit_head, found.vectors, labels, len(_CLASSES))


def weighed(odds: Sequence[float], text: str) -> list[float]:
    """Return probabilities of the types, `other` last, from the head's logarithms and the words.

    Args:
        odds: Logarithms of the head's probabilities.
        text: The question.
    """
    signs = [USUAL if name == "search" else SIGN * bool(_SIGNS[name].search(text)) for name in TYPES]
    powers = np.exp(np.array(odds) + np.array([*signs, 0.0]))
    return (powers / powers.sum()).tolist()


def wish_of(probabilities: Sequence[float]) -> Wish:
    """Return the wish for class probabilities in the order of the types, `other` last."""
    best = max(range(len(TYPES)), key=probabilities.__getitem__)
    if probabilities[best] < max(LEAST, probabilities[-1]):
        return Wish("search", round(min(UNRECOGNISED, probabilities[0]), 3))
    return Wish(TYPES[best], round(probabilities[best], 3))


def wish_of_words(text: str, reason: str) -> Wish:
    """Return the wish by the words, without an encoder.

    Args:
        text: The question.
        reason: The reason why the encoder is not available.
    """
    degraded = f"what the question wants was read from its words alone: {reason}"
    found: IntentType | None = next((name for name, sign in _SIGNS.items() if sign.search(text)), None)
    return Wish(found or "search", WORDS_CONFIDENCE if found else UNRECOGNISED / 2, degraded)
