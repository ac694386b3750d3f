"""A writer in its own process, so that it can be killed, starved of space, disturbed, or delayed.

Run as `python -m tests.knowledge_solutions.writer VERB WORKSPACE DATA ...`; it prints one line of JSON for each answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from thresher.core import Conflict, ThresherError
from thresher.knowledge.solutions.changes.storage import Storage, locked
from thresher.knowledge.solutions.workspace import FileChange

BEFORE = {
    "crm/relations/old.rel": b'name:"old",\ntypeid:22',
    "crm/forms/one.frm": b'items:[\n{\nrelationName:"old"\n}\n]',
    "crm/forms/two.frm": b'relationName:"old",\n' + b"x" * 5000,
    "crm/forms/three.frm": b'relationName:"old"',
    "crm/forms/other.frm": b"not of this change",
}
AFTER = {
    "crm/relations/new.rel": b'name:"new",\ntypeid:22',
    "crm/forms/one.frm": b'items:[\n{\nrelationName:"new"\n}\n]',
    "crm/forms/two.frm": b'relationName:"new",\n' + b"x" * 5000,
    "crm/forms/other.frm": b"not of this change",
    "crm/menus/deep/new.mnu": b'name:"new"',
}
"""The result of a change that creates, edits and deletes files, and creates folders."""
TRACED = ("storage.py", "file_writer.py", "journal.py")


def plan() -> list[FileChange]:
    """From `BEFORE` to `AFTER`."""
    paths = sorted(BEFORE.keys() | AFTER.keys())
    return [FileChange(path, BEFORE.get(path), AFTER.get(path)) for path in paths]


def write(root: Path, files: dict[str, bytes]) -> None:
    """Put files into a workspace."""
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


def contents(root: Path) -> dict[str, bytes]:
    """Every file of a folder, hidden ones too."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def state(*roots: Path) -> str:
    """A digest of names and contents."""
    listed = [[(str(path), path.is_file() and path.read_bytes()) for path in sorted(root.rglob("*"))] for root in roots]
    return hashlib.sha256(repr(listed).encode()).hexdigest()


class Steps:
    """Counts the lines that a writer runs, and calls something at each."""

    def __init__(self, each: Callable[[int], None]) -> None:
        self._each = each
        self._lines = 0

    def run(self, work: Callable[[], object]) -> None:
        """Run something under the count."""
        sys.settrace(self._trace)
        try:
            work()
        finally:
            sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.endswith(TRACED):
            return None
        if event == "line":
            self._lines += 1
            self._each(self._lines)
        return self._trace


def distinct_steps(root: Path, data: Path, work: Callable[[], object]) -> list[int]:
    """The first line of each state that the disk is in while something is done."""
    seen: dict[str, int] = {}
    Steps(lambda line: seen.setdefault(state(root, data), line)).run(work)
    return sorted(seen.values())


def killed_at(line: int, work: Callable[[], object]) -> None:
    """Do something until a line, at which the process is killed."""

    def each(now: int) -> None:
        if now == line:
            os.kill(os.getpid(), signal.SIGKILL)

    Steps(each).run(work)


def serve(root: Path, data: Path) -> None:
    """Answer requests from the input: `steps apply`, `kill apply 17`, likewise with `recover`, each in a child."""
    storage = Storage(data)
    works: dict[str, Callable[[], object]] = {
        "apply": lambda: storage.apply(root, "rename old", plan()),
        "recover": lambda: storage.recover(root),
    }
    for request in sys.stdin:
        verb, work, *line = request.split()
        if child := os.fork():
            _, status = os.waitpid(child, 0)
            if verb == "kill":
                say({"killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL})
            continue
        if verb == "steps":
            say({"steps": distinct_steps(root, data, works[work])})
        else:
            killed_at(int(line[0]), works[work])
        os._exit(0)


def count(root: Path, data: Path, times: int) -> None:
    """Add one to the number in a file several times, while others do the same."""
    storage, path, done = Storage(data), "crm/forms/number.frm", 0
    while done < times:
        before = (root / path).read_bytes()
        try:
            storage.apply(root, "count", [FileChange(path, before, str(int(before) + 1).encode())])
        except Conflict as error:
            if "Changed on disk since it was read" not in error.message:
                raise
        else:
            done += 1
    say({"done": done})


def hold(root: Path, data: Path) -> None:
    """Hold the workspace until the input ends."""
    with locked(root, data / "lock"):
        say({"held": True})
        sys.stdin.read()


def meddle(root: Path, data: Path, path: str) -> None:
    """Write while an editor saves a file, after it was compared and before it is replaced."""
    meddled: list[str] = []

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and ".thresher-" in str(args[0]) and not meddled:
            meddled.append(path)
            write(root, {path: b"what a person wrote"})

    sys.addaudithook(hook)
    answer(root, data)


def answer(root: Path, data: Path) -> None:
    """Write the change, and report the outcome and what is on disk."""
    try:
        said = {"id": Storage(data).apply(root, "rename old", plan()).id}
    except ThresherError as error:
        said = {"error": type(error).__name__, "message": str(error)}
    files = {path: data.decode() for path, data in contents(root).items()}
    say({**said, "files": files, "folders": sorted(str(path.relative_to(root)) for path in root.rglob("*/"))})


def starved(root: Path, data: Path, where: str) -> None:
    """Write on a full or read-only file system of this process's own, mounted before it started."""
    write(root, BEFORE)
    filler = (root if where == "workspace" else data) / "filler"
    data.mkdir(exist_ok=True)
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass
        # The drafts of the small files still fit, so it fails in the middle.
        file.truncate(max(0, file.tell() - 8192) if where == "workspace" else file.tell())
    answer(root, data)


def say(value: object) -> None:
    """Print one line of JSON."""
    os.write(1, json.dumps(value).encode() + b"\n")


VERBS: dict[str, Callable[..., None]] = {
    "serve": serve,
    "count": lambda root, data, times: count(root, data, int(times)),
    "hold": hold,
    "meddle": meddle,
    "answer": answer,
    "starved": starved,
}

if __name__ == "__main__":
    VERBS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])
