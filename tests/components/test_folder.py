"""The folder: what counts in it, and when it may not be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.components.modules import FORECAST, PROMPT, put
from thresher.components import look


def test_modules_are_found_by_kind(tmp_path: Path) -> None:
    """Also in folders below; what begins with `_` or a dot is there for others, or for nobody."""
    put(tmp_path, tools_weather=FORECAST, prompts_greeting=PROMPT, proxies_time="", tools__shared="", tools_deep="")
    (tmp_path / "tools" / "more").mkdir()
    (tmp_path / "tools" / "deep.py").rename(tmp_path / "tools" / "more" / "deep.py")
    (tmp_path / "tools" / ".hidden.py").write_text("")
    (tmp_path / "elsewhere.py").write_text("")

    found = look(tmp_path)

    assert found.served == ("tools/more/deep.py", "tools/weather.py", "prompts/greeting.py")
    assert found.proxies == ("proxies/time.py",)
    assert found.problem == ""


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    """Most people have none, and that is no problem."""
    found = look(tmp_path / "none")

    assert (found.served, found.proxies, found.version, found.problem) == ((), (), "", "")


def test_a_change_of_any_file_changes_the_version(tmp_path: Path) -> None:
    """Of data beside a module too; a cache that Python writes is no change."""
    put(tmp_path, tools_weather=FORECAST)
    first = look(tmp_path).version
    (tmp_path / "tools" / "__pycache__").mkdir()
    (tmp_path / "tools" / "__pycache__" / "weather.pyc").write_text("x")
    cached = look(tmp_path).version
    (tmp_path / "tools" / "cities.json").write_text("[]")
    second = look(tmp_path).version

    assert first == cached != second


@pytest.mark.parametrize("place", [".", "tools", "tools/weather.py"])
def test_a_folder_that_everybody_may_write_is_refused(tmp_path: Path, place: str) -> None:
    """Whole: a module may import any file of it."""
    put(tmp_path, tools_weather=FORECAST)
    (tmp_path / place).chmod(0o777)

    found = look(tmp_path)

    assert "All users may write" in found.problem
    assert found.served == ()


def test_a_folder_below_one_that_everybody_may_write_is_refused(tmp_path: Path) -> None:
    """Another could be put in its place."""
    put(tmp_path / "open" / "components", tools_weather=FORECAST)
    (tmp_path / "open").chmod(0o777)

    assert "All users may rename" in look(tmp_path / "open" / "components").problem


def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    """What lies elsewhere is under other rights; a link to the folder itself is the owner's business."""
    put(tmp_path / "components", tools_weather=FORECAST)
    (tmp_path / "alias").symlink_to(tmp_path / "components")
    linked = look(tmp_path / "alias")
    (tmp_path / "outside.py").write_text("")
    (tmp_path / "components" / "tools" / "outside.py").symlink_to(tmp_path / "outside.py")

    found = look(tmp_path / "components")

    assert linked.served == ("tools/weather.py",)
    assert "is a link that leaves" in found.problem


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_account_is_refused(tmp_path: Path) -> None:
    """Its owner could change what is run here."""
    put(tmp_path, tools_weather=FORECAST)
    os.chown(tmp_path / "tools" / "weather.py", 12345, 12345)

    assert "belongs to another account" in look(tmp_path).problem


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    """It is said, and not taken for an empty folder."""
    (tmp_path / "components").write_text("")

    assert "is not a folder" in look(tmp_path / "components").problem
