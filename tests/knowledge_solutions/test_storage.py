"""Writing and undoing files of a workspace without failures."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path

import pytest

from tests.knowledge_solutions.writer import AFTER, BEFORE, contents, plan, write
from thresher.core import Conflict, InvalidInput, NotFound
from thresher.knowledge.solutions.changes.journal import KEPT, ChangeOwner
from thresher.knowledge.solutions.changes.plan import unified
from thresher.knowledge.solutions.changes.storage import Storage
from thresher.knowledge.solutions.workspace import FileChange

START = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
OLD = "crm/relations/old.rel"


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> dt.datetime:
        """The time that it is set to."""
        return self.now


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with the files of `BEFORE`."""
    write(tmp_path / "workspace", BEFORE)
    return tmp_path / "workspace"


@pytest.fixture
def clock() -> Clock:
    """A clock that is set by hand."""
    return Clock()


@pytest.fixture
def storage(tmp_path: Path, clock: Clock) -> Storage:
    """With a journal beside the workspace."""
    return Storage(tmp_path / "data", clock)


def created(storage: Storage, root: Path, name: str) -> str:
    """Create one more file; return the id of the change."""
    return storage.apply(root, f"create {name}", [FileChange(f"crm/relations/{name}.rel", None, b"x")]).id


def test_a_change_writes_all_its_files(root: Path, storage: Storage) -> None:
    """It creates, edits and deletes files and creates folders; nothing temporary is left in the tree."""
    change = storage.apply(root, "rename old", plan())

    assert contents(root) == AFTER
    assert change.action == "rename old"
    assert sorted(change.files) == sorted(path for path in BEFORE.keys() | AFTER.keys() if "other" not in path)


def test_unchanged_files_make_no_change(root: Path, storage: Storage) -> None:
    """Nothing is written, and there is nothing to undo."""
    change = storage.apply(root, "update", [FileChange(OLD, BEFORE[OLD], BEFORE[OLD])])

    assert (change.id, change.action) == ("", "unchanged")
    assert storage.backups(root) == ()


def test_a_change_with_one_file_twice_is_refused(root: Path, storage: Storage) -> None:
    """It would be ambiguous."""
    with pytest.raises(InvalidInput, match="twice"):
        storage.apply(root, "update", [FileChange(OLD, BEFORE[OLD], b"1"), FileChange(OLD, BEFORE[OLD], b"2")])


def test_undo_brings_back_every_byte(root: Path, storage: Storage) -> None:
    """Also of deleted files; created folders are removed."""
    (root / OLD).chmod(0o640)
    change = storage.apply(root, "rename old", plan())
    undone = storage.undo(root, change.id)

    assert contents(root) == BEFORE
    assert not (root / "crm/menus").exists()
    assert (root / OLD).stat().st_mode & 0o777 == 0o640
    assert undone.action == "undo: rename old"


def test_bytes_that_are_not_text_are_restored_too(root: Path, storage: Storage) -> None:
    """Whatever a file contained."""
    data = bytes(range(256))
    write(root, {"crm/forms/odd.frm": data})
    change = storage.apply(root, "delete odd", [FileChange("crm/forms/odd.frm", data, None)])
    storage.undo(root, change.id)

    assert (root / "crm/forms/odd.frm").read_bytes() == data


def test_an_undo_can_be_undone(root: Path, storage: Storage) -> None:
    """This makes the change again."""
    change = storage.apply(root, "rename old", plan())
    undone = storage.undo(root, change.id)
    again = storage.undo(root, undone.id)

    assert contents(root) == AFTER
    assert [(one.id, one.undone) for one in storage.backups(root)] == [
        (again.id, False),
        (undone.id, True),
        (change.id, False),
    ]


def test_a_change_is_undone_once(root: Path, storage: Storage) -> None:
    """The second time fails."""
    change = storage.apply(root, "rename old", plan())
    storage.undo(root, change.id)

    with pytest.raises(Conflict, match="has already been undone"):
        storage.undo(root, change.id)


def test_undo_is_refused_where_a_file_changed_since(root: Path, storage: Storage) -> None:
    """Later changes are not lost, and the file is named."""
    change = storage.apply(root, "rename old", plan())
    write(root, {"crm/forms/two.frm": b"later"})

    with pytest.raises(Conflict, match=r"crm/forms/two\.frm"):
        storage.undo(root, change.id)
    assert contents(root) == AFTER | {"crm/forms/two.frm": b"later"}


def test_an_unknown_change_cannot_be_undone(root: Path, storage: Storage) -> None:
    """The error says where the changes are listed."""
    with pytest.raises(NotFound) as caught:
        storage.undo(root, "17-abcdef")

    assert "list them first" in caught.value.hint


def test_backups_are_listed_with_the_last_first(root: Path, storage: Storage) -> None:
    """Each with its action, time and files."""
    change = storage.apply(root, "rename old", plan())

    assert [(one.id, one.workspace, one.action, one.when) for one in storage.backups(root)] == [
        (change.id, "workspace", "rename old", START)
    ]
    assert OLD in storage.backups(root)[0].files


def test_the_last_two_hundred_changes_are_kept(root: Path, storage: Storage) -> None:
    """Of each workspace separately."""
    ids = [created(storage, root, f"r{number}") for number in range(203)]

    assert [one.id for one in storage.backups(root)] == ids[:2:-1]
    with pytest.raises(NotFound):
        storage.undo(root, ids[0])


def test_changes_older_than_ninety_days_go_but_not_the_last(root: Path, storage: Storage, clock: Clock) -> None:
    """They are deleted with the next change."""
    first = created(storage, root, "first")
    clock.now = dt.datetime.now(dt.UTC) + dt.timedelta(days=89)
    second = created(storage, root, "second")
    kept = [one.id for one in storage.backups(root)]
    clock.now += dt.timedelta(days=2)
    third = created(storage, root, "third")

    assert kept == [second, first]
    assert [one.id for one in storage.backups(root)] == [third]


def test_the_journal_is_closed_to_others(root: Path, storage: Storage, tmp_path: Path) -> None:
    """It contains the content of the workspace's files."""
    created(storage, root, "first")

    assert [path.stat().st_mode & 0o077 for path in (tmp_path / "data/undo").iterdir()] == [0]


def test_a_name_can_change_in_case_alone(root: Path, storage: Storage) -> None:
    """The old name is removed first: on a file system that ignores case both names are one."""
    changes = [FileChange(OLD, BEFORE[OLD], None), FileChange("crm/relations/Old.rel", None, b"new")]
    change = storage.apply(root, "rename old", changes)
    renamed = contents(root)
    storage.undo(root, change.id)

    assert [path for path in renamed if "relations" in path] == ["crm/relations/Old.rel"]
    assert contents(root) == BEFORE


def test_a_workspace_is_the_same_by_any_path(root: Path, storage: Storage, tmp_path: Path) -> None:
    """Links to its folder lead to the same changes."""
    (tmp_path / "link").symlink_to(root)
    change = created(storage, tmp_path / "link", "first")

    assert [one.id for one in storage.backups(root)] == [change]


def test_without_unfinished_changes_there_is_nothing_to_recover(root: Path, storage: Storage) -> None:
    """Also in a workspace where nothing was ever written."""
    assert storage.recover(root) == ()


def test_a_diff_reads_like_one_of_git() -> None:
    """Lines around a change, and the mark for a missing final line feed."""
    changes = [FileChange("a.rel", b"one\ntwo\nthree", b"one\n2\nthree"), FileChange("b.rel", None, b"new\n")]

    assert unified(changes).split("\n") == [
        *("--- a/a.rel", "+++ b/a.rel", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three"),
        r"\ No newline at end of file",
        *("--- /dev/null", "+++ b/b.rel", "@@ -0,0 +1 @@", "+new"),
    ]


def test_a_diff_counts_lines_from_the_beginning_of_the_file() -> None:
    """Equal lines before the change are counted but not compared."""
    lines = [f"line {number}" for number in range(1, 101)]
    after = [*lines[:49], "changed", *lines[50:]]
    shown = unified([FileChange("a.frm", "\n".join(lines).encode(), "\n".join(after).encode())])

    assert "@@ -47,7 +47,7 @@" in shown
    assert shown.count("\n") == 10


def test_a_renamed_file_is_shown_as_one() -> None:
    """With the changes in it."""
    shown = unified([FileChange("old.rel", b"a\nname", None), FileChange("new.rel", None, b"a\nname")])
    edited = unified([FileChange("old.rel", b"a\nold", None), FileChange("new.rel", None, b"a\nnew")])

    assert shown == "rename from old.rel\nrename to new.rel"
    assert "-old" in edited
    assert "+new" in edited
    assert " a" in edited


def test_a_long_diff_says_how_much_is_missing() -> None:
    """It is for a person to read."""
    shown = unified([FileChange("a.frm", None, b"x\n" * 1000)], longest=10)

    assert shown.split("\n")[-1] == "... 993 more lines"


def test_each_tenant_has_its_own_changes(root: Path, storage: Storage, tmp_path: Path) -> None:
    """A change has an owner; many changes of one tenant displace none of another."""
    ours, theirs = ChangeOwner(1, "olga"), ChangeOwner(2)
    first = storage.apply(root, "ours", [FileChange("crm/a.rel", None, b"x")], ours)
    data = b""
    for number in range(KEPT + 1):
        text = str(number).encode()
        storage.apply(root, "theirs", [FileChange("crm/b.rel", data or None, text)], theirs)
        data = text

    assert [one.id for one in storage.backups(root, ours)] == [first.id]
    assert len(storage.backups(root, theirs)) == KEPT
    assert storage.backups(root) == ()
    with pytest.raises(NotFound):
        storage.undo(root, first.id, theirs)
    heads = [json.loads(file.read_bytes().splitlines()[0]) for file in (tmp_path / "data").rglob(f"{first.id}.*")]
    assert [(head["tenant"], head["user"]) for head in heads] == [(1, "olga")]


def test_nothing_is_dropped_while_a_change_is_pending(root: Path, storage: Storage, tmp_path: Path) -> None:
    """Whatever its owner, anyone completes it; then only the tenant's own are dropped, even if the folder is gone."""
    ours, theirs = ChangeOwner(1), ChangeOwner(2)
    storage.apply(root, "rename old", plan(), ours)
    kept = storage.apply(root, "theirs", [FileChange("crm/b.rel", None, b"x")], theirs)
    (file,) = (tmp_path / "data").rglob(f"{kept.id}.done")
    file.rename(file.with_suffix(".pending"))

    assert not storage.forget(root, ours)
    assert len(storage.backups(root, ours)) == 1
    assert [one.outcome for one in storage.recover(root)] == ["completed"]
    assert storage.forget(root, ours)
    assert storage.backups(root, ours) == ()
    assert [one.id for one in storage.backups(root, theirs)] == [kept.id]
    shutil.rmtree(root)
    assert storage.forget(root, theirs)
    assert not list((tmp_path / "data").rglob("*.done"))
