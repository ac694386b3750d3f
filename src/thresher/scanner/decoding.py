"""Uncovers text that is there in another form: encoded, or where no reader of a rendered page would see it.

Invariant: only what decodes to readable text is yielded; a hash, an identifier or an image is not.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}={0,2}(?![A-Za-z0-9+/_-])")
_HEX: Final = re.compile(r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9a-fA-F]{2}[ :]?){8,4000}(?![0-9A-Za-z])")
_PERCENT: Final = re.compile(r"(?:%[0-9a-fA-F]{2}[\w.~+/-]{0,8}){4,}")
_ENTITIES: Final = re.compile(r"(?:&#x?[0-9a-fA-F]{1,6};\s?){4,}")
_ESCAPES: Final = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}){4,}")
_ESCAPE: Final = re.compile(r"\\[ux]([0-9a-fA-F]{4}|[0-9a-fA-F]{2})")
_COMMENTS: Final = (
    re.compile(r"<!--(.*?)(?:-->|\Z)", re.S),
    re.compile(r"^[ \t]*\[[^\]\n]*\]:[ \t]*(?:#|<>|about:blank)\s*[\"'(](.*?)[\"')]\s*$", re.M),
    re.compile(
        r"<(\w{1,20})[^>]{0,200}?(?:display:\s*none|visibility:\s*hidden|font-size:\s*0|\shidden\b)[^>]{0,200}>(.*?)(?:</\1|\Z)",
        re.S,
    ),
    re.compile(r"/\*(.*?)\*/", re.S),
)
_READABLE: Final = re.compile(r"[\w\s.,:;!?'\"()\[\]{}<>/\\|&$#@*+=~^%`-]")


def uncovered(text: str) -> Iterator[tuple[int, str, str]]:
    """Texts inside a text: (place, how they were hidden, what they say)."""
    for pattern, sign, decode, how in _FORMS:
        for match in pattern.finditer(text) if sign in text else ():
            says = decode(match[0])
            if says and says != match[0]:
                yield match.start(), how, says
    for pattern in _COMMENTS:
        for match in pattern.finditer(text):
            if said := (match[match.lastindex or 0] or "").strip():
                yield match.start(), "not shown on a rendered page", said


def _base64(text: str) -> str:
    padded = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return _readable(base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True))
    except (binascii.Error, ValueError):
        return ""


def _hex(text: str) -> str:
    return _readable(bytes.fromhex(re.sub(r"^0x|[ :]", "", text)))


def _readable(octets: bytes) -> str:
    """The octets as text, where they are text: UTF-8 or UTF-16, nearly all of it letters and usual signs."""
    for encoding in ("utf-8", "utf-16-le"):
        try:
            text = octets.decode(encoding)
        except UnicodeDecodeError:
            continue
        if len(text) >= 6 and len(_READABLE.findall(text)) >= 0.95 * len(text):
            return text
    return ""


def _escapes(text: str) -> str:
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)


_FORMS: Final = (
    (_BASE64, "", _base64, "base64"),
    (_HEX, "", _hex, "hexadecimal"),
    (_PERCENT, "%", unquote, "percent-encoded"),
    (_ENTITIES, "&#", html.unescape, "character references"),
    (_ESCAPES, "\\", _escapes, "escape sequences"),
)
