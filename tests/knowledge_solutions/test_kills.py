"""Writers killed with signal 9 at every step: all or nothing is done, and nothing is lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.knowledge_solutions.writer import AFTER, BEFORE, contents, write
from thresher.core import Conflict
from thresher.knowledge.solutions.changes.storage import Storage
from thresher.knowledge.solutions.workspace import FileChange

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no signal 9")


class Killing:
    """A process whose children write and are killed."""

    def __init__(self, folder: Path) -> None:
        self.root, self.data = folder / "workspace", folder / "data"
        command = [sys.executable, "-m", "tests.knowledge_solutions.writer", "serve", str(self.root), str(self.data)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.afresh()

    def afresh(self) -> None:
        """The workspace as it was, without a journal."""
        for folder in (self.root, self.data):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        write(self.root, BEFORE)

    def asks(self, spec: str) -> dict[str, Any]:
        """The answer of the process."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{spec}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def steps(self, work: str) -> list[int]:
        """The steps at which to kill it: one for each state of the disk."""
        return self.asks(f"steps {work}")["steps"]

    def is_whole(self) -> bool:
        """Whether every file of the workspace is complete."""
        found = {path: data for path, data in contents(self.root).items() if ".thresher-" not in path}
        return all(data in (BEFORE.get(path), AFTER.get(path)) for path, data in found.items()) and all(
            path in found for path in BEFORE.keys() & AFTER.keys()
        )


@pytest.fixture
def killing(tmp_path: Path) -> Iterator[Killing]:
    """The process that writes."""
    killing = Killing(tmp_path)
    yield killing
    killing.process.stdin.close()  # type: ignore[union-attr]
    killing.process.wait(10)


def test_a_writer_killed_at_any_step_leaves_all_or_nothing(killing: Killing) -> None:
    """Every file is complete at once; after recovery all are new or all are old, and nothing else is left."""
    steps = killing.steps("apply")
    outcomes: list[str] = []
    for step in steps:
        killing.afresh()
        killed = killing.asks(f"kill apply {step}")["killed"]
        whole = killing.is_whole()
        recovered = Storage(killing.data).recover(killing.root)

        assert killed
        assert whole, f"at step {step}"
        assert contents(killing.root) in (BEFORE, AFTER), f"at step {step}"
        assert Storage(killing.data).recover(killing.root) == ()
        assert (killing.root / "crm/menus").exists() == (contents(killing.root) == AFTER)
        outcomes.append(recovered[0].outcome if recovered else "none")

    assert len(steps) > 20
    assert {"none", "taken back", "completed"} == set(outcomes)


def test_what_was_completed_after_a_kill_can_be_undone(killing: Killing) -> None:
    """Its entry is in the list of changes like any other."""
    for step in killing.steps("apply"):
        killing.afresh()
        killing.asks(f"kill apply {step}")
        storage = Storage(killing.data)
        recovered = storage.recover(killing.root)
        if not recovered or recovered[0].outcome != "completed":
            continue
        storage.undo(killing.root, recovered[0].id)

        assert contents(killing.root) == BEFORE
        assert [backup.undone for backup in storage.backups(killing.root)] == [False, True]


def test_a_recovery_killed_at_any_step_is_completed_by_the_next(killing: Killing) -> None:
    """The second process is killed at any step too; the third completes it."""
    steps = killing.steps("apply")
    for first in (steps[len(steps) // 3], steps[len(steps) // 2], steps[-4]):
        killing.afresh()
        killing.asks(f"kill apply {first}")
        for second in killing.steps("recover"):
            killing.afresh()
            killing.asks(f"kill apply {first}")
            killing.asks(f"kill recover {second}")
            whole = killing.is_whole()
            Storage(killing.data).recover(killing.root)

            assert whole
            assert contents(killing.root) in (BEFORE, AFTER)


def test_the_next_write_finishes_what_a_killed_writer_left(killing: Killing) -> None:
    """No one has to ask for recovery."""
    extra = {"crm/relations/extra.rel": b'name:"extra"'}
    for step in killing.steps("apply")[-6:-1]:
        killing.afresh()
        killing.asks(f"kill apply {step}")
        create = FileChange("crm/relations/extra.rel", None, extra["crm/relations/extra.rel"])
        Storage(killing.data).apply(killing.root, "create extra", [create])

        assert contents(killing.root) == AFTER | extra


def test_a_file_that_others_changed_after_a_kill_stays_as_they_left_it(killing: Killing) -> None:
    """It is neither completed nor taken back; the journal keeps the former content."""
    steps = killing.steps("apply")
    left = 0
    for step in steps:
        killing.afresh()
        killing.asks(f"kill apply {step}")
        if not list(killing.data.rglob("*.pending")):
            continue
        write(killing.root, {"crm/forms/two.frm": b"somebody else's"})
        before = {path: data for path, data in contents(killing.root).items() if ".thresher-" not in path}
        recovered = Storage(killing.data).recover(killing.root)
        left += 1

        assert [(one.outcome, one.files) for one in recovered] == [("left", ("crm/forms/two.frm",))]
        assert contents(killing.root) == before
        with pytest.raises(Conflict, match="was interrupted") as caught:
            Storage(killing.data).undo(killing.root, recovered[0].id)
        assert Path(caught.value.hint.split()[-1].rstrip(".")).with_suffix(".left").is_file()

    assert left > 10


@contextmanager
def little_room(size: int) -> Iterator[None]:
    """No file may grow beyond this number of bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_change_that_cannot_be_completed_now_is_completed_later(killing: Killing) -> None:
    """After the kill there is no room for a large file; every write says so until there is."""
    storage = Storage(killing.data)
    refusals: list[str] = []
    for step in killing.steps("apply"):
        killing.afresh()
        killing.asks(f"kill apply {step}")
        try:
            with little_room(1000):
                storage.recover(killing.root)
        except Conflict as error:
            refusals.append(error.message.rpartition(": ")[2])
            assert killing.is_whole()
            with little_room(1000), pytest.raises(Conflict, match="cannot be completed now"):
                storage.apply(killing.root, "touch", [FileChange("crm/new.rel", None, b"x")])
        storage.recover(killing.root)

        assert contents(killing.root) in (BEFORE, AFTER)

    assert set(refusals) == {"File too large"}
