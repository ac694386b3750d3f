"""Whether a listed definition may be used at once, or waits for approval.

Invariant: pure. A definition in use was either listed with the server for the first time, without a dangerous finding,
or accepted in exactly this form by a person or by the policy that a person has set.
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
is gone from its server is remembered, so that another one cannot take over its trusted name."""

WAITING: Final = (CHANGED, POISONED, REJECTED)
"""The tools that can still be approved."""

AutoApproveSetting: TypeAlias = Literal["none", "clean", "all"]
"""The setting for all servers."""

AutoApprove: TypeAlias = Literal["none", "clean", "trusted", "all"]
"""Which changes are accepted without approval: none, those without findings, those of a trusted server without a
dangerous finding, or all, dangerous new tools included."""


@dataclass(frozen=True, slots=True)
class ToolStanding:
    """What is stored of a tool, as far as the decision needs it.

    Attributes:
        definition_hash: The hash of the stored definition.
        approved_hash: The hash of the approved definition, if any.
        held: Why it waits; empty if it does not.
        pending_hash: The hash of the pending definition, if any.
    """

    definition_hash: bytes
    approved_hash: bytes | None = None
    held: str = FREE
    pending_hash: bytes | None = None

    @property
    def trusted(self) -> bool:
        """Whether the stored definition was ever in use; one that was held from the start was not."""
        return self.pending_hash != self.definition_hash or self.approved_hash == self.definition_hash


@dataclass(frozen=True, slots=True)
class TrustVerdict:
    """The decision on a listed definition.

    Attributes:
        held: Why it waits; empty if it may be used.
        stored: Whether it replaces the stored definition; otherwise it is kept next to it as pending.
    """

    held: str
    stored: bool


def policy_of(setting: AutoApproveSetting, *, trusted_server: bool) -> AutoApprove:
    """Return the policy for one server: the setting's, or that of a server whose changes are trusted."""
    return "trusted" if trusted_server and setting != "all" else setting


def judge(
    standing: ToolStanding | None, digest: bytes, findings: Sequence[Finding], policy: AutoApprove
) -> TrustVerdict:
    """Decide about one listed definition.

    Args:
        standing: What is stored of the tool; None for a new one.
        digest: The definition's hash.
        findings: The scanner's findings.
        policy: What is accepted without approval.
    """
    held = _held(standing, digest, findings, policy)
    return TrustVerdict(held, stored=not held or standing is None or not standing.trusted)


def _held(standing: ToolStanding | None, digest: bytes, findings: Sequence[Finding], policy: AutoApprove) -> str:
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
