"""Embeds the lines that the built-in packs and the assistant are trained on, and writes the file that ships with them.

Run by `make vectors` after any of these lines has changed; a test says when that is.
"""

from __future__ import annotations

import asyncio
import hashlib

from thresher.agent import training_lines
from thresher.core import Settings
from thresher.embedding import open_encoder, write_shipped
from thresher.knowledge.intents import BACKGROUND, lines_of, negatives_of, read_pack
from thresher.packs import BUILT_IN


def shipped_lines() -> tuple[str, ...]:
    """Every line whose vector ships, each once."""
    packs = [read_pack(path.parent, "built-in")[0] for path in sorted(BUILT_IN.glob("*/SKILL.md"))]
    taught = [line for pack in packs for line in (*lines_of(pack), *negatives_of(pack))]
    asked = [line for lines in training_lines().values() for line in lines]
    return tuple(dict.fromkeys([*taught, *BACKGROUND, *asked]))


async def _write() -> None:
    encoder = open_encoder(Settings())
    model = await encoder.warm()
    texts = [model.query_prefix + line for line in shipped_lines()]
    vectors = await encoder.embed_documents(texts)
    hashes = [hashlib.sha256(text.encode()).digest() for text in texts]
    write_shipped(model.id, dict(zip(hashes, vectors, strict=True)))
    await encoder.close()


if __name__ == "__main__":
    asyncio.run(_write())
