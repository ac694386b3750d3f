"""A walk through all tools and commands with sources whose texts attack: none speaks as us, or commands a screen."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
import typer

from tests.cli.conftest import Command, command  # noqa: F401 # pyright: ignore[reportUnusedImport] - a fixture
from tests.daemon.home import THRESHER, Client, Home, opened
from tests.foreign.sources import NAME, UNSEEN, forged_lines, server_command, write_sources
from tests.support import Databases
from thresher.calling import SCHEMAS
from thresher.cli.application import application

QUESTION: Final = "who may take leave, and how many days are left"
CALLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "process_prompt": {"prompt": QUESTION},
    "get_context": {"message": QUESTION},
    "find_tools": {"queries": ["days of leave", "list orders"]},
    "describe_tools": {"names": ["staff_leave_days", NAME]},
    "call_tool": {"name": f"staff_{NAME}"},
    "call_tool_write": {"name": "staff_leave_days", "arguments": {"x": NAME}},
    "read_result": {"cursor": NAME, "pattern": NAME},
    "search_documents": {"query": QUESTION},
    "retrieve_document": {"query": QUESTION, "repository": "handbook"},
    "retrieve_documents": {"query": QUESTION},
    "read_document": {"repository": "handbook", "path": "leave.md"},
    "list_repositories": {},
    "query_database_schema": {"connection": "shop", "question": "orders and FORGED rules"},
    "get_table_columns": {"connection": "shop", "table": NAME},
    "sql_table_info": {"connection": "shop", "table": "orders"},
    "sql_query": {"connection": "shop", "sql": "select * from orders"},
    "sql_explain": {"connection": "shop", "sql": "select * from orders"},
    "sql_list_tables": {"connection": "shop"},
    "sql_connection_list": {},
    "sql_connection_test": {"connection": NAME},
    "sql_session_info": {"connection": "shop"},
    "sql_activity_log": {},
    "search_api_docs": {"query": "list leave"},
    "get_api_endpoint": {"provider": "staffapi", "method": "GET", "path": "/leave"},
    "call_api_endpoint": {"provider": "staffapi", "method": "GET", "path": "/leave", "arguments": {NAME: NAME}},
    "call_api_endpoint_write": {"provider": "staffapi", "method": "GET", "path": "/leave"},
    "list_api_providers": {},
    "analyze_api_usage": {},
    "suggest_api_improvements": {"provider": "staffapi"},
    "list_relations": {},
    "list_value_lists": {},
    "get_solution_context": {},
    "set_solution_context": {"solution": NAME},
    "list_solution_changes": {},
    "open_relation": {"name": NAME},
    "update_relation": {"name": NAME},
    "rename_relation": {"name": NAME, "new_name": NAME},
    "delete_relations": {"names": [NAME]},
    "undo_solution_change": {"change_id": NAME},
    "open_value_list": {"name": NAME},
    "update_value_list": {"name": NAME},
    "rename_value_list": {"name": NAME, "new_name": NAME},
    "delete_value_lists": {"names": [NAME]},
    "index_documents": {"name": NAME, "source": "/none"},
    "refresh_repository": {"repository": NAME},
    "remove_repository": {"repository": NAME},
    "upload_document": {"repository": NAME, "path": NAME, "content": NAME},
    "remove_upload": {"repository": "handbook", "path": NAME},
    "add_connection": {"name": NAME, "url": "sqlite:////none"},
    "remove_connection": {"connection": NAME},
    "add_api": {"name": NAME, "sources": ["/none"]},
    "sync_api": {"provider": NAME},
    "enable_api": {"provider": NAME},
    "disable_api": {"provider": NAME},
    "remove_api": {"provider": NAME},
    "add_workspace": {"path": f"/none{NAME}"},
    "remove_workspace": {"workspace": NAME},
}
COMMANDS: Final[tuple[tuple[str, ...], ...]] = (
    ("explain", QUESTION, "-e", NAME),
    ("status",), ("prompt", QUESTION), ("context", QUESTION), ("ask", QUESTION), ("ask", f"list tables {NAME}"),
    ("doctor",),
    ("tools", "find", "days of leave"), ("tools", "list"), ("tools", "show", "staff_leave_days"),
    ("tools", "show", NAME), ("tools", "enable", NAME), ("tools", "disable", NAME), ("tools", "core", NAME),
    ("tools", "held"), ("tools", "approve", NAME, "--yes"), ("tools", "reject", NAME, "--yes"),
    ("tools", "consents"), ("tools", "result", NAME), ("tools", "forget", NAME), ("tools", "learned"),
    ("tools", "replay"), ("tools", "learning", "shadow"), ("tools", "unlearn", NAME), ("tools", "unlearn", "--all"),
    ("train", "--from-log"), ("train", "--from", "/none"), ("train", "--status"), ("train", "--remove"),
    ("settings", "floor"), ("settings", "floor", NAME),
    ("tools", "stats"), ("tools", "refresh", "staff"), ("tools", "health"), ("tools", "improve", "staff"),
    ("tools", "words", "add", "staff_leave_days", f"holidays {NAME}"), ("tools", "words", "list"),
    ("tools", "words", "add", NAME, "x1"), ("tools", "words", "remove", NAME), ("tools", "rewrites", "apply", NAME),
    ("tools", "rewrites", "apply", "staff_leave_days"), ("tools", "rewrites", "list"),
    ("tools", "rewrites", "remove", NAME), ("tools", "questions", "list"), ("tools", "questions", "remove", NAME),
    ("tools", "categories", "list"), ("tools", "categories", "derive"),
    ("tools", "categories", "set", NAME, NAME), ("tools", "categories", "set", NAME, "staff_leave_days"),
    ("tools", "categories", "rename", NAME, NAME), ("tools", "categories", "remove", NAME),
    ("servers", "list"), ("servers", "login", NAME), ("servers", "logout", NAME), ("servers", "remove", NAME),
    ("servers", "enable", NAME), ("servers", "disable", NAME), ("servers", "refresh"),
    ("servers", "set", NAME, "--auto-approve"),
    ("packs", "list"), ("packs", "show", "leave-rules"), ("packs", "untrust", NAME), ("packs", "trust", NAME, "--yes"),
    ("components", "list"), ("components", "refresh"), ("intents", "list"), ("intents", "explain", QUESTION),
    ("intents", "threshold", NAME, "0.5"), ("intents", "stats"), ("keys", "list"), ("keys", "revoke", NAME),
    ("insight", "usage"), ("insight", "unanswered"), ("insight", "intents"), ("insight", "calls"),
    ("insight", "attention"), ("cases", "add", f"days {NAME}", "--tool", NAME, "--not", f"intent:{NAME}"),
    ("cases", "list"), ("cases", "run"), ("cases", "last"), ("cases", "runs"), ("cases", "export"),
    ("cases", "import", "/none"), ("cases", "remove", "999"),
    ("jobs", "list"), ("jobs", "show", "1"), ("jobs", "cancel", "999"), ("audit", "log"), ("audit", "verify"),
    ("docs", "list"), ("docs", "show", "handbook"), ("docs", "guide", "handbook"), ("docs", "refresh", NAME),
    ("docs", "schedule", "handbook"), ("docs", "schedule", NAME, "--never"),
    ("docs", "webhook", "handbook", "--remove"), ("docs", "webhook", NAME),
    ("docs", "upload", NAME, NAME), ("docs", "remove-upload", "handbook", NAME), ("docs", "remove-upload", NAME, NAME),
    ("docs", "remove", NAME), ("docs", "retrieve", "handbook", QUESTION), ("docs", "search", QUESTION),
    ("docs", "compare", QUESTION),
    ("docs", "read", "handbook", "leave.md"), ("db", "list"), ("db", "test", "shop"), ("db", "session", "shop"),
    ("db", "remove", NAME), ("db", "refresh", "shop"), ("db", "schema", "shop"), ("db", "tables", "shop"),
    ("db", "find", "orders"), ("db", "columns", "shop", NAME), ("db", "query", "shop", "select * from orders"),
    ("db", "explain", "shop", "select 1"), ("db", "relations", "shop"), ("apis", "list"), ("apis", "sync", NAME),
    ("apis", "schedule", NAME, "--never"),
    ("apis", "enable", NAME), ("apis", "disable", NAME), ("apis", "remove", NAME), ("apis", "search", "list leave"),
    ("apis", "search", "", "--api", "staffapi"), ("apis", "show", "--api", "staffapi", "GET /leave"), ("apis", "usage"),
    ("apis", "call", "--api", "staffapi", "GET /leave", "-p", f"{NAME}={NAME}"), ("apis", "hosts", "list"),
    ("apis", "hosts", "allow", "staffapi", NAME), ("apis", "hosts", "allow", "staffapi", "https://example.com"),
    ("apis", "hosts", "disallow", NAME, NAME), ("apis", "credentials", "list"),
    ("apis", "credentials", "set", NAME, "--secret", "${PATH}"), ("apis", "credentials", "remove", NAME),
    ("apis", "improve", "staffapi"), ("solutions", "list"), ("solutions", "show", "work"),
    ("solutions", "remove", NAME),
    ("solutions", "context"), ("solutions", "use", NAME), ("solutions", "relations"), ("solutions", "value-lists"),
    ("solutions", "open-relation", NAME), ("solutions", "update-relation", NAME),
    ("solutions", "rename-relation", NAME, NAME), ("solutions", "delete-relations", NAME),
    ("solutions", "open-value-list", NAME), ("solutions", "update-value-list", NAME),
    ("solutions", "rename-value-list", NAME, NAME), ("solutions", "delete-value-lists", NAME), ("solutions", "backups"),
    ("solutions", "undo", NAME), ("solutions", "check", "--round-trip", "/none"), ("prompts", "list"),
    ("prompts", "show", NAME),
    ("prompts", "set", NAME, "/none"), ("prompts", "reset", NAME), ("prompts", "versions", NAME),
    ("prompts", "diff", NAME),
    ("models", "list"), ("models", "check", NAME), ("models", "enable", NAME), ("models", "disable", NAME),
    ("models", "remove", NAME), ("settings", "show"), ("settings", "set", f"model={NAME}"),
    ("settings", "reset", "model"),
    ("threads", "list"), ("threads", "show", NAME), ("threads", "rename", NAME, NAME), ("threads", "fork", NAME),
    ("threads", "delete", NAME),
)  # fmt: skip
LISTINGS: Final = frozenset(
    {
        *(one for one in COMMANDS if one[-1] in ("list", "held", "backups", "stats", "log", "status")),
        ("db", "tables", "shop"),
    }
)
"""Commands that print a table: no line of it is one that a name wrote."""
SOURCES: Final = frozenset({"servers add", "index docs", "index tools", "db add", "apis add", "solutions add"})
"""Commands that the sources are added with; what they print is looked at there."""
OWN: Final = frozenset(
    {
        *("demo", "serve", "stdio", "hook", "stop", "migrate", "chat", "purge"),
        *("keys add", "models add", "audit prune", "audit restart", "packs new", "packs lint", "packs export"),
        *("packs install", "eval tools", "eval intents", "eval documents", "eval sql", "eval relations", "eval apis"),
        *("eval chat", "eval context", "eval results"),
    }
)
"""Commands that show nothing of what is installed, or files of the user's own, or need more than a daemon."""


@pytest.fixture(scope="module")
async def home(open_folder: Path, databases: Databases) -> AsyncIterator[Home]:
    """A daemon, also for HTTP, whose every source is hostile."""
    name = await databases.create()
    folder = open_folder / secrets.token_hex(4)
    folder.mkdir()
    sources = write_sources(folder)
    urls = {
        "THRESHER_DATABASE_URL": databases.url(name),
        "THRESHER_MIGRATION_URL": databases.url(name, "thresher_owner"),
    }
    more = {"THRESHER_PACKS": str(sources["packs"]), "THRESHER_ADMIN_TOOLS": "on", "THRESHER_RULES_FIRST": "off"}
    more |= {"THRESHER_EXPOSE": "own"}
    with opened(folder / "data", **urls, **more) as home:
        serving = _served(home)
        for arguments in _adding(sources):
            done = home.run(*arguments)
            assert not UNSEEN.findall(done.stdout + done.stderr), arguments
            assert done.returncode == (8 if arguments[2] == "away" else 0), (arguments, done.stderr)
        yield home
    serving.wait()
    await databases.drop(name)


def _served(home: Home) -> subprocess.Popen[bytes]:
    """The daemon in the foreground, its log in a file."""
    with _log(home).open("wb") as log:
        command = [*THRESHER, "serve", "--port", "0", "--json"]
        serving = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=home.environment)
    assert serving.stdout is not None
    assert json.loads(serving.stdout.readline())["url"]
    return serving


def _log(home: Home) -> Path:
    return home.folder.parent / "serving.log"


def _adding(sources: Mapping[str, Path]) -> Iterator[tuple[str, ...]]:
    program, *rest = server_command(sources["server"])
    yield "servers", "add", "staff", "--command", program, "--", *rest
    yield "tools", "approve", "staff_leave_days", "--yes"
    yield "servers", "add", "away", "--command", program, "--", "-c", f"raise SystemExit({NAME!r})"
    yield "index", "docs", "handbook", str(sources["docs"])
    yield "db", "add", "shop", "--url", f"sqlite:///{sources['database']}"
    yield "apis", "add", "staffapi", str(sources["api"])
    yield "solutions", "add", str(sources["workspace"])
    yield "solutions", "use", "bookshop"


@pytest.fixture
def client(home: Home) -> Iterator[Client]:
    """A client that has greeted the daemon."""
    client = home.client()
    client.greet()
    yield client
    client.leave()


def _commands(group: Any, *path: str) -> Iterator[str]:
    for name, entry in group.commands.items():
        yield from _commands(entry, *path, name) if hasattr(entry, "commands") else [" ".join((*path, name))]


SWITCHED_OFF: Final = ("run_code", "run_code_write")
"""They answer with what a program of the caller's own writes."""


def test_no_tool_lets_a_foreign_text_speak_as_us(client: Client) -> None:
    """Meta-tools and the tools of all packs; whatever is outside the borders of an answer is ours."""
    names = {tool["name"] for tool in client.ask("tools/list")["result"]["tools"]} | set(SCHEMAS) - {*SWITCHED_OFF}
    ours = {name for name in names if not name.startswith("staff_")}
    answers = {name: client.call(name, **CALLS[name]) for name in CALLS if name in ours}

    assert ours == set(answers)
    texts = {name: "\n".join(block["text"] for block in answer["content"]) for name, answer in answers.items()}
    assert {name: lines for name, text in texts.items() if (lines := forged_lines(text))} == {}
    assert sum("FORGED" in text for text in texts.values()) > 30
    assert "FORGED" in texts["process_prompt"]


@pytest.mark.timeout(600)  # two hundred commands, each as a process would run it
def test_no_command_prints_what_a_terminal_obeys(command: Command) -> None:  # noqa: F811 - the fixture
    """Results, errors and JSON of every command that shows what is installed."""
    known = set(_commands(typer.main.get_command(application)))
    walked = {name for name in known if any(" ".join(one).startswith(name) for one in COMMANDS)}
    ended = {one: command(*one) for one in COMMANDS}
    programs = {one: command(*one, "--json") for one in COMMANDS if NAME not in one}

    assert known == walked | SOURCES | OWN
    assert {one: found for one, end in ended.items() if (found := UNSEEN.findall(end.out + end.err))} == {}
    assert {one: found for one, end in programs.items() if (found := UNSEEN.findall(end.out + end.err))} == {}
    assert all(json.loads(end.out) is not None for end in programs.values() if end.out)
    assert {one: lines for one, end in ended.items() if one in LISTINGS and (lines := forged_lines(end.out))} == {}
    assert {one for one, end in ended.items() if "[bold]" in end.out + end.err} > {("db", "tables", "shop")}
    assert {one for one, end in ended.items() if "Something unexpected" in end.err or "Usage:" in end.err} == set()


def test_no_route_answers_what_a_model_reads_with_a_foreign_line(home: Home) -> None:
    """HTTP gives exact data, and the texts for models in it as the tools do; a problem is one line."""
    url = home.json("status")["url"].removesuffix("/mcp")
    with httpx.Client(base_url=url, timeout=60) as web:
        routes = web.get("/v1/openapi.json").json()["paths"]
        plain = [path for path, verbs in routes.items() if "get" in verbs and "{" not in path]
        named = [path for path, verbs in routes.items() if "get" in verbs and path.count("{") == 1]
        answers = [web.get(path) for path in plain]
        answers += [web.get(re.sub(r"\{\w+\}", quote(NAME, safe=""), path)) for path in named]
        answers += [
            web.post("/v1/process_prompt", json={"prompt": QUESTION}),
            web.post("/v1/context", json={"message": QUESTION}),
        ]

    assert len(plain) > 10
    assert len(named) > 10
    for answer in answers:
        is_json = "json" in answer.headers.get("content-type", "")
        body: Any = answer.json() if is_json else {"text": answer.text}
        texts = [str(body.get(field, "")) for field in ("text", "detail", "hint")] if isinstance(body, dict) else []
        assert not [line for text in texts for line in forged_lines(text)], answer.url
        assert answer.status_code < 500, answer.url


def test_the_log_has_one_line_an_event(home: Home) -> None:
    """Whatever a name, a message or an error holds."""
    log = _log(home).read_text(encoding="utf-8")

    assert not UNSEEN.findall(log)
    assert all(json.loads(line) for line in log.splitlines() if line.startswith("{"))
    assert not [line for line in log.splitlines() if "FORGED" in line and not line.startswith("{")]
