"""Imports without the garbage collector.

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
