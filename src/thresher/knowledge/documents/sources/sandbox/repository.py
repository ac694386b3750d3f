"""The refs and objects of an untrusted git repository.

Invariant: each file is opened through `SafeFolder`, so that no link is followed and no pipe or device is waited for; no
configuration is read, neither the repository's nor the user's; objects and refs of other repositories are never used.
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
    from thresher.knowledge.documents.sources.sandbox.safe_folder import FolderEntry, SafeFolder

LARGEST: Final = 256 << 20
"""Most bytes of an object that is unpacked."""
_NAME_BYTES: Final = 1 << 10
"""Most bytes of a file under `refs`, or of HEAD: an id, or the name of another ref."""
_PACKED_REFS_BYTES: Final = 64 << 20
_MOST_REFS: Final = 200_000
_MOST_PACKS: Final = 5_000
_DEPTH: Final = 30
_CHAIN: Final = 5
"""Refs that lead to refs."""
_HEX: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NEEDED: Final = {"HEAD": "file", "objects": "folder", "refs": "folder"}
_POSSIBLE: Final = {"config": "file", "packed-refs": "file", "info": "folder", "shallow": "file"}
_ELSEWHERE: Final = ("commondir", "gitdir")
"""Files that say where a worktree keeps the rest."""
_BORROWS: Final = ("alternates", "http-alternates")

Measure = Callable[[IO[bytes], int, int], int]


class RepositoryRefused(Exception):
    """The repository is not read.

    Args:
        reason: `missing`, `elsewhere`, `borrows`, `irregular`, `reftable`, `large` or `damaged`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Oversized(Exception):
    """An object is larger than requested; its size is the argument."""


class GitRepository:
    """A repository whose control files have been checked.

    Args:
        folder: Its folder, bare or not.
        measure: Size of the object at an offset of an open pack, given the length of an id.

    Attributes:
        refs: Full names to ids, with `HEAD` if it leads to one.

    Raises:
        RepositoryRefused: A control file is missing, or is not what git writes in a self-contained repository.
        OSError: A folder cannot be listed.
    """

    def __init__(self, folder: SafeFolder, measure: Measure) -> None:
        control = _control_of(folder)
        _check(folder, control)
        self.refs = Refs(folder, control).read()
        format_ = SHA256 if any(len(name) == SHA256.hex_length for name in self.refs.values()) else SHA1
        self._store = RepositoryObjects(folder, (*control, "objects"), format_, measure)

    def read(self, name: str, most: int) -> tuple[int, bytes]:
        """Type and content of an object.

        Raises:
            KeyError: There is no such object.
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
        """Ids with this prefix; two are enough to show that it is ambiguous."""
        found: set[str] = set()
        for name in self._store.iter_prefix(prefix.encode()):
            found.add(name.decode())
            if len(found) > 1:
                break
        return sorted(found)


class Refs:
    """Reads branches, tags and other refs.

    Args:
        folder: The repository's folder.
        control: Steps to the folder with HEAD.
    """

    def __init__(self, folder: SafeFolder, control: tuple[str, ...]) -> None:
        self._folder = folder
        self._control = control
        self._found: dict[str, str] = {}

    def read(self) -> dict[str, str]:
        """Full names to ids."""
        for line in _content(self._folder, (*self._control, "packed-refs"), _PACKED_REFS_BYTES).splitlines():
            target, _, name = line.partition(b" ")
            self._add(name, target)
        self._walk((*self._control, "refs"), "refs")
        self._add(b"HEAD", _content(self._folder, (*self._control, "HEAD"), _NAME_BYTES))
        resolved = {name: self._resolved(target) for name, target in self._found.items()}
        return {name: target for name, target in resolved.items() if target}

    def _walk(self, steps: tuple[str, ...], prefix: str) -> None:
        if len(steps) > _DEPTH:
            raise RepositoryRefused("large")
        for entry in self._folder.entries(steps):
            path = f"{prefix}/{entry.name}"
            if entry.kind == "folder":
                self._walk((*steps, entry.name), path)
            elif entry.kind == "file":
                self._add(path.encode(errors="surrogateescape"), _content(self._folder, (*steps, entry.name)))
            else:
                raise RepositoryRefused("irregular")

    def _add(self, name: bytes, target: bytes) -> None:
        if name == b"HEAD" or (name.startswith(b"refs/") and check_ref_format(Ref(name))):
            self._found[name.decode("utf-8", "replace")] = target.decode("ascii", "replace").strip()
            if len(self._found) > _MOST_REFS:
                raise RepositoryRefused("large")

    def _resolved(self, target: str) -> str:
        """The id that a ref leads to; empty if it leads to none."""
        for _ in range(_CHAIN):
            if not target.startswith("ref:"):
                break
            target = self._found.get(target.removeprefix("ref:").strip(), "")
        return target if _HEX.fullmatch(target) else ""


class RepositoryObjects(PackBasedObjectStore):
    """The objects below one folder; packs that appear later are not seen.

    Args:
        folder: The repository's folder.
        steps: Steps to the folder `objects`.
        object_format: Format of the ids.
        measure: As for `GitRepository`.
    """

    def __init__(
        self, folder: SafeFolder, steps: tuple[str, ...], object_format: ObjectFormat, measure: Measure
    ) -> None:
        super().__init__(object_format=object_format)
        self._folder, self._steps, self._measure = folder, steps, measure
        names = {entry.name for entry in _entries(folder, (*steps, "pack"))}
        bases = sorted(name.removesuffix(".pack") for name in names if name.endswith(".pack"))
        if len(bases) > _MOST_PACKS:
            raise RepositoryRefused("large")
        self._pack_cache = {base: self._opened(base) for base in bases if f"{base}.idx" in names}

    def packed_size(self, name: ObjectID) -> int:
        """Size of an object in a pack, without unpacking it; 0 if it is in none."""
        for base, pack in self._pack_cache.items():
            try:
                offset = pack.index.object_offset(hex_to_sha(name))
            except KeyError:
                continue
            with self._folder.opened((*self._steps, "pack", f"{base}.pack")) as file:
                return self._measure(file, offset, self.object_format.oid_length)
        return 0

    def iter_prefix(self, prefix: bytes) -> Iterator[ObjectID]:
        """Ids that begin with some hexadecimal digits, two or more; an id may occur twice."""
        first, rest = prefix[:2].decode(), prefix[2:].decode()
        for entry in _entries(self._folder, (*self._steps, first)):
            if entry.name.startswith(rest) and _HEX.fullmatch(first + entry.name):
                yield ObjectID((first + entry.name).encode())
        for pack in self._pack_cache.values():
            for found in pack.index.iter_prefix(binascii.unhexlify(prefix[: len(prefix) // 2 * 2])):
                if (name := sha_to_hex(found)).startswith(prefix):
                    yield name

    def _opened(self, base: str) -> Pack:
        return Pack.from_lazy_objects(lambda: self._data(base), lambda: self._index(base))

    def _index(self, base: str) -> PackIndex:
        with self._folder.opened((*self._steps, "pack", f"{base}.idx")) as file:
            return load_pack_index_file(f"{base}.idx", file, self.object_format)

    def _data(self, base: str) -> PackData:
        with self._folder.opened((*self._steps, "pack", f"{base}.pack")) as file:
            return PackData(f"{base}.pack", self.object_format, file=file)

    def _update_pack_cache(self) -> list[Pack]:
        return []

    def _get_loose_object(self, sha: ObjectID) -> ShaFile | None:
        name = sha.decode()
        if not _HEX.fullmatch(name):
            return None
        try:
            with self._folder.opened((*self._steps, name[:2], name[2:])) as file:
                return ShaFile.from_file(file, sha, object_format=self.object_format, max_size=LARGEST)
        except FileNotFoundError:
            return None


def _control_of(folder: SafeFolder) -> tuple[str, ...]:
    """Steps to the folder with HEAD."""
    kind = next((entry.kind for entry in folder.entries(()) if entry.name == ".git"), None)
    if kind == "file":
        raise RepositoryRefused("elsewhere")
    if kind not in (None, "folder"):
        raise RepositoryRefused("irregular")
    return (".git",) if kind else ()


def _check(folder: SafeFolder, control: tuple[str, ...]) -> None:
    """Refuse a repository with control files that are links, pipes or the like, or that lead elsewhere."""
    kinds = {entry.name: entry.kind for entry in folder.entries(control)}
    if any(name in kinds for name in _ELSEWHERE):
        raise RepositoryRefused("elsewhere")
    if any(name not in kinds for name in _NEEDED):
        raise RepositoryRefused("missing")
    if any(kinds.get(name, kind) != kind for name, kind in (_NEEDED | _POSSIBLE).items()):
        raise RepositoryRefused("irregular")
    if "reftable" in kinds:
        raise RepositoryRefused("reftable")
    for steps in (("objects",), ("objects", "info"), ("objects", "pack")):
        entries = _entries(folder, (*control, *steps))
        if any(entry.name in _BORROWS for entry in entries):
            raise RepositoryRefused("borrows")
        if any(entry.kind in ("link", "other") for entry in entries):
            raise RepositoryRefused("irregular")


def _entries(folder: SafeFolder, steps: tuple[str, ...]) -> list[FolderEntry]:
    try:
        return folder.entries(steps)
    except FileNotFoundError:
        return []


def _content(folder: SafeFolder, steps: tuple[str, ...], most: int = _NAME_BYTES) -> bytes:
    try:
        with folder.opened(steps) as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        return b""
    if len(content) > most:
        raise RepositoryRefused("large")
    return content
