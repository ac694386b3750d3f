"""How a conversation is told to the process of components: in the `_meta` of a call.

Invariant: only Thresher writes it there. Nothing that a client has put into the `_meta` of its request is passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast
from uuid import UUID

from thresher.core import JSON, Talk, plain

THREAD_META: Final = "thresher/thread"
"""In the `_meta` of a call: the conversation that it is part of."""


def told(talk: Talk) -> JSON:
    """The `_meta` of a call in a conversation; nothing outside of one."""
    if talk == Talk():
        return {}
    about = {"id": talk.id and str(talk.id), "title": talk.title, "model": talk.model_name}
    return {THREAD_META: {**about, "settings": plain(talk.settings)}}


def heard(meta: Mapping[str, Any] | None) -> Talk:
    """The conversation that a call is part of, by its `_meta`; its model cannot be asked from here."""
    given = (meta or {}).get(THREAD_META)
    if not isinstance(given, Mapping):
        return Talk()
    about = cast("Mapping[str, Any]", given)
    return Talk(UUID(about["id"]) if about["id"] else None, about["title"], about["settings"], about["model"])
