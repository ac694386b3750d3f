"""The router: which intents a message asks for, computed from fitted arrays only.

Invariant: pure; no model, no database, no clock.
"""
