"""Octets of a text file to text, whatever editor wrote them.

Invariant: never raises; the text has Unix line ends, no byte order mark, no NUL and no lone surrogate.
"""

from __future__ import annotations

import codecs
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT: Final = 200


def decoded(octets: bytes) -> tuple[str, str]:
    """The text, and what was mended in reading it (one sentence; empty where it is plain UTF-8)."""
    text, mended = _text(octets)
    if "\0" in text:
        text, mended = text.replace("\0", ""), mended or "NUL characters were taken out."
    return text.replace("\r\n", "\n").replace("\r", "\n"), mended


def _text(octets: bytes) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if octets.startswith(mark):
            text = octets[len(mark) :].decode(encoding, "replace")
            return text, "" if encoding == "utf-8" else f"It was read as {encoding.upper()}; write UTF-8."
    if encoding := _wide(octets[:_LOOKED_AT]):
        return octets.decode(encoding, "replace"), f"It was read as {encoding.upper()}; write UTF-8."
    try:
        return octets.decode("utf-8"), ""
    except UnicodeDecodeError:
        return octets.decode("cp1252", "replace"), "It is not UTF-8 and was read as Windows-1252; write UTF-8."


def _wide(head: bytes) -> str:
    """UTF-16 without a mark: every second octet of Latin text is zero."""
    if len(head) < 4:
        return ""
    for start, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[start::2].count(0), head[1 - start :: 2].count(0)
        if zeros > 0.7 * (len(head) // 2) and not others:
            return encoding
    return ""
