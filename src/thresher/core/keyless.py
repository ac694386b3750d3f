"""Whether a port serves its owner without a key: the setting, and what decides where the setting is `auto`.

Invariant: never on an address that other machines reach.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from pathlib import Path

from thresher.core.settings import Settings, environment

_MARKS = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container", "/var/run/secrets/kubernetes.io")
"""Files that Docker, Podman, containers with systemd, and Kubernetes put into a container."""
_VARIABLES = ("container", "KUBERNETES_SERVICE_HOST")
"""Variables that Podman, LXC and systemd-nspawn, and Kubernetes set in one."""


@lru_cache(maxsize=256)
def is_loopback(name: str) -> bool:
    """Return whether a name or an address means this machine alone."""
    try:
        ip = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def container_mark() -> str:
    """Return what shows that this process runs in a container; empty without any sign.

    Engines are not obliged to leave a sign: a container without one is not recognised.
    """
    marks = [mark for mark in _MARKS if Path(mark).exists()]
    return next(iter([*marks, *(name for name in _VARIABLES if environment().get(name))]), "")


def why_keys(settings: Settings) -> str:
    """Return why every HTTP request needs a key; empty if the owner is served without one."""
    if not is_loopback(settings.host):
        return f"other machines can reach {settings.host}"
    if settings.keyless == "off":
        return "THRESHER_KEYLESS is off"
    if settings.keyless == "on":
        return ""
    if settings.database_url is not None:
        return "the database is an external one (THRESHER_KEYLESS=on serves the owner without a key)"
    if mark := container_mark():
        return f"this is a container, by {mark} (THRESHER_KEYLESS=on serves the owner without a key)"
    return ""
