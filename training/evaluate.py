"""How well an encoder ranks the tools of servers that it was not trained on, by its vectors alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from thresher.knowledge.tools.definitions import BRIEF_WEIGHT, FULL_WEIGHT, NAME_WEIGHT
from training.messages import Message
from training.train import Encoder

DEPTHS = (1, 5, 10)
_MESSAGE, _TEXT = 160, 200
_BATCH = 64


def embedded(encoder: Encoder, texts: Sequence[str], limit: int) -> NDArray[np.float32]:
    """Vectors of texts, float32 (n, width), shorter texts together."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    batches = [order[first : first + _BATCH] for first in range(0, len(order), _BATCH)]
    with torch.inference_mode():
        rows = [encoder([texts[place] for place in batch], limit).float().numpy() for batch in batches]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return np.concatenate(rows)[back]


def tool_vectors(encoder: Encoder, texts: Sequence[Sequence[str]]) -> NDArray[np.float32]:
    """The stored vector of each tool: the weighted sum of its three texts."""
    flat = embedded(encoder, [text for each in texts for text in each], _TEXT)
    shares = np.array([NAME_WEIGHT, BRIEF_WEIGHT, FULL_WEIGHT], np.float32)
    return np.einsum("k,nkd->nd", shares, flat.reshape(len(texts), 3, -1)).astype(np.float32)


def recalls(
    encoder: Encoder, messages: Sequence[Message], texts: Mapping[str, Sequence[str]], most: int = 600, seed: int = 0
) -> dict[str, float]:
    """The share of messages whose tool is among the first 1, 5 and 10 of all tools of these servers.

    Args:
        encoder: The encoder.
        messages: Messages for servers that it was not trained on; at most `most` are drawn.
        texts: The three texts of each tool of those servers, by key.
        most: Messages at most.
        seed: Of the draw.
    """
    asked = random.Random(seed).sample(list(messages), min(most, len(messages)))
    keys = list(texts)
    vectors = tool_vectors(encoder, [texts[key] for key in keys])
    scores = embedded(encoder, [message.text for message in asked], _MESSAGE) @ vectors.T
    right = np.array([keys.index(message.tool) for message in asked])
    places = (scores > scores[np.arange(len(asked)), right][:, None]).sum(axis=1)
    return {f"first_{depth}": round(float((places < depth).mean()), 4) for depth in DEPTHS}
