"""`/v1/tools`: the verbs of the tools kind, with the names and arguments that they have on every face."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.api.models import (
    ArmScore,
    ConsentResponse,
    ConsentsResponse,
    FindRequest,
    FindResponse,
    FoundTool,
    Reasons,
    RefreshRequest,
    RefreshResponse,
)
from thresher.core import Arm, Caller, InvalidInput, NotFound, Tool
from thresher.knowledge.tools import FindResult, Refreshed, ToolService, total_of
from thresher.knowledge.tools import FoundTool as Found


def tools_router(tools: ToolService) -> APIRouter:
    """The routes.

    Args:
        tools: Answers them.
    """
    router = APIRouter(prefix="/v1/tools", tags=["tools"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/find")
    async def find_tools(body: FindRequest, caller: Asking) -> FindResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Pick the tools that a message needs: `find_tools` of MCP, for programs that talk to the model themselves."""
        found = await tools.find_tools(caller, **body.model_dump(), include_unchosen=True)
        return _found(found, await _definitions(tools, caller, [tool.name for tool in found.tools]))

    @router.post("/refresh")
    async def refresh(body: RefreshRequest, caller: Asking) -> RefreshResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """List servers again and index what changed; answers when that is done."""
        if body.tool is not None and body.servers is not None:
            raise InvalidInput("Give servers or tool, not both.", hint="A tool's server is known.")
        if body.tool is not None:
            return _refreshed(await tools.refresh(caller, tool=body.tool))
        wanted: list[str | None] = list(dict.fromkeys(body.servers)) if body.servers is not None else [None]
        return _refreshed(*await asyncio.gather(*(tools.refresh(caller, server) for server in wanted)))

    @router.get("/consents")
    async def list_consents(caller: Asking) -> ConsentsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The tools of servers that are not trusted whose calls wait for you no more, since you said so in a chat."""
        found = await tools.consents.list(caller)
        return ConsentsResponse(consents=[ConsentResponse.model_validate(one) for one in found])

    @router.delete("/consents/{tool}", status_code=HTTPStatus.NO_CONTENT)
    async def forget_consent(  # pyright: ignore[reportUnusedFunction] - a route
        tool: Annotated[str, Path(description="The tool's name.")], caller: Asking
    ) -> Response:
        """Be asked again before the tool is called."""
        await tools.consents.forget(caller, tool)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


async def _definitions(tools: ToolService, caller: Caller, names: list[str]) -> dict[str, Tool]:
    try:
        described = await tools.describe_tools(caller, names) if names else None
    except NotFound:  # all were removed just now
        described = None
    return {item.name: item.tool for item in described.tools} if described else {}


def _found(found: FindResult, definitions: dict[str, Tool]) -> FindResponse:
    return FindResponse(
        tools=[_tool(tool, definitions.get(tool.name)) for tool in (*found.tools, *found.unchosen)],
        total_searched=found.total_searched,
        duration_ms=round(found.duration_ms, 3),
        embedding_generated=found.embedding_generated,
        abstained=found.abstained,
        probability=found.probability,
        degraded=found.degraded,
        fallback=found.fallback,
        selection=found.selection,  # pyright: ignore[reportArgumentType] - validated: one of the three
        left_out=found.left_out,
        held_back=list(found.held_back),
        trace_id=found.trace_id,
    )


def _tool(found: Found, definition: Tool | None) -> FoundTool:
    why = found.why
    return FoundTool(
        name=found.name,
        server=found.tool.server,
        title=(definition and definition.title) or None,
        description=(definition and definition.description) or None,
        score=found.score,
        similarity=why.dense.score,
        source=why.source,  # pyright: ignore[reportArgumentType] - validated: one of those
        why=Reasons(semantic=_arm(why.dense), lexical=_arm(why.lexical), terms=list(why.terms), query=why.query),
        line=found.line,
        input_schema=dict(definition.input_schema) if definition else None,
    )


def _arm(arm: Arm) -> ArmScore | None:
    return None if arm.rank is None else ArmScore(rank=arm.rank, score=arm.score)


def _refreshed(*done: Refreshed) -> RefreshResponse:
    return RefreshResponse.model_validate(total_of(done), from_attributes=True)
