"""`thresher keys`: who may use this Thresher over the network, and as whom."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.client import ask, for_each
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, show
from thresher.cli.rendering import changed, key_list, key_made

commands = typer.Typer(help="Make and revoke keys for callers.", no_args_is_help=True, rich_markup_mode=None)

OfTenant = Annotated[str | None, typer.Option("--tenant", help="Whose keys; `local` unless told.")]


@commands.command("add")
@writes
def add(
    name: Annotated[str, typer.Argument(help="What to call the key: its holder, or the machine that it is for.")],
    tenant: Annotated[str | None, typer.Option(help="Whose servers and tools it opens; `local` unless told.")] = None,
    user: Annotated[str | None, typer.Option(help="The user inside the tenant; none: the tenant as a whole.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key. It is shown once and cannot be read again."""
    show(ask("add_key", {"name": name, "tenant": tenant, "user": user}), as_json, key_made)


@commands.command("list")
def list_keys(tenant: OfTenant = None, as_json: AsJson = False) -> None:
    """List the keys, revoked ones too; not one can be read again."""
    show(ask("list_keys", {"tenant": tenant}), as_json, key_list)


@commands.command("revoke")
@writes
def revoke(
    names: Annotated[list[str], typer.Argument(help="Keys, as `keys list` names them.")],
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Refuse keys from now on, and end what is open with them."""
    for_each(names, lambda name: ask("revoke_key", {"name": name, "tenant": tenant}))
    show({"changed": names, "revoked": True}, as_json, changed)
