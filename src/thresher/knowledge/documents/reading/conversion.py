"""Has files of other formats taken apart, and reads what comes of it.

Invariant: no file can hold up or end this process: what is foreign and complicated runs in a child with limits.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from thresher.confinement import command, environment
from thresher.knowledge.documents.models import Block
from thresher.knowledge.documents.reading.encodings import decoded, storable
from thresher.knowledge.documents.reading.failures import Unreadable
from thresher.knowledge.documents.reading.headings import plain
from thresher.knowledge.documents.reading.lines import Reading
from thresher.knowledge.documents.reading.markdown import read_markdown
from thresher.knowledge.documents.reading.plain import read_plain

SECONDS: Final = 120
"""A file gets this much time: pypdf reads 20 to 60 pages a second."""
_HERE: Final = 100_000
"""Octets of a page that is converted in this process: 0.1 s, and a few at worst; a child takes 0.4 s to start."""
_PROGRAM: Final = Path(__file__).parent / "apart"
_PROGRAMS: Final = {"pdf": "pdf", "docx": "word", "html": "hypertext"}


def convert(media: str, data: bytes, *, seconds: int = SECONDS) -> tuple[str, Reading]:
    """The text of a file, and its blocks.

    Args:
        media: `pdf`, `docx` or `html`.
        data: What the file holds.
        seconds: Time that it may take.

    Raises:
        Unreadable: It is broken, locked, or too large when unpacked.
    """
    if media == "html":
        from thresher.knowledge.documents.reading.apart import hypertext  # noqa: PLC0415 - a fifth of a second to import

        page, note = decoded(data)
        data = page.encode()
        answer = hypertext.convert(data) if len(data) <= _HERE else _apart(media, data, seconds)
        answer["notes"] = [note, *answer.get("notes", ())]
    else:
        answer = _apart(media, data, seconds)
    text, lost = storable(str(answer["text"]).strip("\n") + "\n")
    reading = _reading(text, answer)
    notes = tuple(str(note) for note in (*answer.get("notes", ()), lost) if note)
    return text, Reading(reading.blocks, reading.title or plain(str(answer.get("title", ""))), notes)


def _reading(text: str, answer: Mapping[str, Any]) -> Reading:
    """Blocks of converted text: Markdown, or text whose headings are known."""
    if "headings" not in answer:
        return read_markdown(text)
    shift = len(answer["text"]) - len(answer["text"].lstrip("\n"))
    headings = [
        Block("heading", start - shift, end - shift, level, plain(title))
        for start, end, level, title in cast("list[tuple[int, int, int, str]]", answer["headings"])
    ]
    return Reading(read_plain(text, headings).blocks)


def _apart(media: str, data: bytes, seconds: int) -> dict[str, Any]:
    try:
        done = subprocess.run(
            command(_PROGRAM, _PROGRAMS[media], str(seconds)), env=environment(), input=data, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=2 * seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unreadable("too large", f"It could not be taken apart in {2 * seconds} seconds.") from None
    if done.returncode:
        raise Unreadable("unreadable", f"It is broken, or takes more than {seconds} seconds or 2 GB to take apart.")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "reason" in answer:
        raise Unreadable(answer["reason"], answer["detail"])
    return answer
