"""`--dry-run`: every command that writes has it, shows what would be different, and changes nothing."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import psycopg
import pytest
import typer

from tests.cli.conftest import Command
from tests.daemon.home import FAKE, Home
from tests.fakes.chat_server import ChatServer
from tests.support.servoy_workspace import bookshop
from tests.support.tracker import TRACKER
from thresher.cli.application import application
from thresher.core import Caller, Tenant
from thresher.daemon.server.rehearsal import LOOKS, OTHERS, WRITES
from thresher.daemon.server.verbs import build_verbs

SECONDS = 60.0
QUIET = 5
"""So many looks in a row that see no change."""
LOOKING = {
    *("apis improve", "apis list", "apis search", "apis show", "apis usage", "audit log", "audit verify"),
    *("components list", "context", "db columns", "db explain", "db find", "db list", "db query", "db relations"),
    *("db schema", "db session", "db tables", "db test", "docs list", "docs read", "docs retrieve", "docs search"),
    *("docs show", "doctor", "intents explain", "intents list", "intents stats", "jobs list", "jobs show"),
    *("keys list", "models check", "models list", "packs lint", "packs list", "packs show", "prompt", "prompts diff"),
    *("prompts list", "prompts show", "prompts versions", "servers list", "settings show", "solutions backups"),
    *("solutions check", "solutions context", "solutions list", "solutions relations", "solutions show"),
    *("solutions value-lists", "status", "threads list", "threads show", "tools find", "tools held", "tools list"),
    *("tools show", "tools stats", "tools consents"),
}
"""Commands that change nothing."""
RUNNING = {
    *("ask", "chat", "demo", "hook", "serve", "stdio", "stop"),
    *("eval apis", "eval chat", "eval documents", "eval intents", "eval relations", "eval sql", "eval tools"),
}
"""Commands that start or end a process, converse or measure: nobody could say what they would do without doing it."""


def commands(group: typer.core.TyperGroup, *path: str) -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """Every command by its words."""
    for name, command in sorted(group.commands.items()):
        if isinstance(command, typer.core.TyperGroup):
            yield from commands(command, *path, name)
        else:
            yield " ".join((*path, name)), command


def writing() -> set[str]:
    """The commands that write."""
    root = typer.main.get_command(application)
    assert isinstance(root, typer.core.TyperGroup)
    return {
        name for name, command in commands(root) if any("--dry-run" in parameter.opts for parameter in command.params)
    }


@pytest.fixture
def model() -> Iterator[ChatServer]:
    """A chat service."""
    server = ChatServer(lambda _: "ok")
    yield server
    server.stop()


@pytest.fixture
def prepared(command: Command, tmp_path: Path, model: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A product with one of each kind, and the files that more could be made of."""
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    connection.executescript("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.close()
    (tmp_path / "tracker.yaml").write_text(TRACKER, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text("# Leave\n\nThirty days.\n", encoding="utf-8")
    (tmp_path / "words.md").write_text("Other words.\n", encoding="utf-8")
    for name in ("shop", "shop2"):
        bookshop(tmp_path / name, "json")
    pack = tmp_path / ".agents" / "skills" / "links"
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ("servers", "add", "own", "--command", sys.executable, "--", str(FAKE), "good"),
        ("db", "add", "sales", "--url", "sqlite:///shop.sqlite"),
        ("apis", "add", "tracker", "tracker.yaml"),
        ("index", "docs", "handbook", "docs"),
        ("solutions", "add", "shop"),
        ("solutions", "use", "bookshop", "-w", "shop"),
        ("models", "add", "mine", "--url", model.url, "--model", "fake"),
        ("keys", "add", "ci"),
        ("packs", "new", "links"),
        ("prompts", "set", "basic", "words.md"),
        ("settings", "set", "top_k=4"),
    ):
        ended = command(*arguments)
        assert ended.code == 0, (arguments, ended)
    (pack / "SKILL.md").write_text(
        "---\nname: links\ndescription: Link records of the CRM.\n---\n\n# Links\n\nLink records.\n", encoding="utf-8"
    )
    return tmp_path


def every_way(model_url: str) -> dict[str, tuple[tuple[str, ...], str]]:
    """A command line for each command that writes, and what a dry run of it shows."""
    pair = ("-p", "shop/books", "-f", "shop/authors")
    return {
        "apis add": (("more", "tracker.yaml"), "+ API more"),
        "apis disable": (("tracker",), "~ API tracker"),
        "apis enable": (("tracker",), "nothing would be different"),
        "apis remove": (("tracker",), "- API tracker"),
        "apis sync": (("tracker",), "Dry run"),
        "audit prune": (("--older-than", "0"), "removed: 0"),
        "audit restart": ((), "Dry run"),
        "components refresh": ((), "no module is run"),
        "db add": (("more", "--url", "sqlite:///shop.sqlite"), "+ connection more"),
        "db refresh": (("sales",), "Dry run"),
        "db remove": (("sales",), "- connection sales"),
        "docs guide": (("handbook", "--set", "words.md"), "guide_by: structure -> person"),
        "docs refresh": (("handbook",), "Dry run"),
        "docs remove": (("handbook",), "- repository handbook"),
        "index docs": (("more", "docs"), "+ repository more"),
        "index tools": ((), "no server was started"),
        "intents threshold": (("git", "0.5"), "~ intent git"),
        "jobs cancel": (("1",), ""),
        "keys add": (("other", "--tenant", "team"), "+ key other"),
        "keys revoke": (("ci",), "~ key ci"),
        "migrate": ((), "nothing would be different"),
        "models add": (("more", "--url", model_url, "--model", "fake"), "+ model more"),
        "models disable": (("mine",), "enabled: true -> false"),
        "models enable": (("mine",), "nothing would be different"),
        "models remove": (("mine",), "- model mine"),
        "packs export": (("--skills", "skills", ".agents/skills/links"), "+ file"),
        "packs install": (("--client", "claude"), "CLAUDE.md"),
        "packs new": (("second",), "SKILL.md"),
        "packs trust": ((".agents/skills/links", "--yes"), "pack links"),
        "packs untrust": ((".agents/skills/links",), ""),
        "prompts reset": (("basic",), "~ prompt basic"),
        "prompts set": (("basic", "docs/leave.md"), "~ prompt basic"),
        "purge": (("--older-than", "0"), "rows:"),
        "servers add": (("more", "--command", sys.executable), "it was not started"),
        "servers disable": (("own",), "enabled: true -> false"),
        "servers enable": (("own",), "nothing would be different"),
        "servers login": (("own",), ""),
        "servers logout": (("own",), ""),
        "servers refresh": ((), "no server was started"),
        "servers remove": (("own",), "- server own"),
        "servers set": (("own", "--auto-approve", "--trusted"), "trusted: false -> true"),
        "settings floor": (("writes",), "floor: none -> writes"),
        "settings reset": (("top_k",), "top_k: 4 ->"),
        "settings set": (("top_k=7",), "top_k: 4 -> 7"),
        "solutions add": (("shop2",), "+ workspace shop2"),
        "solutions delete-relations": (("books_to_authors",), ""),
        "solutions delete-value-lists": (("colours",), ""),
        "solutions open-relation": (pair, "+++ "),
        "solutions open-value-list": (("colours", "--value", "red", "--value", "blue"), "+++ "),
        "solutions remove": (("shop",), "- workspace shop"),
        "solutions rename-relation": (("books_to_authors", "other"), ""),
        "solutions rename-value-list": (("colours", "other"), ""),
        "solutions undo": (("1-abcdef",), ""),
        "solutions update-relation": (("books_to_authors", "--comment", "x"), ""),
        "solutions update-value-list": (("colours", "--comment", "x"), ""),
        "solutions use": (("shop_data", "-w", "shop"), ""),
        "threads delete": (("7c1ffb26-27b5-4d5c-8b5b-3d29ee0dbf68",), ""),
        "threads fork": (("7c1ffb26-27b5-4d5c-8b5b-3d29ee0dbf68",), ""),
        "threads rename": (("7c1ffb26-27b5-4d5c-8b5b-3d29ee0dbf68", "x"), ""),
        "tools approve": (("--all", "--yes"), "Dry run"),
        "tools core": (("own_echo",), "core: false -> true"),
        "tools disable": (("own_echo",), "enabled: true -> false"),
        "tools enable": (("own_echo",), "nothing would be different"),
        "tools refresh": (("own_echo",), "no server was started"),
        "tools forget": (("own_echo",), "No consent to 'own_echo' is remembered"),
        "tools reject": (("--all", "--yes"), "Dry run"),
    }


def everything(home: Home, folder: Path) -> dict[str, str]:
    """A digest of each table, and of each file of the data folder and of a folder; logs and signs of life aside."""
    url = home.environment["THRESHER_MIGRATION_URL"]
    found: dict[str, str] = {}
    with psycopg.connect(url, autocommit=True) as connection:
        names = connection.execute(
            "select format('%I.%I', schemaname, tablename) from pg_tables"
            " where schemaname not in ('pg_catalog', 'information_schema')"
            " and tablename <> 'procrastinate_workers' order by 1"
        ).fetchall()
        connection.execute("select set_config('app.tenant', '0', false)")
        tenants = connection.execute("select id, name from known_tenants()").fetchall()
        found["tenants"] = repr(tenants)
        for tenant, _ in tenants:
            connection.execute("select set_config('app.tenant', %s, false)", (str(tenant),))
            for (name,) in names:
                rows = connection.execute(f"select md5(t::text) from {name} t order by 1").fetchall()
                found[f"{tenant}: {name}"] = hashlib.sha256(repr(rows).encode()).hexdigest()
    data = Path(home.environment["THRESHER_DATA_DIR"])
    for root in (data, folder):
        for file in sorted(root.rglob("*")):
            if file.is_file() and "logs" not in file.parts:
                found[str(file)] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def settled(home: Home, folder: Path) -> dict[str, str]:
    """The same, once what runs behind the commands has written what it writes."""
    last, quiet = everything(home, folder), 0
    deadline = time.monotonic() + SECONDS
    while quiet < QUIET and time.monotonic() < deadline:
        now = everything(home, folder)
        last, quiet = now, quiet + 1 if now == last else 0
    return last


def test_every_command_either_looks_or_runs_or_has_a_dry_run() -> None:
    """No command that writes is forgotten: a new one is in none of the lists."""
    root = typer.main.get_command(application)
    assert isinstance(root, typer.core.TyperGroup)
    every = {name for name, _ in commands(root)}

    assert every - writing() == LOOKING | RUNNING
    assert not writing() & (LOOKING | RUNNING)
    assert writing() == set(every_way(""))


def test_every_verb_is_known_to_look_to_write_or_to_do_neither() -> None:
    """A verb that nobody has thought of is not run in a dry run."""
    app = MagicMock()
    app.services.caller = Caller(Tenant(1, "local"))

    verbs = set(build_verbs(app, MagicMock(), MagicMock(), None))

    assert verbs == set(WRITES) | LOOKS | OTHERS
    assert not set(WRITES) & LOOKS & OTHERS


def test_a_dry_run_of_each_command_changes_nothing_and_says_what_would_be(
    command: Command, home: Home, prepared: Path, model: ChatServer
) -> None:
    """Rows of every table and files of the data folder, of workspaces and of packs are as they were."""
    command("packs", "list")
    command("index", "tools")
    before = settled(home, prepared)
    shown: dict[str, str] = {}
    for name, (arguments, _) in every_way(model.url).items():
        ended = command(*name.split(), *arguments, "--dry-run")
        shown[name] = ended.out + ended.err
    after = everything(home, prepared)
    silent = {name: shown[name] for name, (_, expected) in every_way("").items() if expected not in shown[name]}

    assert [key for key in {**before, **after} if before.get(key) != after.get(key)] == []
    assert silent == {}
    assert [name for name, said in shown.items() if "went wrong" in said] == []


def test_a_dry_run_for_programs_holds_the_difference(command: Command, home: Home) -> None:
    """The rows before and after, field by field."""
    answer = command("settings", "set", "top_k=9", "--dry-run", "--json").json

    changes = [change for plan in answer["plans"] for change in plan["changes"]]
    assert answer["dry_run"] is True
    assert changes[0]["after"]["settings.top_k"] == 9
    assert json.dumps(changes[0]["before"])
