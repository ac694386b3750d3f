"""Parses database addresses as users write them, and rejects options that an address must not set.

Invariant: an address is never shown whole: no message and no representation contains the password.
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
    # In other character sets a quote can be part of a multi-byte character.
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
"""ODBC drivers for SQL Server; any other name could load a local library, or one that opens local files."""
_SERVICE: Final = re.compile(r"[\w.$#-]{0,128}")
_OPTION: Final = re.compile(r"\w{1,40}")
_MOST_CHARACTERS: Final = 4_000
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252})|[0-9A-Fa-f:.]{2,45}|/[\w./@-]{1,200}")


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A parsed database address.

    Attributes:
        dialect: The engine's dialect.
        location: The address without user, password and options.
        user: The user to sign in as; may be empty.
        password: May be empty.
        hosts: Hosts, or folders and files of sockets; empty for a file or a folder.
        ports: One for each host.
        database: The database on the server; empty for a file or a folder, and if the address names none.
        file: The file, or the folder of column information; None for servers.
        query: The options, all allowed.
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


def read_address(url: str) -> DatabaseAddress:
    """Parse an address; nothing is opened.

    Raises:
        InvalidInput: It is malformed, names an unknown engine, or sets an option that is not allowed.
    """
    from sqlalchemy.engine import make_url  # noqa: PLC0415 - 0.1 s, and 12 MB of the process that reads DuckDB
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415 - as above

    if len(url) > _MOST_CHARACTERS or any(ord(letter) < 32 or ord(letter) == 127 for letter in url):
        raise InvalidInput("The address holds control characters or is too long.", hint=_examples())
    try:
        parts = make_url(url.strip())
    except (ArgumentError, ValueError):
        raise InvalidInput("This is not a valid database address.", hint=_examples()) from None
    dialect = _dialect(parts)
    query = _query(parts, dialect)
    if dialect in PORTS and "@" in url.partition("@")[2].partition("?")[0]:
        # The text before the second @ may be part of a password, so it is not shown.
        raise InvalidInput("The address has an @ behind its host.", hint=_examples())
    return _of_server(parts, dialect, query) if dialect in PORTS else _of_file(parts, dialect)


def check_below(file: Path, folders: Sequence[Path]) -> None:
    """Check that a file is below one of the folders after resolving links.

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
    """Resolve a database file's links; it must be opened by this path, because a link may have replaced it.

    Args:
        file: The path in the address.
        folders: Folders that it must be below; None for anywhere.

    Raises:
        NotAllowed: It is below none of the folders.
        DatabaseUnavailable: The file is missing or not a regular file; opening a named pipe would block.
    """
    with suppress(OSError, RuntimeError):  # gone, not readable, or circular links
        real = file.expanduser().resolve()
        if folders is not None:
            check_below(real, folders)
        if stat.S_ISREG(real.stat().st_mode):
            return real
    raise DatabaseUnavailable(f"The file {file.name} of the database cannot be read.", hint="Check that it exists.")


def require_file(address: DatabaseAddress) -> Path:
    """Return the file or folder of an address.

    Raises:
        NotFound: It does not exist.
        InvalidInput: It is not a file.
    """
    file = address.file
    if address.dialect == COLUMN_INFO:
        return _require_folder(file)
    if file is None or not file.exists():
        raise NotFound(f"There is no file {file}.", hint="A connection reads a database that exists; check the path.")
    if not file.is_file():
        raise InvalidInput(f"{file} is not a file.", hint=f"Name the file of the database: {_FORMS[address.dialect]}")
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
        InvalidInput: Its path holds characters that an address cannot.
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
            "The address names an unknown kind of database.",
            hint=f"{near} Known are {', '.join(sorted(set(_NAMES.values())))}.".strip(),
        )
    return _NAMES[name]


def _query(parts: URL, dialect: SchemaDialect) -> dict[str, str]:
    known = _OPTIONS[dialect]
    found: dict[str, str] = {}
    for name, value in parts.query.items():
        if not _OPTION.fullmatch(name):
            # It may be part of a password with @ and ? in it, so it is not shown.
            raise InvalidInput("This is not a valid database address.", hint=_examples())
        if name not in known:
            allowed = f"Allowed are {', '.join(sorted(known))}." if known else "Leave out everything from the '?' on."
            raise InvalidInput(f"An address must not set the option {name!r}.", hint=allowed)
        text = value if isinstance(value, str) else ",".join(value)
        if text not in _VALUES.get(name, (text,)):
            raise InvalidInput(f"The option {name!r} must be {' or '.join(sorted(_VALUES[name]))}.")
        if name == "driver" and not _DRIVER.fullmatch(text):
            raise InvalidInput("The option 'driver' does not name a Microsoft driver.", hint="Leave it out.")
        found[name] = text
    return found


def _of_file(parts: URL, dialect: SchemaDialect) -> DatabaseAddress:
    name = parts.database or ""
    form = f"Write the whole path: {_FORMS[dialect]}"
    if parts.host or parts.username or parts.password:
        raise InvalidInput("The address of a file has three slashes and its path.", hint=form)
    if name in ("", ":memory:") or name.startswith(("file:", "md:", "motherduck:")):
        raise InvalidInput("The address does not name a file.", hint=form)
    file = Path(name).expanduser().absolute()
    location = f"{dialect}:///{file.as_posix()}"
    return DatabaseAddress(dialect, location, "", "", (), (), "", file, {})


def _of_server(parts: URL, dialect: SchemaDialect, query: dict[str, str]) -> DatabaseAddress:
    endpoints = _endpoints(parts, query, PORTS[dialect])
    database = parts.database or ""
    if dialect == "oracle" and not (database or query.get("service_name")):
        raise InvalidInput("The address does not name a service.", hint=f"Write it like {_FORMS[dialect]}")
    if dialect == "oracle" and not all(_SERVICE.fullmatch(name) for name in (database, query.get("service_name", ""))):
        raise InvalidInput("The address does not have a valid service.", hint=f"Write it like {_FORMS[dialect]}")
    host, port = endpoints[0]
    shown = f"[{host}]" if ":" in host else quote(host, safe=".-_")
    path = quote(query.get("service_name", "") or database, safe="._-$#")
    return DatabaseAddress(
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
    """All endpoints: PostgreSQL's `host` option adds or lists hosts, MySQL's `unix_socket` names a socket."""
    written = [parts.host or "", *query.pop("host", "").split(","), query.get("unix_socket", "")]
    names = [name for name in dict.fromkeys(written) if name] or ["localhost"]
    ports = [_port(port) for port in query.pop("port", "").split(",") if port] or [_port(str(parts.port or default))]
    if len(ports) not in (1, len(names)):
        raise InvalidInput("The address must name one port, or one for each host.")
    pairs = zip(names, ports * (len(names) // len(ports)), strict=True)
    return [_endpoint(name, port) for name, port in pairs]


def _endpoint(name: str, port: int) -> tuple[str, int]:
    if not name.startswith("/") and name.count(":") == 1:
        name, _, own = name.partition(":")
        port = _port(own)
    if not _HOST.fullmatch(name):
        # The name may be part of a password with an @ in it, so it is not shown.
        raise InvalidInput("The address does not have a valid host.", hint=_examples())
    return name, port


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise InvalidInput("The port of a host must be a number from 1 to 65535.")
    return int(text)
