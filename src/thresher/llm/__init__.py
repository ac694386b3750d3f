"""Chat models over the OpenAI wire format, and none.

Invariant: nothing waits for a model for longer than its caller allows; without one, callers go on without.

Uses: nothing.
"""
