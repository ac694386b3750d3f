"""The specification that a document follows, and typed access to its plain data that notes wrong types.

Invariant: apart from `dialect_of`, nothing here raises, whatever the document holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from thresher.core import InvalidInput
from thresher.openapi.pointers import join
from thresher.openapi.reader.problems import Code, Notes
from thresher.openapi.reader.references import MissingType, ReferenceResolver, reference_of
from thresher.openapi.records import Body, Dialect, Json, Parameter, Response

METHODS: Final[Mapping[Dialect, tuple[str, ...]]] = {
    "2.0": ("get", "put", "post", "delete", "options", "head", "patch"),
    "3.0": ("get", "put", "post", "delete", "options", "head", "patch", "trace"),
    "3.1": ("get", "put", "post", "delete", "options", "head", "patch", "trace"),
    "3.2": ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query"),
}
_VERSION: Final = re.compile(r"(\d+)\.(\d+)")
_HINT: Final = (
    "Thresher reads OpenAPI 3.0 to 3.2 and Swagger 2.0: a document with openapi: or swagger: at its top. Convert "
    "a Postman collection first, and give the document that a fragment belongs to."
)


def dialect_of(root: Mapping[str, Json], notes: Notes) -> Dialect:
    """Return the specification version that a document declares.

    Raises:
        InvalidInput: It declares none, or an unsupported one.
    """
    for keyword in ("openapi", "swagger"):
        declared = root.get(keyword)
        if declared is None:
            continue
        if not isinstance(declared, str):
            notes.add("version-not-text", f'{keyword} must be text: write {keyword}: "{declared}".', f"/{keyword}")
        return _known(keyword, str(declared)[:40], notes)
    raise InvalidInput("The document does not say that it describes an API.", hint=_HINT)


def _known(keyword: str, declared: str, notes: Notes) -> Dialect:
    found = _VERSION.match(declared)
    major, minor = (int(found[1]), int(found[2])) if found else (0, 0)
    if keyword == "swagger" and (major, minor) == (2, 0):
        return "2.0"
    if keyword == "openapi" and major == 3:
        if minor > 2:
            notes.add("newer-version", f"OpenAPI {declared} is read as 3.2, the newest that is known.", "/openapi")
        known: tuple[Dialect, ...] = ("3.0", "3.1", "3.2")
        return known[min(minor, 2)]
    raise InvalidInput(f"The document names version {declared!r} of {keyword}, which is not supported.", hint=_HINT)


def schemas_pointer(dialect: Dialect) -> str:
    """Return the pointer of the named schemas."""
    return "/definitions" if dialect == "2.0" else "/components/schemas"


_NAMES: Final[Mapping[type, str]] = {
    dict: "a mapping",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


@dataclass(frozen=True, slots=True)
class Context:
    """What the readers of one description share.

    Attributes:
        dialect: Specification version.
        root: The document as plain data.
        references: Resolver of its references.
        notes: Receives the problems.
        parameters: Parameters read so far, by the pointer that defines them.
        responses: Responses read so far, likewise.
        bodies: Request bodies read so far, likewise.
    """

    dialect: Dialect
    root: Mapping[str, Json]
    references: ReferenceResolver
    notes: Notes
    parameters: dict[str, Parameter | None] = field(default_factory=dict[str, "Parameter | None"])
    responses: dict[str, Response] = field(default_factory=dict[str, Response])
    bodies: dict[str, Body] = field(default_factory=dict[str, Body])

    def mapping(self, fields: Mapping[str, Json], key: str, pointer: str) -> tuple[Mapping[str, Json], str]:
        """Return the mapping under a key and its pointer; an empty mapping if there is none."""
        value = fields.get(key)
        if not isinstance(value, dict):
            self._expect(value, key, pointer, "a mapping")
            return {}, pointer
        return cast("dict[str, Json]", value), join(pointer, key)

    def items(self, fields: Mapping[str, Json], key: str, pointer: str) -> Iterator[tuple[Json, str]]:
        """Yield the entries of the list under a key, each with its pointer."""
        value = fields.get(key)
        if not isinstance(value, list):
            self._expect(value, key, pointer, "a list")
            return
        place = join(pointer, key)
        for index, each in enumerate(cast("list[Json]", value)):
            yield each, f"{place}/{index}"

    def entries(self, fields: Mapping[str, Json], key: str, pointer: str) -> Iterator[tuple[str, Json, str]]:
        """Yield key, value and pointer for the mapping under a key, without extensions (`x-...`)."""
        entries, place = self.mapping(fields, key, pointer)
        for name, each in entries.items():
            if not name.startswith("x-"):
                yield name, each, join(place, name)

    def text(self, fields: Mapping[str, Json], key: str, pointer: str) -> str:
        """Return the text or number under a key as text; empty if there is none."""
        value = fields.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self._expect(value, key, pointer, "text")
        return ""

    def flag(self, fields: Mapping[str, Json], key: str, pointer: str) -> bool:
        """Return the boolean under a key; false if there is none."""
        value = fields.get(key)
        if isinstance(value, bool):
            return value
        self._expect(value, key, pointer, "true or false")
        return False

    def texts(self, fields: Mapping[str, Json], key: str, pointer: str) -> tuple[str, ...]:
        """Return the distinct texts of the list under a key."""
        found: dict[str, None] = {}
        for each, place in self.items(fields, key, pointer):
            if isinstance(each, str | int | float) and not isinstance(each, bool):
                found.setdefault(str(each))
            else:
                self.note("wrong-type", f"An entry of `{key}` must be text; it is left out.", place)
        return tuple(found)

    def schema(self, fields: Mapping[str, Json], key: str, pointer: str) -> Mapping[str, Json] | None:
        """Return the schema under a key, or None. Boolean schemas become mappings that mean the same."""
        value = fields.get(key)
        if isinstance(value, bool) and self.dialect not in {"2.0", "3.0"}:
            return {} if value else {"not": {}}
        return None if value is None else self.mapping(fields, key, pointer)[0]

    def follow(self, value: Json, pointer: str, what: str) -> tuple[Mapping[str, Json], str]:
        """Return the mapping that a value is or refers to, and its pointer.

        A broken reference gives an empty mapping; `note_broken` notes it.
        """
        target, place = (value, pointer) if reference_of(value) is None else self.references.follow(value, pointer)
        if isinstance(target, dict):
            return cast("dict[str, Json]", target), place
        if not isinstance(target, MissingType):
            self.note("wrong-type", f"{what} must be a mapping, not {_seen(target)}; it is left out.", place)
        return {}, pointer

    def beside(self, value: Json, pointer: str) -> str:
        """Return the description beside a `$ref` that overrides the target's, from OpenAPI 3.1 on; else empty."""
        if self.dialect in {"2.0", "3.0"} or reference_of(value) is None:
            return ""
        return self.text(cast("dict[str, Json]", value), "description", pointer)

    def note(self, code: Code, message: str, pointer: str) -> None:
        """Record a problem."""
        self.notes.add(code, message, pointer)

    def _expect(self, value: Json, key: str, pointer: str, wanted: str) -> None:
        if value is not None:
            message = f"`{key}` must be {wanted}, not {_seen(value)}; it is left out."
            self.note("wrong-type", message, join(pointer, key))


def _seen(value: Json) -> str:
    """Return the type of a value in words."""
    if value is None:
        return "null"
    return next((name for kind, name in _NAMES.items() if isinstance(value, kind)), "something else")
