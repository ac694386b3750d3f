"""Writes what of the understanding of API queries ships with the product: vectors of concepts, and a head for actions.

Run by `make vectors` after a change of `concepts.txt` or `requests.txt`; a test says when that is. The head is plain
multinomial logistic regression on the query vectors of the requests, fitted by gradient descent with momentum.
"""

from __future__ import annotations

import asyncio
from typing import Final

import numpy as np

from thresher.core import Settings
from thresher.embedding import open_encoder
from thresher.knowledge.apis import shipped
from thresher.knowledge.apis.cleaning import clean
from thresher.knowledge.apis.concepts import CONCEPTS
from thresher.knowledge.apis.verbs import NAMES
from thresher.search import Floats

RIDGE: Final = 0.001
"""Weight decay; 0.0003 to 0.003 are level on the development questions."""
_STEPS: Final = 4_000
_RATE: Final = 2.0
_MOMENTUM: Final = 0.9


def fitted_head(vectors: Floats, actions: list[int], count: int) -> Floats:
    """Weights and, in the last row, biases of a softmax over actions: float32 (dimension + 1, count)."""
    inputs = np.concatenate([vectors, np.ones((len(vectors), 1), np.float32)], axis=1).astype(np.float64)
    wanted = np.eye(count)[actions]
    weights, speed = np.zeros((inputs.shape[1], count)), np.zeros((inputs.shape[1], count))
    decay = np.full((inputs.shape[1], 1), 2 * RIDGE)
    decay[-1] = 0.0
    for _ in range(_STEPS):
        values = inputs @ weights
        powers = np.exp(values - values.max(axis=1, keepdims=True))
        gap = powers / powers.sum(axis=1, keepdims=True) - wanted
        speed = _MOMENTUM * speed - _RATE * (inputs.T @ gap / len(inputs) + decay * weights)
        weights += speed
    return weights.astype(np.float32)


async def ship() -> None:
    """Embed, fit and write."""
    encoder = open_encoder(Settings())
    model = await encoder.warm()
    lines, phrases = shipped.texts_of(CONCEPTS)
    requests = shipped.read_requests(shipped.REQUESTS.read_text(encoding="utf-8"))
    asked = await encoder.embed_queries([clean(text).text for _, text in requests], prefixed=True)
    head = fitted_head(asked, [NAMES.index(name) for name, _ in requests], len(NAMES))
    shipped.write(model.id, await encoder.embed_documents(lines), await encoder.embed_documents(phrases), head)
    await encoder.close()


if __name__ == "__main__":
    asyncio.run(ship())
