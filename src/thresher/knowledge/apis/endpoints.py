"""Finds the operation that a caller names, and explains it.

Invariant: an operation of an inactive provider is refused, however it is named.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final
from urllib.parse import unquote

from thresher.core import Caller, InvalidInput, NotFound, Why, did_you_mean, nearest
from thresher.knowledge.apis.cache import DescriptionCache, LocatedOperation
from thresher.knowledge.apis.explanation import explain_endpoint
from thresher.knowledge.apis.heads import Brief
from thresher.knowledge.apis.models import DEFAULT_BUDGET, EndpointAnswer, FoundEndpoint
from thresher.knowledge.apis.naming import find_provider
from thresher.openapi import Description, Operation

_ASK: Final = "Give endpoint_id, or provider, method and path, or operation_id."


@dataclass(frozen=True, slots=True)
class EndpointReference:
    """How a caller names an operation; empty fields are ignored.

    Attributes:
        endpoint_id: Public id, as search returns it.
        provider: Name or alias.
        method: In any case.
        path: As the description writes it, or as it is called.
        operation_id: As the description writes it.
        version: Label of a version.
    """

    endpoint_id: str = ""
    provider: str = ""
    method: str = ""
    path: str = ""
    operation_id: str = ""
    version: str = ""


class Endpoints:
    """Explains operations.

    Args:
        cache: Where operations and descriptions are found.
    """

    def __init__(self, cache: DescriptionCache) -> None:
        self._cache = cache

    async def explain(
        self, caller: Caller, reference: EndpointReference, budget: int = DEFAULT_BUDGET
    ) -> EndpointAnswer:
        """Explain how to call an operation.

        Args:
            caller: The tenant and user.
            reference: The operation.
            budget: Maximum tokens of the content.

        Raises:
            InvalidInput: The reference is empty or ambiguous, or the budget is out of range.
            NotFound: There is no such operation, or its provider is inactive.
        """
        located = await self.locate(caller, reference)
        description = await self._cache.description(caller.tenant, located.version)
        operation = operation_of(description, located.brief)
        return await asyncio.to_thread(
            explain_endpoint,
            description,
            operation,
            found_endpoint(located, Why("core")),
            base_url=located.provider.base_url,
            location=located.version.source,
            budget=budget,
        )

    async def locate(self, caller: Caller, reference: EndpointReference) -> LocatedOperation:
        """Find the operation that a reference names.

        Raises:
            InvalidInput: The reference is empty or ambiguous.
            NotFound: There is no such operation, or its provider is inactive.
        """
        if reference.endpoint_id.strip():
            return await self._by_id(caller, reference.endpoint_id.strip())
        if not reference.path.strip() and not reference.operation_id.strip():
            raise InvalidInput("No endpoint is named.", hint=_ASK)
        located = await self._candidates(caller, reference)
        try:
            return _chosen([one for one in located if one.provider.active], reference)
        except NotFound:
            if name := _provider_switched_off([one for one in located if not one.provider.active], reference):
                raise _switched_off(name) from None
            raise

    async def _by_id(self, caller: Caller, endpoint_id: str) -> LocatedOperation:
        found = await self._cache.located(caller, endpoint_id)
        if not found:
            raise NotFound(
                f"There is no endpoint '{endpoint_id[:100]}'.",
                hint="Search the APIs for ids, or name provider, method and path.",
            )
        active = [one for one in found if one.provider.active]
        own = [one for one in active if one.provider.owner is not None]
        if not active:
            raise _switched_off(found[0].provider.name)
        return (own or active)[0]

    async def _candidates(self, caller: Caller, reference: EndpointReference) -> Sequence[LocatedOperation]:
        names: list[str] = []
        if reference.provider.strip():
            head = find_provider(await self._cache.directory(caller), reference.provider)
            if not head.active:
                raise _switched_off(head.name)
            if reference.version and reference.version not in [one.label for one in head.versions]:
                labels = ", ".join(one.label for one in head.versions) or "none yet"
                raise NotFound(f"'{head.name}' has no version '{reference.version[:100]}'.", hint=f"It has {labels}.")
            names = [head.name]
        return await self._cache.candidates(caller, names, version=reference.version)


def found_endpoint(located: LocatedOperation, why: Why) -> FoundEndpoint:
    """Return an operation in the form of a search result, with its whole stored description."""
    brief = located.brief
    return FoundEndpoint(
        id=brief.endpoint,
        title=brief.title,
        description=brief.description,
        provider=located.provider.name,
        version=located.version.label,
        method=brief.method,
        path=brief.path,
        operation_id=brief.operation_id,
        tags=brief.tags,
        deprecated=brief.deprecated,
        relevance=1.0,
        why=why,
        tips=brief.tips,
    )


def operation_of(description: Description, brief: Brief) -> Operation:
    """Return a stored operation as its description has it.

    Raises:
        NotFound: The description no longer has it.
    """
    found = next((one for one in description.operations if one.key == brief.key), None)
    if found is None:
        raise NotFound(f"'{brief.key}' is no longer in the description.", hint="Search again.")
    return found


def _chosen(located: Sequence[LocatedOperation], reference: EndpointReference) -> LocatedOperation:
    if reference.operation_id.strip():
        return by_operation_id(located, reference.operation_id.strip())
    return by_path(located, reference.method, reference.path)


def _provider_switched_off(located: Sequence[LocatedOperation], reference: EndpointReference) -> str:
    """Return the inactive provider that has the operation; empty if there is none or the reference is ambiguous."""
    try:
        return _chosen(located, reference).provider.name
    except (NotFound, InvalidInput):
        return ""


def _switched_off(name: str) -> NotFound:
    hint = f"Switch it on with `thresher apis enable {name}`, or use another one."
    return NotFound(f"The API '{name}' is switched off.", hint=hint)


_NAMED: Final = 10
_HINT: Final = "Search the APIs for what it does, or list the operations of a tag."
_PLACE: Final = re.compile(r"\{[^{}]*\}")
_NONE: Final = (-1, 0)
_LIKE: Final = 0.75
"""Similarity from which a name is suggested."""


def by_operation_id(located: Sequence[LocatedOperation], operation_id: str) -> LocatedOperation:
    """Find the operation with an operationId.

    Raises:
        NotFound: There is none; the hint suggests similar ones.
        InvalidInput: There are several; the hint lists them.
    """
    found = [one for one in located if one.brief.operation_id == operation_id]
    found = found or [one for one in located if one.brief.operation_id.lower() == operation_id.lower()]
    if not found:
        near = _near(operation_id, {one.brief.operation_id for one in located})
        raise NotFound(
            f"There is no operation with the operationId '{operation_id[:200]}'.", hint=f"{near} {_HINT}".strip()
        )
    return _only(found, f"the operationId '{operation_id[:200]}'")


def by_path(located: Sequence[LocatedOperation], method: str, path: str) -> LocatedOperation:
    """Find the operation with a method and a path, as the description writes the path or as it is called.

    Args:
        located: The candidates.
        method: In any case; may be empty if the path has only one.
        path: `/issue/{id}`, `/issue/ABC-1`, or a whole URL.

    Raises:
        NotFound: There is none; the hint suggests similar ones.
        InvalidInput: There are several; the hint lists them.
    """
    wanted = method.strip().upper()
    found = _of_path(located, path.strip())
    there = [one for one in found if wanted in {"", one.brief.method.upper()}]
    if there:
        return _only(there, f"'{f'{wanted} {path[:200]}'.strip()}'")
    if found:
        methods = ", ".join(sorted({one.brief.method for one in found}))
        raise NotFound(f"'{path[:200]}' has no method {wanted[:20]}.", hint=f"It has {methods}.")
    keys = {one.brief.key if wanted else one.brief.path for one in located}
    near = _near(f"{wanted} {path[:300]}".strip(), keys)
    raise NotFound(f"There is no operation '{f'{wanted} {path[:200]}'.strip()}'.", hint=f"{near} {_HINT}".strip())


def _near(name: str, known: Iterable[str]) -> str:
    """Return a sentence that suggests similar names; empty if there are none."""
    close = nearest(name[:300], known)
    return did_you_mean(tuple(one for one in close if SequenceMatcher(None, name.lower(), one.lower()).ratio() > _LIKE))


def _of_path(located: Sequence[LocatedOperation], path: str) -> list[LocatedOperation]:
    """Return the operations with this exact path, or else those whose template fits it best."""
    exact = [one for one in located if one.brief.path == path]
    if exact:
        return exact
    called = _segments(_path_of(path))
    best: list[LocatedOperation] = []
    most = _NONE
    for one in located:
        for segments in _forms(called, one):
            fit = _fit(_segments(one.brief.path), segments)
            if fit > most:
                most, best = fit, []
            if fit == most and fit != _NONE:
                best.append(one)
                break
    return best


def _path_of(text: str) -> str:
    """Return the path of a path or URL, without query and fragment."""
    if "://" in text:
        text = f"/{text.partition('://')[2].partition('/')[2]}"
    return re.split(r"[?#]", text, maxsplit=1)[0]


def _segments(path: str) -> list[str]:
    return path.strip("/").split("/")


def _forms(called: list[str], one: LocatedOperation) -> Iterable[list[str]]:
    """Yield the path as it is, and without each base path of the API that it starts with."""
    yield called
    for server in (*one.version.servers, one.provider.base_url):
        base = _segments(_path_of(server)) if "/" in server else []
        if base and base != [""] and called[: len(base)] == base and len(called) > len(base):
            yield called[len(base) :]


def _fit(template: Sequence[str], called: Sequence[str]) -> tuple[int, int]:
    """Count the equal segments, and the literal characters of the others; (-1, 0) if the template does not match."""
    if len(template) != len(called):
        return _NONE
    same = letters = 0
    for mine, given in zip(template, called, strict=True):
        if mine.lower() == given.lower():
            same += 1
            continue
        parts = _PLACE.split(mine.lower())
        if len(parts) == 1 or not _fills(parts, unquote(given).lower()):
            return _NONE
        letters += sum(map(len, parts))
    return same, letters


def _fills(parts: Sequence[str], given: str) -> bool:
    """Return whether a segment contains these literals in order, with at least one character between them.

    Each literal is matched at its first occurrence, so the time is linear in the length of the segment.
    """
    first, *middle, last = parts
    if not given.startswith(first):
        return False
    at = len(first)
    for part in middle:
        found = given.find(part, at + 1)
        if found < 0:
            return False
        at = found + len(part)
    return len(given) - len(last) > at and given.endswith(last)


def _only(found: Sequence[LocatedOperation], what: str) -> LocatedOperation:
    if len(found) == 1:
        return found[0]
    listed = [f"{one.brief.endpoint} ({one.provider.name} {one.version.label}: {one.brief.key})" for one in found]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    raise InvalidInput(
        f"{len(found)} operations have {what}.",
        hint=f"Use an id, or name provider, version and method: {'; '.join(listed[:_NAMED])}{more}.",
    )
