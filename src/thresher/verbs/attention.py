"""Gathers what waits for a person from the listings of the kinds, for `verbs.insight`.

Invariant: a listing that fails is named, and takes nothing from the others; no server is asked.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final, TypeVar

from thresher.core import ThresherError
from thresher.insight import Attention, AttentionItem
from thresher.jobs import Job
from thresher.knowledge.apis import Provider
from thresher.knowledge.databases import Connection
from thresher.knowledge.documents import Repository
from thresher.knowledge.intents import Packs
from thresher.knowledge.tools import HeldTool, ServerInfo
from thresher.store import shared_reads
from thresher.verbs.request import Request

_T = TypeVar("_T")
MOST: Final = 200
_JOBS: Final = 200
"""The newest jobs, among which failed ones are looked for."""
_ORDER: Final = ("poisoned", "changed", "untrusted", "sign-in", "failed", "stale")
_LONG_AGO: Final = dt.datetime.min.replace(tzinfo=dt.UTC)


async def attention(request: Request) -> Attention:
    """See the verb."""
    services, caller = request.services, request.caller
    listings = {
        "tools": _viewed(services.tools.held_tools(caller), _held),
        "packs": _viewed(services.intents.packs(caller), _packs),
        "servers": _viewed(services.tools.list_servers(caller), _servers),
        "repositories": _viewed(services.documents.list_repositories(caller), _repositories),
        "apis": _viewed(services.apis.list_providers(caller), _apis),
        "connections": _viewed(services.databases.list_connections(caller), _connections),
        "jobs": _viewed(services.jobs.list(caller, limit=_JOBS), _jobs),
    }
    with shared_reads():
        found = await asyncio.gather(*listings.values())
    items = [item for part in found if not isinstance(part, str) for item in part]
    unread = {name: part for name, part in zip(listings, found, strict=True) if isinstance(part, str)}
    items.sort(key=lambda one: one.since or _LONG_AGO, reverse=True)
    items.sort(key=lambda one: _ORDER.index(one.state))
    return Attention(tuple(items[:MOST]), len(items), unread)


async def _viewed(listing: Awaitable[_T], view: Callable[[_T], Iterable[AttentionItem]]) -> list[AttentionItem] | str:
    """What a listing shows, or why it failed."""
    try:
        return list(view(await listing))
    except ThresherError as error:
        return error.message


def _held(rows: Iterable[HeldTool]) -> Iterator[AttentionItem]:
    why = {
        "changed": "has another definition than the one that was in use",
        "poisoned": "has a definition that the scanner calls dangerous",
    }
    for tool in rows:
        if tool.reason in why:
            state = "poisoned" if tool.reason == "poisoned" else "changed"
            sentence = f"The tool '{tool.name}' {why[tool.reason]}; it is held back."
            yield AttentionItem("tool", tool.name, state, sentence, "Look at it: thresher tools held.", tool.since)


def _packs(packs: Packs) -> Iterator[AttentionItem]:
    why = {
        "untrusted": "comes from a project and is not used until it is trusted",
        "changed": "has changed since it was trusted, and is not used",
        "poisoned": "has text that the scanner calls dangerous, and is not used",
    }
    for held in packs.inert:
        if held.reason != "shadowed":
            sentence = f"The pack '{held.pack.name}' {why[held.reason]}."
            yield AttentionItem("pack", held.pack.name, held.reason, sentence, held.hint, None)


def _servers(rows: Iterable[ServerInfo]) -> Iterator[AttentionItem]:
    for server in rows:
        if not server.enabled or not server.error:
            continue
        if "needs a sign-in" in server.error:
            hint = f"Run: thresher servers login {server.name}."
            sentence = f"The server '{server.name}' needs a sign-in."
            yield AttentionItem("server", server.name, "sign-in", sentence, hint, server.listed_at)
        else:
            state = "stale" if server.state == "stale" else "failed"
            kept = "; its last tools are kept" if state == "stale" else ""
            sentence = f"The server '{server.name}' cannot be listed{kept}: {server.error}"
            hint = f"Try again: thresher servers refresh {server.name}."
            yield AttentionItem("server", server.name, state, sentence, hint, server.listed_at)


def _repositories(rows: Iterable[Repository]) -> Iterator[AttentionItem]:
    for one in rows:
        if one.state == "failed" or one.problem:
            state = "stale" if one.indexed_at else "failed"
            sentence = f"The repository '{one.name}' could not be indexed: {one.problem or 'see its job'}"
            hint = f"Try again: thresher docs refresh {one.name}."
            yield AttentionItem("repository", one.name, state, sentence, hint, one.indexed_at)


def _apis(rows: Iterable[Provider]) -> Iterator[AttentionItem]:
    for one in rows:
        for version in one.versions:
            if version.failure and one.active:
                state = "stale" if version.synced_at else "failed"
                sentence = f"The API '{one.name}' ({version.label}) could not be read: {version.failure}"
                hint = f"Try again: thresher apis sync {one.name}."
                yield AttentionItem("api", one.name, state, sentence, hint, version.synced_at)


def _connections(rows: Iterable[Connection]) -> Iterator[AttentionItem]:
    for one in rows:
        if one.problem:
            state = "stale" if one.schema_at else "failed"
            sentence = f"The schema of '{one.name}' could not be read: {one.problem}"
            hint = f"Try again: thresher db refresh {one.name}."
            yield AttentionItem("connection", one.name, state, sentence, hint, one.schema_at)


def _jobs(rows: Iterable[Job]) -> Iterator[AttentionItem]:
    seen: set[tuple[str, int]] = set()
    for job in rows:  # the newest first
        if (job.task, job.subject) in seen:
            continue
        seen.add((job.task, job.subject))
        if job.state == "failed":
            sentence = f"Job {job.id} ({job.task}) failed: {job.error}"
            yield AttentionItem("job", str(job.id), "failed", sentence, job.hint, job.ended_at)
