"""A prompt, as it is in force or once was."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of a prompt.

    Attributes:
        name: What it is asked for by.
        title: For people.
        description: When it is used.
        text: What a model reads, `{{NAME}}` where a variable is filled.
        version: 0 for what is shipped, where nobody has changed it yet.
        shipped: Whether the text is the shipped one: also of a version that went back to it.
        variables: Names that the text has, each at least once, and no others.
        author: `local`: the user of this machine; `key`: a caller with a key of the tenant; empty for version 0.
        created_at: When the version was written; None for version 0.
    """

    name: str
    title: str
    description: str
    text: str
    version: int = 0
    shipped: bool = True
    variables: tuple[str, ...] = ()
    author: str = ""
    created_at: dt.datetime | None = None
