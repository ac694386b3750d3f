"""A folder as a source: its working tree, or one file of it.

The folder is walked as git does: files that `.gitignore` excludes are left out, and links are not followed.

Invariant: nothing outside the folder is read; a walk is bounded in depth, entries and time, and lists names in the
order of their bytes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thresher.core import InvalidInput, NotFound
from thresher.knowledge.documents.models import Origin, Skipped, SourceFile
from thresher.knowledge.documents.sources.exclusion import TOOL_FOLDERS, decoded_path, unusable_path
from thresher.knowledge.documents.sources.findings import FindingCache, key_of
from thresher.knowledge.documents.sources.limits import SourceLimits
from thresher.knowledge.documents.sources.listing import FileSource, FileUnavailable, digest_of
from thresher.knowledge.documents.sources.patterns import PathPatterns, PathSelection, patterns_of
from thresher.knowledge.documents.sources.sandbox.safe_folder import FolderEntry, SafeFolder


class FolderSource(FileSource):
    """The files of a folder that are worth indexing.

    Args:
        origin: An origin of kind `folder` or `file`.
        cache: Folder for findings that are kept between runs.
        limits: How much is read.
        forbidden: Folders that are never entered.

    Raises:
        NotFound: There is nothing at this location.
        InvalidInput: It cannot be read, or is too large.
    """

    def __init__(self, origin: Origin, cache: Path, limits: SourceLimits, forbidden: tuple[Path, ...] = ()) -> None:
        super().__init__(limits)
        path = Path(origin.location)
        self._folder = _open_folder(path if origin.kind == "folder" else path.parent)
        try:
            self._list(origin, FindingCache(cache / "files.json", limits.scope), forbidden)
        except BaseException:
            self._folder.close()
            raise

    @property
    def version(self) -> str:
        """A digest of the files."""
        return digest_of(self._tally.files)

    def close(self) -> None:
        """Close the folder."""
        self._folder.close()

    def _list(self, origin: Origin, findings: FindingCache, forbidden: tuple[Path, ...]) -> None:
        if origin.kind == "file":
            self._list_file(self._single(Path(origin.location).name), findings)
        else:
            walk = FolderWalk(self._folder, PathSelection(origin.include, origin.exclude), self._limits, forbidden)
            for listed in walk.files():
                self._list_file(listed, findings)
            self._skipped += walk.skipped
        findings.save()

    def _list_file(self, listed: ListedFile, findings: FindingCache) -> None:
        size = listed.status.st_size
        if self._accepts(listed.path, size):
            self._take(SourceFile(listed.path, "", size), findings, key_of(listed.path, listed.status))

    def _single(self, name: str) -> ListedFile:
        for entry in self._folder.entries(()):
            if entry.name == name and entry.kind == "file":
                return ListedFile(name, entry.status)
        raise NotFound(
            f"There is no file {str(self._folder.root / name)!r}.", hint="Check the path, or remove the repository."
        )

    def _bytes(self, file: SourceFile) -> bytes:
        with self._folder.opened(tuple(file.path.split("/"))) as stream:
            data = stream.read(file.size + 1)
        if len(data) != file.size:
            raise FileUnavailable("It changed while it was read.")
        return data


def _open_folder(root: Path) -> SafeFolder:
    try:
        return SafeFolder(root)
    except FileNotFoundError:
        raise NotFound(f"There is no folder {str(root)!r}.", hint="Check the path, or remove the repository.") from None
    except OSError as error:
        raise InvalidInput(
            f"The folder {str(root)!r} cannot be read: {error.strerror or error}.",
            hint="Give the real path of a folder, without links, that this account may read.",
        ) from None


_ENTRIES: Final = 1_000_000
_IGNORE_FILE: Final = ".gitignore"
_LARGEST_RULES: Final = 1 << 20
_PARENT_FOLDERS: Final = 20


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a folder.

    Attributes:
        path: Path below the root, with `/`.
        status: Its size, times and inode.
    """

    path: str
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class _IgnoreLevel:
    """The patterns of an ignore file, and how a path below the root reads from the file's folder."""

    patterns: PathPatterns
    lead: str = ""
    cut: int = 0

    def decide(self, path: str, *, folder: bool) -> bool | None:
        return self.patterns.decide(self.lead + path[self.cut :], folder=folder)


class FolderWalk:
    """One walk through a folder.

    Args:
        folder: The folder.
        selection: The selected paths.
        limits: Time limit of the walk.
        forbidden: Folders that are never entered.
    """

    def __init__(
        self, folder: SafeFolder, selection: PathSelection, limits: SourceLimits, forbidden: tuple[Path, ...] = ()
    ) -> None:
        self._folder = folder
        self._selection = selection
        self._until = time.monotonic() + limits.seconds
        self._seconds = limits.seconds
        self._forbidden = {_identity(path) for path in forbidden} - {None}
        self._seen = 0
        self.skipped: list[Skipped] = []
        """What was left out; a folder's path ends with a slash."""
        self.folders: list[str] = []
        """The folders that were entered, below the root; the root is empty."""

    def files(self) -> Iterator[ListedFile]:
        """The files that names and ignore files do not exclude.

        Raises:
            InvalidInput: There are too many entries, or the walk takes too long.
        """
        waiting: list[tuple[tuple[str, ...], tuple[_IgnoreLevel, ...]]] = [((), tuple(_above(self._folder.root)))]
        while waiting:
            steps, levels = waiting.pop()
            self.folders.append("/".join(steps))
            entries = self._entries(steps)
            levels = (*levels, *self._level(steps, entries))
            below: list[tuple[tuple[str, ...], tuple[_IgnoreLevel, ...]]] = []
            for entry in entries:
                path = "/".join((*steps, entry.name))
                if not self._accepts(path, entry, levels):
                    continue
                if entry.kind == "folder":
                    below.append(((*steps, entry.name), levels))
                else:
                    yield ListedFile(path, entry.status)
            waiting += reversed(below)

    def _entries(self, steps: tuple[str, ...]) -> list[FolderEntry]:
        try:
            entries = self._folder.entries(steps)
        except OSError as error:
            self.skipped.append(Skipped("/".join(steps) + "/", "unreadable", f"{error.strerror or 'It is gone'}."))
            return []
        self._seen += len(entries)
        if self._seen > _ENTRIES:
            raise InvalidInput(
                f"The folder has more than {_ENTRIES:,} entries.", hint="Index a folder of it, or use --exclude."
            )
        if time.monotonic() > self._until:
            raise InvalidInput(
                f"Listing the folder took longer than {self._seconds:g} s.",
                hint="Index a folder of it, use --exclude, or raise THRESHER_SOURCE_SECONDS.",
            )
        return entries

    def _level(self, steps: tuple[str, ...], entries: list[FolderEntry]) -> Iterator[_IgnoreLevel]:
        """The patterns of a folder's ignore file, if it has one."""
        for entry in entries:
            if entry.name == _IGNORE_FILE and entry.kind == "file" and entry.status.st_size <= _LARGEST_RULES:
                try:
                    with self._folder.opened((*steps, entry.name)) as stream:
                        patterns = patterns_of(stream.read(_LARGEST_RULES))
                except (OSError, InvalidInput):
                    return
                if patterns.patterns:
                    yield _IgnoreLevel(patterns, cut=len("/".join(steps)) + 1 if steps else 0)

    def _accepts(self, path: str, entry: FolderEntry, levels: tuple[_IgnoreLevel, ...]) -> bool:
        skipped = self._exclusion(path, entry) or self._ignored(path, entry, levels)
        if skipped is not None:
            self.skipped.append(skipped)
        return skipped is None

    def _exclusion(self, path: str, entry: FolderEntry) -> Skipped | None:
        name = os.fsencode(path)
        if decoded_path(name) is None:
            return unusable_path(name)
        if entry.kind == "link":
            return Skipped(path, "link", "Links are not followed; index its target at its own path.")
        if entry.kind == "other":
            return Skipped(path, "unreadable", "It is a pipe, a socket or a device.")
        if entry.kind == "folder" and (entry.name in TOOL_FOLDERS or _key(entry.status) in self._forbidden):
            return Skipped(f"{path}/", "ignored", "Tools fill this folder.")
        if entry.kind == "folder" and self._selection.excludes_folder(path):
            return Skipped(f"{path}/", "excluded", "A pattern excludes it.")
        return self._selection.exclusion(path) if entry.kind == "file" else None

    def _ignored(self, path: str, entry: FolderEntry, levels: tuple[_IgnoreLevel, ...]) -> Skipped | None:
        folder = entry.kind == "folder"
        if entry.name == ".git":
            return Skipped(path, "ignored", "It belongs to git.")
        for level in reversed(levels):
            decision = level.decide(path, folder=folder)
            if decision is not None:
                shown = f"{path}/" if folder else path
                return Skipped(shown, "ignored", "A .gitignore excludes it.") if decision else None
        return None


def _above(root: Path) -> Iterator[_IgnoreLevel]:
    """The ignore patterns of the git checkout that contains a folder, outermost first."""
    top = next((folder for folder in (root, *root.parents)[:_PARENT_FOLDERS] if (folder / ".git").exists()), None)
    if top is None:
        return
    lead = root.relative_to(top).as_posix()
    yield from _rules_at(top / ".git" / "info" / "exclude", "" if lead == "." else f"{lead}/")
    for folder in reversed(root.parents):
        if folder.is_relative_to(top):
            yield from _rules_at(folder / _IGNORE_FILE, f"{root.relative_to(folder).as_posix()}/")


def _rules_at(path: Path, lead: str) -> Iterator[_IgnoreLevel]:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_RULES:
            return
        patterns = patterns_of(path.read_bytes())
    except OSError:
        return
    if patterns.patterns:
        yield _IgnoreLevel(patterns, lead)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        return _key(path.stat())
    except OSError:
        return None


def _key(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
