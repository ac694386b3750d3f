"""Programs in processes of their own: what they inherit, and what they may take."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from thresher.confinement import command, environment

_REPORT = """
import json, os, sys, resource
from thresher.confinement import limit

limit(seconds=7, addresses=1 << 30, files=50)
kinds = ("RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE")
limits = [resource.getrlimit(getattr(resource, kind))[0] for kind in kinds]
try:
    bytearray(2 << 30)
except MemoryError:
    limits.append("no memory")
print(json.dumps({"limits": limits, "variables": dict(os.environ), "path": sys.path, "arguments": sys.argv[1:]}))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that reports what it finds."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "__main__.py").write_text(_REPORT)
    return folder


def report_of(program: Path) -> dict[str, Any]:
    """What the program says of itself."""
    done = subprocess.run(
        command(program, "one", "two"), env=environment(), cwd=program.parent, capture_output=True, check=True
    )
    return json.loads(done.stdout)


def test_a_program_has_its_limits(program: Path) -> None:
    """Time, addresses and files as asked for; it writes no file and leaves no core."""
    report = report_of(program)

    assert report["limits"] == [7, 1 << 30, 50, 0, 0, "no memory"]
    assert report["arguments"] == ["one", "two"]


def test_a_program_inherits_no_secret(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a variable of ours nor the folder that it is started in."""
    monkeypatch.setenv("THRESHER_KEY", "correct-horse")
    monkeypatch.setenv("PYTHONPATH", "/correct-horse")

    report = report_of(program)

    assert "correct-horse" not in str(report)
    assert str(program.parent) not in report["path"]
