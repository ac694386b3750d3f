"""Whether files would be written as they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.data import DEFAULT_DATA
from tests.support.servoy_workspace import bookshop
from thresher.core import NotFound
from thresher.knowledge.solutions.servoy_workspace.files import check_round_trip
from thresher.servoy import Dialect


@pytest.mark.parametrize("dialect", ["classic", "json"])
def test_a_workspace_comes_back_byte_for_byte(tmp_path: Path, dialect: Dialect) -> None:
    """Every file of every kind, and nothing is written."""
    root = bookshop(tmp_path / "shop", dialect).root
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    checked = check_round_trip(root)

    assert (checked.files, checked.differ, checked.broken) == (35, (), ())
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_files_that_differ_or_are_broken_are_named(tmp_path: Path) -> None:
    """By their paths; hidden folders are skipped."""
    builder = bookshop(tmp_path / "shop")
    builder.write("shop_data/relations/by_hand.rel", '  name : "x",\n\n\ntypeid:22')
    builder.write("shop_data/relations/torn.rel", "items:[\n{")
    builder.write(".git/old.rel", "items:[\n{")
    (builder.root / "shop_data/relations/gone.rel").symlink_to("nowhere")
    checked = check_round_trip(builder.root)

    assert checked.differ == ("shop_data/relations/by_hand.rel",)
    assert [(one.path, one.line > 0) for one in checked.broken] == [
        ("shop_data/relations/gone.rel", False),
        ("shop_data/relations/torn.rel", True),
    ]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """It does not count as an empty folder."""
    with pytest.raises(NotFound, match="nowhere"):
        check_round_trip(tmp_path / "nowhere")


@pytest.mark.bench_data
@pytest.mark.parametrize(("name", "files"), [("example-solutions", 176), ("ai-plugin", 23)])
def test_real_workspaces_come_back_byte_for_byte(name: str, files: int) -> None:
    """Both dialects, as people and Servoy wrote them."""
    folder = Path(os.environ.get("THRESHER_BENCH_DATA") or DEFAULT_DATA) / "servoy" / name
    if not folder.is_dir():
        pytest.skip(f"No workspace at {folder}. Set THRESHER_BENCH_DATA to the folder that holds servoy/.")

    checked = check_round_trip(folder)

    assert (checked.files, checked.differ, checked.broken) == (files, (), ())
