"""What may be registered: addresses, names, keys, and by whom.

Invariant: pure; no message repeats a key, or an address, which may hold one.
"""

from __future__ import annotations

import re
from typing import Final

import httpx

from thresher.core import Caller, InvalidInput, NotAllowed, Settings
from thresher.llm import service_address
from thresher.store import clean

_LONGEST_URL: Final = 2_000
_LONGEST_MODEL: Final = 200
_KEY: Final = re.compile(r"[\x21-\x7e]{1,8000}")
_PORTS: Final = {"http": 80, "https": 443}


def checked_url(url: str) -> httpx.URL:
    """The address of a model's service.

    Raises:
        InvalidInput: It is none, or it holds a password.
    """
    url = url.strip()
    if clean(url) != url or len(url) > _LONGEST_URL:
        raise InvalidInput("The address holds what no address has.", hint="Copy it again.")
    address = service_address(url, "The address", "Give the key beside it.")
    if address.fragment:
        raise InvalidInput("The address of a service has no '#'.", hint="Leave away what follows.")
    return address


def checked_model(model: str) -> str:
    """The service's name for a model.

    Raises:
        InvalidInput: It is none.
    """
    name = model.strip()
    if not name or clean(name) != name or not name.isprintable() or len(name) > _LONGEST_MODEL:
        raise InvalidInput("That is no name of a model.", hint="Write it as the service does, such as qwen3:8b.")
    return name


def checked_key(key: str | None) -> str | None:
    """A service's key; None where it wants none.

    Raises:
        InvalidInput: It holds what no key has.
    """
    if key is None or not key.strip():
        return None
    if not _KEY.fullmatch(key.strip()):
        raise InvalidInput("That is no key of a service.", hint="Copy it again: letters, digits and signs, no spaces.")
    return key.strip()


def may_register(caller: Caller, address: httpx.URL, settings: Settings) -> None:
    """Refuse a service that this process may not be made to reach.

    Raises:
        NotAllowed: A caller with a key names a host that the settings do not.
    """
    if not caller.keyed:
        return
    host, port = address.host.lower(), address.port or _PORTS[address.scheme]
    allowed = {one.lower() for one in settings.model_hosts}
    if host not in allowed and f"{host}:{port}" not in allowed:
        raise NotAllowed(
            "With a key, only models on the hosts that the server's owner named can be registered.",
            hint="Ask the owner to register the model, or to name its host in THRESHER_MODEL_HOSTS.",
        )
