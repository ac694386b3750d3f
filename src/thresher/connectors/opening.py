"""Opens connectors by address.

Invariant: nothing is connected here, and a driver is imported when its first connector is opened, so that a start
pays for none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, cast

from thresher.connectors.addresses import Address, read_address, require_file
from thresher.connectors.connector import Connector, ConnectorOptions, Engine
from thresher.connectors.pool import PooledConnector
from thresher.connectors.records import COLUMN_INFO, SchemaDialect
from thresher.core import ConfigurationError

_ENGINES: Final[Mapping[SchemaDialect, tuple[str, str]]] = {
    "postgresql": ("postgresql", "open_postgresql"),
    "mysql": ("mysql", "open_mysql"),
    "mariadb": ("mysql", "open_mysql"),
    "oracle": ("oracle", "open_oracle"),
    "mssql": ("mssql", "open_mssql"),
    "sqlite": ("sqlite", "open_sqlite"),
    "duckdb": ("duckdb.engine", "open_duckdb"),
}
"""Module of this package and the function in it that makes the engine."""
_FOLDERS: Final = ("servoy_folder", "open_folder")
"""The same of column information: it makes a whole connector, for there are no sessions to keep."""


def open_connector(url: str, *, options: ConnectorOptions | None = None) -> Connector:
    """A connector for an address; it connects when it is first asked.

    Args:
        url: As SQLAlchemy writes it: `postgresql://user:password@host/database`, `sqlite:////data/shop.db`; or a
            folder with column information, `servoy:////workspace/resources/datasources/SERVER`.
        options: How it uses the database; the defaults suit.

    Raises:
        InvalidInput: The address is malformed, of an unknown engine, or holds an option that is not allowed.
        ConfigurationError: The engine's driver is not installed.
        NotFound: The file or the folder does not exist.
    """
    address = read_address(url)
    if address.file is not None:
        require_file(address)
    if address.dialect == COLUMN_INFO:
        return cast("Callable[[Address], Connector]", _function(*_FOLDERS))(address)
    chosen = options or ConnectorOptions()
    module, name = _ENGINES[address.dialect]
    try:
        made = _function(module, name)
    except ImportError as error:
        raise ConfigurationError(
            f"The driver for {address.dialect} is not installed: {error.name} is missing.",
            hint="Install thresher with the extra that brings it: pip install 'thresher[sqlserver]'.",
        ) from None
    engine = cast("Callable[[Address, ConnectorOptions], Engine]", made)(address, chosen)
    return PooledConnector(address, engine, chosen)


def _function(module: str, name: str) -> Callable[..., object]:
    return getattr(import_module(f"thresher.connectors.{module}"), name)
