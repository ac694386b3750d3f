"""The router: which intents a message asks for, from fitted arrays alone.

Invariant: pure; no model, no database, no clock.
"""
