"""What PyMySQL is told: where to connect and as whom, and how values are read.

Invariant: no file of this machine is ever handed to a server; no value is lost on its way into Python's types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pymysql.constants import FIELD_TYPE
from pymysql.converters import conversions

from thresher.connectors.addresses import Address
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.tagging import PROGRAM
from thresher.connectors.values import iso_text, read_json


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _time(value: Any) -> str:
    return iso_text(_text(value))


def _bits(value: Any) -> int:
    return int.from_bytes(value, "big") if isinstance(value, bytes) else int(value)


# Python's dates know no `0000-00-00`, its times no -838 hours.
_CONVERSIONS: Final[dict[Any, Any]] = {
    **conversions,
    FIELD_TYPE.DATE: _text,
    FIELD_TYPE.DATETIME: _time,
    FIELD_TYPE.TIMESTAMP: _time,
    FIELD_TYPE.TIME: _text,
    FIELD_TYPE.BIT: _bits,
    FIELD_TYPE.JSON: read_json,
}


def arguments(address: Address, options: ConnectorOptions, seconds: float) -> dict[str, Any]:
    """What a connection is made with, besides TLS."""
    return {
        "host": address.hosts[0],
        "port": address.ports[0],
        "user": address.user,
        "password": address.password.encode(),
        "database": address.database or None,
        "charset": "utf8mb4",
        "connect_timeout": max(1, int(options.connect_seconds)),
        "read_timeout": int(seconds) + 10,  # where the network is gone; the server's own time-out comes first
        "write_timeout": 10,
        "local_infile": False,
        "autocommit": None,
        "program_name": PROGRAM,
        "conv": _CONVERSIONS,
        "unix_socket": address.query.get("unix_socket"),
    }


def encryption(query: Mapping[str, str]) -> dict[str, Any]:
    """The options of an address that say how TLS is used."""
    options: dict[str, Any] = {name: value for name, value in query.items() if name.startswith("ssl_")}
    if "ssl_verify_identity" in options:
        options["ssl_verify_identity"] = query["ssl_verify_identity"].lower() in ("1", "true", "yes")
    return options
