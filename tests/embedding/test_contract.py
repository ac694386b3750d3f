"""What every encoder guarantees, local or remote."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from thresher.core import EncoderError
from thresher.embedding import Encoder

ODD = ["", " ", "a\0b", "日本語のテキスト", "한국어", "עברית", "👩‍👩‍👧‍👦🎉", "\ud800 lone", "é\u0301" * 40, "x" * 2000]


async def test_rows_are_unit_vectors_in_the_order_given(encoder: Encoder) -> None:
    """Shape, type, length and order, for queries and documents."""
    texts = ["find files", "send mail now", "a"]
    model = await encoder.warm()

    queries, documents = await encoder.embed_queries(texts), await encoder.embed_documents(texts[::-1])

    assert queries.shape == documents.shape == (3, model.dimension)
    assert queries.dtype == documents.dtype == np.float32
    assert np.allclose(np.linalg.norm(queries, axis=1), 1, atol=1e-5)
    assert np.array_equal(queries, documents[::-1])


async def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    """An empty list has a shape too."""
    model = await encoder.warm()

    assert (await encoder.embed_queries([])).shape == (0, model.dimension)
    assert (await encoder.embed_documents([])).shape == (0, model.dimension)


async def test_equal_texts_have_equal_vectors(encoder: Encoder) -> None:
    """Within a call and between calls."""
    rows = await encoder.embed_queries(["one", "two", "one"])

    assert np.array_equal(rows[0], rows[2])
    assert not np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[1:2], await encoder.embed_documents(["two"]))


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_any_string_has_a_finite_vector(encoder: Encoder, text: str) -> None:
    """Empty, other scripts, emoji, NUL, lone surrogates, one endless word."""
    rows = np.vstack([await encoder.embed_queries([text, "beside"]), await encoder.embed_documents([text])])

    assert np.isfinite(rows).all()
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


async def test_a_text_of_a_megabyte_is_embedded_by_its_beginning(encoder: Encoder) -> None:
    """Its end changes nothing."""
    long = "some words that repeat " * 45_000

    rows = await encoder.embed_queries([long, long + "and an end"])

    assert np.array_equal(rows[0], rows[1])


async def test_windows_of_a_short_text_are_the_text(encoder: Encoder) -> None:
    """Nothing is cut without need."""
    assert encoder.windows("short text") == ["short text"]
    assert encoder.windows("") == [""]


async def test_windows_of_a_long_text_keep_head_and_tail_and_count_the_rest(encoder: Encoder) -> None:
    """A pasted log of a megabyte."""
    text = "first words " + "middle " * 150_000 + "last words"

    windows = encoder.windows(text, most=4)

    assert len(windows) == 4
    assert windows[0].startswith("first words")
    assert windows[-1].endswith("words")
    assert windows.left_out > 900_000
    assert all(window in text for window in windows)


async def test_windows_may_be_smaller_than_the_encoder_allows(encoder: Encoder) -> None:
    """And then cover all of the text."""
    text = " ".join(f"word{number}" for number in range(40))

    windows = encoder.windows(text, tokens=30, most=100)

    assert windows.left_out == 0
    assert len(windows) > 1
    start = end = 0
    for window in windows:
        start = text.index(window, start)
        assert start <= end or text[end:start].isspace()
        end = start + len(window)
    assert end == len(text)


async def test_concurrent_first_calls_each_get_a_result(encoder: Encoder) -> None:
    """The model is loaded once, and every caller gets a result."""
    rows = await asyncio.gather(*(encoder.embed_queries([f"text {number}"]) for number in range(20)))
    again = await encoder.embed_queries([f"text {number}" for number in range(20)])

    assert np.array_equal(np.vstack(rows), again)


async def test_a_closed_encoder_raises_an_error(encoder: Encoder) -> None:
    """For every method; closing twice is harmless."""
    await encoder.close()
    await encoder.close()

    for call in (encoder.warm(), encoder.embed_queries(["x"]), encoder.embed_documents(["x"])):
        with pytest.raises(EncoderError, match="closed"):
            await call
