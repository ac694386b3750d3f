"""What a rule finds, before its place in the text is looked up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hit:
    """A finding without its line.

    Attributes:
        rule: Id.
        pointer: Where.
        message: What is wrong.
        evidence: What was seen.
        operation: Key of the operation, where the pointer does not tell it.
    """

    rule: str
    pointer: str
    message: str
    evidence: str = ""
    operation: str = ""


def clipped(value: object, length: int = 160) -> str:
    """A value as evidence: one line, cut."""
    text = " ".join((value if isinstance(value, str) else repr(value))[: length * 4].split())
    return text if len(text) <= length else text[: length - 1] + "…"
