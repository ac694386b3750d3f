"""Which specification a description follows, and the parts of it that differ in form but not in meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from thresher.core import InvalidInput
from thresher.openapi.notes import Notes
from thresher.openapi.records import Dialect, Json

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
    """The specification that a document names.

    Raises:
        InvalidInput: It names none, or one that is not known.
    """
    for field in ("openapi", "swagger"):
        declared = root.get(field)
        if declared is None:
            continue
        if not isinstance(declared, str):
            notes.add("version-not-text", f'{field} must be text: write {field}: "{declared}".', f"/{field}")
        return _known(field, str(declared)[:40], notes)
    raise InvalidInput("The document does not say that it describes an API.", hint=_HINT)


def _known(field: str, declared: str, notes: Notes) -> Dialect:
    found = _VERSION.match(declared)
    major, minor = (int(found[1]), int(found[2])) if found else (0, 0)
    if field == "swagger" and (major, minor) == (2, 0):
        return "2.0"
    if field == "openapi" and major == 3:
        if minor > 2:
            notes.add("newer-version", f"OpenAPI {declared} is read as 3.2, the newest that is known.", "/openapi")
        known: tuple[Dialect, ...] = ("3.0", "3.1", "3.2")
        return known[min(minor, 2)]
    raise InvalidInput(f"The document names version {declared!r} of {field}, which is not known.", hint=_HINT)


def schemas_pointer(dialect: Dialect) -> str:
    """Where the named schemas stand."""
    return "/definitions" if dialect == "2.0" else "/components/schemas"
