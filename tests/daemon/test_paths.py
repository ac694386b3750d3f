"""Where a daemon's files lie, and who may read them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from thresher.core import load_settings
from thresher.daemon import DaemonFailure, DaemonPaths
from thresher.daemon.lock import FileLock, is_free
from thresher.daemon.paths import SOCKET_PATH_LIMIT, data_dir


@pytest.mark.parametrize("variables", [{}, {"XDG_DATA_HOME": "/somewhere/share"}, {"THRESHER_DATA_DIR": "/data/x"}])
def test_bridge_and_settings_name_the_same_data_folder(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bridge works out without libraries what the settings say, for root and for others."""
    for name in ("XDG_DATA_HOME", "THRESHER_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for user in (0, 1000):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)

        assert data_dir() == str(load_settings().data_dir)


def test_a_relative_data_folder_is_the_same_one_for_everybody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is made absolute before it is handed to a daemon with another current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THRESHER_DATA_DIR", "data")

    assert data_dir() == str(tmp_path / "data")


def test_the_card_is_private_and_read_back(tmp_path: Path) -> None:
    """0600, replaced in one step, erased only by its own process."""
    place = DaemonPaths(str(tmp_path))
    place.write({"pid": 7, "token": "t"})
    place.erase(8)

    assert place.read() == {"pid": 7, "token": "t"}
    assert stat.S_IMODE(Path(place.card).stat().st_mode) == 0o600
    place.erase(7)
    assert place.read() is None


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00", "3"])
def test_a_broken_card_is_a_stale_card(tmp_path: Path, content: str) -> None:
    """Whatever a crash left there, a client starts anew."""
    place = DaemonPaths(str(tmp_path))
    Path(place.card).write_text(content)

    assert place.read() is None


def test_the_socket_lies_in_a_private_folder_of_the_data_folder(tmp_path: Path) -> None:
    """Nobody else may connect."""
    path = Path(DaemonPaths(str(tmp_path)).socket_path())

    assert path.parent == tmp_path / "clients"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("runtime", ["short", "long", "missing"])
def test_a_long_data_folder_gets_a_short_private_runtime_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime: str
) -> None:
    """The system's limit on socket paths holds, and two data folders never share a socket."""
    if runtime == "long":
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("r" * 60)))
        (tmp_path / ("r" * 60)).mkdir()
    elif runtime == "missing":
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    else:
        monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp")
    first, second = (DaemonPaths(str(tmp_path / (letter * 100))) for letter in "ab")
    paths = [Path(first.socket_path()), Path(second.socket_path())]

    assert all(len(os.fsencode(path)) <= SOCKET_PATH_LIMIT for path in paths)
    assert paths[0] != paths[1]
    assert all(stat.S_IMODE(path.parent.stat().st_mode) == 0o700 for path in paths)
    for path in paths:
        path.parent.rmdir()


def test_a_folder_that_somebody_planted_is_closed_or_refused(tmp_path: Path) -> None:
    """An open folder of ours is closed; a link in its place is refused."""
    (tmp_path / "clients").mkdir(mode=0o777)
    DaemonPaths(str(tmp_path)).socket_path()
    assert stat.S_IMODE((tmp_path / "clients").stat().st_mode) == 0o700
    (tmp_path / "clients").rmdir()
    (tmp_path / "clients").symlink_to("/tmp")

    with pytest.raises(DaemonFailure, match="belongs to somebody else"):
        DaemonPaths(str(tmp_path)).socket_path()


def test_a_data_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    """Here a file stands in the way."""
    (tmp_path / "file").write_text("")

    with pytest.raises(DaemonFailure, match="cannot be written") as caught:
        DaemonPaths(str(tmp_path / "file" / "data")).prepare()
    assert "THRESHER_DATA_DIR" in caught.value.hint
    assert caught.value.exit_code == 5
    with pytest.raises(DaemonFailure, match="cannot be written"):
        DaemonPaths(str(tmp_path / "file" / "data")).socket_path()
    with pytest.raises(DaemonFailure, match="cannot be written"):
        FileLock(str(tmp_path / "file" / "lock")).acquire(0)


def test_a_lock_is_held_once_and_given_back(tmp_path: Path) -> None:
    """The second one waits in vain, then gets it."""
    path = str(tmp_path / "lock")
    first, second = FileLock(path), FileLock(path)

    assert first.acquire(0)
    assert not second.acquire(0.05)
    assert not is_free(path)
    first.release()
    first.release()
    assert second.acquire(0)
    second.release()


def test_the_system_releases_the_lock_of_a_killed_process(tmp_path: Path) -> None:
    """No stale lock survives kill -9."""
    path = str(tmp_path / "lock")
    code = (
        "import sys; from thresher.daemon.lock import FileLock\n"
        f"lock = FileLock({path!r}); lock.acquire(1); print('held', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    assert not is_free(path)
    child.kill()
    child.wait()

    assert is_free(path)


def test_the_light_half_imports_nothing_heavy() -> None:
    """The bridge pays for the standard library alone."""
    code = "import sys, thresher.daemon; print(sorted(m for m in sys.modules if 'thresher' in m)); print(*sys.modules)"
    bare = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=bare).stdout

    heavy = {"asyncio", "subprocess", "pathlib", "typing", "dataclasses", "pydantic", "thresher.core", "typer"}
    assert not heavy & set(seen.split())
