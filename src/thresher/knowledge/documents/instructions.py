"""Instructions for models: files of our own, with other people's text set apart from them as data.

Invariant: pure but for reading those files once; the border that sets a text apart stands nowhere in that text, so that
no document can end its own block and go on as if it were us.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final

_CHARACTERS: Final = 8


@cache
def template(name: str) -> str:
    """One of our instructions, places to fill in double braces."""
    return files("thresher.knowledge.documents").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def filled(name: str, **values: object) -> str:
    """An instruction with its places filled."""
    text = template(name)
    for place, value in values.items():
        text = text.replace(f"{{{{{place}}}}}", str(value))
    return text.strip()


def border_of(texts: Iterable[str]) -> str:
    """A border that none of the texts holds, such as `=4f09ac12=`; equal texts give the same one."""
    whole = "\n".join(texts).casefold()
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()
    marks = (digest[start : start + _CHARACTERS] for start in range(len(digest) - _CHARACTERS))
    return f"={next((mark for mark in marks if mark not in whole), digest)}="
