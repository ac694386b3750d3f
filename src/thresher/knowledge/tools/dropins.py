"""The owner's folder of components, as servers of the catalogue: one for its modules, and those that proxies name.

Invariant: a server from the folder is treated like one that a user adds: prefix, scanner, held-back changes, guards. A
server that a user has added is never replaced or removed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from thresher.components import FileReport, Folder, Report, look, meta_of, read_report, report_of
from thresher.core import (
    JSON,
    Caller,
    Conflict,
    InvalidInput,
    NotFound,
    Settings,
    ThresherError,
    current_talk,
    environment,
    event,
)
from thresher.knowledge.tools.service import ToolService
from thresher.upstream import ServerConfig, parse_servers, start_child, stop_child

logger = logging.getLogger("thresher.knowledge")

SERVER = "components"
"""The name of the server formed by the modules of `tools/`, `prompts/` and `resources/`."""
WATCH_SECONDS = 1.0
"""The interval between two checks of the folder in development mode."""
PROXIES_SECONDS = 60.0
"""The time limit for all modules of `proxies/` together."""
_MODULE = ("-P", "-m", "thresher.components")


@dataclass(frozen=True, slots=True)
class DropInReport:
    """The folder of components as its owner may see it.

    Attributes:
        folder: Its path.
        server: The server formed by its tools, prompts and resources; empty if it has no such modules.
        watched: Whether changes are loaded at once.
        loading: Whether it is being loaded now.
        files: Its modules.
        problem: Why nothing of it is used, or what kept all of it from being loaded; empty if nothing did.
    """

    folder: str
    server: str
    watched: bool
    loading: bool
    files: tuple[FileReport, ...]
    problem: str = ""


def thread_meta(config: ServerConfig) -> JSON:
    """Return the `_meta` of a call: in a conversation, only the owner's components get it.

    Args:
        config: The called server.
    """
    ours = config.name == SERVER and config.transport == "stdio" and config.command == sys.executable
    return meta_of(current_talk()) if ours and config.args[: len(_MODULE)] == _MODULE else {}


class DropIns:
    """The components of the owner of this process; one per process."""

    def __init__(self, tools: ToolService, settings: Settings, caller: Caller) -> None:
        self._tools = tools
        self._caller = caller
        self._path = settings.components_dir or settings.data_dir.expanduser().absolute() / "components"
        self._watched = settings.development == "on"
        self._data_dir = settings.data_dir.expanduser().absolute()
        self._names = self._data_dir / "components-servers.json"
        self._turn = asyncio.Lock()
        self._folder = Folder(self._path)
        self._version = ""
        self._proxies: tuple[FileReport, ...] = ()
        self._problem = ""
        self._server = ""

    async def load(self, *, again: bool = False) -> DropInReport:
        """Load the folder as it is now.

        Args:
            again: Whether to run its modules again even if none has changed.
        """
        async with self._turn:
            folder = self._folder = await asyncio.to_thread(look, self._path)
            self._problem = folder.problem
            if not folder.problem:
                self._version = folder.version + (f".{secrets.token_hex(2)}" if again else "")
                self._problem = await self._take_up(folder)
                await asyncio.to_thread(self._tidy)
        report = await self.report()
        failed = [file.path for file in report.files if file.problem]
        if report.files or report.problem:
            event(logger, "components loaded", files=len(report.files), failed=failed, reason=report.problem)
        return report

    async def report(self) -> DropInReport:
        """Return the state of the folder's modules when they were last loaded."""
        served = await asyncio.to_thread(read_report, self._place("serve")) if self._server else Report()
        seen = (file for file in served.files if file.path in self._folder.served)
        files = (*seen, *(file for file in self._proxies if file.path in self._folder.proxies))
        return DropInReport(
            folder=str(self._folder.path),
            server=self._server,
            watched=self._watched,
            loading=self._turn.locked(),
            files=files,
            problem=self._problem,
        )

    async def check_removable(self, caller: Caller, name: str) -> None:
        """Check that a server does not come from the folder, whose next load would restore it.

        Raises:
            Conflict: It does.
        """
        if (caller.tenant, caller.user) != (self._caller.tenant, self._caller.user):
            return
        proxied = name in await asyncio.to_thread(_names_in, self._names)
        if proxied or (name == SERVER and self._server):
            raise Conflict(
                f"Server '{name}' comes from the folder of components, {self._folder.path}.",
                hint=f"Take its modules out of the folder; to have it out of use: thresher servers disable {name}.",
            )

    async def follow(self) -> None:
        """Load the folder, and in development mode again whenever something in it has changed, until cancelled."""
        await self.load()
        last = self._folder
        while self._watched:
            await asyncio.sleep(WATCH_SECONDS)
            found = await asyncio.to_thread(look, self._path)
            # Twice the same, since an editor may still be writing several files.
            if found == last and found != self._folder:
                await self.load()
                found = self._folder
            last = found

    async def _take_up(self, folder: Folder) -> str:
        try:
            return " ".join(filter(None, await asyncio.gather(self._serve(folder), self._take_proxies(folder))))
        except ThresherError as error:
            return str(error)

    def _place(self, role: str) -> Path:
        """The path of a process's report: one per version, since an old process may still be running."""
        return self._data_dir / f"components-{role}-{self._version}.json"

    def _tidy(self) -> None:
        for role in ("serve", "proxies"):
            for path in self._data_dir.glob(f"components-{role}-*.json"):
                if path != self._place(role):
                    path.unlink(missing_ok=True)

    async def _serve(self, folder: Folder) -> str:
        """Serve and list the modules; returns what went wrong."""
        held = await self._config(SERVER)
        if held is not None and held.args[: len(_MODULE)] != _MODULE:
            return f"A server '{SERVER}' that is not of this folder is in the way: remove it under that name."
        if not folder.served:
            self._server = ""
            if held is not None:
                await self._tools.remove_server(self._caller, SERVER)
            return ""
        self._server = SERVER
        before = {one.name: one.trusted for one in await self._tools.list_servers(self._caller)}
        config = self._process("serve", folder)
        approve = True if held is None else None  # keep what the user has set since
        trusted = True if held is None else before.get(SERVER)
        await self._tools.add_server(self._caller, config, replace=True, auto_approve=approve, trusted=trusted)
        return await self._listed()

    async def _listed(self) -> str:
        """List the server, again for each module that ends its process."""
        tried = ""
        while True:
            done = await self._tools.refresh(self._caller, SERVER)
            report = await asyncio.to_thread(read_report, self._place("serve"))
            if not done.failures or report.loading in ("", tried):
                return " ".join(map(str, done.failures.values()))
            tried = report.loading

    async def _take_proxies(self, folder: Folder) -> str:
        """Add the servers that modules name, and remove those that none names any more; returns what went wrong."""
        ours = await asyncio.to_thread(_names_in, self._names)
        if not folder.proxies and not ours:
            self._proxies = ()
            return ""
        named: JSON = {}
        if folder.proxies:
            named, self._proxies = await self._named(folder)
        return await self._exchange(named, ours)

    async def _exchange(self, named: JSON, ours: frozenset[str]) -> str:
        servers = parse_servers({"mcpServers": named}, environment())
        problems = [str(problem) for problem in servers.problems]
        added: set[str] = set()
        for server in servers:
            try:
                await self._tools.add_server(self._caller, server, replace=server.name in ours)
                added.add(server.name)
            except Conflict:
                problems.append(f"Server '{server.name}': a person has added another one of that name.")
            except ThresherError as error:
                problems.append(f"Server '{server.name}': {error}")
        await asyncio.to_thread(_keep_names, self._names, added | (ours & set(named)))
        for name in sorted(ours - set(named)):
            with suppress(NotFound):
                await self._tools.remove_server(self._caller, name)
        await asyncio.gather(*(self._refresh(name) for name in sorted(added)))
        return " ".join(problems)

    async def _refresh(self, name: str) -> None:
        """List a server; the list of servers reports a failure, as for every other."""
        with suppress(ThresherError):
            await self._tools.refresh(self._caller, name)

    async def _named(self, folder: Folder) -> tuple[JSON, tuple[FileReport, ...]]:
        """The servers that modules of `proxies/` name; tried again for each module that ends the process."""
        tried = ""
        while True:
            answer = await _printed(self._process("proxies", folder))
            if answer is not None:
                return cast("JSON", answer["servers"]), report_of({**_EMPTY, **answer}).files
            report = await asyncio.to_thread(read_report, self._place("proxies"))
            if report.loading in ("", tried):
                raise InvalidInput("The modules of proxies/ could not be loaded.", hint="The daemon's log says why.")
            tried = report.loading

    def _process(self, role: str, folder: Folder) -> ServerConfig:
        whose = ("--tenant", self._caller.tenant.name, "--user", self._caller.user or "")
        options = ("--report", str(self._place(role)), "--version", self._version, *whose)
        arguments = (*_MODULE, role, str(folder.path), *options)
        about = f"Components of {folder.path}"
        return ServerConfig(SERVER, "stdio", sys.executable, arguments, description=about, prefix=False)

    async def _config(self, name: str) -> ServerConfig | None:
        try:
            return await self._tools.server_config(self._caller, name)
        except NotFound:
            return None


_EMPTY: Mapping[str, Any] = {"version": "", "loading": "", "deadly": {}}


async def _printed(config: ServerConfig) -> dict[str, Any] | None:
    """The JSON that a process prints; None if it ended, or had to be ended, without any."""
    process = await start_child(config)
    try:
        async with asyncio.timeout(PROXIES_SECONDS):
            printed, said = await process.communicate()
    except TimeoutError:
        event(logger, "components", level=logging.WARNING, reason=f"proxies/ took longer than {PROXIES_SECONDS:g} s")
        return None
    finally:
        await stop_child(process)
    try:
        return cast("dict[str, Any]", json.loads(printed))
    except ValueError:
        event(logger, "components", level=logging.WARNING, reason=said.decode(errors="replace")[-2000:])
        return None


def _names_in(path: Path) -> frozenset[str]:
    with suppress(OSError, ValueError):
        return frozenset(map(str, json.loads(path.read_text(encoding="utf-8"))))
    return frozenset()


def _keep_names(path: Path, names: set[str]) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(sorted(names)), encoding="utf-8")
    draft.replace(path)
