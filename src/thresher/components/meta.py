"""How a conversation is passed to the process of components: in the `_meta` of a call.

Invariant: only Thresher writes it. Nothing in the `_meta` of a client's request is passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast
from uuid import UUID

from thresher.core import JSON, Talk, plain

THREAD_META: Final = "thresher/thread"
"""The entry in the `_meta` of a call for its conversation."""


def meta_of(talk: Talk) -> JSON:
    """Return the `_meta` of a call in a conversation; empty outside of one."""
    if talk == Talk():
        return {}
    about = {"id": talk.id and str(talk.id), "title": talk.title, "model": talk.model_name}
    return {THREAD_META: {**about, "settings": plain(talk.settings)}}


def talk_of(meta: Mapping[str, Any] | None) -> Talk:
    """Return the conversation of a call by its `_meta`; its model cannot be asked from here."""
    entry = (meta or {}).get(THREAD_META)
    if not isinstance(entry, Mapping):
        return Talk()
    about = cast("Mapping[str, Any]", entry)
    return Talk(UUID(about["id"]) if about["id"] else None, about["title"], about["settings"], about["model"])
