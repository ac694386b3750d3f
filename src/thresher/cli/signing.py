"""`thresher servers login` and `logout`: signing in at MCP servers that want it.

Invariant: the address to open is printed, whether or not a browser could be opened; nothing is left behind by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from thresher.cli.client import ask
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, note, show
from thresher.cli.rendering import signed_in, signed_out
from thresher.daemon import DaemonFailure

Tenant = Annotated[str | None, typer.Option(help="Whose server; `local` unless told.")]
User = Annotated[str | None, typer.Option(help="The user who signs in; none: the tenant as a whole.")]


def register(commands: typer.Typer) -> None:
    """Add the commands to `thresher servers`."""
    commands.command("login")(writes(login))
    commands.command("logout")(writes(logout))


def login(
    name: Annotated[str, typer.Argument(help="The server, as `servers list` names it.")],
    scope: Annotated[list[str] | None, typer.Option(help="A permission to ask for; repeatable.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address to open.")] = False,
    tenant: Tenant = None,
    user: User = None,
    as_json: AsJson = False,
) -> None:
    """Sign in at a server that wants it (OAuth); its calls are made with that sign-in from then on."""
    arguments = {"name": name, "scopes": scope or [], "tenant": tenant, "user": user}
    invitation = _Invitation(name, open_it=not no_browser)
    answer = ask("login_server", arguments, progress=invitation.follow)
    show({"name": name, **answer}, as_json, signed_in)


def logout(
    name: Annotated[str, typer.Argument(help="The server, as `servers list` names it.")],
    tenant: Tenant = None,
    user: User = None,
    as_json: AsJson = False,
) -> None:
    """Forget the sign-in at a server, and end it there where the server offers that."""
    show(ask("logout_server", {"name": name, "tenant": tenant, "user": user}), as_json, signed_out)


class _Invitation:
    """Tells a person what to open, and takes what the browser shows at the end."""

    def __init__(self, name: str, *, open_it: bool) -> None:
        self._name = name
        self._open_it = open_it

    def follow(self, event: Mapping[str, Any]) -> None:
        """Take the daemon's progress."""
        address = str(event.get("address", ""))
        if urlsplit(address).scheme not in ("http", "https"):
            return  # nothing else is ever handed to a browser
        note(f"Open this address to sign in at '{self._name}':\n\n  {address}\n")
        if self._open_it and _has_screen() and webbrowser.open(address):
            note("Waiting for the browser ...")
        if sys.stdin.isatty() or not self._open_it:
            note("Is the browser on another machine? Paste the address at which it ends here.")
            threading.Thread(target=_hand_over, daemon=True).start()


def _hand_over() -> None:
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            ask("finish_login", {"address": line.strip()}, start=False)
        except DaemonFailure as error:
            note(f"{error}")


def _has_screen() -> bool:
    """Whether a browser would have a window: one in the terminal would take it over."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))  # noqa: TID251 - the user's desktop, not a setting
