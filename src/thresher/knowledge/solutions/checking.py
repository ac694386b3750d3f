"""Whether this product would write a workspace's files as they are.

Invariant: pure reading; nothing is written anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from thresher.core import BrokenFile, NotFound
from thresher.knowledge.solutions.files import read_file
from thresher.knowledge.solutions.models import Broken, RoundTrip
from thresher.servoy import read_document

ENDINGS: Final = (".rel", ".val", ".dbi", ".tbl", ".obj", ".frm", ".mnu", ".sec")


def check_round_trip(folder: Path) -> RoundTrip:
    """Reads every solution file below a folder, and writes it in memory from what it says.

    Hidden folders are left out, and links to folders are not followed.

    Raises:
        NotFound: There is no such folder.
    """
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}.", hint="Give a workspace, or a folder of one.")
    files = 0
    differ: list[str] = []
    broken: list[Broken] = []
    for path in _files(folder):
        files += 1
        name = path.relative_to(folder).as_posix()
        try:
            data = read_file(path)
            if read_document(data).rendered() != data:
                differ.append(name)
        except BrokenFile as error:
            broken.append(Broken(name, error.message, error.line, error.column))
        except OSError as error:
            broken.append(Broken(name, f"It cannot be read: {error.strerror}."))
    return RoundTrip(files, tuple(differ), tuple(broken))


def _files(folder: Path) -> Iterator[Path]:
    for place, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield from (Path(place) / name for name in sorted(files) if name.endswith(ENDINGS))
