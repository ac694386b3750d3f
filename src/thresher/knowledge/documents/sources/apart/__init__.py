"""Reads a git repository of this machine in a process of its own.

This folder is run as a program, and imports nothing of ours but `thresher.confinement`: the rest would cost it a
second. `places` and `packs` also serve the process that starts it.

Invariant: whatever a repository holds, the reader is bounded in time and memory, and can be killed.
"""

from __future__ import annotations
