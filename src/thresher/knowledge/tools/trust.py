"""Decides whether a listed definition may be used at once, or waits for a person.

Invariant: pure. What is in use was either there when the server was first listed, without a dangerous finding, or a
person - or the policy that a person has set - accepted exactly this definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from thresher.scanner import Finding

FREE: Final = ""
CHANGED: Final = "changed"
POISONED: Final = "poisoned"
REJECTED: Final = "rejected"
GONE: Final = "gone"
"""Why a tool is held: its definition changed, the scanner calls it dangerous, or a person has rejected it. A tool that
is gone from its server is remembered, so that it cannot come back as another one under a trusted name."""

WAITING: Final = (CHANGED, POISONED, REJECTED)
"""The tools that a person can still approve."""

AutoApproveSetting: TypeAlias = Literal["none", "clean", "all"]
"""What a person sets for all servers."""

AutoApprove: TypeAlias = Literal["none", "clean", "trusted", "all"]
"""Which changes are taken over without a person: none, those without any finding, those of a trusted server without a
dangerous one, or all, dangerous new tools included."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is stored of a tool, as far as the decision needs it.

    Attributes:
        definition_hash: Of the stored definition.
        approved_hash: Of the definition that a person has approved, if any.
        held: Why it waits; empty when it does not.
        pending_hash: Of the definition that waits, if any.
    """

    definition_hash: bytes
    approved_hash: bytes | None = None
    held: str = FREE
    pending_hash: bytes | None = None

    @property
    def trusted(self) -> bool:
        """Whether the stored definition was ever in use; one that was held from its first day was not."""
        return self.pending_hash != self.definition_hash or self.approved_hash == self.definition_hash


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a listed definition.

    Attributes:
        held: Why it waits; empty when it may be used.
        stored: Whether it takes the place of the stored definition; else it is kept beside it, as pending.
    """

    held: str
    stored: bool


def policy_of(setting: AutoApproveSetting, *, trusted_server: bool) -> AutoApprove:
    """The policy for one server: the setting's, or that of a server whose changes are trusted."""
    return "trusted" if trusted_server and setting != "all" else setting


def judge(standing: Standing | None, digest: bytes, findings: Sequence[Finding], policy: AutoApprove) -> Verdict:
    """Decide about one listed definition.

    Args:
        standing: What is stored of the tool; None for one that was never seen.
        digest: The definition's hash.
        findings: What the scanner says of it.
        policy: What is taken over without a person.
    """
    held = _held(standing, digest, findings, policy)
    return Verdict(held, stored=not held or standing is None or not standing.trusted)


def _held(standing: Standing | None, digest: bytes, findings: Sequence[Finding], policy: AutoApprove) -> str:
    if standing is not None and standing.approved_hash == digest:
        return FREE
    rejected = standing is not None and standing.held == REJECTED
    if standing is not None and rejected and standing.pending_hash == digest:
        return REJECTED
    if policy == "all":
        return FREE
    if any(finding.severity == "danger" for finding in findings):
        return POISONED
    if standing is None or (standing.trusted and standing.definition_hash == digest):
        return FREE
    if not standing.trusted:
        return CHANGED if rejected else FREE
    return FREE if policy == "trusted" or (policy == "clean" and not findings) else CHANGED
