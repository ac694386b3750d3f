"""The model that training begins from: bge-small-en-v1.5 as the extra `bge` packs it, its int8 weights as floats.

Nothing else is fetched: what is tuned is what the product ran before. The files' SHA-256 is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, numpy_helper
from torch import Tensor
from transformers import BertConfig

from thresher.embedding.registry import FORMER_MODEL, locate, verify

_TABLES = ("word", "position", "token_type")
CONFIG = BertConfig(
    vocab_size=30522,
    hidden_size=384,
    num_hidden_layers=12,
    num_attention_heads=12,
    intermediate_size=1536,
    max_position_embeddings=512,
)
_FAR = 6
"""Nodes between a product and the addition of its bias, at most."""


def base_tokenizer() -> Path:
    """The tokenizer's file."""
    return locate(FORMER_MODEL).tokenizer


def base_weights() -> dict[str, Tensor]:
    """The weights by their names in `BertModel`, float32.

    Raises:
        EncoderError: The package is not installed, or its files are not the recorded ones.
    """
    files = locate(FORMER_MODEL)
    verify(files)
    graph = onnx.load(str(files.model))
    kept = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.graph.initializer}
    whole = {
        name: value for name, value in kept.items() if value.ndim == 1 and name.endswith((".bias", "LayerNorm.weight"))
    }
    tables = {name: _floats(kept, name) for name in (f"embeddings.{one}_embeddings.weight" for one in _TABLES)}
    products = {f"{name}.weight": _floats(kept, weight).T for name, weight in _products(graph)}
    return {name: torch.tensor(np.ascontiguousarray(value)) for name, value in (whole | tables | products).items()}


def _floats(kept: Mapping[str, NDArray[np.generic]], name: str) -> NDArray[np.float32]:
    zero = kept[f"{name}_zero_point"].astype(np.int16)
    return (kept[f"{name}_quantized"].astype(np.int16) - zero).astype(np.float32) * kept[f"{name}_scale"]


def _products(graph: ModelProto) -> Iterator[tuple[str, str]]:
    """The layer's name and the weight's name of each product; the bias that is added to it tells the layer."""
    users: dict[str, list[NodeProto]] = {}
    for node in graph.graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    for node in graph.graph.node:
        if node.op_type == "MatMulInteger":
            yield _layer(node, users), node.input[1].removesuffix("_quantized")


def _layer(node: NodeProto, users: Mapping[str, list[NodeProto]]) -> str:
    near = [node]
    for _ in range(_FAR):
        near = [user for one in near for name in one.output for user in users.get(name, ())]
        for user in near:
            bias = next((name for name in user.input if name.endswith(".bias")), None)
            if user.op_type == "Add" and bias is not None:
                return bias.removesuffix(".bias")
    raise ValueError(f"No bias is added to {node.name}.")
