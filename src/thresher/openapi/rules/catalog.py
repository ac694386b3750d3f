"""The catalogue of rules; those shared with Spectral have its ids and severities.

Invariant: every finding belongs to a rule in `RULES`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias

from thresher.openapi.records import Dialect, Severity

Kind: TypeAlias = Literal["clarity", "examples", "structure", "errors", "security"]

ALL: Final[tuple[Dialect, ...]] = ("2.0", "3.0", "3.1", "3.2")


@dataclass(frozen=True, slots=True)
class LintRule:
    """One rule.

    Attributes:
        id: Spectral's id if the rule is shared.
        kind: Its subject.
        severity: Severity of its findings.
        asks: What it requires.
        why: What a violation costs a reader of the description.
        fix: What to do.
        dialects: Specification versions that it applies to.
        shared: Whether Spectral's rule set for OpenAPI has it, with the same locations.
        optional: Whether Spectral runs it only on request; our own rules always run.
    """

    id: str
    kind: Kind
    severity: Severity
    asks: str
    why: str
    fix: str
    dialects: tuple[Dialect, ...] = ALL
    shared: bool = False
    optional: bool = False


def _read(text: str) -> Mapping[str, LintRule]:
    """Return the rules of a TOML table."""
    return {name: _rule(name, fields) for name, fields in tomllib.loads(text).items()}


def _rule(name: str, fields: dict[str, Any]) -> LintRule:
    versions: tuple[Dialect, ...] = tuple(fields.pop("versions", ALL))
    return LintRule(id=name, dialects=versions, **fields)


RULES: Final = _read((files(__package__ or "") / "rules.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class RuleHit:
    """A finding whose line is not known yet.

    Attributes:
        rule: Id of the rule.
        pointer: Where.
        message: What is wrong.
        evidence: What was found.
        operation: Key of the operation, if it does not follow from the pointer.
    """

    rule: str
    pointer: str
    message: str
    evidence: str = ""
    operation: str = ""


def clipped(value: object, length: int = 160) -> str:
    """Return a value as evidence: one line, shortened."""
    text = " ".join((value if isinstance(value, str) else repr(value))[: length * 4].split())
    return text if len(text) <= length else text[: length - 1] + "…"
