"""What psycopg is told: where to connect and as whom, and how values are read.

Invariant: nothing of this process's own environment or files signs in for somebody else; no value is lost on its way
into Python's types.
"""

from __future__ import annotations

import os
from typing import Any, Final

import psycopg
from psycopg.adapt import Loader
from psycopg.types.json import set_json_loads
from psycopg.types.string import TextLoader

from thresher.connectors.addresses import Address
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.tagging import PROGRAM
from thresher.connectors.values import iso_text, read_json

_TIMES: Final = ("date", "time", "timetz", "timestamp", "timestamptz")
_TEXTS: Final = (
    "interval", "int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange", "int4multirange",
    "int8multirange", "nummultirange", "tsmultirange", "tstzmultirange", "datemultirange", "inet", "cidr",
)  # fmt: skip


class _TimeLoader(Loader):
    """Times in ISO 8601, whatever Python holds to be a date."""

    def load(self, data: Any) -> str:
        return iso_text(bytes(data).decode())


def arguments(address: Address, options: ConnectorOptions) -> dict[str, Any]:
    """What libpq is told; nothing of this process's own environment or files signs in for somebody else."""
    signing = {} if "sslcert" in address.query else {"sslcertmode": "disable"}
    return {
        "host": ",".join(address.hosts),
        "port": ",".join(str(port) for port in address.ports),
        "user": address.user or None,
        "password": address.password or None,
        "dbname": address.database or None,
        "connect_timeout": max(2, int(options.connect_seconds)),
        "application_name": PROGRAM,
        "client_encoding": "UTF8",
        "options": "",
        "passfile": f"{os.devnull}/none",  # the empty one would be the default
        "gssencmode": "disable",
        **signing,
        **address.query,
        "autocommit": True,
        "prepare_threshold": None,
    }


def register(connection: psycopg.Connection[Any]) -> None:
    """Values as text where Python's types would lose something."""
    set_json_loads(read_json, connection)
    for name in _TIMES:
        connection.adapters.register_loader(name, _TimeLoader)
    for name in _TEXTS:
        connection.adapters.register_loader(name, TextLoader)
