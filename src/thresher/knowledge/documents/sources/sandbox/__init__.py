"""A program that reads a local git repository in a process of its own.

This folder is run as a program, and imports none of our modules but `thresher.confinement`: the others would cost it a
second. `safe_folder` and `packs` are also used by the process that starts it.

Invariant: whatever a repository contains, the reader is limited in time and memory, and can be killed.
"""

from __future__ import annotations
