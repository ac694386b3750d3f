"""Scans rules: text that is meant to instruct a model, and so may order what a tool's description may not.

Invariant: plain orders, shell commands and roles are no finding; what people cannot see, what overrides other orders
and what takes secrets away is.
"""

from __future__ import annotations

from dataclasses import replace

from thresher.scanner.records import Finding
from thresher.scanner.scan import scan_text


def scan_rules(text: str, *, where: str = "") -> tuple[Finding, ...]:
    """Look at one text of a rule book.

    Args:
        text: The text.
        where: What the findings are said to be in, such as `/rules`.
    """
    kept = ("hidden", "exfiltration", "override")
    return tuple(replace(finding, where=where) for finding in scan_text(text) if finding.kind in kept)
