"""Verbs of APIs: providers, and what stands in their descriptions.

Invariant: the same names and arguments as on every other face; a source is read on this machine, so a path must be
absolute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.app import App
from thresher.core import Caller, InvalidInput, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.knowledge.apis import improvements_markdown, in_form

_ADD = frozenset({"name", "sources", "display_name", "aliases", "base_url", "version", "replace"})
_SYNC = frozenset({"name", "version"})
_SEARCH = frozenset({"query", "providers", "methods", "tags", "limit", "cursor", "rerank"})
_ENDPOINT = frozenset({"endpoint_id", "provider", "method", "path", "operation_id", "version", "budget"})
_USAGE = frozenset({"provider", "time_range", "metrics"})
_IMPROVE = frozenset(
    {"provider", "endpoint_id", "version", "feedback_type", "min_severity", "format", "patch", "limit", "cursor"}
)
_ANY_LENGTH = 64 * 1024 * 1024
"""Of a patch: the command that asks is on this machine, and writes it into a file."""


def api_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work.
    """
    verbs = _Apis(app, caller)
    kept = (verbs.add_api, verbs.sync_api, verbs.set_api_active, verbs.remove_api, verbs.list_api_providers)
    asked = (verbs.search_api_docs, verbs.get_api_endpoint, verbs.analyze_api_usage, verbs.suggest_api_improvements)
    return {verb.__name__: verb for verb in (*kept, *asked)}


class _Apis:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller) -> None:
        self._apis = app.services.apis
        self._readiness = app.services.context.readiness
        self._caller = caller

    async def add_api(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        provider = await self._apis.add(self._caller, **_known(arguments, _ADD))
        self._readiness.look_again()
        return plain(provider)

    async def sync_api(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._apis.sync(self._caller, **_known(arguments, _SYNC)))

    async def set_api_active(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        provider = await self._apis.set_active(self._caller, str(arguments["name"]), bool(arguments["active"]))
        self._readiness.look_again()
        return plain(provider)

    async def remove_api(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        given = _known(arguments, _SYNC)
        await self._apis.remove(self._caller, **given)
        self._readiness.look_again()
        return {"removed": " ".join(str(part) for part in given.values() if part)}

    async def list_api_providers(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._apis.list_providers(self._caller))

    async def search_api_docs(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._apis.search(self._caller, **_known(arguments, _SEARCH)))

    async def get_api_endpoint(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._apis.endpoint(self._caller, **_known(arguments, _ENDPOINT)))

    async def analyze_api_usage(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._apis.usage(self._caller, **_known(arguments, _USAGE)))

    async def suggest_api_improvements(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        given = _known(arguments, _IMPROVE)
        kind, form = given.pop("feedback_type", "all"), given.pop("format", "json")
        kinds = () if kind == "all" else (kind,)
        wanted: Any = given.pop("patch", "none")
        found = await self._apis.improvements(self._caller, **given, feedback_types=kinds, patch=wanted != "none")
        answer = in_form(found, wanted, _ANY_LENGTH)
        return {**plain(answer), "markdown": improvements_markdown(answer) if form == "markdown" else ""}


def _known(arguments: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    if unknown := sorted(set(arguments) - known):
        raise InvalidInput(f"There is no argument '{unknown[0]}'.", hint=f"Known: {', '.join(sorted(known))}.")
    return dict(arguments)
