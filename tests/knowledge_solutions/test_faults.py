"""Real failures while files are written: nothing is lost, and the error says what to do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.knowledge_solutions.writer import AFTER, BEFORE, contents, plan, write
from thresher.core import ConfigurationError, Conflict, InvalidInput, NotAllowed, ThresherError
from thresher.knowledge.solutions.changes.storage import Storage
from thresher.knowledge.solutions.workspace import FileChange

WRITER = [sys.executable, "-m", "tests.knowledge_solutions.writer"]
OLD, NEW = "crm/relations/old.rel", "crm/relations/new.rel"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with the files of `BEFORE`."""
    root = tmp_path / "workspace"
    write(root, BEFORE)
    return root


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """With a journal beside the workspace, and a short wait for the lock."""
    return Storage(tmp_path / "data", wait=0.2)


def refused(root: Path, storage: Storage) -> ThresherError:
    """The error of a change, after which every file is as it was."""
    before = contents(root)
    with pytest.raises(ThresherError) as caught:
        storage.apply(root, "rename old", plan())
    assert contents(root) == before
    assert caught.value.hint
    assert not (root / "crm/menus").exists()
    return caught.value


def test_processes_that_write_one_file_at_once_lose_no_change(root: Path, tmp_path: Path) -> None:
    """Each reads, adds one and writes; the second gets an error and reads again."""
    write(root, {"crm/forms/number.frm": b"0"})
    command = [*WRITER, "count", str(root), str(tmp_path / "data"), "25"]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    answers = [json.loads(writer.communicate(timeout=60)[0]) for writer in writers]

    assert answers == [{"done": 25}] * 3
    assert (root / "crm/forms/number.frm").read_bytes() == b"75"
    assert len(Storage(tmp_path / "data").backups(root)) == 75


def test_processes_with_data_folders_of_their_own_lose_no_change(root: Path, tmp_path: Path) -> None:
    """The lock is on the workspace, not in a data folder."""
    write(root, {"crm/forms/number.frm": b"0"})
    commands = [[*WRITER, "count", str(root), str(tmp_path / name), "20"] for name in ("one", "two")]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
    answers = [json.loads(writer.communicate(timeout=60)[0]) for writer in writers]

    assert answers == [{"done": 20}] * 2
    assert (root / "crm/forms/number.frm").read_bytes() == b"40"


def test_threads_of_one_process_wait_for_each_other(root: Path, tmp_path: Path) -> None:
    """All writes of different files arrive."""
    storage = Storage(tmp_path / "data")

    def create(number: int) -> None:
        storage.apply(root, "create", [FileChange(f"crm/relations/r{number}.rel", None, b"x")])

    threads = [threading.Thread(target=create, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sum(path.startswith("crm/relations/r") for path in contents(root)) == 12


def test_waiting_for_another_writer_is_bounded(root: Path, storage: Storage, tmp_path: Path) -> None:
    """The other process holds the workspace; it leaves nothing in the tree."""
    (tmp_path / "data").mkdir()
    command = [*WRITER, "hold", str(root), str(tmp_path / "data")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert json.loads(holder.stdout.readline()) == {"held": True}
        error = refused(root, storage)
        holder.communicate(timeout=10)

    assert isinstance(error, Conflict)
    assert f"Another process has been writing to the workspace {root}" in error.message
    assert storage.apply(root, "rename old", plan()).id


@pytest.mark.parametrize("path", [OLD, "crm/forms/two.frm"])
def test_a_file_that_changed_since_it_was_read_is_not_written(root: Path, storage: Storage, path: str) -> None:
    """The other files of the change are not written either."""
    write(root, {path: b"somebody saved this"})

    error = refused(root, storage)

    assert isinstance(error, Conflict)
    assert error.message == f"Changed on disk since it was read: {path}."


def test_a_file_deleted_since_it_was_read_is_not_written_again(root: Path, storage: Storage) -> None:
    """It was removed on purpose."""
    (root / OLD).unlink()

    assert isinstance(refused(root, storage), Conflict)


def test_a_file_created_since_is_not_overwritten(root: Path, storage: Storage) -> None:
    """Someone else created the file of this name."""
    write(root, {NEW: b"somebody's"})

    assert isinstance(refused(root, storage), Conflict)


@pytest.mark.parametrize("path", ["crm/forms/three.frm", "crm/forms/two.frm", "crm/menus/deep/new.mnu", NEW, OLD])
def test_a_file_saved_between_comparing_and_replacing_stays_as_it_was_saved(
    root: Path, tmp_path: Path, path: str
) -> None:
    """An editor ignores our lock; what it saves at that moment is kept, and everything else is as before."""
    write(root, {"crm/menus/deep/there.mnu": b"there"})
    command = [*WRITER, "meddle", str(root), str(tmp_path / "data"), path]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    expected = BEFORE | {"crm/menus/deep/there.mnu": b"there", path: b"what a person wrote"}
    assert said["error"] == "Conflict"
    assert path in said["message"]
    assert contents(root) == expected


@pytest.mark.parametrize("path", [OLD, "crm/forms/two.frm"], ids=["deleted", "edited"])
def test_a_read_only_file_stays(root: Path, storage: Storage, path: str) -> None:
    """A rename would replace it, so its permission bits are checked, for root too."""
    (root / path).chmod(0o444)

    error = refused(root, storage)

    assert isinstance(error, NotAllowed)
    assert error.message == f"{path} is read-only."


@pytest.mark.parametrize("path", ["crm/relations", "crm"], ids=["of files", "of folders to be made"])
def test_nothing_is_put_into_a_read_only_folder(root: Path, storage: Storage, path: str) -> None:
    """The folder is named."""
    (root / path).chmod(0o555)

    error = refused(root, storage)
    (root / path).chmod(0o755)

    assert isinstance(error, NotAllowed)
    assert error.message == f"{path} is read-only."


def test_a_folder_in_place_of_a_file_stays(root: Path, storage: Storage) -> None:
    """It was made on purpose."""
    (root / NEW).mkdir()

    assert isinstance(refused(root, storage), Conflict)
    assert (root / NEW).is_dir()


def test_a_name_that_is_too_long_for_the_file_system_is_refused(root: Path, storage: Storage) -> None:
    """With the system's own message."""
    with pytest.raises(Conflict, match="cannot be written: File name too long"):
        storage.apply(root, "create", [FileChange(f"crm/relations/{'x' * 300}.rel", None, b"x")])


def test_a_file_with_a_second_name_is_written(root: Path, storage: Storage) -> None:
    """A hard link that differs in case does not mean that the file system ignores case."""
    os.link(root / OLD, root / "crm/relations/OLD.REL")
    storage.apply(root, "update", [FileChange(OLD, BEFORE[OLD], b"new")])

    assert (root / OLD).read_bytes() == b"new"
    assert (root / "crm/relations/OLD.REL").read_bytes() == BEFORE[OLD]


def test_without_a_journal_nothing_is_written(root: Path, tmp_path: Path) -> None:
    """The data folder cannot be created, so nothing could be undone."""
    (tmp_path / "data").write_text("a file in its place")

    error = refused(root, Storage(tmp_path / "data"))

    assert isinstance(error, ConfigurationError)
    assert "THRESHER_DATA_DIR" in error.hint


@pytest.mark.parametrize("path", ["../out.rel", "/etc/out.rel", "crm/../../out.rel", "", "crm\\..\\out.rel", "a\0b"])
def test_a_path_that_leaves_the_workspace_is_refused(root: Path, storage: Storage, path: str) -> None:
    """However the path is written."""
    with pytest.raises(InvalidInput, match="not the path of a file below a workspace"):
        storage.apply(root, "create", [FileChange(path, None, b"x")])


def test_a_link_out_of_the_workspace_is_not_written_through(root: Path, storage: Storage, tmp_path: Path) -> None:
    """Neither a linked folder nor a linked file."""
    write(tmp_path / "elsewhere", {"relations/old.rel": b"theirs"})
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    (root / "crm/relations/link.rel").symlink_to(tmp_path / "elsewhere/relations/old.rel")

    for path, before in (("linked/relations/old.rel", b"theirs"), ("crm/relations/link.rel", b"theirs")):
        with pytest.raises(NotAllowed, match="symbolic link"):
            storage.apply(root, "update", [FileChange(path, before, b"ours")])
    with pytest.raises(NotAllowed, match="leads out of the workspace"):
        storage.apply(root, "create", [FileChange("linked/valuelists/new.val", None, b"ours")])
    assert contents(tmp_path / "elsewhere") == {"relations/old.rel": b"theirs"}


def test_a_removed_workspace_is_named(storage: Storage, tmp_path: Path) -> None:
    """Its folder was removed or moved."""
    with pytest.raises(ConfigurationError, match="does not exist"):
        storage.apply(tmp_path / "gone", "rename old", plan())


NAMESPACE = shutil.which("unshare")


def mounted(tmp_path: Path, script: str, *arguments: str) -> dict[str, Any]:
    """Run the writer with file systems of its own mounted; skips if that is not allowed."""
    root, data = tmp_path / "mounted/workspace", tmp_path / "mounted/data"
    for folder in (root, data):
        folder.mkdir(parents=True)
    if not NAMESPACE or subprocess.run([NAMESPACE, "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    writer = " ".join([*WRITER, *arguments[:1], str(root), str(data), *arguments[1:]])
    command = [NAMESPACE, "-rm", "sh", "-ec", script.format(root=root, data=data, writer=writer)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "mount:" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FULL = "mount -t tmpfs -o size=128k tmpfs {%s}; exec {writer}"


@pytest.mark.parametrize(
    ("full", "error"), [("workspace", "Conflict"), ("data", "ConfigurationError")], ids=["workspace", "data folder"]
)
def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path, full: str, error: str) -> None:
    """A real full file system, of the workspace or of the data folder."""
    said = mounted(tmp_path, FULL % ("root" if full == "workspace" else "data"), "starved", full)

    assert said["error"] == error
    assert "No space left on device" in said["message"] or "There is no space left" in said["message"]
    assert {path: text.encode() for path, text in said["files"].items() if path != "filler"} == BEFORE
    assert "crm/menus" not in said["folders"]


def test_a_read_only_file_system_is_not_changed(tmp_path: Path) -> None:
    """Mounted read-only, which no permission bit shows."""
    write(tmp_path / "mounted/workspace", BEFORE)
    script = "mount --bind {root} {root}; mount -o remount,ro,bind {root}; exec {writer}"
    shutil.move(tmp_path / "mounted/workspace", tmp_path / "kept")
    (tmp_path / "mounted").rmdir()
    script = "cp -r " + str(tmp_path / "kept") + "/. {root}; " + script
    said = mounted(tmp_path, script, "answer")

    assert said["error"] == "NotAllowed"
    assert {path: text.encode() for path, text in said["files"].items()} == BEFORE


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
def test_files_of_others_keep_their_owner_and_permissions(root: Path, storage: Storage) -> None:
    """A writer that runs as root leaves files that their owner can still edit."""
    for path in [root, *root.rglob("*")]:
        os.chown(path, 1234, 1234)
    (root / "crm/forms/two.frm").chmod(0o640)
    storage.apply(root, "rename old", plan())
    owners = {path: (root / path).stat() for path in AFTER}

    assert {(found.st_uid, found.st_gid) for path, found in owners.items() if "menus" not in path} == {(1234, 1234)}
    assert owners["crm/forms/two.frm"].st_mode & 0o777 == 0o640
