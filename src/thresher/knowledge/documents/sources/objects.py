"""The refs and objects of a git repository, read by a process of its own.

Invariant: this process opens no file of the repository, and a request never waits beyond its time limit: a late process
is killed. Errors are described in our words, never in a library's.
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

_PROGRAM: Final = Path(__file__).parent / "sandbox"
_SECONDS: Final = 60.0
"""Time limit for one object: the largest takes a second or two to unpack."""
_GRAIN: Final = 0.5
"""Most seconds after its limit at which a process is killed; a timer for each request would cost more than the
request."""
_STRUCTURE_BYTES: Final = 32 << 20
"""Most bytes of a commit, tag or tree; a tree of a million files is this large."""
_CLONE_IT: Final = "Clone it (`git clone`) and index the clone, or index its folder without --ref."
_REFUSALS: Final = {
    "elsewhere": (
        "{label} is a worktree or a submodule; its commits are kept elsewhere.",
        "Index the repository that keeps them, or this folder without --ref.",
    ),
    "borrows": (
        "{label} borrows objects from another repository.",
        "Run `git repack -a -d` in it and remove objects/info/alternates, or index its folder without --ref.",
    ),
    "irregular": ("{label} has links, pipes or the like among git's own files, which may lead outside.", _CLONE_IT),
    "reftable": ("{label} keeps its branches in the reftable format, which is not read.", _CLONE_IT),
    "large": (
        "{label} has too many branches, tags or packs.",
        "Run `git gc` in it, or index its folder without --ref.",
    ),
    "damaged": ("{label} cannot be read: git's own files in it are damaged.", "Run `git fsck` in it."),
}


class Oversized(Exception):
    """An object is larger than requested.

    Args:
        size: Its size in bytes; 0 if unknown.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class ObjectReader:
    """A process that reads one repository; must be closed. Calls block, one at a time.

    Args:
        root: Folder of the repository, absolute and without links.
        label: What errors call it.
        seconds: Time limit for reading its refs, and half of the total processor time.

    Attributes:
        refs: Full names to ids, with `HEAD` if it leads to one.

    Raises:
        NotFound: There is no repository.
        InvalidInput: It is not a self-contained repository, or is damaged.
        SourceUnavailable: Reading its refs takes too long.
    """

    def __init__(self, root: Path, label: str, seconds: float) -> None:
        self._label = label
        self._process = subprocess.Popen(
            command(_PROGRAM, str(root), str(max(60, round(2 * seconds)))), env=environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._due = time.monotonic() + seconds
        self._closed = threading.Event()
        threading.Thread(target=self._watch, args=(min(_GRAIN, seconds),), daemon=True).start()
        try:
            head, _ = self._answer(None, seconds)
            if "refused" in head:
                raise self._refusal(head["refused"])
            self.refs: Mapping[str, str] = head["refs"]
        except BaseException:
            self.close()
            raise

    def read(self, name: str, most: int) -> tuple[int, bytes]:
        """Type and content of an object.

        Raises:
            KeyError: There is no such object.
            Oversized: It has more than `most` bytes.
            InvalidInput: It is damaged.
            SourceUnavailable: Reading it takes too long.
        """
        head, data = self._answer({"object": name, "most": most}, _SECONDS)
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
            raise InvalidInput(f"{self._label} has a folder with too many files.") from None
        except (ValueError, AssertionError):
            raise self._refusal("damaged") from None

    def matching(self, prefix: str) -> list[str]:
        """Ids of objects with this prefix: all of them if there is one, else two."""
        return self._answer({"prefix": prefix}, _SECONDS)[0]["ids"]

    def close(self) -> None:
        """End the process; idempotent."""
        self._closed.set()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            cast("BinaryIO", stream).close()

    def _answer(self, request: Mapping[str, Any] | None, seconds: float) -> tuple[dict[str, Any], bytes]:
        """The answer to a request; None for the first answer, which needs no request."""
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
                f"{self._label} cannot be read: the process that reads it took too long or ended.",
                hint="Run `git fsck` in it, or index its folder without --ref.",
            ) from None
        finally:
            self._due = math.inf
        return head, data

    def _watch(self, grain: float) -> None:
        """Kill the process when an answer is overdue."""
        while not self._closed.wait(grain):
            if time.monotonic() > self._due:
                self._process.kill()
                return

    def _refusal(self, reason: str) -> ThresherError:
        if reason == "missing":
            return NotFound(f"There is no git repository at {self._label}.", hint="Check the path.")
        message, hint = _REFUSALS[reason]
        return InvalidInput(message.format(label=self._label), hint=hint)
