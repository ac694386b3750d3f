"""`--dry-run`: every command that writes has it, shows what would be different, and changes nothing."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import psycopg
import pytest
from sqlalchemy import text

from tests.cli.conftest import Command, every_command
from tests.daemon.home import FAKE, Home
from tests.fakes.chat_server import ChatServer
from tests.support.product import ListedServer, listed
from tests.support.servoy_workspace import bookshop
from tests.support.tracker import TRACKER
from thresher.agent import Threads
from thresher.core import Caller, Tenant
from thresher.daemon.server.rehearsal import LOOKS, OTHERS, WRITES
from thresher.daemon.server.verbs import build_verbs
from thresher.jobs import Jobs
from thresher.knowledge.tools import AdapterFigures
from thresher.store import Database

SECONDS = 60.0
PAGE = 50
"""What a list shows unless more is asked for."""
QUIET = 5
"""So many looks in a row that see no change."""
LOOKING = {
    *(
        "apis improve",
        "apis list",
        "apis search",
        "apis show",
        "apis usage",
        "apis hosts list",
        "apis credentials list",
        "audit log",
        "audit verify",
    ),
    *("components list", "context", "db columns", "db explain", "db find", "db list", "db query", "db relations"),
    *(
        "db schema",
        "db session",
        "db tables",
        "db test",
        "docs compare",
        "docs list",
        "docs read",
        "docs retrieve",
        "docs search",
    ),
    *("docs show", "doctor", "explain", "intents explain", "intents list", "intents stats", "jobs list", "jobs show"),
    *("keys list", "models check", "models list", "packs lint", "packs list", "packs show", "prompt", "prompts diff"),
    *("prompts list", "prompts show", "prompts versions", "servers list", "settings show", "solutions backups"),
    *("solutions check", "solutions context", "solutions list", "solutions relations", "solutions show"),
    *(
        "solutions value-lists",
        "status",
        "threads list",
        "threads show",
        "tools find",
        "tools held",
        "tools list",
        "tools result",
    ),
    *("tools show", "tools stats", "tools consents", "tools health", "tools words list", "tools rewrites list"),
    *("tools categories list", "tools questions list"),
    *("tools learned", "tools replay"),
    *("insight attention", "insight calls", "insight intents", "insight unanswered", "insight usage"),
    *("cases export", "cases last", "cases list", "cases run", "cases runs"),
}
"""Commands that change nothing."""
RUNNING = {
    *("ask", "chat", "demo", "hook", "serve", "stdio", "stop"),
    *(
        "eval apis",
        "eval chat",
        "eval context",
        "eval documents",
        "eval intents",
        "eval relations",
        "eval results",
        "eval sql",
        "eval tools",
    ),
    "tools improve",
}
"""Commands that start or end a process, converse or measure: nobody could say what they would do without doing it."""
ASKING = {"refresh", "login_server", "logout_server", "call_api_endpoint"}
"""Verbs whose changes come from servers, which no dry run asks, or are made there; a call shows what would be sent."""
OF_ONE = ("rename_thread", "fork_thread", "delete_thread", "cancel_job", "set_solution_context")
"""Verbs that change one thing."""


@pytest.fixture(scope="module")
def home(own_home: Home) -> Home:
    """A home of this module's own: it compares all that is in it, so nothing is followed meanwhile."""
    own_home.environment["THRESHER_WATCH"] = "off"
    return own_home


def writing() -> set[str]:
    """The commands that write."""
    return {
        name
        for name, command in every_command().items()
        if any("--dry-run" in parameter.opts for parameter in command.params)
    }


@pytest.fixture
def model() -> Iterator[ChatServer]:
    """A chat service."""
    server = ChatServer(lambda _: "ok")
    yield server
    server.stop()


@pytest.fixture
async def database(home: Home) -> AsyncIterator[Database]:
    """The daemon's database."""
    database = await Database.open(home.environment["THRESHER_DATABASE_URL"])
    yield database
    await database.close()


@dataclass(frozen=True)
class Older:
    """Things that the first page of their list does not show.

    Attributes:
        thread: A conversation.
        job: A job that waits.
        change: A change of a workspace that can be undone.
        case: A test case.
    """

    thread: str = ""
    job: str = ""
    change: str = ""
    case: str = ""


@pytest.fixture
async def older(prepared: Path, command: Command, database: Database) -> Older:
    """One of each, behind more than a page of newer ones; and a tool that waits for approval, and one agreed to."""
    local = await database.tenant("local")
    threads, jobs, owner = Threads(database), Jobs(database), Caller(local)
    made = [str((await threads.create(owner, f"t{number}")).id) for number in range(PAGE + 5)]
    async with database.transaction(local) as connection:
        deferred = [await jobs.defer(connection, local, "elsewhere.only", number) for number in range(1, PAGE + 5)]
        await connection.execute(
            text(
                "insert into consent (tenant_id, tool_id, definition_hash)"
                " select tenant_id, id, definition_hash from tool where name = 'echo' limit 1"
            )
        )
        await connection.execute(
            text(
                "insert into tool_use (tenant_id, voter, trace_id, model, vector, tool_id, weight, passed, failed,"
                " offered, standings)"
                " select tenant_id, '', 't', 'm', '\\x0000', id, 1, '{}', '{}', '{}', '{}' from tool"
                " where name = 'echo' limit 1"
            )
        )
        await connection.execute(
            text(
                "insert into tool_text (tenant_id, server, tool, kind, text, digest, definition_hash)"
                " select tenant_id, 'own', 'echo', 'question', 'say it again', '', definition_hash from tool"
                " where name = 'echo' limit 1"
            )
        )
        await connection.execute(
            text(
                "insert into tool_adapter (tenant_id, model, tools, offsets, figures, made_by)"
                " select tenant_id, 'm', array[id], '\\x0000', :figures, 'owner' from tool where name = 'echo' limit 1"
            ),
            {"figures": json.dumps(dict.fromkeys(AdapterFigures.__slots__, 0))},
        )
    await threads.close()
    chest = ListedServer.at(prepared, "chest", listed("open"))
    command("servers", "add", "chest", "--command", chest.config.command, "--", *chest.config.args)
    chest.lists(listed("open", "Opens it wide."))
    for arguments in (
        ("servers", "refresh", "chest"),
        ("packs", "new", "trusted"),
        ("packs", "trust", ".agents/skills/trusted", "--yes"),
        ("solutions", "open-relation", "-p", "shop/books", "-f", "shop/authors", "--allow-creation"),
        ("solutions", "open-value-list", "colours", "--value", "red", "--value", "blue"),
        ("tools", "words", "add", "own_echo", "parrot"),
        ("tools", "rewrites", "apply", "own_echo"),
        ("tools", "categories", "set", "voices", "own_echo"),
        ("cases", "add", "say it", "--tool", "own_echo"),
    ):
        ended = command(*arguments)
        assert ended.code == 0, (arguments, ended)
    change = command("solutions", "backups", "--json").json[0]["id"]
    case = str(command("cases", "list", "--json").json[0]["id"])
    connection = sqlite3.connect(prepared / "shop.sqlite")
    connection.executescript("CREATE TABLE customers (id INTEGER PRIMARY KEY)")
    connection.close()
    return Older(made[0], str(deferred[0].id), change, case)


@pytest.fixture
def prepared(command: Command, tmp_path: Path, model: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A product with one of each kind, and the files that more could be made of."""
    connection = sqlite3.connect(tmp_path / "shop.sqlite")
    connection.executescript("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.close()
    (tmp_path / "tracker.yaml").write_text(TRACKER, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text("# Leave\n\nThirty days.\n", encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text('{"message": "who is it", "needs": {}}\n', encoding="utf-8")
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
        ("docs", "upload", "sent", "docs/leave.md"),
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


def every_way(model_url: str = "", older: Older = Older()) -> dict[str, tuple[tuple[str, ...], str]]:
    """A command line for each command that writes, and what a dry run of it shows."""
    pair = ("-p", "shop/books", "-f", "shop/authors")
    return {
        "apis add": (("more", "tracker.yaml"), "+ API more"),
        "apis call": (("listIssues", "-p", "project=X"), "GET https://tracker.example.com/api/issues?project=X"),
        "apis credentials remove": (("tracker",), "- credential of key"),
        "apis credentials set": (("tracker", "--secret", "${file:key.txt}", "-t", "bearer"), "~ credential of key"),
        "apis hosts allow": (("tracker", "api.example.com"), "+ host https://api.example.com"),
        "apis hosts disallow": (("tracker", "tracker.example.com"), "- host https://tracker.example.com"),
        "apis disable": (("tracker",), "~ API tracker"),
        "apis enable": (("tracker",), "nothing would change"),
        "apis remove": (("tracker",), "- API tracker"),
        "apis schedule": (("tracker", "--never"), "check_seconds: null -> 0"),
        "apis sync": (("tracker",), "~ API tracker"),
        "audit prune": (("--older-than", "0"), "removed: 0"),
        "audit restart": ((), "Dry run"),
        "cases add": (("show the log", "--tool", "own_echo"), "+ case"),
        "cases import": (("cases.jsonl",), "+ case"),
        "cases remove": ((older.case,), "- case"),
        "components refresh": ((), "no module is run"),
        "db add": (("more", "--url", "sqlite:///shop.sqlite"), "+ connection more"),
        "db refresh": (("sales",), "~ connection sales"),
        "db remove": (("sales",), "- connection sales"),
        "docs guide": (("handbook", "--set", "words.md"), "guide_by: structure -> person"),
        "docs refresh": (("handbook",), "Dry run"),
        "docs remove": (("handbook",), "- repository handbook"),
        "docs remove-upload": (("sent", "leave.md"), "Dry run"),
        "docs upload": (("sent", "words.md"), "~ repository sent"),
        "docs webhook": (("handbook",), "secret"),
        "docs schedule": (("handbook", "--never"), "check_seconds: null -> 0"),
        "index docs": (("more", "docs"), "+ repository more"),
        "index tools": ((), "no server was started"),
        "intents threshold": (("git", "0.5"), "~ intent git"),
        "jobs cancel": ((older.job,), "state: waiting -> cancelled"),
        "keys add": (("other", "--tenant", "team"), "+ key other"),
        "keys revoke": (("ci",), "~ key ci"),
        "migrate": ((), "nothing would change"),
        "models add": (("more", "--url", model_url, "--model", "fake"), "+ model more"),
        "models disable": (("mine",), "enabled: true -> false"),
        "models enable": (("mine",), "nothing would change"),
        "models remove": (("mine",), "- model mine"),
        "packs export": (("--skills", "skills", ".agents/skills/links"), "+ file"),
        "packs install": (("--client", "claude"), "CLAUDE.md"),
        "packs new": (("second",), "SKILL.md"),
        "packs trust": ((".agents/skills/links", "--yes"), "pack links"),
        "packs untrust": ((".agents/skills/trusted",), "pack trusted"),
        "prompts reset": (("basic",), "~ prompt basic"),
        "prompts set": (("basic", "docs/leave.md"), "~ prompt basic"),
        "purge": (("--older-than", "0"), "rows:"),
        "servers add": (("more", "--command", sys.executable), "it was not started"),
        "servers disable": (("own",), "enabled: true -> false"),
        "servers enable": (("own",), "nothing would change"),
        "servers login": (("own",), "signs in by itself"),
        "servers logout": (("own",), "signs in by itself"),
        "servers refresh": ((), "no server was started"),
        "servers remove": (("own",), "- server own"),
        "servers set": (("own", "--auto-approve", "--trusted"), "trusted: false -> true"),
        "settings floor": (("writes",), "floor: none -> writes"),
        "settings reset": (("top_k",), "top_k: 4 ->"),
        "settings set": (("top_k=7",), "top_k: 4 -> 7"),
        "solutions add": (("shop2",), "+ workspace shop2"),
        "solutions delete-relations": (("books_to_authors",), "--- "),
        "solutions delete-value-lists": (("colours",), "--- "),
        "solutions open-relation": (("other", *pair), "+++ "),
        "solutions open-value-list": (("sizes", "--value", "1", "--value", "2"), "+++ "),
        "solutions remove": (("shop",), "- workspace shop"),
        "solutions rename-relation": (("books_to_authors", "other"), "+++ "),
        "solutions rename-value-list": (("colours", "other"), "+++ "),
        "solutions undo": ((older.change,), "--- "),
        "solutions update-relation": (("books_to_authors", "--comment", "x"), "+++ "),
        "solutions update-value-list": (("colours", "--comment", "x"), "+++ "),
        "solutions use": (("shop_data", "-w", "shop"), "active: bookshop -> shop_data"),
        "threads delete": ((older.thread,), f"- conversation {older.thread}"),
        "threads fork": ((older.thread,), "+ conversation"),
        "threads rename": ((older.thread, "x"), "title: t0 -> x"),
        "tools approve": (("--all", "--yes"), "- tool that waits for approval chest_open"),
        "tools core": (("own_echo",), "core: false -> true"),
        "tools disable": (("own_echo",), "enabled: true -> false"),
        "tools enable": (("own_echo",), "nothing would change"),
        "tools refresh": (("own_echo",), "no server was started"),
        "tools forget": (("own_echo",), "- consent own_echo"),
        "tools rewrites apply": (("own_echo", "-d", "Say it again."), "~ rewrite of own_echo"),
        "tools rewrites remove": (("own_echo",), "- rewrite of own_echo"),
        "tools categories derive": (("--again",), "voices"),
        "tools categories set": (("loud", "own_echo"), "+ category loud"),
        "tools categories rename": (("voices", "sounds"), "+ category sounds"),
        "tools categories remove": (("voices",), "- category voices"),
        "tools words add": (("own_echo", "repeat after me"), "~ words of own_echo"),
        "tools questions remove": (("own_echo",), "- questions of own_echo"),
        "tools words remove": (("own_echo",), "- words of own_echo"),
        "tools learning": (("on",), "mode: shadow -> on"),
        "tools unlearn": (("--all",), "uses: 1 -> 0"),
        "train": (("--remove",), "model: m ->"),
        "tools reject": (("--all", "--yes"), "~ tool that waits for approval chest_open"),
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
    every = set(every_command())

    assert every - writing() == LOOKING | RUNNING
    assert not writing() & (LOOKING | RUNNING)
    assert writing() == set(every_way())


def test_every_verb_is_known_to_look_to_write_or_to_do_neither() -> None:
    """A new verb without an entry is not run in a dry run."""
    app = MagicMock()
    app.services.caller = Caller(Tenant(1, "local"))

    verbs = set(build_verbs(app, MagicMock(), MagicMock(), None))

    assert verbs == set(WRITES) | LOOKS | OTHERS
    assert not set(WRITES) & LOOKS & OTHERS


def test_a_dry_run_of_each_command_changes_nothing_and_says_what_would_be(
    command: Command, home: Home, older: Older, model: ChatServer, tmp_path: Path
) -> None:
    """Rows and files are as they were; every verb of the table shows its change, and nothing besides."""
    (tmp_path / "tracker.yaml").write_text(TRACKER.replace("version: 2.1.0", "version: 2.2.0"), encoding="utf-8")
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"more": {"command": sys.executable}}}))
    ways = every_way(model.url, older)
    lines = [(*name.split(), *arguments) for name, (arguments, _) in ways.items()]
    lines += [("servers", "add", "--config", "servers.json")]
    lines += [("train", "--from-log")]
    lines += [("servers", "set", "own", "--sql-dialect", "sqlite", "--sql-argument", "query")]
    lines += [("docs", "webhook", "handbook", "--remove")]
    (tmp_path / "key.txt").write_text("0123456789")
    command("apis", "hosts", "allow", "tracker", "tracker.example.com")
    command("apis", "credentials", "set", "tracker", "--secret", "${file:key.txt}")
    command("packs", "list")
    command("index", "tools")
    before = settled(home, tmp_path)
    ended = {name: command(*name.split(), *arguments, "--dry-run") for name, (arguments, _) in ways.items()}
    plans = [plan for line in lines for plan in planned(command, *line)]
    after = everything(home, tmp_path)
    silent = {name: ended[name] for name, way in ways.items() if way[1] not in ended[name].out + ended[name].err}
    changed = {plan["verb"] for plan in plans if plan["changes"] or plan.get("result")}

    assert [key for key in {**before, **after} if before.get(key) != after.get(key)] == []
    assert silent == {}
    assert [name for name, one in ended.items() if "went wrong" in one.err] == []
    assert set(WRITES) - changed == ASKING
    assert {plan["verb"]: len(plan["changes"]) for plan in plans if plan["verb"] in OF_ONE} == dict.fromkeys(OF_ONE, 1)


def planned(command: Command, *line: str) -> list[dict[str, Any]]:
    """The plans of the daemon for a dry run of a command; none where the command cannot be run."""
    answer = command(*line, "--dry-run", "--json").json
    return [plan for plan in answer.get("plans", ()) if "verb" in plan]


def test_a_dry_run_of_a_sync_that_finds_nothing_new_says_so(command: Command, tmp_path: Path) -> None:
    """Only the time of the sync would change."""
    (tmp_path / "tracker.yaml").write_text(TRACKER, encoding="utf-8")
    assert command("apis", "add", "same", str(tmp_path / "tracker.yaml")).code == 0

    synced = command("apis", "sync", "same", "--dry-run")

    assert synced.code == 0
    assert "nothing would change" in synced.out
    assert command("apis", "remove", "same").code == 0


def test_a_dry_run_knows_the_tools_of_packs(command: Command) -> None:
    """They are tools and servers as any other, in a dry run too."""
    tool = command("tools", "disable", "search_documents", "--dry-run")
    server = command("servers", "disable", "documents:pack", "--dry-run")

    assert "~ tool search_documents" in tool.out
    assert "~ server documents:pack" in server.out


def test_a_dry_run_for_programs_holds_the_difference(command: Command, home: Home) -> None:
    """The rows before and after, field by field."""
    answer = command("settings", "set", "top_k=9", "--dry-run", "--json").json

    changes = [change for plan in answer["plans"] for change in plan["changes"]]
    assert answer["dry_run"] is True
    assert changes[0]["after"]["settings.top_k"] == 9
    assert json.dumps(changes[0]["before"])


def test_a_dry_run_of_an_import_names_what_it_leaves_out(command: Command, tmp_path: Path) -> None:
    """An exit code that is not zero has its reason in the output."""
    servers = {
        "good": {"command": sys.executable},
        "bad": {"command": "no-such-program"},
        "secret": {"command": sys.executable, "env": {"K": "${NO_SUCH_VARIABLE}"}},
    }
    file = tmp_path / "mixed.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    ended = command("servers", "add", "--config", str(file), "--dry-run")
    data = command("servers", "add", "--config", str(file), "--dry-run", "--json")

    assert "+ server good" in ended.out
    assert "left out: bad: " in ended.out
    assert "NO_SUCH_VARIABLE" in ended.out
    assert (ended.code, data.code) == (8, 8)
    assert len(data.json["plans"][0]["left_out"]) == 2
