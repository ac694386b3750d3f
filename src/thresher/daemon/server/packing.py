"""Verbs that show packs, and take the owner's decision about those of projects.

Invariant: a decision names exactly the content that was shown, by its digest; nobody with a key takes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from thresher.app import App
from thresher.core import Caller, Conflict, NotAllowed, NotFound, did_you_mean, nearest, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.knowledge.intents import Inert, Pack, Packs

_SUMMARY = ("name", "description", "form", "origin", "digest", "license", "compatibility", "globs", "always")


def pack_verbs(app: App, caller: Caller, *, is_owner: bool) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work, and in which project.
        is_owner: Whether that is the owner of the data folder, and not the holder of a key.
    """
    verbs = _Packs(app, caller, is_owner)
    return {verb.__name__: verb for verb in (verbs.list_packs, verbs.show_pack, verbs.trust_pack, verbs.untrust_pack)}


class _Packs:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller, is_owner: bool) -> None:
        self._intents = app.services.intents
        self._caller = caller
        self._is_owner = is_owner

    async def list_packs(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        packs = await self._intents.reload(self._caller)
        return {
            "project": self._caller.project,
            "active": [summary(pack) for pack in packs.active],
            "inert": [summary(held.pack) | _standing(held) for held in packs.inert],
            "problems": plain(packs.problems),
            "reading": self._intents.is_reading(self._caller),
        }

    async def show_pack(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """One pack in full; one that is not in use with the reason, under its name or its path.

        `waiting`: of packs of one name the one that can be trusted is meant, not the one in use.
        """
        packs = await self._intents.reload(self._caller)
        pack, held = named_pack(packs, str(arguments["name"]), waiting=arguments.get("waiting") is True)
        return _in_full(pack) | ({"reason": "", "hint": ""} if held is None else _standing(held))

    async def trust_pack(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        self._owner_only()
        pack = await self._intents.trust(self._caller, str(arguments["name"]), str(arguments["digest"]))
        return summary(pack)

    async def untrust_pack(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        self._owner_only()
        await self._intents.untrust(self._caller, str(arguments["name"]))
        return {"name": str(arguments["name"])}

    def _owner_only(self) -> None:
        if not self._is_owner:
            raise NotAllowed(
                "Packs are approved by the owner of the data folder, by nobody with a key.", hint="Unset THRESHER_KEY."
            )


def named_pack(packs: Packs, name: str, *, waiting: bool = False) -> tuple[Pack, Inert | None]:
    """The pack under a name or path; of those not in use with the reason.

    Args:
        packs: All of the caller's.
        name: Name or path.
        waiting: Prefer one that waits for approval to the one in use.

    Raises:
        NotFound: There is none.
        Conflict: Several that are not in use have the name, and none that is in use is meant.
    """
    used = [pack for pack in packs.active if name in (pack.name, str(pack.path))]
    left = [held for held in packs.inert if name in (held.pack.name, str(held.pack.path))]
    asking = [held for held in left if held.reason != "shadowed"]
    if used and not (waiting and asking):
        return used[0], None
    left = asking if waiting else left
    if len(left) > 1:
        paths = ", ".join(str(held.pack.path) for held in left)
        raise Conflict(f"'{name}' stands for {len(left)} packs.", hint=f"Name one by its path: {paths}.")
    if not left:
        near = did_you_mean(nearest(name, _names(packs)))
        raise NotFound(f"There is no pack '{name}'.", hint=near or "`thresher packs list` shows them all.")
    return left[0].pack, left[0]


def _names(packs: Packs) -> Iterable[str]:
    return [pack.name for pack in packs.active] + [held.pack.name for held in packs.inert]


def _standing(held: Inert) -> dict[str, Any]:
    return {"reason": held.reason, "hint": held.hint}


def summary(pack: Pack) -> dict[str, Any]:
    """A pack without its texts: what it is, what it holds, what the scanner says of it."""
    counts = {name: len(getattr(pack, name)) for name in ("examples", "not_examples", "evals")}
    known = {name: plain(getattr(pack, name)) for name in _SUMMARY}
    return known | counts | {"path": str(pack.path), "code": pack.code is not None, "findings": plain(pack.findings)}


def _in_full(pack: Pack) -> dict[str, Any]:
    whole = cast("dict[str, Any]", plain(pack))
    return whole | {"path": str(pack.path), "code": pack.code is not None}
