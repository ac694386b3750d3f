"""The service of prompts: the ones in force for a tenant, and changing them.

Invariant: a reader gets a whole prompt, whatever the tenant has done; no change overwrites another that its author did
not see.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from thresher.agent.prompts import queries
from thresher.agent.prompts.queries import PromptVersion
from thresher.agent.prompts.records import SHIPPED, AgentPrompt, checked_text, fill_prompt
from thresher.core import Caller, Conflict, NotAllowed, NotFound, event
from thresher.store import Database

_logger = logging.getLogger("thresher.agent")
MOST_LISTED: Final = 200
_TRIES: Final = 3
_SETTABLE: Final = (
    f"There are {', '.join(SHIPPED)}. Prompts of others are changed where they are written: of a pack in its SKILL.md, "
    "of a drop-in component in its module (thresher components list names it), of a server on that server."
)


class Prompts:
    """The prompts of all tenants. One per process.

    Args:
        database: The database of the tenants' own texts.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def shipped(self) -> Mapping[str, AgentPrompt]:
        """Every shipped prompt, by name; names, titles and variables are the same for every tenant."""
        return SHIPPED

    async def all(self, caller: Caller) -> Mapping[str, AgentPrompt]:
        """Return every prompt in force, by name; one statement."""
        return self.merged(await queries.in_force(self._database, caller))

    def merged(self, versions: Iterable[PromptVersion]) -> Mapping[str, AgentPrompt]:
        """Return every prompt by name: these versions, else the shipped ones."""
        changed = {one.name: _prompt(SHIPPED[one.name], one) for one in versions if one.name in SHIPPED}
        return {**SHIPPED, **changed}

    async def list(self, caller: Caller) -> tuple[AgentPrompt, ...]:
        """Return every prompt in force."""
        return tuple((await self.all(caller)).values())

    async def get(self, caller: Caller, name: str, version: int | None = None) -> AgentPrompt:
        """Return one prompt.

        Args:
            caller: Any caller of the tenant.
            name: Of the prompt.
            version: A present or former version; 0 is the shipped one. By default the newest.

        Raises:
            NotFound: There is no such prompt, or no such version of it.
        """
        shipped = _shipped(name)
        if version is None:
            return _prompt(shipped, next(iter(await queries.newest(self._database, caller, name, 1)), None))
        if version == 0:
            return shipped
        if (found := await queries.find_version(self._database, caller, name, version)) is None:
            raise NotFound(f"The prompt '{name}' has no version {version}.", hint="Its list of versions shows them.")
        return _prompt(shipped, found)

    async def put(self, caller: Caller, name: str, text: str, *, expected: int | None = None) -> AgentPrompt:
        """Replace a prompt's text for the tenant, from the next message on; the same text changes nothing.

        Args:
            caller: A caller of the tenant without a user.
            name: Of the prompt.
            text: The whole text, with each of its variables.
            expected: The version that the text was based on; by default any.

        Raises:
            NotFound: There is no such prompt.
            InvalidInput: The text is empty, too long, or has other variables.
            NotAllowed: The caller is a user.
            Conflict: Another version is in force by now.
        """
        return await self._change(caller, name, checked_text(_shipped(name), text), expected)

    async def reset(self, caller: Caller, name: str) -> AgentPrompt:
        """Restore the shipped text, also that of later releases; the tenant's own stays as a version.

        Raises:
            NotFound: There is no such prompt.
            NotAllowed: The caller is a user.
            Conflict: Others keep changing it at the same time.
        """
        _shipped(name)
        return await self._change(caller, name, None, None)

    async def versions(self, caller: Caller, name: str) -> tuple[AgentPrompt, ...]:
        """Return the versions of a prompt, newest first, at most 200, and the shipped one as the last.

        Raises:
            NotFound: There is no such prompt.
        """
        shipped = _shipped(name)
        found = await queries.newest(self._database, caller, name, MOST_LISTED)
        return (*(_prompt(shipped, one) for one in found), shipped)

    async def diff(self, caller: Caller, name: str, old: int = 0, new: int | None = None) -> str:
        """Return the difference between two versions, as a unified diff; empty if they are equal.

        Args:
            caller: Any caller of the tenant.
            name: Of the prompt.
            old: A version; by default the shipped text.
            new: A version; by default the text in force.

        Raises:
            NotFound: There is no such prompt, or no such version of it.
        """
        before, after = await self.get(caller, name, old), await self.get(caller, name, new)
        lines = difflib.unified_diff(
            before.text.split("\n"), after.text.split("\n"), _label(before), _label(after), lineterm=""
        )
        return "".join(f"{line}\n" for line in lines)

    async def fill(self, caller: Caller, name: str, /, **values: str) -> str:
        """Return one prompt in force, its variables filled between borders.

        Args:
            caller: Any caller of the tenant.
            name: Of the prompt.
            values: By the names of its variables, in any case.

        Raises:
            NotFound: There is no such prompt.
            InvalidInput: A value is missing, or unknown to the prompt.
        """
        return fill_prompt(await self.get(caller, name), values)

    async def _change(self, caller: Caller, name: str, text: str | None, expected: int | None) -> AgentPrompt:
        """Write the next version, unless this text, or for None the shipped one, is in force."""
        if caller.user is not None:
            raise NotAllowed(
                f"The prompt '{name}' is the whole tenant's.", hint="Only a caller without a user may change it."
            )
        for _ in range(_TRIES):
            now = await self.get(caller, name)
            if now.shipped if text is None else now.text == text:
                return now
            if expected not in (None, now.version):
                raise _overtaken(now)
            if (added := await queries.add_version(self._database, caller, name, now.version + 1, text)) is not None:
                event(_logger, "prompt changed", tenant=caller.tenant.id, prompt=name, version=added.version)
                return _prompt(SHIPPED[name], added)
        raise _overtaken(await self.get(caller, name))


def _shipped(name: str) -> AgentPrompt:
    if (found := SHIPPED.get(name)) is None:
        raise NotFound(f"There is no prompt '{name[:80]}' that can be set here.", hint=_SETTABLE)
    return found


def _overtaken(now: AgentPrompt) -> Conflict:
    return Conflict(
        f"Version {now.version} of the prompt '{now.name}' is in force by now.", hint="Read it, and write again."
    )


def _prompt(shipped: AgentPrompt, version: PromptVersion | None) -> AgentPrompt:
    """Return a prompt with a tenant's change."""
    if version is None:
        return shipped
    return replace(
        shipped,
        text=shipped.text if version.text is None else version.text,
        version=version.version,
        shipped=version.text is None,
        author=version.author or "",
        created_at=version.created_at,
    )


def _label(prompt: AgentPrompt) -> str:
    return f"{prompt.name} ({'shipped' if prompt.version == 0 else f'version {prompt.version}'})"
