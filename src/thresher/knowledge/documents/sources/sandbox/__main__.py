"""Answers requests for refs and objects of one git repository.

    python -I .../sources/sandbox FOLDER SECONDS

The first line on standard output has the refs, or why the repository is refused. Each line on standard input then
requests an object (`{"object": ID, "most": BYTES}`) or ids (`{"prefix": DIGITS}`). Each answer is a line of JSON,
followed by the bytes of an object.

Invariant: an answer has names, ids, numbers and bytes of objects; never a library's error text, which could quote a
file. The program ends when standard input does.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from pathlib import Path
from typing import Any, Final

from thresher.confinement import limit

_MEMORY: Final = 2 << 30
"""Bytes of private memory; packs are mapped and do not count. The largest object and its base need a quarter of it."""

_FILES: Final = 20_000
"""Open files: two for each pack, if the system allows that many."""


def main(folder: str, seconds: int) -> None:
    """Serve a repository until standard input ends."""
    limit(seconds=seconds, memory=_MEMORY, files=_FILES)
    logging.disable(logging.CRITICAL)  # a library's warning may quote a file
    repository: Any = importlib.import_module("repository")
    try:
        root = importlib.import_module("safe_folder").SafeFolder(Path(folder))
        opened = repository.GitRepository(root, importlib.import_module("packs").size_at)
        _answer({"refs": opened.refs})
    except repository.RepositoryRefused as error:
        return _answer({"refused": error.reason})
    except FileNotFoundError:
        return _answer({"refused": "missing"})
    except Exception:  # noqa: BLE001 - a damaged file can make the library raise anything
        return _answer({"refused": "damaged"})
    for line in sys.stdin.buffer:
        _serve(opened, json.loads(line), repository.Oversized)
    return None


def _serve(opened: Any, request: dict[str, Any], oversized: type[Exception]) -> None:
    if "prefix" in request:
        return _answer({"ids": opened.matching(request["prefix"])})
    try:
        kind, data = opened.read(request["object"], request["most"])
    except KeyError:
        return _answer({"failed": "missing"})
    except MemoryError:
        return _answer({"failed": "large", "size": 0})
    except oversized as error:
        return _answer({"failed": "large", "size": error.args[0]})
    except Exception:  # noqa: BLE001 - a damaged file can make the library raise anything
        return _answer({"failed": "damaged"})
    return _answer({"kind": kind, "size": len(data)}, data)


def _answer(head: dict[str, Any], data: bytes = b"") -> None:
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
