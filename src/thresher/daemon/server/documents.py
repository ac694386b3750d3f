"""Verbs of documents: repositories, and what stands in them.

Invariant: the same names and arguments as on every other face; a source is read on this machine, so a path must be
absolute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from thresher.app import App
from thresher.core import Caller, InvalidInput, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.knowledge.documents import origin_of

_RETRIEVE = frozenset(
    {"query", "repository", "search_type", "budget", "context", "cursor", "rerank", "document", "mode"}
)
_SEARCH = frozenset({"query", "repository", "search_type", "limit", "cursor"})
_READ = frozenset({"repository", "path", "lines", "section", "cursor", "budget"})


def document_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work.
    """
    verbs = _Documents(app, caller)
    named = (verbs.index_documents, verbs.refresh_repository, verbs.remove_repository, verbs.set_guide)
    shown = (verbs.list_repositories, verbs.show_repository)
    asked = (verbs.retrieve_document, verbs.search_documents, verbs.read_document)
    return {verb.__name__: verb for verb in (*named, *shown, *asked)}


class _Documents:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller) -> None:
        self._documents = app.services.documents
        self._readiness = app.services.context.readiness
        self._caller = caller

    async def index_documents(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        given = dict(arguments)
        name, source = str(given.pop("name")), str(given.pop("source"))
        origin = await asyncio.to_thread(lambda: origin_of(source, **given, caller=self._caller))
        repository = await self._documents.index(self._caller, name, origin)
        self._readiness.look_again()
        return plain(repository)

    async def refresh_repository(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._documents.refresh(self._caller, str(arguments["name"])))

    async def remove_repository(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        await self._documents.remove_repository(self._caller, str(arguments["name"]))
        self._readiness.look_again()
        return {"removed": str(arguments["name"])}

    async def set_guide(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._documents.set_guide(self._caller, str(arguments["name"]), arguments.get("text")))

    async def list_repositories(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._documents.list_repositories(self._caller))

    async def show_repository(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """One repository, and the files that were not read."""
        name = str(arguments["name"])
        repository = await self._documents.repository(self._caller, name)
        left_out = await self._documents.skipped_files(self._caller, name)
        return {**plain(repository), "skipped_files": plain(left_out)}

    async def retrieve_document(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._documents.retrieve_document(self._caller, **_known(arguments, _RETRIEVE)))

    async def search_documents(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._documents.search_documents(self._caller, **_known(arguments, _SEARCH)))

    async def read_document(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._documents.read_document(self._caller, **_known(arguments, _READ)))


def _known(arguments: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    if unknown := sorted(set(arguments) - known):
        raise InvalidInput(f"There is no argument '{unknown[0]}'.", hint=f"Known: {', '.join(sorted(known))}.")
    return dict(arguments)
