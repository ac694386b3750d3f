"""`thresher audit` against a real daemon."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.audit.conftest import attempt
from tests.cli.conftest import Command
from tests.daemon.home import Home
from thresher.audit import AuditLog, StatementOutcome
from thresher.core import Caller, Settings
from thresher.store import Database, SecretBox

FAKE = Path(__file__).parent.parent / "fakes" / "sql_server.py"


@pytest.fixture(scope="module")
def home(own_home: Home) -> Home:
    """A home of this module's own: it reads the whole log."""
    return own_home


@pytest.fixture
async def database(home: Home) -> AsyncIterator[Database]:
    """The daemon's database."""
    database = await Database.open(home.environment["THRESHER_DATABASE_URL"])
    yield database
    await database.close()


@pytest.fixture
async def log(home: Home, database: Database, command: Command) -> AuditLog:
    """The daemon's log: its database, its key, its folder."""
    command("status")
    folder = Path(home.environment["THRESHER_DATA_DIR"])
    return AuditLog(database, SecretBox.from_settings(Settings(data_dir=folder, allow_root=True)), folder)


async def test_the_log_is_shown_verified_pruned_and_restarted(
    command: Command, database: Database, log: AuditLog
) -> None:
    """For people and for programs, with exit codes that scripts can use."""
    empty, whole = command("audit", "log"), command("audit", "verify", "--json")
    caller = Caller(await database.tenant("local"))
    first = await log.decide(caller, attempt("select  1 \n from [red]a[/red] \x1b[2J"))
    await log.end(caller, first, StatementOutcome("ok", 1, 12.0))
    await log.decide(caller, attempt("drop table b", allowed=False, connection="other"))
    shown = command("audit", "log")
    refused = command("audit", "log", "--refused", "--json", "--days", "1")
    paged = command("audit", "log", "--limit", "1")
    verified = command("audit", "verify")
    head = command("audit", "verify", "--json").json["head"]
    pruned = command("audit", "prune", "--older-than", "0")
    expected = command("audit", "verify", "--expect", head)
    wrong = command("audit", "verify", "--expect", f"4:{'0' * 64}", "--json")
    begun = command("audit", "restart", "--json")

    assert "No statements." in empty.out
    assert (whole.code, whole.json["sound"], whole.json["head"]) == (0, True, "0:")
    assert "ok 1 rows, 12 ms" in shown.out
    assert "select 1 from [red]a[/red] <U+001B>[2J" in shown.out
    assert "refused writes" in shown.out
    assert [one["attempt"]["connection"] for one in refused.json["entries"]] == ["other"]
    assert "More: --cursor 3" in paged.out
    assert "The audit log is sound: 3 links, 2 decisions" in verified.out
    assert "Removed 3 links" in pruned.out
    assert (expected.code, wrong.code, wrong.json["sound"]) == (0, 1, False)
    assert begun.json == {"link": 5}


def test_an_argument_that_is_not_valid_is_an_error_with_a_hint(command: Command) -> None:
    """Limits, cursors, heads, tenants and ages."""
    for arguments, code in (
        (("log", "--limit", "0"), 2),
        (("log", "--cursor", "x"), 2),
        (("log", "--days", "0"), 2),
        (("verify", "--expect", "x"), 2),
        (("verify", "--tenant", "nobody"), 3),
        (("prune", "--older-than", "-1"), 2),
    ):
        ended = command("audit", *arguments)

        assert ended.code == code, ended
        assert ended.err


def test_a_server_is_guarded_from_the_command_line(command: Command) -> None:
    """When it is added or later; the list says so, and adding it again does not end that."""
    server = ("servers", "add", "db", "--command", sys.executable, "--env", "DATABASE_URL=${connection:shop}")
    wrong = command(*server, "--sql-dialect", "nosql", "--", str(FAKE))
    alone = command(*server, "--sql-tool", "query", "--", str(FAKE))
    added = command(*server, "--no-test", "--sql-dialect", "sqlite", "--sql-tool", "query", "--", str(FAKE))
    again = command("servers", "add", "db", "--command", sys.executable, "--", str(FAKE))
    listed = command("servers", "list")
    ended = command("servers", "set", "db", "--sql-dialect", "none")
    after = command("servers", "list", "--json")
    nothing = command("servers", "set", "db")

    assert (wrong.code, alone.code, nothing.code) == (2, 2, 2)
    assert "postgresql" in wrong.err
    assert (added.code, again.code, ended.code) == (8, 0, 0)
    assert "SQL guarded" in listed.out
    assert [server["sql"] for server in after.json] == [""]
