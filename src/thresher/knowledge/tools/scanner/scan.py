"""Scans a definition."""

from __future__ import annotations

from thresher.core import Tool
from thresher.knowledge.tools.scanner.records import ALONE, Finding, Peers


def scan(tool: Tool, peers: Peers = ALONE) -> tuple[Finding, ...]:
    """All findings."""
    return ()


def scan_text(text: str) -> tuple[Finding, ...]:
    """All findings in one text."""
    return ()


def visible(text: str) -> str:
    """The text."""
    return text
