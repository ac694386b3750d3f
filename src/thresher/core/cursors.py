"""Cursors: where a list or an answer continues, as a text that the caller sends back.

A cursor consists of its fields and a check over them, over the name and version of its list, and over the question. It
holds no secret and is not signed: a forged cursor grants no extra access. Nothing is stored on the server. Numbers are
decimal, because a model pays one token for three digits.

Invariant: pure. A cursor of another list, version or question, or with a wrong character, is refused; `decode` accepts
exactly what `encode` writes.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVarTuple, cast
from urllib.parse import quote, unquote
from uuid import UUID

from thresher.core.errors import InvalidCursor

Fields = TypeVarTuple("Fields")

_CHECK_DIGITS: Final = 6
_LARGEST: Final = 10**15
"""More than any position or id reaches."""
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TICK: Final = dt.timedelta(microseconds=1)


def _number(text: str) -> int:
    number = int(text)
    if not 0 <= number <= _LARGEST:
        raise ValueError(text)
    return number


_WRITE: Final[Mapping[type, Callable[[Any], str]]] = {
    int: str,
    str: lambda text: quote(text, safe="", errors="surrogatepass").replace(".", "%2E"),
    bytes: lambda value: value.hex(),
    UUID: lambda value: str(value.int),
    dt.datetime: lambda moment: str((moment - _EPOCH) // _TICK),
}
_READ: Final[Mapping[type, Callable[[str], Any]]] = {
    int: _number,
    str: lambda text: unquote(text, errors="surrogatepass"),
    bytes: bytes.fromhex,
    UUID: lambda text: UUID(int=int(text)),
    dt.datetime: lambda text: _EPOCH + int(text) * _TICK,
}


class CursorCodec(Generic[*Fields]):
    """Writes and reads the cursors of one list.

    Args:
        name: Name of the list; no other list has it.
        fields: Type of each field: int (0 to 10**15), str, bytes, UUID or datetime with a time zone.
        version: Changes when the meaning of a field does.
    """

    def __init__(self, name: str, *fields: type, version: int = 1) -> None:
        self._head = (name, str(version))
        self._fields = fields

    def encode(self, *values: *Fields, question: Iterable[str] = ()) -> str:
        """Return the cursor with these fields.

        Args:
            values: The fields.
            question: Words that must be the same when the cursor is used.
        """
        texts = [_WRITE[kind](value) for kind, value in zip(self._fields, values, strict=True)]
        whole = hashlib.sha256()
        for part in (*self._head, *question, written := ".".join(texts)):
            encoded = part.encode("utf-8", "replace")
            whole.update(len(encoded).to_bytes(8, "big") + encoded)
        check = int.from_bytes(whole.digest()[:8], "big") % 10**_CHECK_DIGITS
        return f"{written}.{check:0{_CHECK_DIGITS}d}"

    def decode(self, cursor: str, question: Iterable[str] = ()) -> tuple[*Fields]:
        """Return the fields of a cursor; white space around it does not count.

        Raises:
            InvalidCursor: It was not written for this list and question.
        """
        given = cursor.strip()
        try:
            read = zip(self._fields, given.split(".")[:-1], strict=True)
            values = cast("tuple[*Fields]", tuple(_READ[kind](text) for kind, text in read))
            valid = self.encode(*values, question=question) == given
        except (ValueError, OverflowError):
            valid, values = False, None
        if not valid or values is None:
            raise InvalidCursor
        return values
