"""Who may connect to what.

A connection opens files and reaches hosts from where this process stands. Its owner may do both anyway; somebody with a
key may only what the settings name.

Invariant: pure, but for links in paths, which are followed before a path is judged.
"""

from __future__ import annotations

from typing import Final

from thresher.connectors import Address, check_below
from thresher.core import Caller, NotAllowed, Settings

_HARMLESS: Final = frozenset(
    {
        *("sslmode", "channel_binding", "target_session_attrs", "host", "port", "charset", "service_name", "protocol"),
        *("driver", "Encrypt", "TrustServerCertificate", "ssl_server_dn_match"),
    }
)
"""Options that name no file of this machine."""


def may_connect(caller: Caller, address: Address, settings: Settings) -> None:
    """Refuse what a caller may not connect to.

    Raises:
        NotAllowed: A caller with a key names a file or a host that the settings do not.
    """
    if caller.keyed:
        check_named(address, settings)


def check_named(address: Address, settings: Settings) -> None:
    """Refuse a file or a host that the settings do not name.

    Raises:
        NotAllowed: They do not.
    """
    if address.file is not None:
        check_below(address.file, settings.database_files)
    else:
        _check_hosts(address, settings)


def _check_hosts(address: Address, settings: Settings) -> None:
    allowed = {host.lower() for host in settings.database_hosts}
    reached = list(zip(address.hosts, address.ports, strict=True))
    if not reached or any(
        host.lower() not in allowed and f"{host.lower()}:{port}" not in allowed for host, port in reached
    ):
        raise NotAllowed(
            "With a key, only databases on the hosts that the server's owner named can be connected to.",
            hint="Ask the owner to add the connection, or to name its host in THRESHER_DATABASE_HOSTS.",
        )
    if wrong := sorted(set(address.query) - _HARMLESS):
        raise NotAllowed(
            f"With a key, an address may not have the option {wrong[0]}: it names a file of the server.",
            hint="Leave it away, or ask the server's owner to add the connection.",
        )
