"""Memory of a process that lives long: imports without the garbage collector, and memory that goes back to the system.

Invariant: the standard library only.
"""

from __future__ import annotations

import gc


class Importing:
    """A block that imports much: nothing of it is garbage, and to look for some takes a tenth of a daemon's start.

    After the block the collector leaves alone what was imported, for as long as the process lives.
    """

    def __enter__(self) -> None:
        gc.disable()

    def __exit__(self, *_: object) -> None:
        gc.freeze()
        gc.enable()


def return_memory() -> None:
    """Give memory that is free back to the system; only glibc keeps it otherwise."""
    from ctypes import CDLL  # noqa: PLC0415 - a bridge does without

    gc.collect()
    try:
        CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return  # another C library
