"""Instructions for models: files of our own, whose places are filled.

Invariant: pure but for reading those files once.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


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
