"""What only commands do, under the names of the verbs that it replaces for them.

Waiting for a job, the log of another tenant, a model or connection that is tried before it is kept, thresholds of
intents, components, statements whose verdict is known.

Invariant: what only the owner of the data folder may do is refused to a caller with a key. A user sees only their own
lines of the log. A model's key comes in and never goes out. Following a job does not own it: the job goes on when its
follower leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from thresher.app import App, rehearsed
from thresher.core import Caller, DatabaseUnavailable, ModelError, NotAllowed, Tenant, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.evaluation import dialect_of, judge_statements, read_statements, sql_figures
from thresher.jobs import Job
from thresher.sqlguard import Verdict, judge
from thresher.store import age_limit, period_start
from thresher.verbs import AUDIT, DATABASES, INTENTS, SETTINGS, Request, checked


def job_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """What only commands do with jobs.

    Args:
        app: The running product.
        caller: For whom they work.
    """

    async def follow_job(arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Wait for the end of a job, and report how far it is."""

        def follow(job: Job) -> None:
            put_off = job.state == "waiting" and job.error
            stage = f"trying again later: {job.error}" if put_off else job.phase or job.state
            tell({"stage": stage, "done": job.done, "total": job.total or None})

        return plain(await app.services.jobs.follow(caller, arguments["job"], follow))

    return {"follow_job": follow_job}


OfTenant: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[tuple[Caller, dict[str, Any]]]]


def auditing_verbs(app: App, of_tenant: OfTenant, *, is_owner: bool) -> Mapping[str, Verb]:
    """What only commands do with the log, by name.

    Args:
        app: The running product.
        of_tenant: Finds whose log is meant, and the rest of the arguments.
        is_owner: Whether the owner of the data folder asks.
    """
    audit = app.services.audit

    async def owned(arguments: Mapping[str, Any]) -> tuple[Caller, dict[str, Any]]:
        if not is_owner:
            raise NotAllowed(
                "Only the owner of the data folder may do this, nobody with a key.", hint="Unset THRESHER_KEY."
            )
        return await of_tenant(arguments)

    async def sql_activity_log(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Statements of the last `days`, or all."""
        verb = AUDIT["sql_activity_log"]
        caller, given = await of_tenant(arguments)
        if (days := given.pop("days", None)) is not None:
            given["since"] = period_start(days).isoformat()
        return plain(await verb.run(Request(app.services, caller), checked(verb, given)))

    async def verify_audit(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Whether a tenant's log is whole."""
        verb = AUDIT["verify_audit"]
        caller, given = await of_tenant(arguments)
        found = await verb.run(Request(app.services, caller), checked(verb, given))
        return plain(found) | {"tenant": caller.tenant.name}

    async def prune_audit(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Remove old lines."""
        caller, given = await owned(arguments)
        return {"removed": await audit.prune(caller.tenant, age_limit(given["older_than"]))}

    async def restart_audit(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Go on after the log was found changed."""
        caller, _ = await owned(arguments)
        return {"link": await audit.restart(caller.tenant)}

    verbs = (sql_activity_log, verify_audit, prune_audit, restart_audit)
    return {verb.__name__: verb for verb in verbs}


TenantOf: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Tenant]]

_ADD_MODEL = SETTINGS["add_model"]


def model_verbs(app: App, caller: Caller, owned_tenant: TenantOf) -> Mapping[str, Verb]:
    """What only commands do with models: add one that answers, show and set the floor.

    Args:
        app: The running product.
        caller: For whom they work.
        owned_tenant: The tenant that arguments name, for the owner of the data folder alone.
    """
    settings = app.services.chat_settings

    async def add_model(arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Keep a model that answers, and return how it was asked; `test: false` keeps it unasked."""
        given = dict(arguments)
        test = given.pop("test", True)
        given = checked(_ADD_MODEL, given)
        if not test:
            return plain({"model": await _ADD_MODEL.run(Request(app.services, caller), given), "check": None})
        name = given["name"]
        async with rehearsed(app) as trial:
            await _ADD_MODEL.run(Request(trial.services, caller), given)
            check = await trial.services.models.check(caller, name)
        if not check.ok:
            raise ModelError(
                f"The model '{name}' was not added. {check.problem}",
                hint="Correct what is wrong and add it again; --no-test keeps it as it is.",
            )
        tell({"checked": f"the model of '{name}' answers"})
        return plain({"model": await _ADD_MODEL.run(Request(app.services, caller), given), "check": check})

    async def approval_floor(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """What holds for the caller's tenant or, for the owner, for any."""
        named = Caller(await owned_tenant(arguments)) if arguments.get("tenant") else caller
        return {"tenant": named.tenant.name, "floor": await settings.floor(named)}

    async def set_approval_floor(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """For the owner alone: a caller with a key is held to the floor."""
        tenant = await owned_tenant(arguments)
        return {"tenant": tenant.name, "floor": await settings.set_floor(Caller(tenant), str(arguments["floor"]))}

    verbs = (add_model, approval_floor, set_approval_floor)
    return {verb.__name__: verb for verb in verbs}


Whom = Callable[[Mapping[str, Any]], Awaitable[tuple[Caller, dict[str, Any]]]]
"""For whom a verb with a `tenant` among its arguments works, and the other arguments."""


def intent_verbs(app: App, caller: Caller, whom: Whom) -> Mapping[str, Verb]:
    """What only commands do with intents, by name.

    Args:
        app: The running product.
        caller: For whom they work, and in which project.
        whom: Finds for whom a verb works that takes a tenant.
    """
    intents = app.services.intents

    async def list_intents(_arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """The intents in use, with the packs that are found and not used."""
        await intents.prepare(caller)
        packs = await intents.packs(caller)
        active = {pack.name: pack for pack in packs.active}
        rows = [
            plain(info) | {"applies": _applies(active[info.name].always, active[info.name].globs)}
            for info in await intents.intents(caller)
            if info.name in active
        ]
        inert = [
            {"name": held.pack.name, "path": str(held.pack.path), "reason": held.reason, "hint": held.hint}
            for held in packs.inert
        ]
        return plain({"intents": rows, "inert": inert, "problems": packs.problems})

    async def explain_intents(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """A decision, with the names of the intents that matched."""
        verb = INTENTS["explain_intents"]
        decision = await verb.run(Request(app.services, caller), checked(verb, arguments))
        return plain(decision) | {"matched": [score.intent for score in decision.matched]}

    async def set_threshold(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Set or reset the least score that matches."""
        name = str(arguments["name"])
        await intents.set_threshold(caller, name, arguments.get("value"))
        infos = await intents.intents(caller)
        return next((plain(info) for info in infos if info.name == name), {"name": name, "threshold": None})

    async def intent_stats(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """The figures of the caller, or of a tenant."""
        verb = INTENTS["intent_stats"]
        of, given = await whom(arguments)
        return plain(await verb.run(Request(app.services, of), checked(verb, given)))

    verbs = (list_intents, explain_intents, set_threshold, intent_stats)
    return {verb.__name__: verb for verb in verbs}


def _applies(always: bool, globs: tuple[str, ...]) -> str:
    """How an intent applies whatever a message says: `always`, `by file`, or empty."""
    return "always" if always else "by file" if globs else ""


def component_verbs(app: App, *, is_owner: bool) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        is_owner: Whether the owner of the data folder asks, and not the holder of a key.
    """

    def owner_only() -> None:
        if not is_owner:
            raise NotAllowed(
                "Components are shown to the owner of the data folder, to nobody with a key.",
                hint="Unset THRESHER_KEY.",
            )

    async def list_components(_arguments: Mapping[str, Any], _tell: Progress) -> Any:
        owner_only()
        return plain(await app.components.report())

    async def refresh_components(_arguments: Mapping[str, Any], tell: Progress) -> Any:
        owner_only()
        if app.rehearsal:
            tell({"checked": "no module is run in a dry run; `thresher components list` shows how they stand"})
            return plain(await app.components.report())
        return plain(await app.components.load(again=True))

    return {"list_components": list_components, "refresh_components": refresh_components}


_ADD_CONNECTION = DATABASES["add_connection"]
_JUDGED_AT_ONCE = 100
"""Statements between two events: the guard is quick, and its thread should not be changed for each."""


def database_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """What only commands do with databases: try a connection before it is kept, and judge known statements."""

    async def add_connection(arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Keep a connection that works, and return how it was tested; `test: false` keeps it without a test."""
        given = dict(arguments)
        test = given.pop("test", True)
        given = checked(_ADD_CONNECTION, given)
        if not test:
            return plain({"connection": await _ADD_CONNECTION.run(Request(app.services, caller), given), "test": None})
        name = given["name"]
        async with rehearsed(app) as trial:
            await _ADD_CONNECTION.run(Request(trial.services, caller), given)
            health = await trial.services.databases.test_connection(caller, name)
        if not health.ok:
            raise DatabaseUnavailable(
                f"The connection '{name}' was not added. {health.problem}",
                hint="Correct the address, or see that the database runs; --no-test keeps it as it is.",
            )
        tell({"checked": f"the database of '{name}' answers"})
        added = await _ADD_CONNECTION.run(Request(app.services, caller), given)
        return plain({"connection": added, "test": await app.services.databases.test_connection(caller, name)})

    return {"add_connection": add_connection, "evaluate_sql": _evaluate}


async def _evaluate(arguments: Mapping[str, Any], tell: Progress) -> Any:
    """Ask the guard about statements whose verdict is known."""
    dialect = dialect_of(str(arguments["dialect"]))
    statements = await asyncio.to_thread(read_statements, Path(arguments["statements"]))

    def asked(sql: str) -> Verdict:
        return judge(sql, dialect)

    await asyncio.to_thread(asked, "SELECT 1")  # what is read once in a process belongs to no statement
    judged: list[Any] = []
    for start in range(0, len(statements), _JUDGED_AT_ONCE):
        some = statements[start : start + _JUDGED_AT_ONCE]
        judged += await asyncio.to_thread(judge_statements, asked, some)
        tell({"stage": "Judging", "done": len(judged), "total": len(statements)})
    return plain(sql_figures(dialect, judged))
