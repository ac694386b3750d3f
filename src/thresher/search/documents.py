"""What is stored for an entry: weighted terms, hashes, labels.

Invariant: pure; the same entry under the same profile gives the same document, and any difference that a search can see
changes its hash.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

from thresher.core import InvalidInput
from thresher.search.lexical.arguments import pack_arguments
from thresher.search.lexical.bm25 import KindProfile
from thresher.search.lexical.terms import STEMMING, terms
from thresher.search.records import Entry

FORMAT = 2
"""Raise it when terms or weights change, so that every item is written again at its next put."""
_FORBIDDEN = ("\0", "\x1f")


@dataclass(frozen=True, slots=True)
class VectorPart:
    """The source of one vector: a text, or several texts and their weights.

    Attributes:
        hash: SHA-256 of the text, or of texts and weights: its key in the embedding cache.
        texts: What the encoder reads.
        weights: One per text; empty for a single text.
    """

    hash: bytes
    texts: tuple[str, ...]
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """What is stored for an entry.

    Attributes:
        entry: Its source.
        hash: SHA-256 of everything that a search can see of it.
        frequencies: Term to frequency, weighted over the fields.
        length: The sum of the frequencies.
        parts: The sources of its vectors.
        slots: Its arguments, as `pack_arguments` encodes them.
    """

    entry: Entry
    hash: bytes
    frequencies: Mapping[str, float]
    length: float
    parts: tuple[VectorPart, ...]
    slots: str


def checked(entries: Iterable[Entry]) -> list[Entry]:
    """Validate entries and return one per id; of several with one id the last counts.

    Raises:
        InvalidInput: An entry has no text, weights that do not match its texts, or a label that cannot be stored.
    """
    distinct = list({entry.id: entry for entry in entries}.values())
    for entry in distinct:
        _check(entry)
    return distinct


def document_of(entry: Entry, profile: KindProfile) -> IndexDocument:
    """Return the document of one checked entry.

    Args:
        entry: What to index.
        profile: The profile of its kind.
    """
    frequencies: dict[str, float] = {}
    for name, text in entry.fields.items():
        weight = profile.field_weights.get(name, 1.0)
        for term in terms(text, entry.language):
            frequencies[term] = frequencies.get(term, 0.0) + weight
    frequencies = {term: frequency for term, frequency in frequencies.items() if frequency > 0}
    return IndexDocument(
        entry,
        _fingerprint(entry, profile.field_weights),
        frequencies,
        math.fsum(frequencies.values()),
        _parts(entry),
        pack_arguments(entry.slots, profile.background.usual_idf),
    )


def _parts(entry: Entry) -> tuple[VectorPart, ...]:
    if not entry.weights:
        return tuple(VectorPart(text_hash(text), (text,)) for text in entry.texts if text.strip())
    pairs = [pair for pair in zip(entry.texts, entry.weights, strict=True) if pair[0].strip()]
    texts, weights = tuple(text for text, _ in pairs), tuple(weight for _, weight in pairs)
    return (VectorPart(text_hash(json.dumps([texts, weights])), texts, weights),)


def text_hash(text: str) -> bytes:
    """SHA-256 of a text; lone surrogates, which UTF-8 cannot hold, count as question marks."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _check(entry: Entry) -> None:
    if not any(text.strip() for text in entry.texts):
        raise InvalidInput(f"Entry {entry.id} has no text to embed.", hint="Give it at least one text.")
    if entry.weights and len(entry.weights) != len(entry.texts):
        raise InvalidInput(
            f"Entry {entry.id} has {len(entry.texts)} texts and {len(entry.weights)} weights.",
            hint="Give one weight per text, or none.",
        )
    labels = [*entry.facets, entry.owner or ""]
    if any(mark in label for label in labels for mark in _FORBIDDEN):
        raise InvalidInput(
            f"Entry {entry.id} has a label with a control character.", hint="Remove it from the facet or owner."
        )


def _fingerprint(entry: Entry, weights: Mapping[str, float]) -> bytes:
    seen = [
        FORMAT,
        entry.texts,
        entry.weights,
        sorted(entry.fields.items()),
        sorted(weights.items()),
        sorted(entry.facets),
        entry.owner,
        [astuple(slot) for slot in entry.slots],
        *([entry.language, STEMMING] if entry.language else ()),  # what is English stays as it was written
    ]
    return hashlib.sha256(json.dumps(seen, ensure_ascii=True).encode()).digest()
