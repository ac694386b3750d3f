"""The owner of components, an argument of a module's `register(mcp, auth)`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Auth:
    """The owner of the components; only the owner's calls reach them.

    Attributes:
        tenant: The tenant of the daemon's owner.
        user: The user inside it; empty: the tenant as a whole.
    """

    tenant: str
    user: str = ""
