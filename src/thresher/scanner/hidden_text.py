"""Text that people do not see and models read: invisible characters, look-alike letters, encodings and comments.

Invariant: what a script or an emoji needs (joiners between Indic or Arabic letters, marks in right-to-left text,
selectors after a symbol) is not reported, and only what decodes to readable text counts: a hash, an identifier or an
image does not.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from thresher.scanner.records import Severity

_HIDDEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff\ue000-\uf8ff\U000f0000-\U0010ffff"
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+"
)
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_JOINING: Final = re.compile(
    "[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
)
_FLAG: Final = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")
_LATIN: Final = re.compile("[A-Za-z]")
_CONFUSABLE: Final = str.maketrans(
    "аеорсухіѕјԁһԛԝАВЕКМНОРСТУХІЅЈοαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",  # noqa: RUF001 - Cyrillic and Greek on purpose
    "aeopcyxisjdhqwABEKMHOPCTYXISJoaABEZHIKMNOPTYX",
)
_LOOKS_LATIN: Final = re.compile(f"[{''.join(map(chr, _CONFUSABLE))}]")
"""Quick test: most texts have none of these letters."""
_WORD: Final = re.compile(r"\w+")
_STYLED: Final = re.compile("[\U0001d400-\U0001d7ff\uff21-\uff3a\uff41-\uff5a]{3,}")


@dataclass(frozen=True, slots=True)
class Concealed:
    """Characters that are not visible.

    Attributes:
        place: Offset in the text.
        what: Their kind, in words.
        severity: How serious they are.
        says: What they spell, if anything.
    """

    place: int
    what: str
    severity: Severity
    says: str = ""


def concealed(text: str) -> Iterator[Concealed]:
    """Yield every run of hidden characters, and words in letters that only look Latin."""
    if text.isascii() and not _HIDDEN.search(text):
        return
    flags = {place for flag in _FLAG.finditer(text) for place in range(flag.start(), flag.end())}
    for run in _HIDDEN.finditer(text):
        if run.start() not in flags and not _needed(text, run):
            yield _assessed(text, run)
    yield from _disguised(text)


def folded(text: str) -> str:
    """Return the text as it is read: without hidden characters, with look-alike and styled letters made plain."""
    if text.isascii():
        return _HIDDEN.sub("", text)
    plain = unicodedata.normalize("NFKC", _HIDDEN.sub("", text))
    return _WORD.sub(lambda word: _unmasked(word[0]), plain) if _LOOKS_LATIN.search(plain) else plain


def visible(text: str) -> str:
    """Return the text with hidden characters written out, such as `<U+200B>`, and look-alike letters named."""
    if text.isascii() and not _HIDDEN.search(text):
        return text
    shown = _HIDDEN.sub(lambda run: "".join(f"<U+{ord(character):04X}>" for character in run[0]), text)
    return _WORD.sub(lambda word: _spelled(word[0]), shown) if _LOOKS_LATIN.search(shown) else shown


def _needed(text: str, run: re.Match[str]) -> bool:
    """Return whether the script or emoji around them needs these characters."""
    hidden, before, after = run[0], text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
    if hidden == "\ufeff" and not before:
        return True
    if hidden in ("\u200c", "\u200d"):
        symbols = _is_symbol(before) and _is_symbol(after)
        return symbols or (bool(_JOINING.match(before)) and bool(_JOINING.match(after) or not after.strip()))
    if hidden.strip("\ufe0e\ufe0f") in ("", "\u200d"):
        return len(hidden) <= 2 and (_is_symbol(before) or before in "0123456789#*")
    if len(hidden) == 1 and "\ufe00" <= hidden <= "\U000e01ef" and unicodedata.category(hidden) == "Mn":
        return bool(before) and unicodedata.category(before) == "Lo"
    marks = hidden.strip("\u061c\u200e\u200f\u2066-\u2069") == ""
    return (marks and bool(_RIGHT_TO_LEFT.search(text))) or (hidden == "\u00ad" and before.isalpha())


def _is_symbol(character: str) -> bool:
    return bool(character) and (unicodedata.category(character) in ("So", "Sk", "Sm", "Po") or character == "\ufe0f")


def _assessed(text: str, run: re.Match[str]) -> Concealed:
    hidden = run[0]
    if (says := _hidden_message(hidden)).strip():
        return Concealed(run.start(), "invisible characters that spell a text", "danger", says)
    if re.search("[\u202a-\u202e\u2066-\u2069]", hidden):
        return Concealed(run.start(), "characters that change the direction of writing", "danger")
    if "\x1b" in hidden or "\x9b" in hidden:
        return Concealed(run.start(), "a terminal's control sequence", "danger")
    inside = text[run.start() - 1 : run.start()].isalnum() and text[run.end() : run.end() + 1].isalnum()
    mixed = len({_sort(character) for character in hidden}) > 1
    grave = inside or mixed or len(hidden) > 2 or "tag" in (sorts := {_sort(character) for character in hidden}, *sorts)
    return Concealed(run.start(), f"hidden characters ({_sort(hidden[0])})", "danger" if grave else "warning")


def _sort(character: str) -> str:
    point = ord(character)
    if 0xE0000 <= point <= 0xE007F:
        return "tag"
    if 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF:
        return "variation selector"
    return {"Co": "private use", "Cc": "control"}.get(unicodedata.category(character), "zero width")


def _hidden_message(hidden: str) -> str:
    """Return what hidden characters spell: tags stand for ASCII, runs of variation selectors for bytes."""
    tags = "".join(chr(ord(c) - 0xE0000) for c in hidden if 0xE0020 <= ord(c) <= 0xE007E)
    if tags:
        return tags
    values = [_selector(ord(c)) for c in hidden]
    octets = bytes(value for value in values if value is not None)
    return octets.decode("utf-8", "ignore") if len(octets) > 2 else _bits(hidden)


def _selector(point: int) -> int | None:
    if 0xFE00 <= point <= 0xFE0F:
        return point - 0xFE00
    return point - 0xE0100 + 16 if 0xE0100 <= point <= 0xE01EF else None


def _bits(hidden: str) -> str:
    """Decode text written in two kinds of zero-width characters, eight per letter, in either assignment of bits."""
    sorts = sorted(set(hidden) & set("\u200b\u200c\u200d\u2060\ufeff"))
    if len(sorts) != 2 or len(hidden) < 16:
        return ""
    for zero in sorts:
        bits = "".join("0" if c == zero else "1" for c in hidden if c in sorts)
        octets = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8))
        if octets.isascii() and (says := octets.decode("ascii")).isprintable():
            return says
    return ""


def _disguised(text: str) -> Iterator[Concealed]:
    for word in _WORD.finditer(text) if _LOOKS_LATIN.search(text) else ():
        if not word[0].isascii() and _unmasked(word[0]) != word[0]:
            yield Concealed(word.start(), "letters of another script that look Latin", "danger", _unmasked(word[0]))
    for styled in _STYLED.finditer(text):
        says = unicodedata.normalize("NFKC", styled[0])
        yield Concealed(styled.start(), "letters from a block that filters overlook", "warning", says)


def _unmasked(word: str) -> str:
    """Return a word that mixes Latin letters with look-alikes in Latin letters only; any other word unchanged."""
    if word.isascii() or not _LATIN.search(word):
        return word
    plain = word.translate(_CONFUSABLE)
    return plain if plain.isascii() else word


def _spelled(word: str) -> str:
    if _unmasked(word) == word:
        return word
    return "".join(c if c.isascii() else f"<U+{ord(c):04X}>" for c in word)


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
    """Yield the texts inside a text: offset, how it is hidden, and its content."""
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
    """Return bytes as text if they are readable: UTF-8 or UTF-16, nearly all letters and common punctuation."""
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
