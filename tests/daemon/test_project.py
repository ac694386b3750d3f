"""Which folder counts as a client's project."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.listening import Listening, listening_thread
from thresher.daemon import attach, request
from thresher.daemon.folder import own_project
from thresher.daemon.server.project import DEPTH_LIMIT, find_project


@pytest.mark.parametrize("mark", [".git", ".agents", ".claude", ".cursor", ".github"])
def test_the_project_is_the_nearest_marked_folder_above(tmp_path: Path, mark: str) -> None:
    """A client that starts deep inside works in the whole project."""
    (tmp_path / "shop" / mark).mkdir(parents=True)
    deep = tmp_path / "shop" / "src" / "orders"
    deep.mkdir(parents=True)

    assert find_project(str(deep)) == str(tmp_path / "shop")


def test_a_worktree_is_a_project_of_its_own(tmp_path: Path) -> None:
    """Its `.git` is a file."""
    (tmp_path / ".git").mkdir()
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text("gitdir: elsewhere")

    assert find_project(str(tree)) == str(tree)


def test_a_folder_without_marks_is_its_own_project(tmp_path: Path) -> None:
    """It may get packs later."""
    assert find_project(str(tmp_path)) == str(tmp_path)


def test_links_lead_to_one_name(tmp_path: Path) -> None:
    """Trust is by path, so one folder has one."""
    (tmp_path / "real" / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert find_project(str(tmp_path / "link")) == str(tmp_path / "real")


def test_home_and_what_lies_above_it_are_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything lies below them, and home's own `.claude` is the user's, not a project's."""
    home = tmp_path / "users" / "ada"
    (home / ".claude").mkdir(parents=True)
    (home / "notes").mkdir()
    monkeypatch.setenv("HOME", str(home))

    found = [find_project(str(folder)) for folder in (home, home.parent, Path("/"))]

    assert found == ["", "", ""]
    assert find_project(str(home / "notes")) == str(home / "notes")


@pytest.mark.parametrize(
    "named", [None, 7, "", "relative", "/nowhere/at/all", "/tmp/\0", "/" + "a" * 5000, "/tmp/\udc80", "/etc/passwd"]
)
def test_what_is_no_folder_is_no_project(named: object) -> None:
    """A client may send anything."""
    assert find_project(named) == ""


def test_a_loop_of_links_is_no_project(tmp_path: Path) -> None:
    """It ends."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    assert find_project(str(tmp_path / "loop")) == ""


def test_the_way_up_is_bounded(tmp_path: Path) -> None:
    """A folder far below is its own project."""
    (tmp_path / ".git").mkdir()
    deep = tmp_path.joinpath(*["d"] * DEPTH_LIMIT)
    deep.mkdir(parents=True)

    assert find_project(str(deep)) == str(deep)


def test_a_client_tells_its_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a variable names the folder, or the directory is gone."""
    monkeypatch.chdir(tmp_path)
    here = own_project()
    monkeypatch.setenv("THRESHER_PROJECT", str(tmp_path / "named"))
    named = own_project()
    monkeypatch.delenv("THRESHER_PROJECT")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert (here, named, own_project()) == (str(tmp_path), str(tmp_path / "named"), "")


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Listening]:
    """A listener."""
    with listening_thread(tmp_path / "data") as listener:
        yield listener


def test_the_handshake_carries_the_project(state: Listening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command works in the folder in which it was started, or in the one that it names."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "one")

    request(state.place, "greet", {})
    request(state.place, "greet", {}, project=str(tmp_path / "two" / ".git"))

    assert state.projects == [str(tmp_path / "one"), str(tmp_path / "two")]


def test_a_project_that_is_none_refuses_nobody(state: Listening) -> None:
    """The session goes on without one."""
    with attach(state.place, "mcp", project="/nowhere" + os.sep) as link:
        link.sendall(b"one\n")

        assert link.recv(10) == b"one\n"
