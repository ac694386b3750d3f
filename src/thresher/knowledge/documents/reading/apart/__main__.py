"""Converts one file: octets in at standard input, JSON out at standard output.

    python -I …/reading/apart FORMAT SECONDS

Invariant: ends by itself, at the latest when it has used up its seconds of processor time or its memory.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from typing import Any, Final

from thresher.confinement import limit

_MEMORY: Final = 2 << 30
"""Octets of address space: ten times what the largest file we take needs."""
_LONGEST: Final = 64 << 20
"""Characters of text that are given back at most."""


def main(form: str, seconds: int) -> None:
    """Convert what stands at standard input."""
    limit(seconds=seconds, addresses=_MEMORY)
    logging.disable(logging.CRITICAL)  # libraries tell of every flaw of a file
    convert: Any = importlib.import_module(form).convert
    try:
        answer = convert(sys.stdin.buffer.read())
        if len(answer["text"]) > _LONGEST:
            answer = {"reason": "too large", "detail": "It holds more than 64 million characters of text."}
    except ValueError as error:  # what a conversion says of a file that it cannot read
        answer = {"reason": "unreadable", "detail": str(error)}
    except RecursionError:
        answer = {"reason": "unreadable", "detail": "It is nested too deeply."}
    except MemoryError:
        answer = {"reason": "too large", "detail": "It unpacks to more than fits into memory."}
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
