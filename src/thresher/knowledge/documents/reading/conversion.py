"""Converts HTML, PDF, DOCX and notebooks to Markdown, and reads the result.

A notebook becomes its text, its code in fences, and the printed output; pictures and other rich outputs are left out.

Invariant: no file can delay or end this process: complicated untrusted formats are converted by a child with limits.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from thresher.confinement import command, environment
from thresher.knowledge.documents.models import Block
from thresher.knowledge.documents.reading.blocks import TextStructure, UnreadableDocument
from thresher.knowledge.documents.reading.encodings import decode, storable
from thresher.knowledge.documents.reading.headings import heading_text
from thresher.knowledge.documents.reading.markdown import read_markdown
from thresher.knowledge.documents.reading.plain import read_plain
from thresher.knowledge.documents.reading.sandbox import hypertext

SECONDS: Final = 120
"""Time limit for a file: pypdf reads 20 to 60 pages a second."""
_IN_PROCESS_BYTES: Final = 100_000
"""Bytes of a page that is converted in this process: 0.1 s, or a few at worst; a child takes 0.4 s to start."""
_PROGRAM: Final = Path(__file__).parent / "sandbox"
_PROGRAMS: Final = {"pdf": "pdf", "docx": "word", "html": "hypertext"}


def convert(media: str, data: bytes, *, seconds: int = SECONDS) -> tuple[str, TextStructure]:
    """The text of a file, and its blocks.

    Args:
        media: `pdf`, `docx` or `html`.
        data: The bytes of the file.
        seconds: Time limit.

    Raises:
        UnreadableDocument: It is damaged, locked, or too large when unpacked.
    """
    if media == "html":
        page, note = decode(data)
        data = page.encode()
        answer = hypertext.convert(data) if len(data) <= _IN_PROCESS_BYTES else _in_sandbox(media, data, seconds)
        answer["notes"] = [note, *answer.get("notes", ())]
    else:
        answer = _in_sandbox(media, data, seconds)
    text, lost = storable(str(answer["text"]).strip("\n") + "\n")
    structure = _structure(text, answer)
    notes = tuple(str(note) for note in (*answer.get("notes", ()), lost) if note)
    return text, TextStructure(structure.blocks, structure.title or heading_text(str(answer.get("title", ""))), notes)


def _structure(text: str, answer: Mapping[str, Any]) -> TextStructure:
    """Blocks of converted text: Markdown, or text with known headings."""
    if "headings" not in answer:
        return read_markdown(text)
    shift = len(answer["text"]) - len(answer["text"].lstrip("\n"))
    headings = [
        Block("heading", start - shift, end - shift, level, heading_text(title))
        for start, end, level, title in cast("list[tuple[int, int, int, str]]", answer["headings"])
    ]
    return TextStructure(read_plain(text, headings).blocks)


def _in_sandbox(media: str, data: bytes, seconds: int) -> dict[str, Any]:
    try:
        done = subprocess.run(
            command(_PROGRAM, _PROGRAMS[media], str(seconds)), env=environment(), input=data, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=2 * seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UnreadableDocument("too large", f"It could not be converted in {2 * seconds} seconds.") from None
    if done.returncode:
        raise UnreadableDocument(
            "unreadable", f"It is damaged, or needs more than {seconds} seconds or 2 GB to convert."
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    if "reason" in answer:
        raise UnreadableDocument(answer["reason"], answer["detail"])
    return answer


_LONGEST_OUTPUT: Final = 2_000
"""Characters kept of an output: notebooks print tables and logs of any length."""
_FENCE: Final = "```"


def convert_notebook(source: str) -> tuple[str, TextStructure]:
    """The notebook as Markdown, and its blocks.

    Raises:
        UnreadableDocument: It is not a notebook.
    """
    try:
        notebook: Any = json.loads(source)
    except (ValueError, RecursionError):
        raise UnreadableDocument("unreadable", "It is not JSON.") from None
    cells = cast("dict[str, Any]", notebook).get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise UnreadableDocument("unreadable", "It is not a notebook of version 4.")
    language = _language(cast("Mapping[str, Any]", notebook))
    parts = [part for cell in cast("list[Any]", cells) for part in _cell(cell, language)]
    text, _ = storable("\n\n".join(parts) + "\n")
    return text, read_markdown(text)


def _language(notebook: Mapping[str, Any]) -> str:
    place: Any = notebook
    for key in ("metadata", "kernelspec", "language"):
        place = cast("Mapping[str, Any]", place).get(key) if isinstance(place, dict) else None
    return place if isinstance(place, str) and place.isalnum() else ""


def _cell(cell: Any, language: str) -> Iterator[str]:
    if not isinstance(cell, dict):
        return
    known = cast("Mapping[str, Any]", cell)
    source = _joined(known.get("source"))
    if not source.strip():
        return
    if known.get("cell_type") != "code":
        yield source.strip("\n")
        return
    yield _fenced(source, language)
    outputs = known.get("outputs")
    for output in cast("Sequence[Any]", outputs) if isinstance(outputs, list) else ():
        words = _output(output)
        if words.strip():
            shown = words if len(words) <= _LONGEST_OUTPUT else words[:_LONGEST_OUTPUT].rstrip() + "\n…"
            yield _fenced(shown, "")


def _output(output: Any) -> str:
    if not isinstance(output, dict):
        return ""
    known = cast("Mapping[str, Any]", output)
    data = known.get("data")
    rich = cast("Mapping[str, Any]", data).get("text/plain") if isinstance(data, dict) else None
    return _joined(known.get("text") or rich)


def _joined(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in cast("list[Any]", value) if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _fenced(code: str, language: str) -> str:
    fence = _FENCE
    while fence in code:
        fence += "`"
    return f"{fence}{language}\n{code.strip(chr(10))}\n{fence}"
