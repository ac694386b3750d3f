"""The sizes of the objects in a git pack, without unpacking them into memory.

Invariant: memory stays below a megabyte, whatever a pack announces or expands to. The format is that of git's
gitformat-pack(5): a header of three bits of type and a size, for a delta its base, then a zlib stream; a delta begins
with the sizes of its base and of its result.
"""

from __future__ import annotations

import mmap
import zlib
from typing import IO, Final

LARGEST: Final = 256 << 20
"""Most bytes of an object that is unpacked, because it and its base are held in memory."""
_BY_OFFSET: Final = 6
_BY_NAME: Final = 7
_HEAD: Final = 4 << 10
"""Bytes that contain an entry's header and the beginning of its delta."""
_START: Final = 32
_STEP: Final = 64 << 10
_FIRST: Final = 12
"""Bytes before the first entry: `PACK`, version and count."""


class ObjectTooLarge(ValueError):
    """A pack has an object too large to unpack; its size is the argument."""


def size_at(file: IO[bytes], offset: int, id_bytes: int) -> int:
    """Size of an object in a pack; 0 if its entry is damaged.

    Args:
        file: The pack.
        offset: Offset of the object's entry.
        id_bytes: Length of an object id, with which a delta may name its base.
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


def check_pack(file: IO[bytes], id_bytes: int = 20) -> None:
    """Refuse a pack with an object too large to unpack, or with more data than announced.

    Args:
        file: The pack as received; its position is reset to the beginning.
        id_bytes: Length of an object id, with which a delta may name its base.

    Raises:
        ObjectTooLarge: It has such an object.
        ValueError: It is not a valid pack.
    """
    file.flush()
    file.seek(0)
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] != b"PACK" or len(data) < _FIRST:
            raise ValueError("not a pack")
        place = _FIRST
        for _ in range(int.from_bytes(data[8:_FIRST], "big")):
            kind, size, begin = _header(data, place, id_bytes)
            _allow(size)
            start, place = _unfolded(data, begin, size)
            if kind in (_BY_OFFSET, _BY_NAME):
                _allow(_result(start))


def _unfolded(data: mmap.mmap, begin: int, size: int) -> tuple[bytes, int]:
    """The first bytes of a zlib stream, and its end.

    Raises:
        ValueError: It has more data than announced, or is truncated.
    """
    stream, start, made, place = zlib.decompressobj(), b"", 0, begin
    waiting = b""
    while not stream.eof:
        if not waiting:
            waiting = data[place : place + _STEP]
            place += len(waiting)
        if not waiting:
            raise ValueError("truncated")
        part = stream.decompress(waiting, _STEP)
        waiting = stream.unconsumed_tail
        start = start or part[:_START]
        made += len(part)
        if made > size:
            raise ValueError("more than announced")
    return start, place - len(stream.unused_data)


def _header(data: bytes | mmap.mmap, place: int, id_bytes: int) -> tuple[int, int, int]:
    """Type and size of an entry, and the start of its zlib stream."""
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
    """Size of a delta's result."""
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
        raise ObjectTooLarge(size)
