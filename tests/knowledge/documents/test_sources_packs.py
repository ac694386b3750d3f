"""Objects are measured before they are unpacked."""

from __future__ import annotations

import random
import tempfile
import zlib
from pathlib import Path
from typing import IO

import pytest
from dulwich.objects import Blob
from dulwich.repo import Repo

from tests.knowledge.documents.gits import bare
from thresher.knowledge.documents.sources.sandbox.packs import ObjectTooLarge, check_pack, size_at


def entry(kind: int, size: int, content: bytes, base: bytes = b"") -> bytes:
    """An entry of a pack that announces any size."""
    head, left = bytearray([kind << 4 | size & 15]), size >> 4
    while left:
        head[-1] |= 0x80
        head.append(left & 0x7F)
        left >>= 7
    return bytes(head) + base + zlib.compress(content)


def delta(before: int, after: int) -> bytes:
    """The beginning of a delta between texts of these sizes."""
    made = bytearray()
    for size in (before, after):
        while size > 0x7F:
            made.append(size & 0x7F | 0x80)
            size >>= 7
        made.append(size)
    return bytes(made)


def pack(*entries: bytes) -> IO[bytes]:
    """A pack of some entries, as a file."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with its last reference
    file.write(b"PACK" + (2).to_bytes(4, "big") + len(entries).to_bytes(4, "big") + b"".join(entries) + b"\0" * 20)
    return file


def test_a_sound_pack_passes() -> None:
    """Of whole objects and of deltas, small and large."""
    text = b"word " * 100_000

    check_pack(pack(entry(3, len(text), text), entry(3, 0, b""), entry(7, 5, delta(500_000, 9)[:5], b"x" * 20)))


@pytest.mark.parametrize(
    "bad",
    [
        entry(3, 1 << 40, b"small"),
        entry(7, len(delta(5, 1 << 40)), delta(5, 1 << 40), b"x" * 20),
        entry(6, len(delta(5, 1 << 40)), delta(5, 1 << 40), b"\x81\x01"),
    ],
)
def test_an_entry_that_expands_too_much_is_refused(bad: bytes) -> None:
    """By the announced size, before anything is unpacked."""
    with pytest.raises(ObjectTooLarge):
        check_pack(pack(entry(3, 1, b"a"), bad))


def test_an_invalid_pack_is_refused() -> None:
    """More than announced, truncated, or something else."""
    bomb = pack(entry(3, 10, bytes(50_000_000)))
    cut = tempfile.TemporaryFile()  # noqa: SIM115 - closed with its last reference
    cut.write(
        b"PACK" + (2).to_bytes(4, "big") + (1).to_bytes(4, "big") + entry(3, 400, random.Random(1).randbytes(400))[:99]
    )
    other = tempfile.TemporaryFile()  # noqa: SIM115 - closed with its last reference
    other.write(b"<html>" * 10)

    for file in (bomb, cut, other):
        with pytest.raises(ValueError, match=r"more|truncated|not a pack"):
            check_pack(file)


def test_a_packed_object_is_measured(tmp_path: Path) -> None:
    """Whole objects and deltas alike, before they are unpacked."""
    with bare(tmp_path / "a.git") as repo:
        text = random.Random(1).randbytes(50_000)
        blobs = [Blob.from_string(text + bytes([number]) * number) for number in range(10)]
        repo.object_store.add_objects([(blob, None) for blob in blobs])
    with Repo(str(tmp_path / "a.git")) as repo:
        index = repo.object_store.packs[0].index
        offsets = [index.object_offset(blob.id) for blob in blobs]
    [path] = (tmp_path / "a.git" / "objects" / "pack").glob("*.pack")

    with path.open("rb") as file:
        sizes = [size_at(file, offset, 20) for offset in offsets]

    assert sizes == [len(blob.data) for blob in blobs]
