"""Servers: do they answer, and how may they be used.

Invariant: a server is removed only after its name was written. A sign-in that is under way belongs to this process, and
ends with it; its address is shown only to the caller who asked for it.
"""

from __future__ import annotations

import asyncio
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from starlette.responses import Response

from thresher.console.declaration import Pages
from thresher.console.rendering import page_of
from thresher.console.visit import Visit
from thresher.core import InvalidInput, NotAllowed, ThresherError
from thresher.verbs import INSIGHT, TOOLS

PAGES = Pages()
_DAYS: Final = 7.0
_CALLS: Final = 500
_POINTS: Final = 40
_NAMED: Final = 10
DIALECTS: Final = ("postgresql", "mysql", "mariadb", "sqlite", "duckdb", "oracle", "mssql")
_UNREACHED: Final = ("static", "local")
"""Servers that nobody connects to."""
_ORDER: Final = ("broken", "look", "healthy", "off")
_ADDRESS_SECONDS: Final = 20.0


@PAGES.get("/servers")
async def list_servers(visit: Visit) -> Response:
    """Every server with its state and how quickly it answers."""
    servers = await visit.run(TOOLS["list_servers"])
    usage = await visit.run(INSIGHT["usage_summary"], days=_DAYS)
    calls = await visit.run(INSIGHT["list_calls"], days=_DAYS, limit=_CALLS)
    durations: defaultdict[str, list[float]] = defaultdict(list)
    for call in calls.calls:
        if call.state in ("ok", "tool error") and len(durations[call.server]) < _POINTS:
            durations[call.server].append(call.duration_ms)
    return visit.page(
        "servers.html",
        servers=sorted(servers, key=lambda one: (one.transport in _UNREACHED, _ORDER.index(state_of(one)[0]))),
        states={one.name: state_of(one) for one in servers},
        usage={one.server: one for one in usage.servers},
        durations={name: values[::-1] for name, values in durations.items()},
        days=int(_DAYS),
        may_add=visit.may(TOOLS["add_server"]),
    )


def state_of(server: Any) -> tuple[str, str]:
    """How well a server is, with the words for it."""
    if not server.enabled:
        return "off", "disabled"
    if server.sign_in == "needed":
        return "look", "needs a sign-in"
    if server.transport == "static":
        return "off", "catalogue only"
    match server.state:
        case "ready":
            return ("look", "answers, with problems") if server.error else ("healthy", "answers")
        case "stale":
            return "look", "does not answer; its last tools are kept"
        case "failed":
            return "broken", "has never answered"
        case _:
            return "off", "not asked yet"


@PAGES.post("/servers/refresh")
async def refresh_all(visit: Visit) -> Response:
    """List all enabled servers again."""
    done = await visit.run(TOOLS["refresh"])
    return visit.go("/servers", refreshed(done), is_error=bool(done.failures))


def refreshed(done: Any) -> str:
    """What a refresh did, in a sentence or two."""
    said = [f"{done.embedded:,} tools are new or changed, {done.kept:,} as before, {done.removed:,} gone."]
    if done.held:
        said.append(f"{len(done.held):,} wait for approval: {_few(done.held)}.")
    if done.lapsed:
        said.append(f"Rewrites that are not used any more: {_few(done.lapsed)}.")
    return " ".join([*said, *(f"{name}: {error}" for name, error in list(done.failures.items())[:_NAMED])])


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


@PAGES.get("/servers/add")
async def add_form(visit: Visit) -> Response:
    """Forms for one server, and for an `mcpServers` file."""
    return _add_page(visit)


def _add_page(
    visit: Visit,
    form: Mapping[str, str] | None = None,
    *,
    error: ThresherError | None = None,
    outcome: Mapping[str, Any] | None = None,
) -> Response:
    return visit.page(
        "server_add.html",
        422 if error is not None else 200,
        form=form or {},
        error=error,
        outcome=outcome,
        dialects=DIALECTS,
        may_add=visit.may(TOOLS["add_server"]),
    )


@PAGES.post("/servers/add")
async def add_server(visit: Visit) -> Response:
    """Add one server, or those of a pasted file; what could not be used is said for each."""
    form = await visit.form()
    try:
        if form.get("what") == "file":
            arguments = {
                "document": form.get("document", ""),
                "variables": {"HOME": str(Path.home()), **_pairs(form.get("variables", ""), "=", "a variable")},
                "test": form.get("untested") != "yes",
            }
            return _add_page(visit, form, outcome=await visit.run_checked(TOOLS["import_servers"], arguments))
        server = _server(form)
        switches = {"auto_approve": form.get("auto_approve") == "yes", "trusted": form.get("trusted") == "yes"}
        done = await visit.run_checked(
            TOOLS["add_server"],
            {"server": server, "sql": _sql(form), "test": form.get("untested") != "yes", **switches},
        )
    except NotAllowed:
        raise
    except ThresherError as error:
        return _add_page(visit, form, error=error)
    return visit.go(page_of("/servers", server["name"]), refreshed(done), is_error=bool(done.failures))


def _server(form: Mapping[str, str]) -> dict[str, Any]:
    """The definition of a server as the form has it."""
    name = form.get("name", "").strip()
    if not name:
        raise InvalidInput("The server has no name.", hint="Its name is the prefix of its tools.")
    entry: dict[str, Any] = {"name": name, "description": form.get("description", "").strip()}
    command, url = form.get("command", "").strip(), form.get("url", "").strip()
    if bool(command) == bool(url):
        raise InvalidInput(
            "A server is either a command or an address.", hint="Fill in one of the two, and leave the other empty."
        )
    if url:
        headers = _pairs(form.get("headers", ""), ":", "a header")
        return entry | {"transport": "http", "url": url, "headers": headers}
    try:
        program, *arguments = shlex.split(command)
    except ValueError as error:
        raise InvalidInput(f"The command cannot be read: {error}.", hint="Close its quotation marks.") from None
    environment = _pairs(form.get("env", ""), "=", "a variable")
    folder = form.get("cwd", "").strip()
    return entry | {"transport": "stdio", "command": program, "args": arguments, "env": environment, "cwd": folder}


def _pairs(text: str, separator: str, what: str) -> dict[str, str]:
    """Names with values, one pair a line.

    Raises:
        InvalidInput: A line has no separator. It is not quoted: it may be a secret.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, parted, value = line.partition(separator)
        if not line.strip():
            continue
        if not parted or not name.strip():
            raise InvalidInput(f"Line {number} is not {what}.", hint=f"Write NAME{separator}VALUE, one a line.")
        found[name.strip()] = value.strip()
    return found


def _sql(form: Mapping[str, str]) -> dict[str, Any] | None:
    dialect, arguments = form.get("dialect", "").strip(), form.get("arguments", "").split()
    if not dialect:
        return None
    return {"dialect": dialect, "tools": form.get("sql_tools", "").split()} | (
        {"argument": arguments} if arguments else {}
    )


@PAGES.get("/servers/{name}")
async def show_server(visit: Visit) -> Response:
    """One server with all that is known of it."""
    return await _server_page(visit)


async def _server_page(visit: Visit, *, error: ThresherError | None = None) -> Response:
    name = visit.sent.path_params["name"]
    begun = _sign_ins.get(_key(visit, name))  # first: what it has changed is then in what is read
    report = await visit.run(TOOLS["show_server"], name=name)
    calls = await visit.run(INSIGHT["list_calls"], server=name, days=_DAYS, limit=100)
    failed = await visit.run(INSIGHT["list_calls"], server=name, days=_DAYS, limit=5, failed=True)
    usage = await visit.run(INSIGHT["usage_summary"], days=_DAYS)
    return visit.page(
        "server.html",
        200 if error is None else 422,
        name=name,
        report=report,
        server=report.server,
        state=state_of(report.server),
        usage=next((one for one in usage.servers if one.server == name), None),
        durations=[one.duration_ms for one in reversed(calls.calls) if one.state in ("ok", "tool error")],
        failed=failed.calls,
        days=int(_DAYS),
        tools=await visit.run(TOOLS["browse_tools"], server=name, limit=_POINTS),
        sign_in=begun,
        dialects=DIALECTS,
        may_change=visit.may(TOOLS["set_server_enabled"]) and report.may_change,
        error=error,
    )


@PAGES.post("/servers/{name}/refresh")
async def refresh_one(visit: Visit) -> Response:
    """List the server again; over a new session, if that was asked for."""
    name, form = visit.sent.path_params["name"], await visit.form()
    done = await visit.run(TOOLS["refresh"], servers=[name], reconnect=form.get("reconnect") == "yes")
    return visit.go(page_of("/servers", name), refreshed(done), is_error=bool(done.failures))


_SWITCHES: Final[Mapping[str, tuple[str, dict[str, Any], str]]] = {
    "enable": ("set_server_enabled", {"enabled": True}, "Its tools can be found and called."),
    "disable": ("set_server_enabled", {"enabled": False}, "Its tools are kept, and not found or called."),
    "trust": ("set_server_trusted", {"trusted": True}, "Its claims about its tools are relied on."),
    "doubt": ("set_server_trusted", {"trusted": False}, "Its claims about its tools are not relied on."),
    "auto": (
        "set_server_auto_approve",
        {"auto_approve": True},
        "Changes of its tools are accepted from its next refresh on.",
    ),
    "no-auto": ("set_server_auto_approve", {"auto_approve": False}, "Changes of its tools wait for approval."),
}


@PAGES.post("/servers/{name}/switch")
async def switch_server(visit: Visit) -> Response:
    """Switch it on or off, or change how far it is trusted."""
    name, form = visit.sent.path_params["name"], await visit.form()
    switch = form.get("switch", "")
    if switch not in _SWITCHES:
        raise InvalidInput("The form does not say what to switch.", hint="Load the page again.")
    verb, values, done = _SWITCHES[switch]
    await visit.run(TOOLS[verb], name=name, **values)
    return visit.go(page_of("/servers", name), done)


@PAGES.post("/servers/{name}/sql")
async def guard_server(visit: Visit) -> Response:
    """Set which arguments of its tools are SQL."""
    name = visit.sent.path_params["name"]
    form = await visit.form()
    sql = _sql(form)
    await visit.run_checked(TOOLS["set_server_sql"], {"name": name, "sql": sql})
    done = "The guard reads the SQL of its calls." if sql else "Nobody reads the SQL of its calls any more."
    return visit.go(page_of("/servers", name), done)


@PAGES.post("/servers/{name}/remove")
async def remove_server(visit: Visit) -> Response:
    """Remove it with its tools, if its name was written."""
    name, form = visit.sent.path_params["name"], await visit.form()
    if form.get("confirm", "").strip() != name:
        error = InvalidInput("Nothing was removed: the name does not agree.", hint=f"Write {name} into the field.")
        return await _server_page(visit, error=error)
    await visit.run(TOOLS["remove_server"], name=name)
    return visit.go("/servers", f"The server '{name}' and its tools are removed.")


_Key: TypeAlias = tuple[int, int, str | None, int | None, str]


@dataclass(slots=True)
class _SignIn:
    """A sign-in that waits for a browser.

    Attributes:
        task: Runs it to its end.
        address: What a person must open; empty until it is known.
        known: Set when it is known, or the sign-in has ended.
        problem: Why it failed; None if it did not, or has not ended.
    """

    task: asyncio.Task[None]
    known: asyncio.Event
    address: str = ""
    problem: ThresherError | None = None

    @property
    def host(self) -> str:
        """Whose page it is."""
        return urlsplit(self.address).hostname or ""


_sign_ins: dict[_Key, _SignIn] = {}
"""Those that are under way, or have failed."""


def _key(visit: Visit, name: str) -> _Key:
    caller = visit.caller
    return id(visit.services), caller.tenant.id, caller.user, caller.key, name


@PAGES.post("/servers/{name}/sign-in")
async def sign_in(visit: Visit) -> Response:
    """Begin a sign-in; the page then shows the address to open."""
    name, form = visit.sent.path_params["name"], await visit.form()
    _check_may_sign_in(visit)
    await _cancel(visit, name)
    key, scopes = _key(visit, name), form.get("scopes", "").split()

    def follow(event: Mapping[str, Any]) -> None:
        address = str(event.get("address", ""))
        if urlsplit(address).scheme in ("http", "https"):
            begun.address = address
            begun.known.set()

    async def run() -> None:
        try:
            request = replace(visit.request, progress=follow)
            await TOOLS["login_server"].run(request, {"name": name, "scopes": scopes, "tenant": None, "user": None})
            _sign_ins.pop(key, None)
        except ThresherError as error:
            begun.problem = error
        finally:
            begun.known.set()

    _sign_ins[key] = begun = _SignIn(asyncio.create_task(run(), name=f"sign in at {name}"), asyncio.Event())
    with suppress(TimeoutError):
        async with asyncio.timeout(_ADDRESS_SECONDS):
            await begun.known.wait()
    return visit.go(page_of("/servers", name) + "#sign-in")


@PAGES.post("/servers/{name}/sign-in/finish")
async def finish_sign_in(visit: Visit) -> Response:
    """Take the address of the last page of a browser that cannot reach this machine."""
    name, form = visit.sent.path_params["name"], await visit.form()
    await visit.run_checked(TOOLS["finish_login"], {"address": form.get("address", "")})
    begun = _sign_ins.get(_key(visit, name))
    if begun is not None:
        await asyncio.wait([begun.task], timeout=_ADDRESS_SECONDS)
    return visit.go(page_of("/servers", name) + "#sign-in")


@PAGES.post("/servers/{name}/sign-in/cancel")
async def cancel_sign_in(visit: Visit) -> Response:
    """Give up a sign-in, or put away why it failed."""
    name = visit.sent.path_params["name"]
    _check_may_sign_in(visit)
    await _cancel(visit, name)
    return visit.go(page_of("/servers", name))


def _check_may_sign_in(visit: Visit) -> None:
    if not visit.may(TOOLS["login_server"]):
        raise NotAllowed("Only the owner may sign in here.", hint="Use: thresher servers login.")


async def _cancel(visit: Visit, name: str) -> None:
    begun = _sign_ins.pop(_key(visit, name), None)
    if begun is not None and not begun.task.done():
        begun.task.cancel()
        await asyncio.wait([begun.task])


@PAGES.post("/servers/{name}/sign-out")
async def sign_out(visit: Visit) -> Response:
    """Delete the sign-in, and end it at the server if that allows it."""
    name = visit.sent.path_params["name"]
    done = await visit.run(TOOLS["logout_server"], name=name)
    told = "" if done["revoked"] else " The server was not told, or cannot end sign-ins."
    return visit.go(page_of("/servers", name), f"Signed out of '{name}'.{told}")
