"""Resolves a branch, a tag or the beginning of a commit's id to a commit.

Invariant: pure; the error for an unknown name offers the nearest names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from thresher.core import NotFound, did_you_mean, nearest

HEADS: Final = "refs/heads/"
TAGS: Final = "refs/tags/"
_REMOTES: Final = "refs/remotes/origin/"
_NAMESPACES: Final = ("", "refs/", HEADS, TAGS, _REMOTES)
"""Where a name is looked for, in this order; a branch before a tag, like `git clone --branch`."""
_COMMIT: Final = re.compile(r"[0-9a-f]{7,40}|[0-9a-f]{64}")
_WHOLE: Final = (40, 64)
_USUAL: Final = ("main", "master", "trunk", "develop")


def is_commit(ref: str) -> bool:
    """Whether a name may be a commit id, or the beginning of one."""
    return _COMMIT.fullmatch(ref) is not None


def is_whole(ref: str) -> bool:
    """Whether a name is a complete id."""
    return is_commit(ref) and len(ref) in _WHOLE


def ref_target(ref: str, refs: Mapping[str, str]) -> str | None:
    """The id of a commit or tag that a name stands for; None if `refs` does not tell.

    Args:
        ref: Branch, tag, full name or id; empty for the default branch.
        refs: Full names to ids, with `HEAD` if it leads to one.
    """
    if not ref:
        return refs.get("HEAD") or _only_branch(refs)
    for namespace in _NAMESPACES:
        if (found := refs.get(namespace + ref)) is not None:
            return found
    if is_whole(ref):
        return ref
    if is_commit(ref):
        tips = {tip for tip in refs.values() if tip.startswith(ref)}
        return tips.pop() if len(tips) == 1 else None
    return None


def unknown_ref(ref: str, refs: Mapping[str, str], location: str) -> NotFound:
    """The error for a name that cannot be resolved."""
    names = [
        name.removeprefix(namespace)
        for name in refs
        for namespace in (HEADS, TAGS, _REMOTES)
        if name.startswith(namespace)
    ]
    if not ref:
        shown = ", ".join(sorted(names)[:5])
        return NotFound(
            f"{location} has no default branch.",
            hint=f"Name a branch with --ref: {shown}." if shown else "It is empty.",
        )
    close = did_you_mean(nearest(ref, set(names)))
    return NotFound(
        f"{location} has no branch, tag or commit {ref!r}.",
        hint=close or f"It has {len(set(names)):,} branches and tags.",
    )


def _only_branch(refs: Mapping[str, str]) -> str | None:
    """The substitute for a missing default branch: the only branch, or one with a usual name."""
    branches = {name.removeprefix(HEADS): tip for name, tip in refs.items() if name.startswith(HEADS)}
    if len(branches) == 1:
        return next(iter(branches.values()))
    return next((branches[name] for name in _USUAL if name in branches), None)
