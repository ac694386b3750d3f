"""Vectors that are shipped with the product."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from scripts.ship_vectors import shipped_lines
from thresher.core import Settings
from thresher.embedding import open_encoder, shipped_vectors, write_shipped


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def test_written_vectors_are_read_only_for_the_same_model(tmp_path: Path) -> None:
    """Another model's vectors, unknown texts and a missing file give nothing."""
    file = tmp_path / "some.vectors"
    vector = np.array([0.6, 0.8], np.float32)
    write_shipped("small", {_digest("a"): vector, _digest("b"): -vector}, file)

    found = shipped_vectors("small", [_digest("b"), _digest("c")], file)

    assert list(found) == [_digest("b")]
    np.testing.assert_allclose(found[_digest("b")], -vector, atol=1e-3)
    assert shipped_vectors("large", [_digest("b")], file) == {}
    assert shipped_vectors("small", [_digest("b")], tmp_path / "none") == {}


async def test_every_built_in_line_ships_with_the_vector_that_the_encoder_gives() -> None:
    """After a change of these lines, `make vectors` writes them again."""
    encoder = open_encoder(Settings())
    model = await encoder.warm()
    texts = [model.query_prefix + line for line in shipped_lines()]

    shipped = shipped_vectors(model.id, [_digest(text) for text in texts])

    missing = [text for text in texts if _digest(text) not in shipped]
    assert not missing, f"{len(missing)} lines have no vector; run `make vectors`"
    some = texts[:: max(1, len(texts) // 12)]
    expected = await encoder.embed_documents(some)
    np.testing.assert_allclose(np.stack([shipped[_digest(text)] for text in some]), expected, atol=2e-3)
    await encoder.close()
