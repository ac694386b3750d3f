"""Whom components work for, as a module's `register(mcp, auth)` is told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Auth:
    """Whose components these are; nobody else's calls reach them.

    Attributes:
        tenant: The tenant of the daemon's owner.
        user: The user inside it; empty: the tenant as a whole.
    """

    tenant: str
    user: str = ""
