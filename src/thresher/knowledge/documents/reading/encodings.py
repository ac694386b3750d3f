"""Decodes the bytes of a file, whatever program wrote them.

Invariant: the text has Unix line ends, no byte order mark, and neither NUL nor lone surrogates, which PostgreSQL cannot
store; bytes that cannot be decoded become U+FFFD in their place.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from charset_normalizer import from_bytes

from thresher.knowledge.documents.reading.blocks import UnreadableDocument

REPLACEMENT: Final = "\ufffd"
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT: Final = 1 << 16
"""Bytes that show whether a file is text, and its encoding."""
_CONTROLS: Final = bytes(code for code in range(32) if code not in b"\t\n\r\f\v\b\x1b")
_CONTROL_SHARE: Final = 0.02
"""Text has almost no control characters (a log some); machine code, pictures and archives have 5 % and more."""
_FEW: Final = 8
"""Control characters that any text may have."""
_BROKEN_SHARE: Final = 0.1
"""A file is UTF-8 with a few bad bytes if at most this share of what is not ASCII is wrong."""
_DECLARED: Final = re.compile(rb"(?:charset|encoding|coding)[ \t]*[:=][ \t]*[\"']?([A-Za-z][\w.-]{1,30})", re.I)
_DECLARED_WITHIN: Final = 2_048
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


def decode(octets: bytes) -> tuple[str, str]:
    """The text, and what was guessed or lost in decoding it (one sentence; empty for plain UTF-8).

    Raises:
        UnreadableDocument: The bytes are not text.
    """
    text, note = _text(octets)
    text, lost = storable(text)
    return text, " ".join(part for part in (note, lost) if part)


def storable(text: str) -> tuple[str, str]:
    """A text in the form that can be stored, and a sentence about what was lost."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    kept, lost = _UNSTORABLE.subn(REPLACEMENT, text)
    return kept, f"{lost} characters that cannot be stored were replaced by U+FFFD." if lost else ""


def _text(octets: bytes) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if octets.startswith(mark):
            return octets[len(mark) :].decode(encoding, "replace"), "" if encoding == "utf-8" else _guess(encoding)
    head = octets[:_LOOKED_AT]
    if encoding := _wide(head):
        return octets.decode(encoding, "replace"), _guess(encoding)
    if len(head) - len(head.translate(None, _CONTROLS)) > max(_FEW, _CONTROL_SHARE * len(head)):
        raise UnreadableDocument("binary", "It is not text.")
    try:
        return octets.decode("utf-8"), ""
    except UnicodeDecodeError:
        return _guessed(octets)


def _guessed(octets: bytes) -> tuple[str, str]:
    """Text that is not valid UTF-8: UTF-8 with bad bytes, or another encoding."""
    text = octets.decode("utf-8", "replace")
    broken = text.count(REPLACEMENT)
    if broken <= _BROKEN_SHARE * sum(1 for _ in re.finditer(r"[^\0-\x7f]", text)):
        return text, f"{broken} sequences are not UTF-8 and were replaced by U+FFFD."
    first = next(place for place, octet in enumerate(octets) if octet > 127)
    encoding = _declared(octets)
    if not encoding:
        best = from_bytes(octets[max(0, first - _LOOKED_AT // 8) : first + _LOOKED_AT // 8]).best()
        encoding = best.encoding if best is not None else "cp1252"
    return octets.decode(encoding, "replace"), _guess(encoding)


def _declared(octets: bytes) -> str:
    """The encoding that an HTML page, an XML document or a source file declares."""
    match = _DECLARED.search(octets[:_DECLARED_WITHIN])
    try:
        name = codecs.lookup(match[1].decode()).name if match else ""
    except LookupError:
        return ""
    return "" if name == "utf-8" else name


def _guess(encoding: str) -> str:
    return f"It was read as {encoding.upper().replace('_', '-')}; store it as UTF-8 to avoid a guess."


def _wide(head: bytes) -> str:
    """UTF-16 without a byte order mark: every second byte of Latin text is zero."""
    if len(head) < 4:
        return ""
    for start, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[start::2].count(0), head[1 - start :: 2].count(0)
        if zeros > 0.7 * (len(head) // 2) and not others:
            return encoding
    return ""
