"""The scanner: reads tool definitions and rules as a model would, and reports text meant to mislead it.

Invariant: pure functions of the definition and the names around it: no model, no network, no clock.

Uses: core.
"""

from thresher.scanner.records import ALONE, Finding, Kind, PeerTool, PeerTools, Severity
from thresher.scanner.rules import scan_rules
from thresher.scanner.scan import scan, scan_text, visible

__all__ = [
    "ALONE",
    "Finding",
    "Kind",
    "PeerTool",
    "PeerTools",
    "Severity",
    "scan",
    "scan_rules",
    "scan_text",
    "visible",
]
