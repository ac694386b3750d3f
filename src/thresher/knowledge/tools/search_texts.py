"""Words and rewrites: what the owner of a server has the search read of its tools, beside their definitions.

Words count like words of the description. A rewrite stands in place of the description. Questions that a model wrote
(`model_questions.py`) are listed and removed here.

Invariant: a model reads the server's own definition, whatever is stored here. A rewrite is used for exactly the
definition that it was approved for. Texts are found by the names of server and tool, so that they are there again when
a server is removed and added again; another owner's server of the same name does not get them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, InvalidInput, NotFound, one_line
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import CatalogueCache, NamedTool, ToolCatalogue
from thresher.knowledge.tools.indexer import Indexer, LocalServers
from thresher.knowledge.tools.models import ToolQuestions, ToolRewrite, ToolWords
from thresher.knowledge.tools.proposals import propose
from thresher.knowledge.tools.queries import QUESTION, REWRITE, WORDS, Rewrite, ServerRow, ToolKey, ToolTexts
from thresher.knowledge.tools.servers import checked_owner
from thresher.search import terms
from thresher.store import Database, clean, run_retrying

MOST_WORDS: Final = 20
"""Words, phrases and messages of a tool: as many as a long description has words that count."""
WORDS_CHARACTERS: Final = 300
REWRITE_CHARACTERS: Final = 2_000
_QUOTED: Final = 60

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _StoredTexts:
    """The texts of a tool, which may be gone; `name` is what people call it by."""

    name: str
    key: ToolKey
    texts: ToolTexts
    tool: NamedTool | None

    @classmethod
    def of(cls, key: ToolKey, texts: ToolTexts, tool: NamedTool | None) -> _StoredTexts:
        return cls(tool.name if tool is not None else f"{key.server}/{key.tool}", key, texts, tool)


class SearchTexts:
    """The words and rewrites of all tenants; one per process."""

    def __init__(self, database: Database, indexer: Indexer, catalogues: CatalogueCache, local: LocalServers) -> None:
        self._database = database
        self._indexer = indexer
        self._catalogues = catalogues
        self._local = local

    async def add_words(self, caller: Caller, name: str, words: Sequence[str]) -> ToolWords:
        """Give a tool words, phrases or example messages; those that it has already stay.

        Returns:
            All words of the tool.

        Raises:
            InvalidInput: There are none, too many, or one that is too long or has nothing to search for.
            NotFound: No tool has this name.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
        """
        added = checked_words(words)
        tool, catalogue = await self._tool(caller, name)
        key, server = catalogue.key_of(tool), catalogue.servers[tool.row.server]

        async def write(connection: AsyncConnection) -> ToolTexts:
            await _lock(connection, caller, server)
            known = (await queries.texts_of(connection, caller.tenant, [key.server])).get(key, queries.NO_TEXTS)
            if (count := len({*known.words, *added})) > MOST_WORDS:
                raise InvalidInput(
                    f"'{name}' would have {count} words and phrases; the limit is {MOST_WORDS}.",
                    hint=f"Remove some first: thresher tools words remove {name}.",
                )
            await queries.add_words(connection, caller.tenant, key, added)
            return (await queries.texts_of(connection, caller.tenant, [key.server]))[key]

        texts = await self._write(caller, server, write)
        return ToolWords(tool.name, key.server, texts.words)

    async def words(self, caller: Caller, name: str | None = None) -> tuple[ToolWords, ...]:
        """Return the words of one tool or of all, also of those that are not there now.

        Raises:
            NotFound: No tool has this name, and no stored words do.
        """
        found = await self._texts(caller, name)
        return tuple(
            ToolWords(one.name, one.key.server, one.texts.words, one.tool is not None)
            for one in found
            if one.texts.words
        )

    async def remove_words(self, caller: Caller, name: str, words: Sequence[str] | None = None) -> ToolWords:
        """Remove words of a tool: some, or by default all.

        Returns:
            What is left.

        Raises:
            InvalidInput: The list of words is empty.
            NotFound: No tool has this name, or it does not have one of the words.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
        """
        own, server = await self._own(caller, name)
        known = own.texts.words
        gone = known if words is None else checked_words(words)
        hint = "`thresher tools words list` shows them all."
        if not known:
            raise NotFound(f"'{name}' has no words of yours.", hint=hint)
        if missing := next((one for one in gone if one not in known), ""):
            raise NotFound(f"'{name}' does not have the words '{one_line(missing, _QUOTED)}'.", hint=hint)
        await self._remove(caller, server, own.key, WORDS, gone)
        left = tuple(one for one in known if one not in gone)
        return ToolWords(own.name, own.key.server, left, own.tool is not None)

    async def apply_rewrite(self, caller: Caller, name: str, description: str | None = None) -> ToolRewrite:
        """Have the search read another description of a tool, as long as its definition stays as it is.

        Args:
            caller: The user who approves it.
            name: The tool's exposed name.
            description: The description; by default the one that the rules propose.

        Raises:
            InvalidInput: The description is too long or has nothing to search for.
            NotFound: No tool has this name.
            HeldBack: It waits for approval.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
        """
        given = None if description is None else checked_rewrite(description)
        tool, catalogue = await self._tool(caller, name)
        catalogue.known(name)
        key, server = catalogue.key_of(tool), catalogue.servers[tool.row.server]

        async def write(connection: AsyncConnection) -> Rewrite:
            await _lock(connection, caller, server)
            stored = await queries.tools(connection, caller.tenant, {server.id: server.name})
            own = next((one for one in stored if one.id == tool.row.id), None)
            if own is None:
                raise NotFound(f"The tool '{name}' was removed just now.")
            siblings = [one.tool for one in stored if one.id in catalogue.by_id and one is not own]
            text = propose(own.tool, siblings)[:REWRITE_CHARACTERS] if given is None else given
            return await queries.put_rewrite(connection, caller.tenant, key, text, own.digest)

        rewrite = await self._write(caller, server, write)
        return ToolRewrite(tool.name, key.server, rewrite.text, rewrite.since, holds=True)

    async def rewrites(self, caller: Caller, name: str | None = None) -> tuple[ToolRewrite, ...]:
        """Return the rewrite of one tool or those of all, also those that are not used now.

        Raises:
            NotFound: No tool has this name, and no stored rewrite does.
        """
        found = await self._texts(caller, name)
        return tuple(_rewrite(one, rewrite) for one in found if (rewrite := one.texts.rewrite) is not None)

    async def remove_rewrite(self, caller: Caller, name: str) -> str:
        """Have the search read the server's description of a tool again. Returns the tool's name.

        Raises:
            NotFound: No tool has this name, or it has no rewrite.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
        """
        own, server = await self._own(caller, name)
        if own.texts.rewrite is None:
            raise NotFound(f"'{name}' has no rewrite.", hint="`thresher tools rewrites list` shows them all.")
        await self._remove(caller, server, own.key, REWRITE, None)
        return own.name

    async def questions(self, caller: Caller, name: str | None = None) -> tuple[ToolQuestions, ...]:
        """Return the questions that a model wrote for one tool or for all, also those that are not used now.

        Raises:
            NotFound: No tool has this name, and no stored questions do.
        """
        return tuple(row for one in await self._texts(caller, name) for row in self._questions(one))

    async def remove_questions(
        self, caller: Caller, name: str, questions: Sequence[str] | None = None
    ) -> tuple[ToolQuestions, ...]:
        """Remove questions of a tool: some, or by default all. None are written again for these definitions.

        Returns:
            What is left.

        Raises:
            InvalidInput: The list of questions is empty.
            NotFound: No tool has this name, or it does not have one of the questions.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
        """
        own, server = await self._own(caller, name)
        known = tuple(one.text for one in own.texts.questions)
        gone = known if questions is None else checked_words(questions)
        hint = "`thresher tools questions list` shows them all."
        if not known:
            raise NotFound(f"No model wrote questions for '{name}'.", hint=hint)
        if missing := next((one for one in gone if one not in known), ""):
            raise NotFound(f"'{name}' does not have the question '{one_line(missing, _QUOTED)}'.", hint=hint)
        await self._remove(caller, server, own.key, QUESTION, gone)
        left = tuple(one for one in own.texts.questions if one.text not in gone)
        return self._questions(replace(own, texts=replace(own.texts, questions=left)))

    def _questions(self, own: _StoredTexts) -> tuple[ToolQuestions, ...]:
        """The questions of one tool, by definition."""
        tool, texts = own.tool, own.texts
        now = tool.row.digest if tool is not None and self._catalogues.questions else None
        return tuple(
            ToolQuestions(
                own.name,
                own.key.server,
                texts.questions_of(definition),
                texts.asked.get(definition, ""),
                holds=definition == now,
                there=tool is not None,
            )
            for definition in dict.fromkeys(one.definition for one in texts.questions)
        )

    async def purge(self, caller: Caller, before: dt.datetime) -> int:
        """Remove the caller's texts of tools that have been gone since before a moment; returns how many."""
        return await run_retrying(
            self._database, caller.tenant, lambda connection: queries.purge_texts(connection, caller, before)
        )

    async def _tool(self, caller: Caller, name: str) -> tuple[NamedTool, ToolCatalogue]:
        """A tool that the caller may change, held ones included, and the catalogue.

        Raises:
            NotFound: No tool has this name.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
        """
        await self._local.ready(caller, searching=False)
        catalogue = await self._catalogues.current(caller)
        tool = catalogue.held.get(name) or catalogue.known(name)
        checked_owner(caller, catalogue.servers[tool.row.server])
        return tool, catalogue

    async def _own(self, caller: Caller, name: str) -> tuple[_StoredTexts, ServerRow | None]:
        """The texts of a tool that the caller may change, and its server, if it is there.

        Raises:
            NotFound: No tool has this name, and no texts are stored for it.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
        """
        found = await self._texts(caller, name)
        gone = [one for one in found if one.tool is None and one.key.owner == caller.user]
        if gone:
            return gone[0], None
        tool, catalogue = await self._tool(caller, name)
        none = _StoredTexts(tool.name, catalogue.key_of(tool), queries.NO_TEXTS, tool)
        return next((one for one in found if one.key == none.key), none), catalogue.servers[tool.row.server]

    async def _texts(self, caller: Caller, name: str | None) -> list[_StoredTexts]:
        """The texts of one tool, none if it has none, or of all.

        Raises:
            NotFound: No tool has this name, and no texts are stored for it.
        """
        await self._local.ready(caller, searching=False)
        catalogue = await self._catalogues.current(caller)
        async with self._database.transaction(caller.tenant) as connection:
            stored = await queries.texts(connection, caller)
        there = {catalogue.key_of(tool): tool for tool in (*catalogue.tools, *catalogue.held.values())}
        found = [_StoredTexts.of(key, texts, there.get(key)) for key, texts in stored.items()]
        if name is None:
            return found
        named = catalogue.aliases.get(name, name)
        chosen = [one for one in found if one.name == named]
        if not chosen and named not in catalogue.held:
            catalogue.known(name)
        return chosen

    async def _remove(
        self, caller: Caller, server: ServerRow | None, key: ToolKey, kind: str, words: Sequence[str] | None
    ) -> None:
        async def write(connection: AsyncConnection) -> int:
            return await queries.delete_texts(connection, caller.tenant, key, kind, words)

        await self._write(caller, server, write)

    async def _write(
        self,
        caller: Caller,
        server: ServerRow | None,
        write: Callable[[AsyncConnection], Coroutine[Any, Any, Result]],
    ) -> Result:
        """Write in a transaction, then index the server's tools again; unchanged ones cost nothing."""
        result = await run_retrying(self._database, caller.tenant, write)
        self._catalogues.changed(caller.tenant.id)
        if server is not None and server.enabled:
            await self._indexer.index(caller, [server])
        return result


def checked_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return words on one line each, without repeats.

    Raises:
        InvalidInput: There are none, too many, or one that is too long or has nothing to search for.
    """
    found = tuple(dict.fromkeys(" ".join(clean(one).split()) for one in words))
    if not 0 < len(found) <= MOST_WORDS:
        raise InvalidInput(f"Give 1 to {MOST_WORDS} words, phrases or example messages.")
    for one in found:
        if len(one) > WORDS_CHARACTERS:
            raise InvalidInput(
                f"'{one_line(one, _QUOTED)}' has {len(one):,} characters; the limit is {WORDS_CHARACTERS}.",
                hint="Give what people would say, in several short phrases.",
            )
        if not terms(one):
            raise InvalidInput(
                f"'{one_line(one, _QUOTED)}' has no word that a search uses.",
                hint='Give words that people would say, such as "money back".',
            )
    return found


def checked_rewrite(description: str) -> str:
    """Return a description without surrounding white space.

    Raises:
        InvalidInput: It is too long, or has nothing to search for.
    """
    text = clean(description).strip()
    if len(text) > REWRITE_CHARACTERS:
        raise InvalidInput(f"The description has {len(text):,} characters; the limit is {REWRITE_CHARACTERS:,}.")
    if not terms(text):
        hint = "To have the server's own description searched again: thresher tools rewrites remove."
        raise InvalidInput("The description has no word that a search uses.", hint=hint)
    return text


async def _lock(connection: AsyncConnection, caller: Caller, server: ServerRow) -> None:
    if not await queries.lock_server(connection, caller.tenant, server.id):
        raise NotFound(f"Server '{server.name}' was removed just now.")


def _rewrite(own: _StoredTexts, rewrite: Rewrite) -> ToolRewrite:
    holds = own.tool is not None and own.tool.row.digest == rewrite.definition
    return ToolRewrite(own.name, own.key.server, rewrite.text, rewrite.since, holds, own.tool is not None)
