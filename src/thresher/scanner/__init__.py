"""The scanner: reads definitions and rules as a model would, and names what is meant to mislead it.

Invariant: pure functions of the definition and of the names beside it: no model, no network, no clock.

Uses: core.
"""

from thresher.scanner.records import ALONE, Finding, Kind, Peer, Peers, Severity
from thresher.scanner.rules import scan_rules
from thresher.scanner.scan import scan, scan_text, visible

__all__ = ["ALONE", "Finding", "Kind", "Peer", "Peers", "Severity", "scan", "scan_rules", "scan_text", "visible"]
