"""Has a model write the guide of a repository, from the one that its structure gave.

Invariant: a line that names a path, a term in backticks or an address which the material does not hold is not taken
over; without a model, or where it fails, the guide from the structure stays.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import ModelError, Tenant, border_of, event
from thresher.embedding import count_tokens
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.guides import fitted
from thresher.knowledge.documents.instructions import filled
from thresher.knowledge.documents.models import Repository
from thresher.llm import Chat, ChatRequest, Message
from thresher.store import Database, clean, run_retrying

logger = logging.getLogger("thresher.knowledge.documents")

TEMPERATURE: Final = 0.1
GUIDE_TOKENS: Final = 700
"""Of a model's guide: it is read with every list of repositories."""
MATERIAL_TOKENS: Final = 6_000
BACKGROUND_TIMES: Final = 6
"""Nobody waits for a guide: the model has so many times the seconds of an answer."""
_WORDS_A_TOKEN: Final = 0.6
_FEWEST_LINES: Final = 2
_NAMED: Final = re.compile(r"`([^`\n]+)`")
_ADDRESS: Final = re.compile(r"\w+://[^\s)>\]`]+|\]\(([^)\s]+)")


class Describer:
    """Replaces guides that were built from structure by a model's.

    Args:
        database: Where repositories are.
        chat: The model; without one nothing is done.
        seconds: How long an answer that somebody waits for may take.
    """

    def __init__(self, database: Database, chat: Chat | None, seconds: float) -> None:
        self._database = database
        self._chat = chat
        self._seconds = seconds

    async def describe(self, tenant: Tenant, repository_id: int) -> None:
        """Have the model write a guide, unless it or a person has since the documents changed.

        A model that fails is named in the log; the next run asks it again.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        if self._chat is None:
            return
        async with self._database.transaction(tenant) as connection:
            found = await queries.repository_by_id(connection, tenant, repository_id)
        if found is None or found.guide_by != "structure" or not found.guide:
            return
        paths = {document.path for document in await queries.current(self._database, tenant, repository_id)}
        try:
            text = await described(self._chat, found.name, found.guide, paths, self._seconds)
        except ModelError as error:
            event(logger, "guide not described", level=logging.WARNING, model=self._chat.name, reason=error.code)
            return
        await run_retrying(
            self._database, tenant, lambda connection: _store(connection, tenant, found, {"guide": clean(text)})
        )


async def _store(connection: AsyncConnection, tenant: Tenant, before: Repository, values: dict[str, str]) -> None:
    """Keep a model's guide, unless the one that it was made from was replaced meanwhile."""
    await queries.lock_repository(connection, tenant, before.id)
    now = await queries.repository_by_id(connection, tenant, before.id)
    if now is not None and (now.guide_by, now.guide) == (before.guide_by, before.guide):
        await queries.set_repository(connection, tenant, before.id, **values, guide_by="model")


async def described(chat: Chat, name: str, guide: str, paths: Collection[str], seconds: float) -> str:
    """A guide in a model's words.

    Args:
        chat: The model.
        name: Of the repository.
        guide: The guide from its structure.
        paths: Of its documents.
        seconds: How long an answer that somebody waits for may take; this one may take `BACKGROUND_TIMES` as long.

    Raises:
        ModelError: The model fails, takes too long, or writes nothing that can be used.
    """
    answer = await chat.complete(request(name, guide), seconds=seconds * BACKGROUND_TIMES)
    lines = answer.text.split("\n")
    if answer.finish == "length":
        lines = lines[:-1]  # it ends in the middle
    text = trusted("\n".join(lines), guide, paths)
    event(logger, "guide_by_model", repository=name, model=chat.name, tokens=count_tokens(text))
    return text


def request(name: str, guide: str) -> ChatRequest:
    """What the model is asked."""
    material = fitted(guide, MATERIAL_TOKENS)
    border = border_of([name, material])
    told = filled("guide", border=border, words=int(GUIDE_TOKENS * _WORDS_A_TOKEN))
    asked = f"{border} what is known of the repository {name}\n{material}\n{border} end"
    return ChatRequest((Message("system", told), Message("user", asked)), TEMPERATURE, GUIDE_TOKENS)


def trusted(text: str, material: str, paths: Collection[str]) -> str:
    """What of a model's guide can be used, cut to `GUIDE_TOKENS` on a line.

    Raises:
        ModelError: Hardly anything can.
    """
    known = {*paths, *(f"{folder}/" for path in paths for folder in _folders(path))}
    lines = [line for line in text.strip().split("\n") if _holds(line, material, known)]
    kept = fitted("\n".join(lines).strip(), GUIDE_TOKENS).rstrip()
    if sum(bool(line.strip()) for line in kept.split("\n")) < _FEWEST_LINES:
        raise ModelError("The model's guide names what the repository does not hold.")
    return kept


def _folders(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]


def _holds(line: str, material: str, known: Collection[str]) -> bool:
    named = [match[1].strip() for match in _NAMED.finditer(line)]
    addresses = [match[1] or match[0] for match in _ADDRESS.finditer(line)]
    return all(name in known or f"{name.rstrip('/')}/" in known or name in material for name in [*named, *addresses])
