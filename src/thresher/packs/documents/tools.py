"""The tools of documents: the verbs of the documents kind, and how their answers read for a model.

Invariant: what a model reads never costs more than the budget; programs get the whole record as structured content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thresher.context import Situation
from thresher.core import one_line
from thresher.knowledge.documents import Repository, Upload
from thresher.packs import current
from thresher.packs.answers import (
    BORDERS,
    PAGE_MARK,
    multi_retrieval_text,
    page_text,
    passages_text,
    repositories_line,
    repositories_text,
    retrieval_text,
)
from thresher.packs.results import removed_text
from thresher.packs.verbs import tool_of
from thresher.verbs import DOCUMENTS

PREFIX = False
LISTED = (
    *("retrieve_document", "retrieve_documents", "search_documents", "read_document", "list_repositories"),
    *("index_documents", "refresh_repository", "remove_repository", "upload_document", "remove_upload"),
)


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Return whether there is a repository, or the client may create one."""
    services = current().services
    return services.settings.admin_tools or await services.documents.sees_any(situation.caller)


async def _repositories(situation: Situation) -> str | None:
    return repositories_line(await current().services.documents.list_repositories(situation.caller))


VARIABLES = {"REPOSITORIES": _repositories}


def _room_for(lines: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that reserves this many tokens of a budget for the lines of ours around a text."""
    return lambda given: {**given, "budget": max(given["budget"] - lines, given["budget"] // 2, 1)}


def _begun_text(repository: Repository) -> str:
    name = one_line(repository.name)
    return f"'{name}' is being indexed (job {repository.job}); what is read can be found at once."


def _upload_text(upload: Upload) -> str:
    parts = [f"{len(upload.stored)} stored"] if upload.stored or not upload.removed else []
    parts += [f"{upload.unchanged} unchanged"] if upload.unchanged else []
    parts += [f"{len(upload.removed)} removed"] if upload.removed else []
    parts += [f"{len(upload.skipped)} not stored (structured content says why)"] if upload.skipped else []
    coming = f"; being indexed (job {upload.job})" if upload.job else ""
    return f"'{one_line(upload.repository)}': {', '.join(parts)}{coming}."


retrieve_document = tool_of(DOCUMENTS["retrieve_document"], retrieval_text, adjust=_room_for(BORDERS))
retrieve_documents = tool_of(DOCUMENTS["retrieve_documents"], multi_retrieval_text, adjust=_room_for(BORDERS))
search_documents = tool_of(DOCUMENTS["search_documents"], passages_text)
read_document = tool_of(DOCUMENTS["read_document"], page_text, adjust=_room_for(PAGE_MARK))
list_repositories = tool_of(DOCUMENTS["list_repositories"], repositories_text)
index_documents = tool_of(DOCUMENTS["index_documents"], _begun_text)
refresh_repository = tool_of(DOCUMENTS["refresh_repository"], _begun_text)
remove_repository = tool_of(DOCUMENTS["remove_repository"], removed_text)
upload_document = tool_of(DOCUMENTS["upload_document"], _upload_text)
remove_upload = tool_of(DOCUMENTS["remove_upload"], _upload_text)
