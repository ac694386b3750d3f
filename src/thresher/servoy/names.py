"""Names, UUIDs and data sources: what is legal, and the notations that users may write.

Invariant: an accepted name is a legal file name on every file system.
"""

from __future__ import annotations

import re
import unicodedata
import uuid
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from thresher.core import InvalidInput

DataSourceKind: TypeAlias = Literal["db", "mem", "view", "menu"]

LONGEST_NAME: Final = 100
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_JAVASCRIPT: Final = """
    abstract arguments array async await boolean break byte case catch char class const constant continue date
    debugger default delete do double else enum eval exception export extends false final finally float for
    function goto if implements import in infinity instanceof int interface let long math nan native new null
    object package private protected public return short static strictfp super switch synchronized this throw
    throws transient true try typeof undefined var void volatile while with yield
"""
_SERVOY: Final = """
    _super allmethods allnames allrelations allvariables application controller currentcontroller currentform
    currentrecordindex databasemanager datasources elements eventtypes form forms foundset globals history
    jsunit length menus model plugins recordindex scopes security solutionmodel utils
"""
_WINDOWS: Final = re.compile(r"con|conin\$|conout\$|prn|aux|nul|com[0-9]|lpt[0-9]")
_KINDS: Final[dict[str, DataSourceKind]] = {"db": "db", "mem": "mem", "view": "view", "menu": "menu"}
_PREFIX: Final = re.compile(rf"({'|'.join(_KINDS)}):")


def checked_name(name: str, what: str) -> str:
    """Return a legal name for a part of a solution, without surrounding blanks.

    Args:
        name: The proposed name.
        what: What it names, for the error, such as `relation`.

    Raises:
        InvalidInput: It is not legal; the hint says what is.
    """
    name = name.strip()
    problem, hint = _problem(name)
    if problem:
        raise InvalidInput(f"'{name[:60]}' cannot be the name of a {what}: {problem}.", hint=hint)
    return name


def _problem(name: str) -> tuple[str, str]:
    """Return what is wrong with a name and what to do about it; empty if it is legal."""
    letters = "Use letters, digits, _ and $, and do not begin with a digit."
    if not name:
        return "it is empty", letters
    if len(name) > LONGEST_NAME:
        return f"it has {len(name)} characters", f"Use {LONGEST_NAME} at most."
    if not name.replace("$", "_").isidentifier() or unicodedata.normalize("NFC", name) != name:
        at = next((one for one in name if not f"_{one}".isidentifier() and one != "$"), name[0])
        return f"{at!r} is not allowed {'at its beginning' if at.isdecimal() else 'in it'}", letters
    if name.lower() in _JAVASCRIPT.split():
        return "it is a reserved word of JavaScript", "Add a word, such as what it is for."
    if name.lower() in _SERVOY.split():
        return "it is a reserved word of Servoy", "Add a word, such as what it is for."
    if _WINDOWS.fullmatch(name.lower()):
        return "Windows allows no file with this name", "Choose another."
    return "", ""


def new_uuid() -> str:
    """Return a random UUID as Servoy writes them: version 4, upper case."""
    return str(uuid.uuid4()).upper()


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID, in any case."""
    return _UUID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class DataSource:
    """A source of records.

    Attributes:
        kind: `db` a table of a server, `mem` an in-memory table, `view`, `menu`.
        server: Server of a `db` source; else empty.
        table: Name of the table or source.
        text: The notation in files: `db:/crm/orders`.
    """

    kind: DataSourceKind
    server: str
    table: str
    text: str


def datasource(text: str) -> DataSource:
    """Parse a data source: `crm/orders`, `db:/crm/orders`, `mem:basket`, `view:NAME`, `menu:NAME`.

    Raises:
        InvalidInput: It is not a data source.
    """
    text = text.strip()
    found = _PREFIX.match(text)
    kind = _KINDS[found.group(1)] if found else "db"
    rest = text[found.end() :] if found else text
    if kind == "db":
        server, slash, table = rest.lstrip("/").partition("/")
        if slash and _is_word(server) and _is_word(table):
            return DataSource("db", server, table, f"db:/{server}/{table}")
    elif _is_word(rest):
        return DataSource(kind, "", rest, f"{kind}:{rest}")
    hint = "Write SERVER/TABLE or db:/SERVER/TABLE; mem:NAME for an in-memory table, view:NAME, menu:NAME."
    raise InvalidInput(f"'{text[:100]}' is not a data source.", hint=hint)


def _is_word(text: str) -> bool:
    return bool(text) and text == text.strip() and "/" not in text and text.isprintable()
