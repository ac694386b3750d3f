from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.embedding.tiny import write_model
from tests.fakes.embedding_server import EmbeddingServer
from thresher.core import load_settings
from thresher.embedding import Encoder, local, open_encoder
from thresher.embedding.local import LocalEncoder
from thresher.embedding.onnx import TextModel

KEY = "sk-very-secret-key"


@pytest.fixture(autouse=True)
def _each_encoder_reads_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests check how a model is read."""
    monkeypatch.setattr(local, "TextModel", TextModel)


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Path:
    """A folder with the tiny model, which reads 32 tokens."""
    return write_model(tmp_path / "tiny", {"max_tokens": 32, "pooling": "mean"})


@pytest.fixture
async def open_local() -> AsyncIterator[Callable[..., LocalEncoder]]:
    """Opens local encoders and closes them after the test."""
    opened: list[LocalEncoder] = []

    def opener(folder: Path | None = None, **settings: Any) -> LocalEncoder:
        encoder = open_encoder(load_settings(model_dir=folder, **settings))
        assert isinstance(encoder, LocalEncoder)
        opened.append(encoder)
        return encoder

    yield opener
    for encoder in opened:
        await encoder.close()


@pytest.fixture
def service() -> Iterator[EmbeddingServer]:
    """A running fake embedding service."""
    server = EmbeddingServer()
    yield server
    server.stop()


@pytest.fixture(params=["packaged", "folder", "service"])
async def encoder(
    request: pytest.FixtureRequest, tiny_folder: Path, service: EmbeddingServer
) -> AsyncIterator[Encoder]:
    """Each kind of encoder in turn."""
    places = {
        "packaged": {},
        "folder": {"model_dir": tiny_folder},
        "service": {"encoder_url": service.url, "encoder_key": SecretStr(KEY), "encoder_model": "fake"},
    }
    encoder = open_encoder(load_settings(**places[request.param]))
    yield encoder
    await encoder.close()
