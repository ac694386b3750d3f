"""Instructions for models: files of this package with places to fill.

Invariant: pure, except that each file is read once.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def template(name: str) -> str:
    """The text of an instruction, with placeholders in double braces."""
    return files("thresher.knowledge.documents").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")


def fill_template(name: str, **values: object) -> str:
    """An instruction with its placeholders filled."""
    text = template(name)
    for place, value in values.items():
        text = text.replace(f"{{{{{place}}}}}", str(value))
    return text.strip()
