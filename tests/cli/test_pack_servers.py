"""Servers of packs on the command line: what `servers list` shows, every command of the group knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support.tracker import TRACKER

SERVER = "apis:pack"


def test_a_server_that_is_listed_can_be_switched_in_any_folder(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a folder that no command has used before; other changes of it are refused."""
    (tmp_path / "tracker.yaml").write_text(TRACKER, encoding="utf-8")
    assert command("apis", "add", "switched", str(tmp_path / "tracker.yaml")).code == 0
    names = ("list", "disable", "enable", "refresh", "set", "login", "logout", "remove")
    folders = [tmp_path / name for name in names]
    for folder in folders:
        folder.mkdir()
    ended = {}
    for folder in folders:
        more = [] if folder.name == "list" else [SERVER, *(["--trusted"] if folder.name == "set" else [])]
        monkeypatch.chdir(folder)
        ended[folder.name] = command("servers", folder.name, *more)

    assert SERVER in ended["list"].out
    assert {name: one.code for name, one in ended.items() if one.code} == dict.fromkeys(
        ("set", "login", "logout", "remove"), 4
    )
    for name in ("set", "login", "logout", "remove"):
        assert f"Server '{SERVER}' is part of Thresher" in ended[name].err
        assert f"thresher servers disable {SERVER}" in ended[name].err
    assert command("apis", "remove", "switched").code == 0
