"""A program that converts files of other formats, in a process of its own if the file could do harm.

Each module here converts bytes to Markdown (or, for PDF, to text with headings): `convert(octets)` returns a dictionary
with text, title and notes. This folder is run as a program, and imports none of our modules but
`thresher.confinement`: the others would cost it a second for every file.

Invariant: a conversion is limited in time, memory and output; a failure does not affect the process that started it.
"""

from __future__ import annotations
