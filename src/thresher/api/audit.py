"""`/v1/audit`: what was asked of databases, what was decided and what came of it."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.audit import AuditLog, Filters, Outcome, check_all_seen


class AttemptResponse(BaseModel):
    """What was asked and decided."""

    actor: str = Field(description="Who: the user; empty where users are not told apart.")
    client: str = Field(description="The client's name and version, if known.")
    model: str = Field(description="If known.")
    thread: str = Field(description="The conversation or session, if known.")
    connection: str = Field(description="Name of the connection, or of the server behind the gateway.")
    dialect: str
    sql: str = Field(description="The statement; of one above 100,000 characters the beginning and its SHA-256.")
    allowed: bool
    rule: str = Field(description="What it broke; empty where it was allowed.")
    tool: str = Field(description="The tool that was called.")


class EndedResponse(BaseModel):
    """What came of it."""

    outcome: Outcome
    rows: int
    ms: float
    error: str = Field(description="The database's message, without credentials.")


class EntryResponse(BaseModel):
    """A statement."""

    id: int = Field(description="Its place in the chain.")
    at: dt.datetime
    attempt: AttemptResponse
    ended: EndedResponse | None = Field(description="null: refused, still running, or its process died.")
    trace_id: str


class EntriesResponse(BaseModel):
    """Statements, the newest first."""

    entries: list[EntryResponse]
    next: str = Field(description="The cursor of the next page; empty where there is none.")


class ProblemResponse(BaseModel):
    """Something that the check found."""

    kind: str
    id: int = Field(description="The place of the link; 0: the log as a whole.")
    text: str
    fatal: bool = Field(description="Whether the log was tampered with.")


class VerificationResponse(BaseModel):
    """Whether the log is whole."""

    sound: bool = Field(description="Whether nothing was tampered with.")
    links: int
    entries: int = Field(description="How many of the links are decisions.")
    head: str = Field(description="Place and hash of the last link: give it as `expect` later.")
    anchored: int = Field(description="The last link that is also noted outside of the database.")
    problems: list[ProblemResponse]


def audit_router(audit: AuditLog) -> APIRouter:
    """The routes.

    Args:
        audit: Answers them.
    """
    router = APIRouter(prefix="/v1/audit", tags=["databases"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.get("")
    async def sql_activity_log(  # pyright: ignore[reportUnusedFunction] - a route
        caller: Asking, filters: Annotated[_Wanted, Query()]
    ) -> EntriesResponse:
        """Statements, newest first: a user's own, or all of the tenant's for a key of the tenant as a whole."""
        given = filters.model_dump(exclude={"limit", "cursor"})
        page = await audit.entries(caller, Filters(**given), limit=filters.limit, cursor=filters.cursor)
        return EntriesResponse.model_validate(page, from_attributes=True)

    @router.get("/verification")
    async def verify_audit(  # pyright: ignore[reportUnusedFunction] - a route
        caller: Asking, expect: Annotated[str, Query(description="A head of an earlier check.")] = ""
    ) -> VerificationResponse:
        """Read the whole log and say whether anything was changed, left out, added or cut."""
        check_all_seen(caller)
        found = await audit.verify(caller.tenant, expect=expect)
        return VerificationResponse.model_validate(found, from_attributes=True)

    return router


class _Wanted(BaseModel, extra="forbid"):
    """Which statements."""

    since: dt.datetime | None = Field(None, description="Decided then or later; UTC where it has no zone.")
    connection: str = Field("", description="Of one connection or server.")
    actor: str = Field("", description="Of one user.")
    allowed: bool | None = Field(None, description="Only allowed, or only refused ones.")
    text: str = Field("", description="Part of the statement.", max_length=1_000)
    limit: int = Field(50, ge=1, le=500)
    cursor: str = Field("", description="From the page before.")
