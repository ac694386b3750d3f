"""The verbs of the audit log: which statements were asked of databases, and whether the log is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind, Request

if TYPE_CHECKING:
    from thresher.audit import AuditPage, Verification

AUDIT = Kind("audit", "thresher.audit", remote=False)


@AUDIT.verb("read")
async def sql_activity_log(
    request: Request,
    connection: Annotated[str, Doc("All unless given")] = "",
    since: Annotated[str, Doc("ISO date or time")] = "",
    actor: Annotated[str, Doc("Of one user")] = "",
    text: Annotated[str, Doc("Part of the SQL")] = "",
    allowed: Annotated[bool | None, Doc("false: only refused statements")] = None,
    limit: Annotated[int, Ge(1), Le(500)] = 50,
    cursor: Annotated[str, Doc("Of the last answer: what it left out")] = "",
) -> AuditPage:
    """Which statements were asked, by whom, what was decided and what came of them; newest first.

    Raises:
        InvalidInput: The time or the cursor is not valid.
    """
    return await request.services.audit.entries(
        request.caller,
        since=since,
        connection=connection,
        actor=actor,
        allowed=allowed,
        text=text,
        limit=limit,
        cursor=cursor,
    )


@AUDIT.verb("read")
async def verify_audit(
    request: Request, expect: Annotated[str, Doc("A head of an earlier check: it must still be there")] = ""
) -> Verification:
    """Whether anything in the whole log was changed, left out, added or cut.

    Raises:
        InvalidInput: The head is not valid.
        NotAllowed: The caller is one user of the tenant, who sees only their own lines.
    """
    return await request.services.audit.verify_for(request.caller, expect=expect)
