"""The names and objects of a git repository that somebody else may have written.

Invariant: each file is opened by `Place`, so no link is followed and no pipe or device is waited for; no configuration
is read, neither the repository's nor the user's; objects and names of other repositories are never borrowed.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Final

from dulwich.object_format import SHA1, SHA256, ObjectFormat
from dulwich.object_store import PackBasedObjectStore
from dulwich.objects import ObjectID, ShaFile, hex_to_sha, sha_to_hex
from dulwich.pack import Pack, PackData, PackIndex, load_pack_index_file
from dulwich.refs import Ref, check_ref_format

if TYPE_CHECKING:
    from thresher.knowledge.documents.sources.apart.places import Entry, Place

LARGEST: Final = 256 << 20
"""Bytes of an object that is unpacked at all."""
_NAME_BYTES: Final = 1 << 10
"""Bytes of a file under `refs`, or of HEAD: an id, or the name of another."""
_PACKED_REFS_BYTES: Final = 64 << 20
_MOST_REFS: Final = 200_000
_MOST_PACKS: Final = 5_000
_DEPTH: Final = 30
_CHAIN: Final = 5
"""Names that lead to names."""
_HEX: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NEEDED: Final = {"HEAD": "file", "objects": "folder", "refs": "folder"}
_POSSIBLE: Final = {"config": "file", "packed-refs": "file", "info": "folder", "shallow": "file"}
_ELSEWHERE: Final = ("commondir", "gitdir")
"""Files that say where a worktree keeps the rest."""
_BORROWS: Final = ("alternates", "http-alternates")

Measure = Callable[[IO[bytes], int, int], int]


class Refused(Exception):
    """The repository is not read.

    Args:
        reason: `missing`, `elsewhere`, `borrows`, `irregular`, `reftable`, `large` or `damaged`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Oversized(Exception):
    """An object has more bytes than asked for; they are the argument."""


class Repository:
    """A repository whose control files have been checked.

    Args:
        place: Its folder, bare or not.
        measure: Bytes of the object at an offset of an open pack, given the length of an id.

    Attributes:
        refs: Full names to ids, `HEAD` included where it leads to one.

    Raises:
        Refused: A control file is missing, or is not what git writes in a repository that stands alone.
        OSError: A folder cannot be listed.
    """

    def __init__(self, place: Place, measure: Measure) -> None:
        control = _control_of(place)
        _check(place, control)
        self.refs = Refs(place, control).read()
        format_ = SHA256 if any(len(name) == SHA256.hex_length for name in self.refs.values()) else SHA1
        self._store = Objects(place, (*control, "objects"), format_, measure)

    def read(self, name: str, most: int) -> tuple[int, bytes]:
        """Type and content of an object.

        Raises:
            KeyError: It is not there.
            Oversized: It has more than `most` bytes.
        """
        found = ObjectID(name.encode())
        if (size := self._store.packed_size(found)) > min(most, LARGEST):
            raise Oversized(size)
        kind, data = self._store.get_raw(found)
        if len(data) > most:
            raise Oversized(len(data))
        return kind, data

    def matching(self, prefix: str) -> list[str]:
        """Ids that begin so; two are enough to show that it is ambiguous."""
        found: set[str] = set()
        for name in self._store.iter_prefix(prefix.encode()):
            found.add(name.decode())
            if len(found) > 1:
                break
        return sorted(found)


class Refs:
    """Reads branches, tags and other names.

    Args:
        place: Where they are.
        control: Steps to the folder that holds HEAD.
    """

    def __init__(self, place: Place, control: tuple[str, ...]) -> None:
        self._place = place
        self._control = control
        self._found: dict[str, str] = {}

    def read(self) -> dict[str, str]:
        """Full names to ids."""
        for line in _content(self._place, (*self._control, "packed-refs"), _PACKED_REFS_BYTES).splitlines():
            target, _, name = line.partition(b" ")
            self._add(name, target)
        self._walk((*self._control, "refs"), "refs")
        self._add(b"HEAD", _content(self._place, (*self._control, "HEAD"), _NAME_BYTES))
        resolved = {name: self._resolved(target) for name, target in self._found.items()}
        return {name: target for name, target in resolved.items() if target}

    def _walk(self, steps: tuple[str, ...], prefix: str) -> None:
        if len(steps) > _DEPTH:
            raise Refused("large")
        for entry in self._place.entries(steps):
            path = f"{prefix}/{entry.name}"
            if entry.kind == "folder":
                self._walk((*steps, entry.name), path)
            elif entry.kind == "file":
                self._add(path.encode(errors="surrogateescape"), _content(self._place, (*steps, entry.name)))
            else:
                raise Refused("irregular")

    def _add(self, name: bytes, target: bytes) -> None:
        if name == b"HEAD" or (name.startswith(b"refs/") and check_ref_format(Ref(name))):
            self._found[name.decode("utf-8", "replace")] = target.decode("ascii", "replace").strip()
            if len(self._found) > _MOST_REFS:
                raise Refused("large")

    def _resolved(self, target: str) -> str:
        """The id that a name leads to, among the names that were read; empty where it leads to none."""
        for _ in range(_CHAIN):
            if not target.startswith("ref:"):
                break
            target = self._found.get(target.removeprefix("ref:").strip(), "")
        return target if _HEX.fullmatch(target) else ""


class Objects(PackBasedObjectStore):
    """The objects below one folder; packs that appear later are not seen.

    Args:
        place: Where they are.
        steps: To the folder `objects`.
        object_format: Of their ids.
        measure: As of `Repository`.
    """

    def __init__(self, place: Place, steps: tuple[str, ...], object_format: ObjectFormat, measure: Measure) -> None:
        super().__init__(object_format=object_format)
        self._place, self._steps, self._measure = place, steps, measure
        names = {entry.name for entry in _entries(place, (*steps, "pack"))}
        bases = sorted(name.removesuffix(".pack") for name in names if name.endswith(".pack"))
        if len(bases) > _MOST_PACKS:
            raise Refused("large")
        self._pack_cache = {base: self._opened(base) for base in bases if f"{base}.idx" in names}

    def packed_size(self, name: ObjectID) -> int:
        """Bytes of an object in a pack, without unpacking it; 0 where it is in none."""
        for base, pack in self._pack_cache.items():
            try:
                offset = pack.index.object_offset(hex_to_sha(name))
            except KeyError:
                continue
            with self._place.opened((*self._steps, "pack", f"{base}.pack")) as file:
                return self._measure(file, offset, self.object_format.oid_length)
        return 0

    def iter_prefix(self, prefix: bytes) -> Iterator[ObjectID]:
        """Ids that begin with some hexadecimal digits, two or more; one may come twice."""
        first, rest = prefix[:2].decode(), prefix[2:].decode()
        for entry in _entries(self._place, (*self._steps, first)):
            if entry.name.startswith(rest) and _HEX.fullmatch(first + entry.name):
                yield ObjectID((first + entry.name).encode())
        for pack in self._pack_cache.values():
            for found in pack.index.iter_prefix(binascii.unhexlify(prefix[: len(prefix) // 2 * 2])):
                if (name := sha_to_hex(found)).startswith(prefix):
                    yield name

    def _opened(self, base: str) -> Pack:
        return Pack.from_lazy_objects(lambda: self._data(base), lambda: self._index(base))

    def _index(self, base: str) -> PackIndex:
        with self._place.opened((*self._steps, "pack", f"{base}.idx")) as file:
            return load_pack_index_file(f"{base}.idx", file, self.object_format)

    def _data(self, base: str) -> PackData:
        with self._place.opened((*self._steps, "pack", f"{base}.pack")) as file:
            return PackData(f"{base}.pack", self.object_format, file=file)

    def _update_pack_cache(self) -> list[Pack]:
        return []

    def _get_loose_object(self, sha: ObjectID) -> ShaFile | None:
        name = sha.decode()
        if not _HEX.fullmatch(name):
            return None
        try:
            with self._place.opened((*self._steps, name[:2], name[2:])) as file:
                return ShaFile.from_file(file, sha, object_format=self.object_format, max_size=LARGEST)
        except FileNotFoundError:
            return None


def _control_of(place: Place) -> tuple[str, ...]:
    """Steps to the folder that holds HEAD."""
    kind = next((entry.kind for entry in place.entries(()) if entry.name == ".git"), None)
    if kind == "file":
        raise Refused("elsewhere")
    if kind not in (None, "folder"):
        raise Refused("irregular")
    return (".git",) if kind else ()


def _check(place: Place, control: tuple[str, ...]) -> None:
    """Refuse a repository with control files that are links, pipes or the like, or that lead elsewhere."""
    kinds = {entry.name: entry.kind for entry in place.entries(control)}
    if any(name in kinds for name in _ELSEWHERE):
        raise Refused("elsewhere")
    if any(name not in kinds for name in _NEEDED):
        raise Refused("missing")
    if any(kinds.get(name, kind) != kind for name, kind in (_NEEDED | _POSSIBLE).items()):
        raise Refused("irregular")
    if "reftable" in kinds:
        raise Refused("reftable")
    for steps in (("objects",), ("objects", "info"), ("objects", "pack")):
        entries = _entries(place, (*control, *steps))
        if any(entry.name in _BORROWS for entry in entries):
            raise Refused("borrows")
        if any(entry.kind in ("link", "other") for entry in entries):
            raise Refused("irregular")


def _entries(place: Place, steps: tuple[str, ...]) -> list[Entry]:
    try:
        return place.entries(steps)
    except FileNotFoundError:
        return []


def _content(place: Place, steps: tuple[str, ...], most: int = _NAME_BYTES) -> bytes:
    try:
        with place.opened(steps) as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        return b""
    if len(content) > most:
        raise Refused("large")
    return content
