"""Memory of a long-lived process: imports without the garbage collector, and free memory returned to the system.

Invariant: the standard library only.
"""

from __future__ import annotations

import gc

_MADV_DONTNEED = 4
"""Linux's number: `mmap`, which names it, is one more library for a bridge to load."""


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
    """Return memory that only the start needed to the system: free blocks, and pages of libraries.

    glibc keeps free blocks by itself. Pages of libraries that were read while they were loaded (70 MB, half of it
    tables that were decoded into objects) stay in the system's cache, from which a page that is used again comes back.
    """
    from ctypes import CDLL, c_size_t, c_void_p  # noqa: PLC0415 - a bridge does without

    gc.collect()
    try:
        library = CDLL(None)
        library.malloc_trim(0)
        for start, end in _library_pages():
            library.madvise(c_void_p(start), c_size_t(end - start), _MADV_DONTNEED)
    except (AttributeError, OSError, TypeError):
        return  # another C library, or another system


def _library_pages() -> list[tuple[int, int]]:
    """The addresses of libraries' code and constants; none where a page differs from the file (it would be lost)."""
    found: list[tuple[int, int]] = []
    with open("/proc/self/smaps", encoding="utf-8", errors="replace") as mappings:
        candidate: tuple[int, int] | None = None
        for line in mappings:
            first, *rest = line.split(maxsplit=5)
            if not first.endswith(":"):  # a new mapping: addresses, permissions, offset, device, inode, path
                path = rest[4].rstrip() if len(rest) == 5 else ""
                readable = rest[0] in {"r--p", "r-xp"} and (path.endswith(".so") or ".so." in path)
                start, _, end = first.partition("-")
                candidate = (int(start, 16), int(end, 16)) if readable else None
            elif first == "Anonymous:" and candidate is not None and rest[0] == "0":
                found.append(candidate)
    return found
