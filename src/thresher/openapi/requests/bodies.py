"""Writes request bodies: JSON, forms, multipart with files by value, text and bytes.

Invariant: pure; a file is `{"text": ...}` or `{"base64": ...}`, never a plain text that could be either.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from thresher.core import InvalidInput
from thresher.openapi.reader.description import Description
from thresher.openapi.records import Body, Json, MediaType
from thresher.openapi.requests.styles import form_text, query_pairs, scalar, style_in
from thresher.openapi.schemas import listed, mapped
from thresher.openapi.tips import is_binary, properties_of

FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
JSON_MEDIA: Final = "application/json"
BYTES: Final = "application/octet-stream"
FILE_HINT: Final = (
    'A file is {"base64": "..."} or {"text": "..."}, with "filename" and "content_type" where they matter.'
)
_FILE: Final = frozenset({"base64", "text", "filename", "content_type"})
_TEXTS: Final = ("text/", "application/xml", "application/yaml", "application/x-ndjson", "application/jsonl")
_FORM_STYLE: Final = frozenset({"style", "explode", "allowReserved"})


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a multipart body.

    Attributes:
        name: Of the form field.
        content: Its bytes.
        media: Its media type; may be empty.
        filename: Empty if it is not a file.
    """

    name: str
    content: bytes
    media: str = ""
    filename: str = ""


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """A body as it is sent.

    Attributes:
        media: Its media type.
        content: Its bytes; None if it has parts.
        parts: The parts of a multipart body.
    """

    media: str
    content: bytes | None = None
    parts: tuple[Part, ...] = ()


def is_json(media: str) -> bool:
    """Return whether a media type holds JSON."""
    plain = plain_media(media)
    return plain in (JSON_MEDIA, "*/*", "text/json") or plain.endswith("+json")


def is_form(media: str) -> bool:
    """Return whether a media type holds fields by name."""
    plain = plain_media(media)
    return plain == FORM or plain.startswith("multipart/")


def is_text(media: str) -> bool:
    """Return whether a media type holds text that is not JSON."""
    plain = plain_media(media)
    return plain.startswith(_TEXTS) or plain.endswith(("+xml", "+yaml"))


def plain_media(media: str) -> str:
    """Return a media type in lower case without its parameters."""
    return media.partition(";")[0].strip().lower()


def file_fields(description: Description, content: MediaType) -> frozenset[str]:
    """Return the properties of a multipart body that are files, or lists of files."""
    if not plain_media(content.media).startswith("multipart/"):
        return frozenset()
    found = properties_of(content.schema, description)
    return frozenset(name for name, schema in found.items() if _may_be_file(schema, description))


def _may_be_file(schema: Json, description: Description) -> bool:
    """Return whether a schema, or one of its alternatives, is that of bytes."""
    fields = mapped(description.follow(schema))
    branches = [schema, *listed(fields.get("anyOf")), *listed(fields.get("oneOf"))]
    return any(
        is_binary(each, description) and "contentEncoding" not in mapped(description.follow(each)) for each in branches
    )


def without_files(value: Json, files: frozenset[str]) -> Json:
    """Return a multipart body with a text in place of each file, as its schema sees them.

    Raises:
        InvalidInput: A file has another form.
    """
    if not isinstance(value, dict):
        return value
    shown: dict[str, Json] = dict(mapped(value))
    for name in files & shown.keys():
        several = shown[name] if isinstance(shown[name], list) else None
        for one in [shown[name]] if several is None else listed(several):
            _read_file(one, f"body.{name}")
        shown[name] = "file" if several is None else ["file"] * len(listed(several))
    return shown


def is_whole_file(description: Description, content: MediaType) -> bool:
    """Return whether a body is one file: bytes of any kind that are neither JSON, a form nor text."""
    plain = plain_media(content.media)
    if is_json(plain) or is_form(plain):
        return plain == "*/*" and is_binary(content.schema, description)
    return not is_text(plain) or is_binary(content.schema, description)


def check_file(value: Json) -> None:
    """Refuse a body that is not a file.

    Raises:
        InvalidInput: It has another form.
    """
    _read_file(value, "body")


def encode_body(description: Description, body: Body, content: MediaType, value: Json) -> EncodedBody:
    """Return a body as it is sent; it has been checked.

    Raises:
        InvalidInput: It cannot be written in its media type.
    """
    media, plain = content.media, plain_media(content.media)
    if is_whole_file(description, content):
        part = _read_file(value, "body")
        return EncodedBody(part.media or (BYTES if "*" in plain else media), part.content)
    if is_json(plain):
        return EncodedBody(JSON_MEDIA if "*" in plain else media, json.dumps(value, ensure_ascii=False).encode())
    if plain == FORM:
        pairs = _form_pairs(_encodings(description, body, media), mapped(value), content, description)
        return EncodedBody(FORM, "&".join(f"{name}={text}" for name, text in pairs).encode())
    if plain == MULTIPART or plain == "multipart/*":
        files = file_fields(description, content)
        return EncodedBody(MULTIPART, parts=tuple(_parts(_encodings(description, body, media), mapped(value), files)))
    if not is_text(plain):
        raise InvalidInput(f"A body of type {media[:100]} cannot be sent.", hint="Choose another media_type.")
    if not isinstance(value, str):
        raise InvalidInput(f"body: a body of type {media[:100]} is given as text.", hint="Write it as one text.")
    return EncodedBody(media, value.encode())


def _encodings(description: Description, body: Body, media: str) -> Mapping[str, Mapping[str, Json]]:
    """Return the encodings of a body's fields, as the description gives them."""
    fields = mapped(description.resolve(body.pointer))
    encoding = mapped(mapped(mapped(fields.get("content")).get(media)).get("encoding"))
    return {name: mapped(description.follow(each)) for name, each in encoding.items()}


def _form_pairs(
    encodings: Mapping[str, Mapping[str, Json]],
    fields: Mapping[str, Json],
    content: MediaType,
    description: Description,
) -> Iterator[tuple[str, str]]:
    schemas = properties_of(content.schema, description)
    for name, value in fields.items():
        own = encodings.get(name, {})
        fitting = mapped(schemas.get(name)) if description.dialect == "2.0" else own
        styled = not _FORM_STYLE.isdisjoint(own) or description.dialect == "2.0"
        if isinstance(value, dict) and not styled:  # written as JSON unless a style is given
            value = json.dumps(value, ensure_ascii=False)
        yield from query_pairs(name, value, style_in(fitting, "form"), form_text)


def _parts(
    encodings: Mapping[str, Mapping[str, Json]], fields: Mapping[str, Json], files: frozenset[str]
) -> Iterator[Part]:
    for name, value in fields.items():
        media = str(encodings.get(name, {}).get("contentType") or "").partition(",")[0].strip()
        for one in cast("list[Json]", value) if isinstance(value, list) else [value]:
            if name in files:
                part = _read_file(one, f"body.{name}", name)
                typed = part.media or (media if media and "*" not in media else BYTES)
                yield Part(name, part.content, typed, part.filename or name)
            elif isinstance(one, dict | list) or is_json(media):
                yield Part(name, json.dumps(one, ensure_ascii=False).encode(), media or JSON_MEDIA)
            elif one is not None:
                yield Part(name, scalar(one).encode(), media)


def _read_file(value: Json, where: str, name: str = "") -> Part:
    fields = mapped(value)
    given = [key for key in ("base64", "text") if isinstance(fields.get(key), str)]
    if not isinstance(value, dict) or len(given) != 1 or not fields.keys() <= _FILE:
        raise InvalidInput(f"{where} is a file.", hint=FILE_HINT)
    try:
        text = str(fields[given[0]])
        data = base64.b64decode("".join(text.split()), validate=True) if given[0] == "base64" else text.encode()
    except (binascii.Error, ValueError):
        raise InvalidInput(f"{where}.base64 is not base64.", hint=FILE_HINT) from None
    media, filename = str(fields.get("content_type") or ""), str(fields.get("filename") or "")
    if not (media + filename).isprintable() or not media.isascii():
        raise InvalidInput(f"{where} has a name or type with characters that cannot be sent.", hint=FILE_HINT)
    return Part(name, data, media, filename)
