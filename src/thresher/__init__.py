"""Thresher: one MCP endpoint that picks, for each message, only what the model needs.

This module stays empty of imports: the stdio bridge must start in the time that Python itself takes.

Uses: nothing.
"""

__version__ = "0.1.0"
