"""Takes files of other formats apart, in a process of its own where the file could do harm.

Each module here makes Markdown (or, of PDF, text with headings) of octets: `convert(octets) -> Converted`. This folder
is run as a program, and imports nothing of ours but `thresher.confinement`: the rest would cost it a second at every
file.

Invariant: a conversion is bounded in time, memory and what it gives back; whoever asked for it goes on.
"""

from __future__ import annotations
