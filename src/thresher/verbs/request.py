"""What a verb works with besides its arguments: the running product, the caller, and what the caller's face can do.

Invariant: a face that does not know who the caller is leaves `is_owner` false: what only the owner may do is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from thresher.core import Caller, NotAllowed, NotFound, Tenant, did_you_mean, nearest

if TYPE_CHECKING:
    from thresher.llm import Chat
    from thresher.services import Services

Confirm: TypeAlias = Callable[[str], Awaitable[bool | None]]
"""Asks the person behind a client to confirm; None if they cannot be asked. It may end the call, which then runs again
with the answer, so nothing may have changed before."""
Progress: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Receives the events of a verb that takes long."""


async def nobody(_: str) -> bool | None:
    """The `Confirm` of a client without a person to ask."""
    return None


def unreported(_: Mapping[str, Any]) -> None:
    """The `Progress` of a face that does not show any."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a verb, or the code of a pack, works with besides its arguments.

    Attributes:
        services: The running product.
        caller: The tenant and user it works for.
        chat: The model of the caller's own client; None if it offers none.
        client: Name and version of the caller's client; empty if unknown.
        confirm: Asks the person behind that client.
        thread: The caller's conversation or session; empty if unknown.
        longest: The most characters of a text that a face can omit, such as a patch.
        reader: Who reads the answer. Rules that a person reads were not given to a model; a program gets the tools
            that were not chosen, too, if its clients see all tools.
        is_owner: Whether the caller is the owner of the data folder, and not the holder of a key.
        progress: Receives events.
        is_rehearsal: Whether this is a dry run: no server is started or asked.
    """

    services: Services
    caller: Caller
    chat: Chat | None = None
    client: str = ""
    confirm: Confirm = nobody
    thread: str = ""
    longest: int = 1_000_000
    reader: Literal["model", "program", "person"] = "program"
    is_owner: bool = False
    progress: Progress = unreported
    is_rehearsal: bool = False

    def check_owner(self) -> None:
        """Refuse what only the owner of the data folder may do.

        Raises:
            NotAllowed: The caller is not the owner.
        """
        if not self.is_owner:
            raise NotAllowed(
                "Only the owner of the data folder may do this, nobody with a key.", hint="Unset THRESHER_KEY."
            )

    async def tenant(self, name: str | None) -> Tenant:
        """The tenant of this name, or the caller's own; for the owner only.

        Raises:
            NotAllowed: The caller is not the owner.
            NotFound: There is no such tenant.
        """
        self.check_owner()
        name = name or self.caller.tenant.name
        known = await self.services.database.tenants()
        if name not in known:
            near = did_you_mean(nearest(name, known))
            raise NotFound(f"There is no tenant '{name}'.", hint=near or "`thresher keys add --tenant` makes one.")
        return known[name]

    async def caller_in(self, tenant: str | None) -> Caller:
        """The caller, or, for the owner, the tenant of this name: the owner maintains the logs of all tenants.

        Raises:
            NotAllowed: A tenant is named, and the caller is not the owner.
            NotFound: There is no such tenant.
        """
        return self.caller if tenant is None else Caller(await self.tenant(tenant))
