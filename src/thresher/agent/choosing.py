"""Chooses which kinds of things a question is put to, and which tools answer it there.

Invariant: pure; a kind whose tools the caller does not see is never chosen.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from typing import Final, TypeAlias

from thresher.agent import catalogue, endpoints, passages, schemas
from thresher.agent.inquiries import Findings, Inquiry
from thresher.agent.records import Call, IntentType
from thresher.agent.toolbox import Outcome, Toolbox

Recipe: TypeAlias = Callable[[Toolbox, Inquiry], Awaitable[Findings]]

APIS, DOCUMENTS, DATABASES, TOOLS = "apis", "documents", "databases", "tools"
_ENTRY: Final[Mapping[str, str]] = {
    APIS: endpoints.SEARCH,
    DOCUMENTS: passages.SEARCH,
    DATABASES: schemas.CONNECTIONS,
    TOOLS: catalogue.FIND,
}
"""The tool that shows that a kind has something to ask."""
_READERS: Final[Mapping[str, Callable[[Outcome], Findings]]] = {
    endpoints.SEARCH: endpoints.found_endpoints,
    endpoints.READ: endpoints.read,
    endpoints.IMPROVE: endpoints.reviewed,
    passages.SEARCH: passages.found_passages,
    passages.READ: passages.read,
    schemas.SCHEMA: schemas.shown,
    catalogue.FIND: catalogue.found_tools,
    catalogue.DESCRIBE: catalogue.described,
}
_RECIPES: Final[Mapping[str, Mapping[IntentType, Recipe]]] = {
    APIS: {
        "search": endpoints.find_endpoints,
        "endpoint_info": endpoints.read_endpoint,
        "tutorial": endpoints.read_endpoint,
        "analytics": endpoints.report_usage,
    },
    DOCUMENTS: dict.fromkeys(("search", "endpoint_info", "tutorial"), passages.find_passages),
    DATABASES: {
        **dict.fromkeys(("search", "endpoint_info", "tutorial"), schemas.find_tables),
        "analytics": schemas.report_statements,
    },
    TOOLS: {
        "search": catalogue.find_tools,
        "endpoint_info": catalogue.describe_tool,
        "tutorial": catalogue.find_tools,
    },
}


def installed(tools: Container[str]) -> tuple[str, ...]:
    """The kinds that have something to ask, by the tools that a caller sees."""
    return tuple(kind for kind, entry in _ENTRY.items() if entry in tools)


def kinds_of(inquiry: Inquiry, packs: Sequence[str], there: Sequence[str]) -> tuple[str, ...]:
    """The kinds to ask first, best first; all that may know where nothing points to some.

    Args:
        inquiry: The question.
        packs: The packs that it asks for, best first; one that stands for no kind stands for tools.
        there: The kinds that have something to ask.
    """
    able = [kind for kind in there if inquiry.type in _RECIPES[kind]]
    if inquiry.cues.names_call and APIS in able:
        return (APIS,)
    routed = dict.fromkeys(pack if pack in _ENTRY else TOOLS for pack in packs)
    if inquiry.type == "analytics" and APIS in able and DATABASES not in routed:
        return (APIS,)
    return tuple(kind for kind in routed if kind in able) or others(inquiry, (), there)


def recipe(kind: str, wanted: IntentType) -> Recipe:
    """What answers a wish in a kind that has an answer for it."""
    return _RECIPES[kind][wanted]


def others(inquiry: Inquiry, asked: Sequence[str], there: Sequence[str]) -> tuple[str, ...]:
    """The kinds that may know and were not asked; a schema, which always has something to show, about data alone."""
    able = (kind for kind in there if kind not in asked and inquiry.type in _RECIPES[kind])
    return tuple(kind for kind in able if kind != DATABASES or inquiry.cues.data)


async def follow(box: Toolbox, call: Call) -> Findings:
    """What a call says that a former answer named: to read one of its results, or to go on with it."""
    return _READERS[call.tool](await box.call(call))
