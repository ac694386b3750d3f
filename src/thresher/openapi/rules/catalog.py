"""Every rule: what it asks for, why, and what to do; those that Spectral has too bear its ids and its severities.

Invariant: a finding without a rule in `RULES` cannot be made.
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
        id: Spectral's where the rule is shared.
        kind: What it is about.
        severity: Of its findings.
        asks: What it asks for.
        why: What it costs the reader of the description.
        fix: What to do.
        dialects: Versions that it looks at.
        shared: Whether Spectral's rules for OpenAPI have it, with the same places.
        optional: Whether Spectral must be asked for it; our own rules always run.
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
    """The rules of a table."""
    return {name: _rule(name, fields) for name, fields in tomllib.loads(text).items()}


def _rule(name: str, fields: dict[str, Any]) -> LintRule:
    versions: tuple[Dialect, ...] = tuple(fields.pop("versions", ALL))
    return LintRule(id=name, dialects=versions, **fields)


RULES: Final = _read((files(__package__ or "") / "rules.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class RuleHit:
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
