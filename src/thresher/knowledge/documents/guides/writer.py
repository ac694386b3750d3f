"""Has a model rewrite the guide of a repository that was built from its structure.

Invariant: a line that names a path, a term in backticks or an address that is not in the material is dropped; without a
model, or if the model fails, the guide built from structure stays.
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
from thresher.knowledge.documents.guides.text import cut_to_budget
from thresher.knowledge.documents.instructions import fill_template
from thresher.knowledge.documents.models import Repository
from thresher.llm import Chat, ChatRequest, Message
from thresher.store import Database, clean, run_retrying

logger = logging.getLogger("thresher.knowledge.documents")

TEMPERATURE: Final = 0.1
GUIDE_TOKENS: Final = 700
"""Size of a model's guide: it is read with every list of repositories."""
MATERIAL_TOKENS: Final = 6_000
BACKGROUND_TIMES: Final = 6
"""A guide is written in the background, so the model may take this multiple of the time for an answer."""
_WORDS_A_TOKEN: Final = 0.6
_FEWEST_LINES: Final = 2
_NAMED: Final = re.compile(r"`([^`\n]+)`")
_ADDRESS: Final = re.compile(r"\w+://[^\s)>\]`]+|\]\(([^)\s]+)")


class GuideWriter:
    """Replaces guides that were built from structure by a model's.

    Args:
        database: The database of the repositories.
        chat: The model; None to do nothing.
        seconds: Time limit for an interactive answer.
    """

    def __init__(self, database: Database, chat: Chat | None, seconds: float) -> None:
        self._database = database
        self._chat = chat
        self._seconds = seconds

    async def rewrite(self, tenant: Tenant, repository_id: int) -> None:
        """Have the model write a guide, unless it or a person has done so since the documents changed.

        A failure of the model is logged; the next run tries again.

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
            text = await rewritten_guide(self._chat, found.name, found.guide, paths, self._seconds)
        except ModelError as error:
            event(logger, "guide not rewritten_guide", level=logging.WARNING, model=self._chat.name, reason=error.code)
            return
        await run_retrying(
            self._database, tenant, lambda connection: _store(connection, tenant, found, {"guide": clean(text)})
        )


async def _store(connection: AsyncConnection, tenant: Tenant, before: Repository, values: dict[str, str]) -> None:
    """Store a model's guide, unless the guide it was made from has been replaced meanwhile."""
    await queries.lock_repository(connection, tenant, before.id)
    now = await queries.repository_by_id(connection, tenant, before.id)
    if now is not None and (now.guide_by, now.guide) == (before.guide_by, before.guide):
        await queries.set_repository(connection, tenant, before.id, **values, guide_by="model")


async def rewritten_guide(chat: Chat, name: str, guide: str, paths: Collection[str], seconds: float) -> str:
    """A guide in a model's words.

    Args:
        chat: The model.
        name: Name of the repository.
        guide: The guide built from its structure.
        paths: Paths of its documents.
        seconds: Time limit for an interactive answer; this one may take `BACKGROUND_TIMES` as long.

    Raises:
        ModelError: The model fails, takes too long, or writes nothing usable.
    """
    answer = await chat.complete(request(name, guide), seconds=seconds * BACKGROUND_TIMES)
    lines = answer.text.split("\n")
    if answer.finish == "length":
        lines = lines[:-1]  # the last line is incomplete
    text = trusted("\n".join(lines), guide, paths)
    event(logger, "guide_by_model", repository=name, model=chat.name, tokens=count_tokens(text))
    return text


def request(name: str, guide: str) -> ChatRequest:
    """The request to the model."""
    material = cut_to_budget(guide, MATERIAL_TOKENS)
    border = border_of([name, material])
    instruction = fill_template("guide", border=border, words=int(GUIDE_TOKENS * _WORDS_A_TOKEN))
    material = f"{border} what is known of the repository {name}\n{material}\n{border} end"
    return ChatRequest((Message("system", instruction), Message("user", material)), TEMPERATURE, GUIDE_TOKENS)


def trusted(text: str, material: str, paths: Collection[str]) -> str:
    """The usable lines of a model's guide, cut to `GUIDE_TOKENS` at the end of a line.

    Raises:
        ModelError: Hardly any line is usable.
    """
    known = {*paths, *(f"{folder}/" for path in paths for folder in _folders(path))}
    lines = [line for line in text.strip().split("\n") if _holds(line, material, known)]
    kept = cut_to_budget("\n".join(lines).strip(), GUIDE_TOKENS).rstrip()
    if sum(bool(line.strip()) for line in kept.split("\n")) < _FEWEST_LINES:
        raise ModelError("The model's guide names things that the repository does not contain.")
    return kept


def _folders(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]


def _holds(line: str, material: str, known: Collection[str]) -> bool:
    named = [match[1].strip() for match in _NAMED.finditer(line)]
    addresses = [match[1] or match[0] for match in _ADDRESS.finditer(line)]
    return all(name in known or f"{name.rstrip('/')}/" in known or name in material for name in [*named, *addresses])
