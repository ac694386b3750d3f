"""A server of notes in a file, as somebody would write it with FastMCP: it lists, reads, adds and fails.

Its one argument is the file; each change is a line in it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError

FILE = Path(sys.argv[1])
server: FastMCP[Any] = FastMCP("notes", version="1")
READS = {"readOnlyHint": True}


def _notes() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()] if FILE.exists() else []


@server.tool(annotations=READS)
def list_notes(first: int = 0, count: int = 100) -> list[dict[str, Any]]:
    """List notes: number, title and size."""
    return [{"number": n, "title": one["title"]} for n, one in enumerate(_notes())][first : first + count]


@server.tool(annotations=READS)
def read_note(number: int) -> dict[str, Any]:
    """Read one note."""
    notes = _notes()
    if not 0 <= number < len(notes):
        raise ToolError(f"There is no note {number}.")
    return notes[number]


@server.tool(annotations=READS)
def slow_count() -> int:
    """Count the notes, slowly."""
    time.sleep(0.3)  # what it stands for is a server that takes its time
    return len(_notes())


@server.tool(name="read-title", annotations=READS)
def read_title(number: int) -> str:
    """Read the title of a note."""
    return _notes()[number]["title"]


@server.tool
def add_note(title: str, text: str = "") -> str:
    """Add a note."""
    with FILE.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"title": title, "text": text}) + "\n")
    return f"added {title}"


if __name__ == "__main__":
    server.run(show_banner=False)
