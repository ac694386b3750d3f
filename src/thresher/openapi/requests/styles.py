"""Writes values of parameters as text: the styles of OpenAPI 3 (RFC 6570) and the collection formats of Swagger 2.0.

Invariant: pure; what a value contains never adds a path segment, a parameter, a header line or a cookie.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast
from urllib.parse import quote, quote_plus

from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json, Parameter
from thresher.openapi.schemas import mapped

Pairs: TypeAlias = list[tuple[str, str]]
Encode: TypeAlias = Callable[[str], str]

_RESERVED: Final = ":/?@!$'()*,;"
"""What `allowReserved` leaves as it is; `#`, `&`, `=`, `+`, `[` and `]` have a meaning in a query and are encoded."""
_SEPARATORS: Final[Mapping[str, str]] = {
    **{"form": ",", "simple": ",", "label": ",", "matrix": ",", "csv": ",", "cookie": ","},
    **{"spaceDelimited": "%20", "ssv": "%20", "pipeDelimited": "%7C", "pipes": "%7C", "tsv": "%09"},
}
_COOKIE: Final = re.compile(r"[^\x21\x23-\x2B\x2D-\x3A\x3C-\x5B\x5D-\x7E]")
"""What the value of a cookie cannot hold (RFC 6265, section 4.1.1)."""
_DEPTH: Final = 16


@dataclass(frozen=True, slots=True)
class ParameterStyle:
    """How a value is written.

    Attributes:
        style: `form`, `simple`, `label`, `matrix`, `deepObject`, a delimited one, or a collection format of Swagger.
        explode: Whether each item of a list or object stands by itself.
        reserved: Whether reserved characters are not percent-encoded.
        media: Media type that the value is written in; empty if a style applies.
    """

    style: str
    explode: bool
    reserved: bool = False
    media: str = ""


def style_of(description: Description, parameter: Parameter) -> ParameterStyle:
    """Return how a parameter is written."""
    fields = mapped(description.resolve(parameter.pointer) if parameter.pointer else None)
    if "schema" not in fields and (content := mapped(fields.get("content"))):
        return ParameterStyle("form", explode=False, media=next(iter(content)))
    default = "form" if parameter.place in ("query", "cookie") else "simple"
    return style_in(fields, default)


def style_in(fields: Mapping[str, Json], default: str) -> ParameterStyle:
    """Return the style that the fields of a parameter, an encoding or a form field of Swagger give."""
    if "collectionFormat" in fields:
        style = str(fields["collectionFormat"])
        return ParameterStyle("form" if style == "multi" else style, explode=style == "multi")
    if "type" in fields and "schema" not in fields:  # Swagger 2.0
        return ParameterStyle("csv", explode=False)
    style = str(fields.get("style") or default)
    explode = fields.get("explode")
    reserved = fields.get("allowReserved") is True
    return ParameterStyle(style, explode if isinstance(explode, bool) else style in ("form", "cookie"), reserved)


def scalar(value: Json) -> str:
    """Return a value as text: a list or object inside another one as JSON, null as nothing."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def path_text(name: str, value: Json, style: ParameterStyle) -> str:
    """Return what takes the place of a path parameter."""
    encode = _encoder(style)
    if style.media:
        return encode(_as_media(value, style.media))
    if style.style == "matrix":
        return _matrix(name, value, style, encode)
    lead, between = (".", "." if style.explode else ",") if style.style == "label" else ("", ",")
    return lead + _joined(value, style, encode, between)


def header_text(value: Json, style: ParameterStyle) -> str:
    """Return the value of a header."""
    return _as_media(value, style.media) if style.media else _joined(value, style, str, ",")


def query_pairs(name: str, value: Json, style: ParameterStyle, encode: Encode | None = None) -> Pairs:
    """Return encoded names and values of a query parameter or form field; none for null and for an empty list."""
    write = encode or _encoder(style)
    if style.media:
        return [(quote(name, safe=""), write(_as_media(value, style.media)))]
    if style.style == "deepObject":
        return list(_deep(quote(name, safe=""), value, write, 0))
    if value is None or value in ([], {}):
        return []
    key = quote(name, safe="")
    if isinstance(value, list) and style.explode:
        return [(key, write(scalar(one))) for one in cast("list[Json]", value)]
    if isinstance(value, dict) and style.explode:
        return [(quote(str(inner), safe=""), write(scalar(one))) for inner, one in mapped(value).items()]
    return [(key, _joined(value, style, write, _SEPARATORS.get(style.style, ",")))]


def cookie_pairs(name: str, value: Json, style: ParameterStyle) -> Pairs:
    """Return the cookies of a parameter; characters that a cookie cannot hold are percent-encoded."""
    return query_pairs(name, value, style, cookie_text)


def cookie_text(text: str) -> str:
    """Encode the value of a cookie."""
    return _COOKIE.sub(lambda found: quote(found[0], safe=""), text)


def form_text(text: str) -> str:
    """Encode a value of a form."""
    return quote_plus(text, safe="")


def _encoder(style: ParameterStyle) -> Encode:
    safe = _RESERVED if style.reserved else ""
    return lambda text: quote(text, safe=safe)


def _joined(value: Json, style: ParameterStyle, encode: Encode, between: str) -> str:
    if isinstance(value, list):
        return between.join(encode(scalar(one)) for one in cast("list[Json]", value))
    if isinstance(value, dict):
        entries = [(encode(str(name)), encode(scalar(one))) for name, one in mapped(value).items()]
        if style.explode:
            return between.join(f"{name}={text}" for name, text in entries)
        return between.join(part for entry in entries for part in entry)
    return encode(scalar(value))


def _matrix(name: str, value: Json, style: ParameterStyle, encode: Encode) -> str:
    key = quote(name, safe="")
    if style.explode and isinstance(value, list):
        return "".join(f";{key}={encode(scalar(one))}" for one in cast("list[Json]", value))
    if style.explode and isinstance(value, dict):
        return "".join(f";{quote(str(inner), safe='')}={encode(scalar(one))}" for inner, one in mapped(value).items())
    text = _joined(value, style, encode, ",")
    return f";{key}={text}" if text else f";{key}"


def _deep(key: str, value: Json, encode: Encode, depth: int) -> Sequence[tuple[str, str]]:
    """Write `filter[a][b]=1`; the items of a list repeat their name."""
    if depth > _DEPTH or value is None:
        return []
    if isinstance(value, dict):
        entries = mapped(value).items()
        return [
            pair
            for name, one in entries
            for pair in _deep(f"{key}%5B{quote(str(name), safe='')}%5D", one, encode, depth + 1)
        ]
    if isinstance(value, list):
        return [(key, encode(scalar(one))) for one in cast("list[Json]", value)]
    return [(key, encode(scalar(value)))]


def _as_media(value: Json, media: str) -> str:
    """Return the content of a parameter: a text that is not JSON stays as it is."""
    if isinstance(value, str) and "json" not in media.lower():
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
