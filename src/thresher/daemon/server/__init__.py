"""The daemon itself: its life, its local socket, its HTTP door, the verbs of its control protocol.

Invariant: only `python -m thresher` and `thresher serve` come in here; every client stays on the light half. This door
imports no more than the start of the database needs; everything else follows while the database starts.

Uses: agent, app, audit, core, evaluation, jobs, knowledge, llm, packs, peers, services, sqlguard, store, upstream.
"""

from thresher.daemon.server.runtime import Ready, run_started, serve_foreground

__all__ = ["Ready", "run_started", "serve_foreground"]
