"""A folder as a source: its working tree, or one file of it.

Invariant: nothing outside the folder is read; what is given out under a path is what was listed.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from thresher.core import Conflict, InvalidInput, NotFound
from thresher.knowledge.documents.models import Origin, Skipped, SourceFile
from thresher.knowledge.documents.sources.contents import judged_by_content
from thresher.knowledge.documents.sources.measuring import Tally, blob_id, digest_of, too_large
from thresher.knowledge.documents.sources.memory import Finding, Memory, key_of
from thresher.knowledge.documents.sources.naming import judged_by_name
from thresher.knowledge.documents.sources.places import Place
from thresher.knowledge.documents.sources.records import Limits
from thresher.knowledge.documents.sources.selecting import Selection
from thresher.knowledge.documents.sources.walking import Listed, Walk


class FolderSource:
    """The files of a folder that are worth indexing.

    Args:
        origin: Of kind `folder` or `file`.
        cache: Folder for what is remembered between runs.
        limits: How much is read.
        apart: Folders that are never entered.

    Raises:
        NotFound: There is nothing at this place.
        InvalidInput: It cannot be read, or holds too much.
    """

    def __init__(self, origin: Origin, cache: Path, limits: Limits, apart: tuple[Path, ...] = ()) -> None:
        path = Path(origin.location)
        self._limits = limits
        self._place = Place(path if origin.kind == "folder" else path.parent)
        self._skipped: list[Skipped] = []
        self._tally = Tally(limits)
        try:
            self._list(origin, Memory(cache / "files.json", origin.location), apart)
        except BaseException:
            self._place.close()
            raise

    @property
    def version(self) -> str:
        """A digest of the files."""
        return digest_of(self._tally.files)

    def files(self) -> list[SourceFile]:
        """The files to index, by path."""
        return list(self._tally.files.values())

    def skipped(self) -> list[Skipped]:
        """What is not indexed, by path."""
        return sorted(self._skipped, key=lambda one: one.path)

    def read(self, path: str) -> bytes:
        """The bytes of a listed file.

        Raises:
            Conflict: It is gone or has changed since it was listed.
            NotFound: No such file was listed.
        """
        if (listed := self._tally.files.get(path)) is None:
            raise NotFound(f"No file {path!r} was listed.")
        try:
            data = self._bytes(path, listed.size)
        except (OSError, InvalidInput):
            data = b""
        if blob_id(data) != listed.blob:
            raise Conflict(f"The file {path!r} changed while it was indexed.", hint="The next run takes it.")
        return data

    def close(self) -> None:
        """Let go of the folder."""
        self._place.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _list(self, origin: Origin, memory: Memory, apart: tuple[Path, ...]) -> None:
        if origin.kind == "file":
            self._take(self._single(Path(origin.location).name), memory)
        else:
            walk = Walk(self._place, Selection(origin.include, origin.exclude), self._limits, apart)
            for listed in walk.files():
                self._take(listed, memory)
            self._skipped += walk.skipped
        memory.save()

    def _single(self, name: str) -> Listed:
        for entry in self._place.entries(()):
            if entry.name == name and entry.kind == "file":
                return Listed(name, entry.status)
        raise NotFound(
            f"There is no file {str(self._place.root / name)!r}.", hint="Check the path, or remove the repository."
        )

    def _take(self, listed: Listed, memory: Memory) -> None:
        """Count a file, or say why it is skipped."""
        skipped = judged_by_name(listed.path)
        size = listed.status.st_size
        if skipped is None and size > self._limits.document_bytes:
            skipped = too_large(listed.path, size, self._limits)
        if skipped is not None:
            self._skipped.append(skipped)
            return
        key = key_of(listed.path, listed.status)
        finding = memory.recall(key) if key else None
        if finding is None and (finding := self._examined(listed.path, size)) is not None and key:
            memory.keep(key, finding)
        if finding is None:
            return
        if finding.reason:
            self._skipped.append(Skipped(listed.path, finding.reason, finding.detail))
        else:
            self._tally.add(SourceFile(listed.path, finding.blob, size))

    def _examined(self, path: str, size: int) -> Finding | None:
        """What the bytes of a file say; None, with a record, where they cannot be read."""
        try:
            data = self._bytes(path, size)
        except (OSError, InvalidInput) as error:
            why = error.message if isinstance(error, InvalidInput) else f"{error.strerror or 'It cannot be read'}."
            self._skipped.append(Skipped(path, "unreadable", why))
            return None
        skipped = judged_by_content(path, data)
        return Finding(blob_id(data), skipped.reason, skipped.detail) if skipped else Finding(blob_id(data))

    def _bytes(self, path: str, size: int) -> bytes:
        with self._place.opened(tuple(path.split("/"))) as stream:
            data = stream.read(size + 1)
        if len(data) != size:
            raise InvalidInput("It changes while it is read.")
        return data
