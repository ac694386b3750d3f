"""Opens connectors by address.

Invariant: nothing is connected here, and a driver is imported when its first connector is opened, so that a start
pays for none.
"""

from __future__ import annotations

from thresher.connectors.addresses import read_address
from thresher.connectors.connector import Connector, ConnectorOptions


def open_connector(url: str, *, options: ConnectorOptions | None = None) -> Connector:
    """A connector for an address; it connects when it is first asked.

    Args:
        url: As SQLAlchemy writes it: `postgresql://user:password@host/database`, `sqlite:////data/shop.db`.
        options: How it uses the database; the defaults suit.

    Raises:
        InvalidInput: The address is malformed, of an unknown engine, or holds an option that is not allowed.
        ConfigurationError: The engine's driver is not installed.
        NotFound: The file does not exist.
    """
    raise NotImplementedError(read_address(url), options)
