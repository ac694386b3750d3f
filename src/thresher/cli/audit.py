"""`thresher audit`: what was asked of databases and what came of it, and whether that log is whole."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.audit_views import activity, pruned, restarted, verification
from thresher.cli.client import ask
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, show

commands = typer.Typer(
    help="See what was asked of databases, and whether that log is whole.", no_args_is_help=True, rich_markup_mode=None
)

Tenant = Annotated[str | None, typer.Option("--tenant", help="A tenant that keys stand for; local unless told.")]


@commands.command("log")
def log(
    days: Annotated[float | None, typer.Option(help="Of so many days; all unless told.")] = None,
    connection: Annotated[str | None, typer.Option("--connection", "-c", help="Of one connection or server.")] = None,
    actor: Annotated[str | None, typer.Option(help="Of one user.")] = None,
    allowed: Annotated[bool | None, typer.Option("--allowed/--refused", help="What was allowed, or refused.")] = None,
    text: Annotated[str | None, typer.Option(help="Statements with this part.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many, 1 to 500.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Of the page before.")] = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show statements, newest first: who, where, the verdict, and what came of them."""
    filters = _given(days=days, connection=connection, actor=actor, allowed=allowed, text=text, tenant=tenant)
    show(ask("sql_activity_log", filters | _given(limit=limit, cursor=cursor)), as_json, activity)


@commands.command("verify")
def verify(
    expect: Annotated[
        str | None, typer.Option(metavar="HEAD", help="A head that an earlier check printed: it must still be there.")
    ] = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Say whether anything in the log was changed, left out, added or cut; 1 if so."""
    found = ask("verify_audit", _given(expect=expect, tenant=tenant))
    show(found, as_json, verification)
    if not found["sound"]:
        raise typer.Exit(1)


@commands.command("prune")
@writes
def prune(
    older_than: Annotated[float, typer.Option("--older-than", help="Age in days; 0 removes all.")],
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Remove old lines. A line that stays says which, so that the rest can still be checked."""
    show(ask("prune_audit", _given(older_than=older_than, tenant=tenant)), as_json, pruned)


@commands.command("restart")
@writes
def restart(tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Go on after a check has found the log changed, and what happened is known.

    A line says so; what is wrong before it is still shown, and no longer keeps statements from running.
    """
    show(ask("restart_audit", _given(tenant=tenant)), as_json, restarted)


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
