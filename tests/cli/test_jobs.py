"""`thresher jobs` against a real daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.cli.conftest import Command
from tests.daemon.home import Home
from thresher.jobs import Job, Jobs
from thresher.store import Database

TASK = "elsewhere.only"
"""No worker of ours does it, so its jobs stay as they are."""


@pytest.fixture(scope="module")
def home(own_home: Home) -> Home:
    """A home of this module's own: it lists all jobs."""
    return own_home


@pytest.fixture
async def database(home: Home) -> AsyncIterator[Database]:
    """The daemon's database."""
    database = await Database.open(home.environment["THRESHER_DATABASE_URL"])
    yield database
    await database.close()


async def defer(database: Database, subject: int) -> Job:
    """Ask for work as the daemon's owner."""
    local = await database.tenant("local")
    async with database.transaction(local) as connection:
        return await Jobs(database).defer(connection, local, TASK, subject)


async def test_jobs_are_listed_shown_and_cancelled(command: Command, database: Database) -> None:
    """For people and for programs; a cancelled one cannot be cancelled."""
    empty = command("jobs", "list")
    first, second = await defer(database, 1), await defer(database, 2)
    listed = command("jobs", "list")
    newest = command("jobs", "list", "--limit", "1", "--json")
    shown = command("jobs", "show", str(first.id))
    cancelled = command("jobs", "cancel", str(first.id), "--json")
    again = command("jobs", "cancel", str(first.id))
    waited = command("jobs", "show", str(first.id), "--wait")

    assert "No jobs" in empty.out
    assert [line.split()[:4] for line in listed.out.splitlines()[1:]] == [
        [str(second.id), TASK, "2", "waiting"],
        [str(first.id), TASK, "1", "waiting"],
    ]
    assert [job["id"] for job in newest.json] == [second.id]
    assert f"job {first.id}: {TASK} of 1, waiting" in shown.out
    assert (cancelled.json["state"], cancelled.json["ended"]) == ("cancelled", True)
    assert (again.code, waited.code) == (4, 1)
    assert "has ended: cancelled" in again.err


def test_a_job_that_is_not_there_is_an_error_with_a_way_out(command: Command) -> None:
    """Whatever the number."""
    for number in ("0", "77", "99999999999999999999"):
        ended = command("jobs", "show", number)

        assert ended.code == 3
        assert "thresher jobs list" in ended.err
