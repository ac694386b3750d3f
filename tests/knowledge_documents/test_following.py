"""Sources that are followed: what has changed is indexed by itself, by one daemon."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.knowledge.documents.gits import bare, commit, git_application, served, tag
from tests.support import eventually
from thresher.core import Caller, InvalidInput, NotFound, Settings, SourceUnavailable, Tenant
from thresher.knowledge.documents import DocumentService, origin_of, queries
from thresher.knowledge.documents.following.follower import Follower
from thresher.knowledge.documents.sources import SourceLimits, has_changed, watched_folders
from thresher.store import Database
from thresher.store.tables import repository


class Deferred:
    """How often a follower has deferred the job of a repository; other tests leave repositories of other tenants."""

    def __init__(self, repository: int) -> None:
        self._repository = repository
        self.times = 0

    async def defer(self, _tenant: Tenant, repository: int) -> None:
        """Note it."""
        self.times += repository == self._repository


@asynccontextmanager
async def following(database: Database, settings: Settings, deferred: Deferred) -> AsyncGenerator[None]:
    """A daemon that follows the sources of the database."""
    running = asyncio.create_task(Follower(database, settings, deferred.defer).run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def until(condition: Callable[[], bool]) -> Awaitable[object]:
    """Wait for a condition."""

    async def holds() -> bool:
        return condition()

    return eventually(holds, seconds=30)


@pytest.fixture
async def indexed(documents: DocumentService, caller: Caller, handbook: Path) -> int:
    """The handbook as a repository; its key."""
    return (await documents.index_here(caller, "handbook", origin_of(str(handbook)))).id


async def test_a_change_in_a_folder_is_indexed_by_itself(
    indexed: int, handbook: Path, database: Database, settings: Settings
) -> None:
    """One that came before it was watched, a new one in a new folder, a removed one."""
    deferred = Deferred(indexed)
    async with following(database, settings, deferred):
        (handbook / "early.md").write_text("# Before it was watched\n")
        await until(lambda: deferred.times > 0)
        for change in (new_folder, new_file, removed_file):
            before = deferred.times
            change(handbook)
            await until(lambda before=before: deferred.times > before)


def new_folder(handbook: Path) -> None:
    """Add a folder."""
    (handbook / "guides" / "deep").mkdir()


def new_file(handbook: Path) -> None:
    """Add a file in the new folder."""
    (handbook / "guides" / "deep" / "new.md").write_text("# New\n")


def removed_file(handbook: Path) -> None:
    """Remove a file."""
    (handbook / "README.md").unlink()


async def test_a_folder_that_is_removed_or_replaced_is_followed_again(
    indexed: int, handbook: Path, database: Database, settings: Settings
) -> None:
    """The system's watch is one of the folder that was there before, and reports nothing of what takes its place."""
    deferred = Deferred(indexed)
    async with following(database, settings, deferred):
        (handbook / "early.md").write_text("# Before it was watched\n")
        await until(lambda: deferred.times > 0)
        for change in (removed, made, replaced, new_file_at_the_top):
            before = deferred.times
            change(handbook)
            await until(lambda before=before: deferred.times > before)


def removed(handbook: Path) -> None:
    """Remove the folder."""
    shutil.rmtree(handbook)


def made(handbook: Path) -> None:
    """Make it again."""
    handbook.mkdir()


def replaced(handbook: Path) -> None:
    """Put another folder in its place."""
    other = handbook.with_name("other")
    other.mkdir()
    handbook.rename(handbook.with_name("old"))
    other.rename(handbook)


def new_file_at_the_top(handbook: Path) -> None:
    """Add a file."""
    (handbook / "newer.md").write_text("# Newer\n")


async def test_a_folder_that_could_not_be_read_and_can_again_is_indexed(
    indexed: int, caller: Caller, database: Database, settings: Settings
) -> None:
    """Also if nothing in it has changed meanwhile: the repository would be said to have failed for ever."""
    async with database.transaction(caller.tenant) as connection:
        await queries.set_repository(connection, caller.tenant, indexed, state="failed", problem="Nothing was there.")
    deferred = Deferred(indexed)
    async with following(database, settings, deferred):
        await until(lambda: deferred.times > 0)


def test_a_repository_whose_refs_are_a_link_is_not_watched(tmp_path: Path) -> None:
    """The link may lead to anything; a run refuses it too."""
    bare(tmp_path / "repo").close()
    (tmp_path / "repo" / "refs").rename(tmp_path / "elsewhere")
    (tmp_path / "repo" / "refs").symlink_to(tmp_path / "elsewhere")

    assert watched_folders(origin_of(str(tmp_path / "repo")), SourceLimits()) is None


async def test_what_changed_while_no_daemon_ran_is_indexed_at_the_next_start(
    indexed: int, handbook: Path, database: Database, settings: Settings
) -> None:
    """The folder is compared with what is stored; one that is the same is left alone."""
    first, second = Deferred(indexed), Deferred(indexed)
    (handbook / "guides" / "vpn.md").write_text("# Elsewhere\n\nThe gateway has moved.\n")
    async with following(database, settings, first):
        await until(lambda: first.times > 0)
    async with following(database, settings.model_copy(update={"watch": "off"}), second):
        await asyncio.sleep(0)

    assert second.times == 0


async def test_one_of_two_daemons_follows_a_source(
    indexed: int, handbook: Path, database: Database, settings: Settings
) -> None:
    """When it ends, the other one takes the source up at once."""
    one, other = Deferred(indexed), Deferred(indexed)
    async with following(database, settings, one):
        (handbook / "first.md").write_text("# First\n")
        await until(lambda: one.times > 0)
        async with following(database, settings, other):
            (handbook / "second.md").write_text("# Second\n")
            await until(lambda: one.times > 1)
        assert other.times == 0
    async with following(database, settings, other):
        await until(lambda: other.times > 0)


async def test_a_schedule_of_its_own_checks_a_source_and_zero_never_does(
    indexed: int, documents: DocumentService, caller: Caller, handbook: Path, database: Database, settings: Settings
) -> None:
    """A folder with a schedule is not watched."""
    deferred = Deferred(indexed)
    (handbook / "new.md").write_text("# New\n")
    never = await documents.set_schedule(caller, "handbook", 0)
    async with following(database, settings, deferred):
        await documents.set_schedule(caller, "handbook", 3600)
        await until(lambda: deferred.times == 1)
        (handbook / "newer.md").write_text("# Newer\n")

    assert never.check_seconds == 0
    assert deferred.times == 1


async def test_a_folder_that_gets_a_schedule_is_watched_no_longer(
    indexed: int, documents: DocumentService, caller: Caller, handbook: Path, database: Database, settings: Settings
) -> None:
    """It is checked and then left alone until its time comes."""

    async def left_alone() -> bool:
        query = select(repository.c.check_at > func.now() + func.make_interval(0, 0, 0, 0, 0, 30))
        async with database.transaction(caller.tenant) as connection:
            return bool((await connection.execute(query.where(repository.c.id == indexed))).scalar_one())

    deferred = Deferred(indexed)
    async with following(database, settings, deferred):
        (handbook / "new.md").write_text("# New\n")
        await until(lambda: deferred.times > 0)
        await documents.set_schedule(caller, "handbook", 3600)
        (handbook / "newer.md").write_text("# Newer\n")
        await eventually(left_alone, seconds=30)


async def test_a_source_is_not_checked_all_the_time(documents: DocumentService, caller: Caller, indexed: int) -> None:
    """A server would be asked every few seconds."""
    with pytest.raises(InvalidInput):
        await documents.set_schedule(caller, "handbook", 9)


def test_the_watched_folders_are_those_that_a_run_enters(handbook: Path) -> None:
    """Not those that a .gitignore leaves out or that tools fill."""
    for name in ("node_modules/x", ".git/objects", "build/deep", "guides/deep"):
        (handbook / name).mkdir(parents=True)
    (handbook / ".gitignore").write_text("build/\n")

    watched = watched_folders(origin_of(str(handbook), exclude=["*.txt"]), SourceLimits())

    assert watched is not None
    assert {one.relative_to(handbook).as_posix() for one in watched.folders} == {".", "guides", "guides/deep"}
    names = ("a.md", "a.txt", "a.md~", ".a.md.swp", "a.png", "guides", ".gitignore")
    assert [watched.matters(str(handbook / name)) for name in names] == [True, False, False, False, False, True, True]
    assert [watched.reshapes(str(handbook / name)) for name in names] == [False] * 5 + [True, True]


def test_a_git_repository_has_changed_when_its_branch_leads_elsewhere(tmp_path: Path) -> None:
    """A commit is seen in its refs, without reading a file."""
    repo = bare(tmp_path / "repo")
    old = commit(repo, {"a.md": b"one"})
    new = commit(repo, {"a.md": b"two"}, "main", old)
    repo.close()
    origin, limits = origin_of(str(tmp_path / "repo")), SourceLimits()

    watched = watched_folders(origin, limits)

    assert has_changed(origin, old, tmp_path, limits)
    assert not has_changed(origin, new, tmp_path, limits)
    assert watched is not None
    assert watched.matters(str(tmp_path / "repo" / "refs" / "heads" / "main"))
    assert watched.matters(str(tmp_path / "repo" / "packed-refs"))
    assert not watched.matters(str(tmp_path / "repo" / "config"))


def test_a_git_server_is_asked_where_a_name_leads(tmp_path: Path) -> None:
    """A branch, and a tag by its commit; a commit by its id never changes, and nothing is fetched."""
    repo = bare(tmp_path / "repo")
    old = commit(repo, {"a.md": b"one"})
    tag(repo, "v1", old)
    new = commit(repo, {"a.md": b"two"}, "main", old)
    with served(git_application(docs=repo)) as address:
        changed = {
            (ref, version): has_changed(
                origin_of(f"{address}/docs.git", ref=ref), version, tmp_path / "cache", SourceLimits()
            )
            for ref in ("main", "v1", "", old)
            for version in (old, new)
        }
        with pytest.raises(NotFound):
            has_changed(origin_of(f"{address}/docs.git", ref="gone"), old, tmp_path / "cache", SourceLimits())
    repo.close()

    assert {key for key, value in changed.items() if value} == {("main", old), ("", old), ("v1", new)}
    assert not (tmp_path / "cache").exists()


def test_a_server_that_never_ends_its_list_is_given_up(tmp_path: Path) -> None:
    """It would fill the memory of the daemon."""

    def line(text: bytes) -> bytes:
        return b"%04x%b" % (len(text) + 4, text)

    def endless(_environ: object, start: Callable[[str, list[tuple[str, str]]], object]) -> Iterator[bytes]:
        start("200 OK", [("Content-Type", "application/x-git-upload-pack-advertisement")])
        yield line(b"# service=git-upload-pack\n") + b"0000" + line(b"a" * 40 + b" refs/heads/main\0agent=x\n")
        for number in range(3_000):
            yield b"".join(line(b"a" * 40 + b" refs/heads/%d-%d-%b\n" % (number, one, b"b" * 900)) for one in range(20))

    with served(endless) as address, pytest.raises(SourceUnavailable, match="does not end"):
        has_changed(origin_of(f"{address}/docs.git"), "a" * 40, tmp_path, SourceLimits())


async def test_a_repository_of_a_server_is_indexed_when_its_branch_moves(
    documents: DocumentService, caller: Caller, tmp_path: Path, database: Database, settings: Settings
) -> None:
    """On its schedule."""
    repo = bare(tmp_path / "repo")
    old = commit(repo, {"a.md": b"# One\n\nText.\n"})
    with served(git_application(docs=repo)) as address:
        found = await documents.index_here(caller, "docs", origin_of(f"{address}/docs.git"))
        commit(repo, {"a.md": b"# Two\n\nText.\n"}, "main", old)
        deferred = Deferred(found.id)
        async with following(database, settings, deferred):
            await until(lambda: deferred.times > 0)
    repo.close()

    assert deferred.times == 1
