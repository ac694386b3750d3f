from __future__ import annotations

import asyncio

import numpy as np
import pytest

from thresher.core import EncoderError, load_settings
from thresher.embedding import open_cross_encoder


async def test_the_fitting_text_scores_highest_whatever_the_other_texts() -> None:
    """Each text's score is its own."""
    encoder = open_cross_encoder(load_settings())
    texts = ["Delete a file from disk.", "Get the weather forecast for a city.", "Send a mail."]

    together = await encoder.rerank("will it rain in Paris tomorrow", texts)
    alone = await asyncio.gather(*(encoder.rerank("will it rain in Paris tomorrow", [text]) for text in texts))
    await encoder.close()

    assert int(together.argmax()) == 1
    assert np.array_equal(together, np.concatenate(alone))


async def test_a_long_text_is_read_partly_and_a_query_completely() -> None:
    """So that one long passage does not delay the others."""
    encoder = open_cross_encoder(load_settings())
    start = "It will rain in Paris tomorrow. " * 40
    query = "tell me about the weather of the city in the days to come " * 8

    scores = await encoder.rerank(query, [start, start + "Send a mail."])
    asked = await encoder.rerank(query + "and send a mail", [start])
    await encoder.close()

    assert scores[0] == scores[1]
    assert asked[0] != scores[0]


async def test_a_closed_cross_encoder_raises_an_error() -> None:
    """Before that, no texts give no scores."""
    encoder = open_cross_encoder(load_settings())
    assert (await encoder.rerank("query", [])).shape == (0,)
    await encoder.close()

    with pytest.raises(EncoderError, match="closed"):
        await encoder.rerank("query", ["text"])
