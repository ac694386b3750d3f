"""The scanner: reads a tool's definition as a model would, and names what is meant to mislead it.

Invariant: pure functions of the definition and of the names beside it: no model, no network, no clock.
"""

from thresher.knowledge.tools.scanner.records import ALONE, Finding, Kind, Peer, Peers, Severity
from thresher.knowledge.tools.scanner.scan import scan, scan_text, visible

__all__ = ["ALONE", "Finding", "Kind", "Peer", "Peers", "Severity", "scan", "scan_text", "visible"]
