"""Text to vectors, exact token counts, and scores for pairs of texts.

Invariant: equal texts give equal vectors, whatever else is embedded with them; opening an encoder reads no weights.

Uses: core.
"""

from __future__ import annotations

from thresher.core import Settings
from thresher.embedding.cache import QueryCache, shipped_vectors, write_shipped
from thresher.embedding.lazy import Lazy
from thresher.embedding.local import LocalCrossEncoder, LocalEncoder
from thresher.embedding.onnx import PairModel
from thresher.embedding.openai import OpenAIEncoder
from thresher.embedding.protocol import CrossEncoder, Encoder, EncoderModel, Matrix, Scores, Windows
from thresher.embedding.registry import FORMER_MODEL, MODELS, is_installed, locate
from thresher.embedding.tokens import count_tokens, printable

__all__ = [
    "FORMER_MODEL",
    "MODELS",
    "CrossEncoder",
    "Encoder",
    "EncoderModel",
    "Matrix",
    "Scores",
    "Windows",
    "count_tokens",
    "is_installed",
    "open_cross_encoder",
    "open_encoder",
    "printable",
    "shipped_vectors",
    "write_shipped",
]


def open_encoder(settings: Settings) -> Encoder:
    """The encoder of the settings; nothing is read yet, and a missing model shows at its first use."""
    cache = QueryCache(settings.query_cache_size, settings.query_cache_seconds)
    if settings.encoder_url is not None:
        return OpenAIEncoder(
            settings.encoder_url,
            settings.encoder_model,
            key=settings.encoder_key,
            dimension=settings.encoder_dimension,
            cache=cache,
        )
    name, folder = settings.model, settings.model_dir
    return LocalEncoder(
        name, lambda: locate(name, folder), threads=settings.encoder_threads, cache=cache, known=folder is None
    )


def open_cross_encoder(settings: Settings) -> CrossEncoder:
    """The packaged English cross-encoder; loaded when a caller first reranks with it."""
    model = Lazy(lambda: PairModel(locate("reranker-en")))
    return LocalCrossEncoder(model, threads=settings.encoder_threads)
