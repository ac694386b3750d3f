from __future__ import annotations

import asyncio

import numpy as np
import pytest

from thresher.core import EncoderError, load_settings
from thresher.embedding import open_cross_encoder


async def test_the_fitting_text_scores_highest_whatever_stands_beside_it() -> None:
    """And each text's score is its own."""
    encoder = open_cross_encoder(load_settings())
    texts = ["Delete a file from disk.", "Get the weather forecast for a city.", "Send a mail."]

    together = await encoder.rerank("will it rain in Paris tomorrow", texts)
    alone = await asyncio.gather(*(encoder.rerank("will it rain in Paris tomorrow", [text]) for text in texts))
    await encoder.close()

    assert int(together.argmax()) == 1
    assert np.array_equal(together, np.concatenate(alone))


async def test_a_closed_cross_encoder_says_so() -> None:
    """No texts give no scores before that."""
    encoder = open_cross_encoder(load_settings())
    assert (await encoder.rerank("query", [])).shape == (0,)
    await encoder.close()

    with pytest.raises(EncoderError, match="closed"):
        await encoder.rerank("query", ["text"])
