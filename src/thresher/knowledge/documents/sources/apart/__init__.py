"""Reads a git repository of this machine in a process of its own.

These modules import nothing of ours: this folder is run as a program, and the rest would cost it a second. `places`
and `packs` also serve the process that starts it.

Invariant: whatever a repository holds, the reader is bounded in time and memory, and can be killed.
"""

from __future__ import annotations
