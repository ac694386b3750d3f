"""The text of a description's octets, whatever encoding they are in."""

from __future__ import annotations

import codecs
from typing import Final

from thresher.openapi.notes import Notes

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNMARKED: Final = (
    ((False, True, True, True), "utf-32-le"),
    ((True, True, True, False), "utf-32-be"),
    ((False, True, False, True), "utf-16-le"),
    ((True, False, True, False), "utf-16-be"),
)
"""Which of the first four octets are zero where the text begins with two characters of ASCII."""


def decoded(data: bytes, notes: Notes) -> str:
    """The text, without a byte order mark; octets that its encoding does not know become U+FFFD and are noted."""
    encoding, skipped = encoding_of(data)
    octets = data[skipped:] if skipped else data
    try:
        return octets.decode(encoding)
    except UnicodeDecodeError as error:
        line = octets[: error.start].decode(encoding, "replace").count("\n") + 1
        text = octets.decode(encoding, "replace")
        many = text.count("\ufffd")
        notes.add(
            "bad-encoding",
            f"Line {line} holds octets that are not {encoding.upper()}; {many} were replaced. Save the file as UTF-8.",
            line=line,
        )
        return text


def encoding_of(data: bytes) -> tuple[str, int]:
    """The encoding of a text, and how many octets its mark takes."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    zeros = tuple(octet == 0 for octet in data[:4])
    return next((encoding for shape, encoding in _UNMARKED if shape == zeros), "utf-8"), 0
