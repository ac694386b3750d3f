from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.embedding.tiny import write_model
from thresher.core import EncoderError, load_settings
from thresher.embedding import MODELS, open_encoder
from thresher.embedding.cache import QueryCache
from thresher.embedding.local import LocalEncoder
from thresher.embedding.registry import locate

Open = Callable[..., LocalEncoder]


async def test_a_packaged_model_is_known_before_it_is_read(open_local: Open) -> None:
    """The start of a process does not wait for weights."""
    encoder = open_local()

    assert encoder.model.dimension == 384
    assert encoder.model.id.startswith("thresher-small-en-1@")
    assert await encoder.warm() == encoder.model


async def test_a_folder_with_other_weights_has_another_id(open_local: Open, tmp_path: Path) -> None:
    """Vectors of two models never mix in a cache."""
    first = open_local(write_model(tmp_path / "a", dimension=8))
    second = open_local(write_model(tmp_path / "b", dimension=4))

    assert first.model.dimension == 8
    assert len({first.model.id, second.model.id, open_local().model.id}) == 3


async def test_the_same_weights_in_a_folder_keep_their_id(open_local: Open) -> None:
    """The packaged files, given by path: nothing has to be embedded again."""
    files = locate("thresher-small-en-1")

    assert open_local(files.model.parent).model == open_local().model


async def test_the_prefix_is_used_only_on_request(open_local: Open) -> None:
    """It costs ten tokens and lowers recall on tools."""
    encoder = open_local(model="bge-small-en-v1.5")
    prefix = MODELS["bge-small-en-v1.5"].query_prefix

    plain, prefixed = await encoder.embed_queries(["files"]), await encoder.embed_queries(["files"], prefixed=True)

    assert not np.array_equal(plain, prefixed)
    assert np.array_equal(prefixed, await encoder.embed_queries([prefix + "files"]))


async def test_a_cached_query_is_not_embedded_again(tiny_folder: Path) -> None:
    """The cached vector is the result."""
    cache = QueryCache(10, 300)
    remembered = np.eye(1, 16, dtype=np.float32)
    cache.put("one", remembered[0])
    encoder = LocalEncoder("tiny", lambda: locate("tiny", tiny_folder), threads=1, cache=cache)

    rows = await encoder.embed_queries(["two", "one"])
    await encoder.close()

    assert np.array_equal(rows[1:], remembered)
    assert len(cache) == 2


@pytest.mark.parametrize("name", ["no-such-model", "all-MiniLM-L6-v2"])
async def test_a_model_that_cannot_load_raises_an_error_at_each_use(open_local: Open, name: str) -> None:
    """Opening it is not an error: search continues without vectors."""
    encoder = open_local(model=name)

    for _ in range(2):
        with pytest.raises(EncoderError) as caught:
            await encoder.embed_queries(["x"])
        assert "THRESHER_MODEL_DIR" in caught.value.hint
    with pytest.raises(EncoderError):
        await encoder.embed_documents(["x"] * 20)
    with pytest.raises(EncoderError):
        _ = encoder.model


async def test_closing_ends_pending_queries(open_local: Open) -> None:
    """Each caller gets a result or an error, and none waits indefinitely."""
    encoder = open_local()
    await encoder.warm()
    work = [asyncio.create_task(encoder.embed_queries([f"{n} words " * 200])) for n in range(40)]
    await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)

    await encoder.close()

    outcomes = await asyncio.gather(*work, return_exceptions=True)
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert failures
    assert all(isinstance(failure, EncoderError) for failure in failures)


async def test_the_event_loop_runs_on_while_the_model_loads() -> None:
    """Loading takes a fifth of a second in a thread."""
    encoder = open_encoder(load_settings())
    ticks = 0
    loading = asyncio.create_task(encoder.warm())
    while not loading.done():
        await asyncio.sleep(0.001)
        ticks += 1
    await encoder.close()

    assert ticks > 5
