"""Jupyter notebooks as Markdown: their text, their code in fences, and what the code printed.

Invariant: pictures and other rich outputs are left out; a notebook that is no JSON is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from thresher.knowledge.documents.reading.encodings import storable
from thresher.knowledge.documents.reading.failures import Unreadable
from thresher.knowledge.documents.reading.lines import Reading
from thresher.knowledge.documents.reading.markdown import read_markdown

_LONGEST_OUTPUT: Final = 2_000
"""Characters of an output that are kept: tables and logs of any length are printed by notebooks."""
_FENCE: Final = "```"


def convert_notebook(source: str) -> tuple[str, Reading]:
    """The notebook as Markdown, and the blocks of that.

    Raises:
        Unreadable: It is no notebook.
    """
    try:
        notebook: Any = json.loads(source)
    except (ValueError, RecursionError):
        raise Unreadable("unreadable", "It is no JSON.") from None
    cells = cast("dict[str, Any]", notebook).get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("unreadable", "It is no notebook of version 4.")
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
