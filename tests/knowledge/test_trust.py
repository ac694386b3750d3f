"""The decision about one listed definition."""

from __future__ import annotations

import pytest

from thresher.knowledge.tools.trust import AutoApprove, ToolStanding, judge, policy_of
from thresher.scanner import Finding

OLD, NEW = b"old", b"new"
WARNING = (Finding("override", "warning", "/description", "", ""),)
DANGER = (Finding("instruction", "danger", "/description", "", ""),)


@pytest.mark.parametrize(
    ("standing", "digest", "findings", "policy", "held", "stored"),
    [
        (None, NEW, (), "none", "", True),
        (None, NEW, WARNING, "none", "", True),
        (None, NEW, DANGER, "none", "poisoned", True),
        (None, NEW, DANGER, "trusted", "poisoned", True),
        (None, NEW, DANGER, "all", "", True),
        (ToolStanding(OLD), OLD, (), "none", "", True),
        (ToolStanding(OLD), NEW, (), "none", "changed", False),
        (ToolStanding(OLD), NEW, (), "clean", "", True),
        (ToolStanding(OLD), NEW, WARNING, "clean", "changed", False),
        (ToolStanding(OLD), NEW, WARNING, "trusted", "", True),
        (ToolStanding(OLD), NEW, DANGER, "trusted", "poisoned", False),
        (ToolStanding(OLD), NEW, DANGER, "all", "", True),
        (ToolStanding(OLD, NEW), NEW, DANGER, "none", "", True),
        (ToolStanding(OLD, None, "changed", NEW), OLD, (), "none", "", True),
        (ToolStanding(OLD, None, "rejected", NEW), NEW, (), "all", "rejected", False),
        (ToolStanding(OLD, None, "rejected", NEW), OLD, (), "none", "", True),
        (ToolStanding(OLD, None, "rejected", NEW), b"third", (), "none", "changed", False),
        (ToolStanding(OLD, None, "poisoned", OLD), OLD, DANGER, "none", "poisoned", True),
        (ToolStanding(OLD, None, "poisoned", OLD), NEW, (), "none", "", True),
        (ToolStanding(OLD, None, "rejected", OLD), NEW, (), "none", "changed", True),
        (ToolStanding(OLD, None, "gone"), OLD, (), "none", "", True),
        (ToolStanding(OLD, None, "gone"), NEW, (), "none", "changed", False),
    ],
)
def test_each_definition_gets_its_verdict(
    standing: ToolStanding | None,
    digest: bytes,
    findings: tuple[Finding, ...],
    policy: AutoApprove,
    held: str,
    stored: bool,
) -> None:
    """Trusted at first use, held if changed or dangerous, free if a person or a policy says so."""
    verdict = judge(standing, digest, findings, policy)

    assert (verdict.held, verdict.stored) == (held, stored)


def test_what_was_never_in_use_is_replaced_and_never_trusted() -> None:
    """A poisoned new tool that changes stays untrusted, whatever its earlier form."""
    first = judge(None, OLD, DANGER, "none")
    second = judge(ToolStanding(OLD, None, first.held, OLD), NEW, DANGER, "none")

    assert second == judge(None, NEW, DANGER, "none")
    assert not ToolStanding(NEW, None, second.held, NEW).trusted


def test_a_trusted_server_is_trusted_beyond_the_setting_but_not_above_all() -> None:
    """The switch of one server widens `none` and `clean`."""
    policies = [policy_of(setting, trusted_server=True) for setting in ("none", "clean", "all")]

    assert policies == ["trusted", "trusted", "all"]
    assert policy_of("clean", trusted_server=False) == "clean"
