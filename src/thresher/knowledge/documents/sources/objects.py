"""The names and objects of a git repository, read by a process of its own.

Invariant: no file of the repository is opened by this process, and no request waits longer than its time: a process
that is late is killed. What went wrong is described in our words, never in a library's.
"""

from __future__ import annotations

import json
import math
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from dulwich.objects import ObjectID, ShaFile

from thresher.confinement import command, environment
from thresher.core import InvalidInput, NotFound, SourceUnavailable, ThresherError

_PROGRAM: Final = Path(__file__).parent / "apart"
_SECONDS: Final = 60.0
"""For one object: the largest takes a second or two to unpack."""
_GRAIN: Final = 0.5
"""How many seconds later than its time a process may be killed; a timer for each request would cost more than it."""
_STRUCTURE_BYTES: Final = 32 << 20
"""Of a commit, tag or tree; a tree of a million files has as many."""
_ALONE: Final = "Clone it (`git clone`) and index the clone, or index its folder without --ref."
_REFUSALS: Final = {
    "elsewhere": (
        "{shown} is a worktree or a submodule; its commits are kept elsewhere.",
        "Index the repository that keeps them, or this folder without --ref.",
    ),
    "borrows": (
        "{shown} borrows objects from another repository.",
        "Run `git repack -a -d` in it and remove objects/info/alternates, or index its folder without --ref.",
    ),
    "irregular": ("{shown} has links, pipes or the like among git's own files, which may lead out of it.", _ALONE),
    "reftable": ("{shown} keeps its branches in the reftable format, which is not read.", _ALONE),
    "large": (
        "{shown} has too many branches, tags or packs.",
        "Run `git gc` in it, or index its folder without --ref.",
    ),
    "damaged": ("{shown} cannot be read: git's own files in it are damaged.", "Run `git fsck` in it."),
}


class Oversized(Exception):
    """An object has more bytes than asked for.

    Args:
        size: Its bytes; 0 where they are unknown.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class ObjectReader:
    """A process that reads one repository; to be closed. Calls block, one at a time.

    Args:
        root: Folder of the repository, absolute and without links.
        shown: What errors call it.
        seconds: How long reading its names may take, and a half of the processor time of all.

    Attributes:
        refs: Full names to ids, `HEAD` included where it leads to one.

    Raises:
        NotFound: There is no repository.
        InvalidInput: Its files are not those of a repository that stands alone, or are damaged.
        SourceUnavailable: Reading its names takes too long.
    """

    def __init__(self, root: Path, shown: str, seconds: float) -> None:
        self._shown = shown
        self._process = subprocess.Popen(
            command(_PROGRAM, str(root), str(max(60, round(2 * seconds)))), env=environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._due = time.monotonic() + seconds
        self._closed = threading.Event()
        threading.Thread(target=self._watch, args=(min(_GRAIN, seconds),), daemon=True).start()
        try:
            head, _ = self._asked(None, seconds)
            if "refused" in head:
                raise self._refusal(head["refused"])
            self.refs: Mapping[str, str] = head["refs"]
        except BaseException:
            self.close()
            raise

    def read(self, name: str, most: int) -> tuple[int, bytes]:
        """Type and content of an object.

        Raises:
            KeyError: It is not there.
            Oversized: It has more than `most` bytes.
            InvalidInput: It is damaged.
            SourceUnavailable: Reading it takes too long.
        """
        head, data = self._asked({"object": name, "most": most}, _SECONDS)
        failed = head.get("failed")
        if failed == "missing":
            raise KeyError(name)
        if failed == "large":
            raise Oversized(head["size"])
        if failed:
            raise self._refusal("damaged")
        return head["kind"], data

    def __getitem__(self, name: ObjectID, /) -> ShaFile:
        """A commit, tag or tree."""
        try:
            return ShaFile.from_raw_string(*self.read(name.decode(), _STRUCTURE_BYTES), verify_sha=name)
        except Oversized:
            raise InvalidInput(f"{self._shown} has a folder with too many files.") from None
        except (ValueError, AssertionError):
            raise self._refusal("damaged") from None

    def matching(self, prefix: str) -> list[str]:
        """Ids of objects that begin so: all of them where there is one, else two."""
        return self._asked({"prefix": prefix}, _SECONDS)[0]["ids"]

    def close(self) -> None:
        """End the process; may be called again."""
        self._closed.set()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            cast("BinaryIO", stream).close()

    def _asked(self, request: Mapping[str, Any] | None, seconds: float) -> tuple[dict[str, Any], bytes]:
        """The answer to a request; None for the first, which is given unasked."""
        requests, answers = cast("BinaryIO", self._process.stdin), cast("BinaryIO", self._process.stdout)
        self._due = time.monotonic() + seconds
        try:
            if request is not None:
                requests.write(json.dumps(request).encode() + b"\n")
                requests.flush()
            head: dict[str, Any] = json.loads(answers.readline())
            data = answers.read(head["size"]) if "kind" in head else b""
        except (OSError, ValueError):
            raise SourceUnavailable(
                f"{self._shown} cannot be read: the process that reads it took too long or ended.",
                hint="Run `git fsck` in it, or index its folder without --ref.",
            ) from None
        finally:
            self._due = math.inf
        return head, data

    def _watch(self, grain: float) -> None:
        """Kill the process when an answer is due."""
        while not self._closed.wait(grain):
            if time.monotonic() > self._due:
                self._process.kill()
                return

    def _refusal(self, reason: str) -> ThresherError:
        if reason == "missing":
            return NotFound(f"There is no git repository at {self._shown}.", hint="Check the path.")
        message, hint = _REFUSALS[reason]
        return InvalidInput(message.format(shown=self._shown), hint=hint)
