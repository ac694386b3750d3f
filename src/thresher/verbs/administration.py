"""The verbs that run an installation: jobs, the audit log, callers' keys, the owner's components, and kept results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind

if TYPE_CHECKING:
    from thresher.audit import AuditPage, Verification
    from thresher.jobs import Job
    from thresher.knowledge.tools import DropInReport
    from thresher.results import ResultPart
    from thresher.store import KeyInfo
    from thresher.verbs.request import Request


JOBS = Kind("jobs", "thresher.jobs")
AUDIT = Kind("audit", "thresher.audit", remote=False)
KEYS = Kind("keys", "thresher.store", remote=False, local=True)
COMPONENTS = Kind("components", "thresher.knowledge.tools", remote=False, local=True)

KeyName: TypeAlias = Annotated[str, Doc("The key's name")]
Tenant: TypeAlias = Annotated[str | None, Doc("The tenant's name; the caller's own by default")]


@JOBS.verb("read", key="jobs")
async def list_jobs(
    request: Request, limit: Annotated[int, Ge(1), Le(1_000), Doc("Most jobs")] = 50
) -> tuple[Job, ...]:
    """The jobs that you may see, the newest first."""
    return await request.services.jobs.list(request.caller, limit=limit)


@JOBS.verb("read")
async def show_job(request: Request, job: Annotated[int, Doc("Its number")]) -> Job:
    """How far a job is, or how it ended.

    Raises:
        NotFound: There is no job of this number that the caller may see.
    """
    return await request.services.jobs.find(request.caller, job)


@JOBS.verb("write")
async def cancel_job(request: Request, job: Annotated[int, Doc("Its number")]) -> Job:
    """End a job: one that waits at once, one that runs soon; what it has done so far stays.

    Raises:
        NotFound: There is no job of this number that the caller may see.
        NotAllowed: It is not the caller's.
        Conflict: It has ended.
    """
    return await request.services.jobs.cancel(request.caller, job)


@JOBS.verb("read")
async def follow_job(request: Request, job: Annotated[int, Doc("Its number")]) -> Job:
    """Wait for the end of a job, and report its progress; the job goes on when its follower leaves.

    Raises:
        NotFound: There is no job of this number that the caller may see.
    """

    def follow(one: Job) -> None:
        put_off = one.state == "waiting" and one.error
        stage = f"trying again later: {one.error}" if put_off else one.phase or one.state
        request.progress({"stage": stage, "done": one.done, "total": one.total or None})

    return await request.services.jobs.follow(request.caller, job, follow)


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
        InvalidInput: The time is not valid.
        InvalidCursor: The cursor belongs to another list.
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


@AUDIT.verb("admin", key="removed", destroys=True)
async def prune_audit(request: Request, older_than: Annotated[float, Doc("Age in days")], tenant: Tenant = None) -> int:
    """Remove old lines of a tenant's log; how many.

    Raises:
        InvalidInput: The age is out of bounds.
        NotAllowed: The caller is not the owner of the data folder.
    """
    return await request.services.audit.prune(await request.tenant(tenant), KEYS.imported("age_limit")(older_than))


@AUDIT.verb("admin", key="link")
async def restart_audit(request: Request, tenant: Tenant = None) -> int:
    """Continue a tenant's log after it was found changed; the number of the first new link.

    Raises:
        NotAllowed: The caller is not the owner of the data folder.
    """
    return await request.services.audit.restart(await request.tenant(tenant))


@KEYS.verb("admin")
async def list_keys(request: Request, tenant: Tenant = None) -> tuple[KeyInfo, ...]:
    """A tenant's keys by name, revoked ones included.

    Raises:
        NotAllowed: The caller is not the owner of the data folder.
        NotFound: There is no such tenant.
    """
    return await request.services.keys.list(await request.tenant(tenant))


@KEYS.verb("admin")
async def add_key(
    request: Request,
    name: KeyName,
    tenant: Annotated[str | None, Doc("The tenant's name, a new one if it does not exist")] = None,
    user: Annotated[str | None, Doc("The user whom the key stands for; by default the tenant as a whole")] = None,
) -> tuple[str, KeyInfo]:
    """Create a key; its text is shown only this once.

    Raises:
        NotAllowed: The caller is not the owner of the data folder.
        InvalidInput: The name or the user is not valid.
        Conflict: A valid key has this name.
    """
    request.check_owner()
    owner = await request.services.database.tenant(tenant or request.caller.tenant.name)
    return await request.services.keys.add(owner, name, user)


@KEYS.verb("admin", destroys=True, idempotent=True)
async def revoke_key(request: Request, name: KeyName, tenant: Tenant = None) -> KeyInfo:
    """Refuse a key from now on, and end what is open with it.

    Raises:
        NotAllowed: The caller is not the owner of the data folder.
        NotFound: There is no such tenant or key.
    """
    return await request.services.keys.revoke(await request.tenant(tenant), name)


@COMPONENTS.verb("read")
async def list_components(request: Request) -> DropInReport:
    """The components of the owner's folder, and which of them could not be loaded.

    Raises:
        NotAllowed: The caller is not the owner of the data folder.
    """
    request.check_owner()
    return await request.services.components.report()


@COMPONENTS.verb("admin")
async def refresh_components(request: Request) -> DropInReport:
    """Load the folder again, and run its modules even if none has changed.

    Raises:
        NotAllowed: The caller is not the owner of the data folder.
    """
    request.check_owner()
    if request.is_rehearsal:
        request.progress({"checked": "no module is run in a dry run; `thresher components list` shows their state"})
        return await request.services.components.report()
    return await request.services.components.load(again=True)


RESULTS = Kind("results", "thresher.results", remote=False)


@RESULTS.verb("read")
async def read_result(
    request: Request,
    cursor: Annotated[str, Doc("As the part of the result names it")],
    focus: Annotated[str, Doc("What you want to know")] = "",
    pointer: Annotated[str, Doc("JSON pointer such as /items/3/name, or a path such as $.items[*].name")] = "",
    lines: Annotated[str, Doc("A range of lines: 120-180")] = "",
    pattern: Annotated[str, Doc("A regular expression; the lines that match are given")] = "",
    budget: Annotated[
        Annotated[int, Ge(0), Le(1_000_000)] | None,
        Doc("Most tokens, from 100; 0: all; by default THRESHER_RESULT_TOKENS"),
    ] = None,
) -> ResultPart:
    """More of a tool's result that was larger than its budget: what answers a question, a place, lines, or matches.

    Raises:
        InvalidInput: The place, the lines or the expression is not valid, or there is nothing there.
        NotFound: No result is kept for the caller under this cursor.
    """
    return await request.services.results.read(
        request.caller, cursor, focus=focus, pointer=pointer, lines=lines, pattern=pattern, budget=budget
    )
