"""Converts one file: bytes on standard input, JSON on standard output.

    python -I …/reading/sandbox FORMAT SECONDS

Invariant: the program ends by itself, at the latest when it has used up its processor time or its memory.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from typing import Any, Final

from thresher.confinement import limit

_MEMORY: Final = 2 << 30
"""Bytes of address space: ten times what the largest accepted file needs."""
_LONGEST: Final = 64 << 20
"""Most characters of text in an answer."""


def main(form: str, seconds: int) -> None:
    """Convert what is on standard input."""
    limit(seconds=seconds, addresses=_MEMORY)
    logging.disable(logging.CRITICAL)  # libraries report every flaw of a file
    convert: Any = importlib.import_module(form).convert
    try:
        answer = convert(sys.stdin.buffer.read())
        if len(answer["text"]) > _LONGEST:
            answer = {"reason": "too large", "detail": "It contains more than 64 million characters of text."}
    except ValueError as error:  # the message of a conversion that cannot read the file
        answer = {"reason": "unreadable", "detail": str(error)}
    except RecursionError:
        answer = {"reason": "unreadable", "detail": "It is nested too deeply."}
    except MemoryError:
        answer = {"reason": "too large", "detail": "It unpacks to more than fits into memory."}
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
