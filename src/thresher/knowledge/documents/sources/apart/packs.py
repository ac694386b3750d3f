"""How large the objects of a git repository are, without unpacking them into memory.

Invariant: memory stays below a megabyte, whatever a pack announces or unfolds to. The format is that of git's
gitformat-pack(5): a header of three bits of type and a size, for a delta its base, then a zlib stream; a delta begins
with the sizes of its base and of its result.
"""

from __future__ import annotations

import mmap
import zlib
from typing import IO, Final

LARGEST: Final = 256 << 20
"""Bytes of an object that is unpacked at all: it and its base lie in memory for that."""
_BY_OFFSET: Final = 6
_BY_NAME: Final = 7
_HEAD: Final = 4 << 10
"""Bytes that hold an entry's header and the beginning of its delta."""
_START: Final = 32
_STEP: Final = 64 << 10
_FIRST: Final = 12
"""Bytes before the first entry: `PACK`, version and count."""


class TooLarge(ValueError):
    """A pack holds an object too large to be unpacked; its bytes are the argument."""


def size_at(file: IO[bytes], offset: int, id_bytes: int) -> int:
    """Bytes of an object in a pack; 0 where its entry is damaged.

    Args:
        file: The pack.
        offset: Of the object's entry.
        id_bytes: Of an object's name, in which a delta may name its base.
    """
    file.seek(offset)
    head = file.read(_HEAD)
    try:
        kind, size, begin = _header(head, 0, id_bytes)
        if kind not in (_BY_OFFSET, _BY_NAME):
            return size
        return _result(zlib.decompressobj().decompress(head[begin:], _START))
    except (IndexError, zlib.error):
        return 0


def check(file: IO[bytes], id_bytes: int = 20) -> None:
    """Refuse a pack with an object too large to be unpacked, or that is more than it announces.

    Args:
        file: The pack, as it came; its place is left at the beginning.
        id_bytes: Of an object's name, in which a delta may name its base.

    Raises:
        TooLarge: It has one.
        ValueError: It is no pack.
    """
    file.flush()
    file.seek(0)
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] != b"PACK" or len(data) < _FIRST:
            raise ValueError("no pack")
        place = _FIRST
        for _ in range(int.from_bytes(data[8:_FIRST], "big")):
            kind, size, begin = _header(data, place, id_bytes)
            _allow(size)
            start, place = _unfolded(data, begin, size)
            if kind in (_BY_OFFSET, _BY_NAME):
                _allow(_result(start))


def _unfolded(data: mmap.mmap, begin: int, size: int) -> tuple[bytes, int]:
    """The first bytes of a zlib stream, and where it ends.

    Raises:
        ValueError: It holds more than it announces, or is cut off.
    """
    stream, start, made, place = zlib.decompressobj(), b"", 0, begin
    waiting = b""
    while not stream.eof:
        if not waiting:
            waiting = data[place : place + _STEP]
            place += len(waiting)
        if not waiting:
            raise ValueError("cut off")
        part = stream.decompress(waiting, _STEP)
        waiting = stream.unconsumed_tail
        start = start or part[:_START]
        made += len(part)
        if made > size:
            raise ValueError("more than announced")
    return start, place - len(stream.unused_data)


def _header(data: bytes | mmap.mmap, place: int, id_bytes: int) -> tuple[int, int, int]:
    """Type and size of an entry, and where its zlib stream begins."""
    byte = data[place]
    kind, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 0x80:
        place += 1
        byte = data[place]
        size |= (byte & 0x7F) << shift
        shift += 7
    place += 1
    if kind == _BY_NAME:
        place += id_bytes
    elif kind == _BY_OFFSET:
        while data[place] & 0x80:
            place += 1
        place += 1
    return kind, size, place


def _result(delta: bytes) -> int:
    """Bytes of what a delta makes."""
    place = 0
    while delta[place] & 0x80:
        place += 1
    size, shift = 0, 0
    for byte in delta[place + 1 :]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    return size


def _allow(size: int) -> None:
    if size > LARGEST:
        raise TooLarge(size)
