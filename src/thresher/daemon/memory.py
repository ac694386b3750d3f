"""Memory of a long-lived process: imports without the garbage collector, and free memory returned to the system.

Invariant: the standard library only.
"""

from __future__ import annotations

import gc


class Importing:
    """A block of many imports: they create no garbage, and searching for it takes a tenth of a daemon's start.

    After the block the collector ignores everything that was imported, for the life of the process.
    """

    def __enter__(self) -> None:
        gc.disable()

    def __exit__(self, *_: object) -> None:
        gc.freeze()
        gc.enable()


def return_memory() -> None:
    """Return free memory to the system, which glibc does not do by itself."""
    from ctypes import CDLL  # noqa: PLC0415 - a bridge does without

    gc.collect()
    try:
        CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return  # another C library
