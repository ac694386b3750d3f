"""Octets of a file to text, whatever wrote them.

Invariant: the text has Unix line ends, no byte order mark, no NUL and no lone surrogate, as PostgreSQL stores neither;
what cannot be read becomes U+FFFD, and its place in the text stays.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from charset_normalizer import from_bytes

from thresher.knowledge.documents.reading.failures import Unreadable

REPLACEMENT: Final = "\ufffd"
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT: Final = 1 << 16
"""Octets that tell whether a file is text, and in which encoding."""
_CONTROLS: Final = bytes(code for code in range(32) if code not in b"\t\n\r\f\v\b\x1b")
_CONTROL_SHARE: Final = 0.02
"""Text has next to none (a log some); machine code, pictures and archives have 5 % and more."""
_FEW: Final = 8
"""Controls that any text may hold."""
_BROKEN_SHARE: Final = 0.1
"""Up to this much of what is not ASCII may be wrong in a file that is UTF-8 with a few bad octets."""
_DECLARED: Final = re.compile(rb"(?:charset|encoding|coding)[ \t]*[:=][ \t]*[\"']?([A-Za-z][\w.-]{1,30})", re.I)
_DECLARED_WITHIN: Final = 2_048
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


def decoded(octets: bytes) -> tuple[str, str]:
    """The text, and what was guessed or lost in reading it (one sentence; empty where it is plain UTF-8).

    Raises:
        Unreadable: The octets are no text.
    """
    text, note = _text(octets)
    text, lost = storable(text)
    return text, " ".join(part for part in (note, lost) if part)


def storable(text: str) -> tuple[str, str]:
    """Any text in the form that is kept, and what was lost, in a sentence."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    kept, lost = _UNSTORABLE.subn(REPLACEMENT, text)
    return kept, f"{lost} characters that no database stores were replaced by U+FFFD." if lost else ""


def _text(octets: bytes) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if octets.startswith(mark):
            return octets[len(mark) :].decode(encoding, "replace"), "" if encoding == "utf-8" else _guess(encoding)
    head = octets[:_LOOKED_AT]
    if encoding := _wide(head):
        return octets.decode(encoding, "replace"), _guess(encoding)
    if len(head) - len(head.translate(None, _CONTROLS)) > max(_FEW, _CONTROL_SHARE * len(head)):
        raise Unreadable("binary", "It is no text.")
    try:
        return octets.decode("utf-8"), ""
    except UnicodeDecodeError:
        return _guessed(octets)


def _guessed(octets: bytes) -> tuple[str, str]:
    """Text that is not valid UTF-8: UTF-8 with bad octets in it, or another encoding."""
    text = octets.decode("utf-8", "replace")
    broken = text.count(REPLACEMENT)
    if broken <= _BROKEN_SHARE * sum(1 for _ in re.finditer(r"[^\0-\x7f]", text)):
        return text, f"{broken} places are no UTF-8 and were replaced by U+FFFD."
    first = next(place for place, octet in enumerate(octets) if octet > 127)
    encoding = _declared(octets)
    if not encoding:
        best = from_bytes(octets[max(0, first - _LOOKED_AT // 8) : first + _LOOKED_AT // 8]).best()
        encoding = best.encoding if best is not None else "cp1252"
    return octets.decode(encoding, "replace"), _guess(encoding)


def _declared(octets: bytes) -> str:
    """The encoding that an HTML page, an XML document or a source file says it has."""
    match = _DECLARED.search(octets[:_DECLARED_WITHIN])
    try:
        name = codecs.lookup(match[1].decode()).name if match else ""
    except LookupError:
        return ""
    return "" if name == "utf-8" else name


def _guess(encoding: str) -> str:
    return f"It was read as {encoding.upper().replace('_', '-')}; UTF-8 leaves nothing to guess."


def _wide(head: bytes) -> str:
    """UTF-16 without a mark: every second octet of Latin text is zero."""
    if len(head) < 4:
        return ""
    for start, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[start::2].count(0), head[1 - start :: 2].count(0)
        if zeros > 0.7 * (len(head) // 2) and not others:
            return encoding
    return ""
