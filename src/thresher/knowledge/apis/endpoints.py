"""Finds the operation that is asked for, and explains it.

Invariant: an operation of a provider that is switched off is refused, by whatever name it is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from thresher.core import Caller, InvalidInput, NotFound, Why
from thresher.knowledge.apis.details import explain_endpoint
from thresher.knowledge.apis.heads import Brief
from thresher.knowledge.apis.listing import named
from thresher.knowledge.apis.lookup import by_operation_id, by_path
from thresher.knowledge.apis.models import DEFAULT_BUDGET, EndpointAnswer, FoundEndpoint
from thresher.knowledge.apis.shelf import Located, Shelf
from thresher.knowledge.apis.wording import title_of
from thresher.openapi import Description, Operation

_ASK: Final = "Give endpoint_id, or provider, method and path, or operation_id."


@dataclass(frozen=True, slots=True)
class Asked:
    """How an operation is named; what is empty is not said.

    Attributes:
        endpoint_id: As search gives it.
        provider: Name or alias.
        method: Of any case.
        path: As the description writes it, or as it is called.
        operation_id: As the description writes it.
        version: Label of a description.
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
        shelf: Where they are.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def explain(self, caller: Caller, asked: Asked, budget: int = DEFAULT_BUDGET) -> EndpointAnswer:
        """Everything that is needed to call an operation.

        Args:
            caller: Who asks.
            asked: Which.
            budget: Tokens of the content at most.

        Raises:
            InvalidInput: It is not said which, several go by what is said, or the budget is out of bounds.
            NotFound: There is none, or its provider is switched off.
        """
        located = await self.locate(caller, asked)
        description = await self._shelf.description(caller.tenant, located.version)
        operation = _operation(description, located.brief)
        return await asyncio.to_thread(
            explain_endpoint,
            description,
            operation,
            brief_of(located),
            base_url=located.provider.base_url,
            budget=budget,
        )

    async def locate(self, caller: Caller, asked: Asked) -> Located:
        """The operation that is asked for.

        Raises:
            As `explain` does.
        """
        if asked.endpoint_id.strip():
            return await self._by_id(caller, asked.endpoint_id.strip())
        if not asked.path.strip() and not asked.operation_id.strip():
            raise InvalidInput("It is not said which endpoint is meant.", hint=_ASK)
        located = await self._candidates(caller, asked)
        try:
            return _chosen([one for one in located if one.provider.active], asked)
        except NotFound:
            if name := _provider_switched_off([one for one in located if not one.provider.active], asked):
                raise _switched_off(name) from None
            raise

    async def _by_id(self, caller: Caller, endpoint_id: str) -> Located:
        found = await self._shelf.located(caller, endpoint_id)
        if not found:
            raise NotFound(
                f"There is no endpoint '{endpoint_id[:100]}'.",
                hint="A search of the APIs gives ids; or ask by provider, method and path.",
            )
        active = [one for one in found if one.provider.active]
        own = [one for one in active if one.provider.owner is not None]
        if not active:
            raise _switched_off(found[0].provider.name)
        return (own or active)[0]

    async def _candidates(self, caller: Caller, asked: Asked) -> Sequence[Located]:
        names: list[str] = []
        if asked.provider.strip():
            head = named(await self._shelf.directory(caller), asked.provider)
            if not head.active:
                raise _switched_off(head.name)
            if asked.version and asked.version not in [one.label for one in head.versions]:
                labels = ", ".join(one.label for one in head.versions) or "none yet"
                raise NotFound(f"'{head.name}' has no version '{asked.version[:100]}'.", hint=f"It has {labels}.")
            names = [head.name]
        return await self._shelf.candidates(caller, names, version=asked.version)


def brief_of(located: Located) -> FoundEndpoint:
    """An operation as search shows it."""
    brief = located.brief
    return FoundEndpoint(
        id=brief.endpoint,
        title=title_of(brief.method, brief.path, brief.operation_id, brief.summary, brief.description),
        description=brief.description,
        provider=located.provider.name,
        version=located.version.label,
        method=brief.method,
        path=brief.path,
        operation_id=brief.operation_id,
        tags=brief.tags,
        deprecated=brief.deprecated,
        relevance=1.0,
        why=Why("core"),
        tips=brief.tips,
    )


def _operation(description: Description, brief: Brief) -> Operation:
    found = next((one for one in description.operations if one.key == brief.key), None)
    if found is None:
        raise NotFound(f"'{brief.key}' is no longer in the description.", hint="Search again.")
    return found


def _chosen(located: Sequence[Located], asked: Asked) -> Located:
    if asked.operation_id.strip():
        return by_operation_id(located, asked.operation_id.strip())
    return by_path(located, asked.method, asked.path)


def _provider_switched_off(located: Sequence[Located], asked: Asked) -> str:
    """The provider that has what is asked for; empty where none has, or several operations are meant."""
    try:
        return _chosen(located, asked).provider.name
    except (NotFound, InvalidInput):
        return ""


def _switched_off(name: str) -> NotFound:
    hint = f"Switch it on with `thresher apis enable {name}`, or use another one."
    return NotFound(f"The API '{name}' is switched off.", hint=hint)
