"""What people write when they want none of a team's rules: the background that "whether any" is measured against.

Invariant: our own lines, read once, at import; they are embedded like any training line.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from thresher.knowledge.intents.router.records import read_lines

EVERYDAY: Final = read_lines(Path(__file__).with_name("everyday.txt").read_text(encoding="utf-8"))
"""Small talk, questions about the world, writing, and programming in general."""
