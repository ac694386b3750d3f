"""The daemon itself: its life, its local socket, its HTTP door, the verbs of its control protocol.

Invariant: only `python -m thresher` and `thresher serve` come in here; every client stays on the light half.

Uses: app, core.
"""
