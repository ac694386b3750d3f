"""A folder as a source: its working tree, or one file of it.

Invariant: nothing outside the folder is read.
"""

from __future__ import annotations

from pathlib import Path

from thresher.core import InvalidInput, NotFound
from thresher.knowledge.documents.models import Origin, SourceFile
from thresher.knowledge.documents.sources.apart.places import Place
from thresher.knowledge.documents.sources.listing import Listing, Unfit
from thresher.knowledge.documents.sources.measuring import digest_of
from thresher.knowledge.documents.sources.memory import Memory, key_of
from thresher.knowledge.documents.sources.records import Limits
from thresher.knowledge.documents.sources.selecting import Selection
from thresher.knowledge.documents.sources.walking import Listed, Walk


class FolderSource(Listing):
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
        super().__init__(limits)
        path = Path(origin.location)
        self._place = _place_at(path if origin.kind == "folder" else path.parent)
        try:
            self._list(origin, Memory(cache / "files.json", limits.scope), apart)
        except BaseException:
            self._place.close()
            raise

    @property
    def version(self) -> str:
        """A digest of the files."""
        return digest_of(self._tally.files)

    def close(self) -> None:
        """Let go of the folder."""
        self._place.close()

    def _list(self, origin: Origin, memory: Memory, apart: tuple[Path, ...]) -> None:
        if origin.kind == "file":
            self._list_file(self._single(Path(origin.location).name), memory)
        else:
            walk = Walk(self._place, Selection(origin.include, origin.exclude), self._limits, apart)
            for listed in walk.files():
                self._list_file(listed, memory)
            self._skipped += walk.skipped
        memory.save()

    def _list_file(self, listed: Listed, memory: Memory) -> None:
        size = listed.status.st_size
        if self._passes(listed.path, size):
            self._take(SourceFile(listed.path, "", size), memory, key_of(listed.path, listed.status))

    def _single(self, name: str) -> Listed:
        for entry in self._place.entries(()):
            if entry.name == name and entry.kind == "file":
                return Listed(name, entry.status)
        raise NotFound(
            f"There is no file {str(self._place.root / name)!r}.", hint="Check the path, or remove the repository."
        )

    def _bytes(self, file: SourceFile) -> bytes:
        with self._place.opened(tuple(file.path.split("/"))) as stream:
            data = stream.read(file.size + 1)
        if len(data) != file.size:
            raise Unfit("It changes while it is read.")
        return data


def _place_at(root: Path) -> Place:
    try:
        return Place(root)
    except FileNotFoundError:
        raise NotFound(f"There is no folder {str(root)!r}.", hint="Check the path, or remove the repository.") from None
    except OSError as error:
        raise InvalidInput(
            f"The folder {str(root)!r} cannot be read: {error.strerror or error}.",
            hint="Give the real path of a folder, without links, that this account may read.",
        ) from None
