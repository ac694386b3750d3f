"""Makes text and blocks of the bytes of a file, whatever its format.

Invariant: a file gives a record or `UnreadableDocument`, and its content cannot harm this process.
"""

from thresher.knowledge.documents.reading.blocks import UnreadableDocument
from thresher.knowledge.documents.reading.formats import parse

__all__ = ["UnreadableDocument", "parse"]
