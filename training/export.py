"""Writes a tuned encoder as the folder that the product reads: a quantised ONNX graph, its tokenizer, its description.

The graph is written here, node by node: the product runs one text at a time, so nothing is masked; query, key and value
are one product; the last layer is computed for the first token alone, whose state is the vector. Weights have 8 bits,
with a scale for each column; the table of words, a third of the whole, has 4, with a scale for each 64 numbers.
Activations get their 8 bits when the graph runs.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from training.base import CONFIG, base_tokenizer
from training.train import Encoder

MAX_TOKENS = 512
WIDTH, HEADS, LAYERS = CONFIG.hidden_size, CONFIG.num_attention_heads, CONFIG.num_hidden_layers
_RUNTIME = "com.microsoft"
_OPSETS = {"": 18, _RUNTIME: 1}
_BLOCK = 64
_SHRUNK = np.linspace(1.0, 0.7, 13, dtype=np.float32)
"""A block's scale, as shares of that which holds its largest number: cutting that number may leave a smaller error."""

Array = NDArray[np.float32]


def quantise_columns(matrix: Array) -> tuple[NDArray[np.int8], Array]:
    """8 bits a number: the numbers, and a scale for each column."""
    scale = np.maximum(np.abs(matrix).max(0) / 127, 1e-9)
    return np.rint(matrix / scale).astype(np.int8), scale


def quantise_rows(table: Array) -> tuple[NDArray[np.uint8], Array]:
    """4 bits a number, of each scale of a block that with the least squared error.

    Returns:
        Two numbers a byte, the first in its lower half, 8 standing for zero, (rows, width / 2); and the scales, (rows,
        width / 64).
    """
    blocks = table.reshape(len(table), -1, _BLOCK)
    widest = np.maximum(np.abs(blocks).max(2, keepdims=True) / 7, 1e-9)
    best, scale, numbers = np.full_like(widest, np.inf), widest, np.zeros_like(blocks)
    for share in _SHRUNK:
        tried = np.clip(np.rint(blocks / (widest * share)), -8, 7)
        error = np.square(tried * widest * share - blocks).sum(2, keepdims=True)
        better = error < best
        best, scale = np.where(better, error, best), np.where(better, widest * share, scale)
        numbers = np.where(better, tried, numbers)
    halves = (numbers.reshape(len(table), -1) + 8).astype(np.uint8)
    return halves[:, ::2] | halves[:, 1::2] << 4, scale[..., 0]


class _Writer:
    """Collects the nodes and the constants of a graph."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, NDArray[Any]] = {}

    def keep(self, name: str, value: NDArray[Any] | None = None) -> str:
        """A constant; without a value, the weight of that name."""
        self.constants[name] = np.ascontiguousarray(self.weights[name] if value is None else value)
        return name

    def node(self, kind: str, inputs: Iterable[str], *outputs: str, domain: str = "", **attributes: Any) -> str:
        """Append a node; returns its first output."""
        self.nodes.append(helper.make_node(kind, list(inputs), list(outputs), domain=domain, **attributes))
        return outputs[0]

    def linear(self, read: str, names: Sequence[str], output: str, factor: float = 1.0, bias: bool = True) -> str:
        """The product of states and of the weights of layers side by side, those of the first times a factor."""
        factors = [factor, *[1.0] * (len(names) - 1)]
        shares = list(zip(names, factors, strict=True))
        matrix = np.concatenate([self.weights[f"{name}.weight"] * share for name, share in shares]).T
        numbers, scale = quantise_columns(matrix)
        zero = np.zeros(len(scale), np.int8)
        parts = (("weight", numbers), ("scale", scale), ("zero", zero))
        inputs = [read, *(self.keep(f"{output}.{part}", value) for part, value in parts)]
        if bias:
            whole = np.concatenate([self.weights[f"{name}.bias"] * share for name, share in shares])
            inputs.append(self.keep(f"{output}.bias", whole))
        return self.node("DynamicQuantizeMatMul", inputs, output, domain=_RUNTIME)

    def added(self, change: str, read: str, layer: str, output: str) -> str:
        """The normalised sum of states, their change, and the bias that the change still lacks."""
        names = (f"{layer}.LayerNorm.weight", f"{layer}.LayerNorm.bias", f"{layer}.dense.bias")
        inputs = [change, read, *map(self.keep, names)]
        return self.node("SkipLayerNormalization", inputs, output, domain=_RUNTIME, epsilon=CONFIG.layer_norm_eps)

    def layer(self, states: str, number: int) -> str:
        """One layer; the last one computes the first token alone."""
        name = f"encoder.layer.{number}.".__add__
        read, seen = states, [name(part) for part in ("query", "key", "value")]
        query, key, value = (name(f"attention.self.{part}") for part in ("query", "key", "value"))
        factor = 1 / math.sqrt(WIDTH // HEADS)
        if number < LAYERS - 1:
            mixed = self.linear(states, [query, key, value], name("mixed"), factor)
            self.node("Split", [mixed], *seen, axis=-1, num_outputs=3)
        else:
            read = self.node("Slice", [states, "zero", "one", "one"], name("first"))
            self.linear(read, [query], seen[0], factor)
            mixed = self.linear(states, [key, value], name("mixed"))
            self.node("Split", [mixed], *seen[1:], axis=-1, num_outputs=2)
        heads = self.node("MultiHeadAttention", seen, name("heads"), domain=_RUNTIME, num_heads=HEADS, scale=1.0)
        change = self.linear(heads, [name("attention.output.dense")], name("attended"), bias=False)
        read = self.added(change, read, name("attention.output"), name("middle"))
        wide = self.linear(read, [name("intermediate.dense")], name("wide"))
        wide = self.node("Gelu", [wide], name("active"), domain=_RUNTIME)
        change = self.linear(wide, [name("output.dense")], name("narrow"), bias=False)
        return self.added(change, read, name("output"), name("end"))

    def graph(self) -> onnx.GraphProto:
        """Token ids of texts without padding, (texts, tokens), to the state of each first token, (texts, width)."""
        table = "embeddings.{}_embeddings.weight".format
        words, scale = quantise_rows(self.weights[table("word")])
        self.keep("zero", np.array([0]))
        self.keep("one", np.array([1]))
        inputs = [self.keep("words", words), "input_ids", self.keep("words.scale", scale)]
        blocks = {"bits": 4, "block_size": _BLOCK, "gather_axis": 0, "quantize_axis": 1}
        word = self.node("GatherBlockQuantized", inputs, "word", domain=_RUNTIME, **blocks)
        count = self.node("Shape", ["input_ids"], "count", start=1, end=2)
        places = self.keep("places", self.weights[table("position")] + self.weights[table("token_type")][0])
        place = self.node("Slice", [places, "zero", count], "place")
        begin = map(self.keep, ("embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"))
        read = self.node("Add", [word, place], "sum")
        states = self.node("LayerNormalization", [read, *begin], "begin", epsilon=CONFIG.layer_norm_eps)
        for number in range(LAYERS):
            states = self.layer(states, number)
        self.node("Squeeze", [states, "one"], "sentence_embedding")
        return helper.make_graph(
            self.nodes,
            "encoder",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])],
            [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["texts", WIDTH])],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
        )


def write_graph(weights: Mapping[str, Array], path: Path) -> None:
    """Write the quantised graph.

    Args:
        weights: float32, by their names in `BertModel`.
        path: The file.
    """
    opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
    onnx.save(helper.make_model(_Writer(weights).graph(), opset_imports=opsets, ir_version=9), str(path))


def export(encoder: Encoder, folder: Path) -> Path:
    """Write `model.onnx`, `tokenizer.json` and `thresher.json`; returns the folder.

    Args:
        encoder: The tuned encoder.
        folder: Where the files go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().float().cpu().numpy() for name, value in encoder.bert.state_dict().items()}
    write_graph(weights, folder / "model.onnx")
    tokenizer = json.loads(base_tokenizer().read_text(encoding="utf-8"))
    tokenizer |= {"truncation": None, "padding": None}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    digests = {name: _digest(folder / name) for name in ("model.onnx", "tokenizer.json")}
    described = {
        "name": folder.name,
        "pooling": "cls",
        "max_tokens": MAX_TOKENS,
        "query_prefix": "",
        "sha256": digests,
    }
    (folder / "thresher.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    return folder


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
