"""Makes text and blocks of the bytes of a file, whatever its format.

Invariant: a file gives a record or `UnreadableDocument`, and its content cannot harm this process.
"""

from thresher.knowledge.documents.models import Parsed
from thresher.knowledge.documents.reading.blocks import UnreadableDocument

__all__ = ["UnreadableDocument", "parse"]


def parse(path: str, data: bytes) -> Parsed:
    """Read a file.

    Args:
        path: Path inside its repository; its name determines the format.
        data: The bytes of the file.

    Raises:
        UnreadableDocument: It is empty, not text, damaged, or too large when unpacked.
    """
    from thresher.knowledge.documents.reading.formats import read_file  # noqa: PLC0415 - grammars take 0.1 s of a start

    return read_file(path, data)
