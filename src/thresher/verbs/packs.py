"""Shows packs, and takes the owner's decisions about those of projects, for `verbs.context`.

Invariant: a decision names exactly the content that was shown, by its digest.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any, cast

from thresher.core import Conflict, NotFound, did_you_mean, nearest, plain
from thresher.knowledge.intents import (
    OWN_TOOLS,
    EditCheck,
    Inert,
    KnownTools,
    Pack,
    Packs,
    PackTexts,
    difference,
    lock_of,
    texts_of,
)
from thresher.verbs.request import Request

_SUMMARY = ("name", "description", "form", "origin", "digest", "license", "compatibility", "globs", "always")


async def list_packs(request: Request) -> dict[str, Any]:
    """See the verb."""
    intents, caller = request.services.intents, request.caller
    packs = await intents.reload(caller)
    return {
        "project": caller.project,
        "active": [summary(pack) for pack in packs.active],
        "inert": [summary(held.pack) | _reason(held) for held in packs.inert],
        "problems": plain(packs.problems),
        "reading": intents.is_reading(caller),
    }


async def show_pack(request: Request, name: str, *, waiting: bool) -> dict[str, Any]:
    """See the verb."""
    packs = await request.services.intents.reload(request.caller)
    pack, held = named_pack(packs, name, waiting=waiting)
    whole = cast("dict[str, Any]", plain(pack)) | {"path": str(pack.path), "code": pack.code is not None}
    changed = None
    if held is not None and held.reason in ("changed", "poisoned"):
        changed = await request.services.intents.changed_since_trusted(request.caller, pack)
    return whole | {"changed": changed} | ({"reason": "", "hint": ""} if held is None else _reason(held))


async def pack_texts(request: Request, name: str) -> dict[str, Any]:
    """See the verb."""
    request.check_owner()
    pack, _ = named_pack(await request.services.intents.reload(request.caller), name)
    texts = asdict(await asyncio.to_thread(texts_of, pack))
    locked = await asyncio.to_thread(lock_of, pack)
    return {"name": pack.name, "path": str(pack.path), "digest": pack.digest, "locked": locked, **texts}


async def lint_pack(request: Request, name: str) -> dict[str, Any]:
    """See the verb."""
    packs = await request.services.intents.packs(request.caller)
    pack, _ = named_pack(packs, name)
    problems = [problem for problem in packs.problems if problem.path == pack.path]
    known = await _known_tools(request)
    findings, unchecked = await request.services.intents.lint(request.caller, pack, problems, known)
    return {"name": pack.name, "findings": plain(findings), "not_checked": [unchecked] if unchecked else []}


async def check_pack_edit(request: Request, name: str, *texts: str) -> EditCheck:
    """See the verb."""
    request.check_owner()
    intents = request.services.intents
    pack, _ = named_pack(await intents.reload(request.caller), name)
    return await intents.check_edit(request.caller, pack, PackTexts(*texts), await _known_tools(request))


async def save_pack_edit(request: Request, name: str, digest: str, *texts: str) -> dict[str, Any]:
    """See the verb."""
    request.check_owner()
    intents, wanted = request.services.intents, PackTexts(*texts)
    pack, _ = named_pack(await intents.reload(request.caller), name)
    changed = await asyncio.to_thread(difference, pack, wanted)
    files = await intents.save_edit(request.caller, pack.path, wanted, digest, rehearsal=request.is_rehearsal)
    return {"path": str(pack.path), "files": list(files), "diff": changed}


async def _known_tools(request: Request) -> KnownTools:
    """The tools that exist, with those of the gateway, which are in no catalogue."""
    caller, tools = request.caller, request.services.tools
    listed = await tools.list_tools(caller)
    servers = await tools.list_servers(caller)
    return KnownTools(
        frozenset((*(tool.name for tool in listed), *OWN_TOOLS)), frozenset(server.name for server in servers)
    )


async def trust_pack(request: Request, name: str, digest: str) -> dict[str, Any]:
    """See the verb."""
    request.check_owner()
    return summary(await request.services.intents.trust(request.caller, name, digest))


def named_pack(packs: Packs, name: str, *, waiting: bool = False) -> tuple[Pack, Inert | None]:
    """The pack of a name or path; if it is not in use, also the reason.

    Args:
        packs: All packs of the caller.
        name: Its name or path.
        waiting: Whether to prefer one that waits for approval to the one in use.

    Raises:
        NotFound: There is no such pack.
        Conflict: Several packs that are not in use have the name, and the one in use is not meant.
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
        names = [pack.name for pack in packs.active] + [held.pack.name for held in packs.inert]
        near = did_you_mean(nearest(name, names))
        raise NotFound(f"There is no pack '{name}'.", hint=near or "`thresher packs list` shows them all.")
    return left[0].pack, left[0]


def _reason(held: Inert) -> dict[str, Any]:
    return {"reason": held.reason, "hint": held.hint}


def summary(pack: Pack) -> dict[str, Any]:
    """A pack without its texts: what it is, what it contains, and the scanner's findings."""
    counts = {name: len(getattr(pack, name)) for name in ("examples", "not_examples", "evals")}
    known = {name: plain(getattr(pack, name)) for name in _SUMMARY}
    return known | counts | {"path": str(pack.path), "code": pack.code is not None, "findings": plain(pack.findings)}
