"""Reads addresses of databases as people write them, and refuses what an address must not say.

Invariant: an address is never shown whole: the password leaves in no message and no representation.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from thresher.connectors.records import COLUMN_INFO, SchemaDialect
from thresher.core import DatabaseUnavailable, InvalidInput, NotAllowed, NotFound, did_you_mean, nearest

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

_NAMES: Final[Mapping[str, SchemaDialect]] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mariadb",
    "oracle": "oracle",
    "mssql": "mssql",
    "sqlserver": "mssql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    COLUMN_INFO: COLUMN_INFO,
}
PORTS: Final[Mapping[SchemaDialect, int]] = {
    "postgresql": 5432,
    "mysql": 3306,
    "mariadb": 3306,
    "oracle": 1521,
    "mssql": 1433,
}
_MYSQL_OPTIONS: Final = frozenset(
    {"charset", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_cert", "ssl_verify_identity", "unix_socket"}
)
_OPTIONS: Final[Mapping[SchemaDialect, frozenset[str]]] = {
    "postgresql": frozenset(
        {"host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcrl", "channel_binding",
         "gssencmode", "krbsrvname", "target_session_attrs"}
    ),
    "mysql": _MYSQL_OPTIONS,
    "mariadb": _MYSQL_OPTIONS,
    "oracle": frozenset({"service_name", "protocol", "ssl_server_dn_match"}),
    "mssql": frozenset({"driver", "Encrypt", "TrustServerCertificate", "MultiSubnetFailover", "HostNameInCertificate"}),
    "sqlite": frozenset(),
    "duckdb": frozenset(),
    COLUMN_INFO: frozenset(),
}  # fmt: skip
_VALUES: Final[Mapping[str, frozenset[str]]] = {
    # Other character sets let a quote hide in half of a character.
    "charset": frozenset({"utf8mb4"}),
    "protocol": frozenset({"tcp", "tcps"}),
}
_FORMS: Final[Mapping[SchemaDialect, str]] = {
    "postgresql": "postgresql://user:password@host:5432/database",
    "mysql": "mysql://user:password@host:3306/database",
    "mariadb": "mariadb://user:password@host:3306/database",
    "oracle": "oracle://user:password@host:1521/?service_name=NAME",
    "mssql": "mssql+pyodbc://user:password@host:1433/database",
    "sqlite": "sqlite:////folder/file.db",
    "duckdb": "duckdb:////folder/file.duckdb",
    COLUMN_INFO: "servoy:////workspace/resources/datasources/SERVER",
}
_DRIVER: Final = re.compile(r"ODBC Driver \d{2} for SQL Server")
"""Of SQL Server; any other could be a library of this machine, or one that opens its files."""
_SERVICE: Final = re.compile(r"[\w.$#-]{0,128}")
_OPTION: Final = re.compile(r"\w{1,40}")
_MOST_CHARACTERS: Final = 4_000
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|[0-9A-Fa-f:.]{2,45}|/[\w./@-]{1,200}")


@dataclass(frozen=True, slots=True)
class Address:
    """An address, taken apart.

    Attributes:
        dialect: Of its engine.
        location: The address without user, password and options.
        user: Whom it signs in as; may be empty.
        password: May be empty.
        hosts: Machines, or folders and files of sockets, that it reaches; empty for what reads a file or a folder.
        ports: One for each of them.
        database: On the server; empty for what reads a file or a folder, and where the address names none.
        file: That it reads, of column information the folder; None for servers.
        query: Options that are allowed.
    """

    dialect: SchemaDialect
    location: str
    user: str
    password: str = field(repr=False)
    hosts: tuple[str, ...]
    ports: tuple[int, ...]
    database: str
    file: Path | None
    query: Mapping[str, str] = field(repr=False)


def read_address(url: str) -> Address:
    """Take an address apart. Nothing is opened.

    Raises:
        InvalidInput: It is malformed, of an unknown engine, or says what an address must not.
    """
    from sqlalchemy.engine import make_url  # noqa: PLC0415 - 0.1 s, and 12 MB of the process that reads DuckDB
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415 - as above

    if len(url) > _MOST_CHARACTERS or any(ord(letter) < 32 or ord(letter) == 127 for letter in url):
        raise InvalidInput("The address holds control characters or is too long.", hint=_examples())
    try:
        parts = make_url(url.strip())
    except (ArgumentError, ValueError):
        raise InvalidInput("This is no address of a database.", hint=_examples()) from None
    dialect = _dialect(parts)
    query = _query(parts, dialect)
    if dialect in PORTS and "@" in url.partition("@")[2].partition("?")[0]:
        # What stands before the second one is half of a password, and is not shown.
        raise InvalidInput("The address has an @ behind its host.", hint=_examples())
    return _of_server(parts, dialect, query) if dialect in PORTS else _of_file(parts, dialect)


def check_below(file: Path, folders: Sequence[Path]) -> None:
    """Refuse a file that is below none of the folders, links followed.

    Raises:
        NotAllowed: It is not.
    """
    real = file.expanduser().resolve()
    if not any(real.is_relative_to(folder.expanduser().resolve()) for folder in folders):
        raise NotAllowed(
            "With a key, database files can only be opened below the folders that the server's owner named.",
            hint="Ask the owner to add the connection, or to name its folder in THRESHER_DATABASE_FILES.",
        )


def real_file(file: Path, folders: Sequence[Path] | None) -> Path:
    """A database's file with links followed, to be opened by that path: a link may have taken its place.

    Args:
        file: As its address names it.
        folders: Below which it has to be; None: anywhere.

    Raises:
        NotAllowed: It is below none of the folders.
        DatabaseUnavailable: The file is missing or not a regular file; opening a named pipe would block.
    """
    with suppress(OSError, RuntimeError):  # gone, not to be read, or links in a circle
        real = file.expanduser().resolve()
        if folders is not None:
            check_below(real, folders)
        if stat.S_ISREG(real.stat().st_mode):
            return real
    raise DatabaseUnavailable(f"The file {file.name} of the database cannot be read.", hint="Check that it exists.")


def require_file(address: Address) -> Path:
    """The file of an address, or its folder.

    Raises:
        NotFound: It is not there.
        InvalidInput: It is no file, or of column information no folder.
    """
    file = address.file
    if address.dialect == COLUMN_INFO:
        return _require_folder(file)
    if file is None or not file.exists():
        raise NotFound(f"There is no file {file}.", hint="A connection reads a database that exists; check the path.")
    if not file.is_file():
        raise InvalidInput(f"{file} is no file.", hint=f"Name the file of the database: {_FORMS[address.dialect]}")
    return file


def _require_folder(folder: Path | None) -> Path:
    if folder is None or not folder.is_dir():
        raise NotFound(
            f"There is no folder {folder}.",
            hint="Column information is read from a server's folder below resources/datasources; check the path.",
        )
    return folder


def folder_url(folder: Path) -> str:
    """The address of a folder with column information.

    Raises:
        InvalidInput: Its path holds letters that no address can.
    """
    path = folder.absolute().as_posix()
    if not path.isprintable():
        raise InvalidInput("The folder's path holds control characters, or is not UTF-8.", hint="Rename it.")
    return f"{COLUMN_INFO}:///{quote(path, safe='/:')}"


def _examples() -> str:
    return f"Write it like {_FORMS['postgresql']} or {_FORMS['sqlite']}; encode @ : / in a password as %40 %3A %2F."


def _dialect(parts: URL) -> SchemaDialect:
    name = parts.get_backend_name().lower()
    if name not in _NAMES:
        near = did_you_mean(nearest(name, _NAMES))
        raise InvalidInput(
            "The address is of an unknown kind of database.",
            hint=f"{near} Known are {', '.join(sorted(set(_NAMES.values())))}.".strip(),
        )
    return _NAMES[name]


def _query(parts: URL, dialect: SchemaDialect) -> dict[str, str]:
    known = _OPTIONS[dialect]
    found: dict[str, str] = {}
    for name, value in parts.query.items():
        if not _OPTION.fullmatch(name):
            # It may be half of a password with @ and ? in it, and is not shown.
            raise InvalidInput("This is no address of a database.", hint=_examples())
        if name not in known:
            allowed = f"Allowed are {', '.join(sorted(known))}." if known else "Leave out everything from the '?' on."
            raise InvalidInput(f"An address must not set the option {name!r}.", hint=allowed)
        text = value if isinstance(value, str) else ",".join(value)
        if text not in _VALUES.get(name, (text,)):
            raise InvalidInput(f"The option {name!r} must be {' or '.join(sorted(_VALUES[name]))}.")
        if name == "driver" and not _DRIVER.fullmatch(text):
            raise InvalidInput("The option 'driver' names no driver of Microsoft's.", hint="Leave it out.")
        found[name] = text
    return found


def _of_file(parts: URL, dialect: SchemaDialect) -> Address:
    name = parts.database or ""
    form = f"Write the whole path: {_FORMS[dialect]}"
    if parts.host or parts.username or parts.password:
        raise InvalidInput("The address of a file has three slashes and its path.", hint=form)
    if name in ("", ":memory:") or name.startswith(("file:", "md:", "motherduck:")):
        raise InvalidInput("The address names no file.", hint=form)
    file = Path(name).expanduser().absolute()
    location = f"{dialect}:///{file.as_posix()}"
    return Address(dialect, location, "", "", (), (), "", file, {})


def _of_server(parts: URL, dialect: SchemaDialect, query: dict[str, str]) -> Address:
    endpoints = _endpoints(parts, query, PORTS[dialect])
    database = parts.database or ""
    if dialect == "oracle" and not (database or query.get("service_name")):
        raise InvalidInput("The address names no service.", hint=f"Write it like {_FORMS[dialect]}")
    if dialect == "oracle" and not all(_SERVICE.fullmatch(name) for name in (database, query.get("service_name", ""))):
        raise InvalidInput("The address has no proper service.", hint=f"Write it like {_FORMS[dialect]}")
    host, port = endpoints[0]
    shown = f"[{host}]" if ":" in host else quote(host, safe=".-_")
    path = quote(query.get("service_name", "") or database, safe="._-$#")
    return Address(
        dialect,
        f"{dialect}://{shown}:{port}/{path}",
        user=parts.username or "",
        password=str(parts.password or ""),
        hosts=tuple(name for name, _ in endpoints),
        ports=tuple(number for _, number in endpoints),
        database=database,
        file=None,
        query=query,
    )


def _endpoints(parts: URL, query: dict[str, str], default: int) -> list[tuple[str, int]]:
    """All that may be reached: PostgreSQL's `host` option adds to the host or names several, MySQL's a socket."""
    written = [parts.host or "", *query.pop("host", "").split(","), query.get("unix_socket", "")]
    names = [name for name in dict.fromkeys(written) if name] or ["localhost"]
    ports = [_port(port) for port in query.pop("port", "").split(",") if port] or [_port(str(parts.port or default))]
    if len(ports) not in (1, len(names)):
        raise InvalidInput("The address names more ports than hosts, or fewer.")
    pairs = zip(names, ports * (len(names) // len(ports)), strict=True)
    return [_endpoint(name, port) for name, port in pairs]


def _endpoint(name: str, port: int) -> tuple[str, int]:
    if not name.startswith("/") and name.count(":") == 1:
        name, _, own = name.partition(":")
        port = _port(own)
    if not _HOST.fullmatch(name):
        # The name may be half of a password with an @ in it, and is not shown.
        raise InvalidInput("The address has no proper host.", hint=_examples())
    return name, port


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise InvalidInput("The port of a host is no number from 1 to 65535.")
    return int(text)
