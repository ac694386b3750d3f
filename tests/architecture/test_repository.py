"""What no file of the repository may hold."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

REGISTRIES = re.compile(
    "|".join(("pypi" + r"\.org", "pythonhosted" + r"\.org", "registry" + r"\.npmjs", "index" + "-url"))
)


def tracked() -> list[Path]:
    """Files that git tracks; outside a checkout there is nothing to hold."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_package_registry() -> None:
    """Lock files pin by hash; where packages come from is the reader's choice."""
    named = [str(path.relative_to(ROOT)) for path in tracked() if REGISTRIES.search(path.read_text(errors="ignore"))]

    assert named == []


def test_the_lock_pins_every_distribution_by_hash() -> None:
    """Each requirement of both lock files has an exact version and at least one SHA-256."""
    for name in ("requirements.lock", "requirements-dev.lock"):
        blocks = re.split(r"\n(?=\S)", (ROOT / name).read_text().strip())

        loose = [block.splitlines()[0] for block in blocks if "==" not in block or "--hash=sha256:" not in block]

        assert loose == []


def test_ci_runs_the_command_that_the_readme_tells() -> None:
    """`.ci/run` and the README name the same test command."""
    assert "make test" in (ROOT / "README.md").read_text()
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_the_architecture_page_stays_short() -> None:
    """ARCHITECTURE.md is read before the first change; 150 lines is the limit."""
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 150
