"""Writes a tiny encoder to disk: an ONNX graph that looks letters up in a table, and its tokenizer.

The graph is encoded by hand (protobuf wire format), so that no library for writing ONNX is needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
INT64, FLOAT = 7, 1


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _value(name: str, kind: int, *dims: int | str) -> bytes:
    shape = b"".join(_field(1, _field(1 if isinstance(dim, int) else 2, dim)) for dim in dims)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _node(kind: str, inputs: Sequence[str], outputs: Sequence[str]) -> bytes:
    return (
        b"".join(_field(1, name) for name in inputs) + b"".join(_field(2, name) for name in outputs) + _field(4, kind)
    )


def write_graph(path: Path, *, dimension: int = 16, inputs: Sequence[str] = (), dynamic: bool = False) -> None:
    """A graph `last_hidden_state = table[input_ids]`, quantised over the whole batch if `dynamic`."""
    table = np.random.default_rng(7).normal(size=(len(LETTERS) + 4, dimension)).astype("<f4")
    weights = _field(1, table.shape[0]) + _field(1, dimension) + _field(2, FLOAT)
    weights += _field(8, "table") + _field(9, table.tobytes())
    if dynamic:
        nodes = [
            _node("Gather", ["table", "input_ids"], ["states"]),
            _node("DynamicQuantizeLinear", ["states"], ["q", "scale", "zero"]),
            _node("DequantizeLinear", ["q", "scale", "zero"], ["last_hidden_state"]),
        ]
    else:
        nodes = [_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, "tiny") + _field(5, weights)
    for name in inputs or ("input_ids", "attention_mask"):
        graph += _field(11, _value(name, INT64, "batch", "tokens"))
    graph += _field(12, _value("last_hidden_state", FLOAT, "batch", "tokens", dimension))
    path.write_bytes(_field(1, 8) + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13)))


def write_tokenizer(path: Path) -> None:
    """One token per letter, between a start and an end token."""
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3} | {c: i + 4 for i, c in enumerate(LETTERS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    letters = pre_tokenizers.Split(Regex("\\S"), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), letters])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(4)  # what a published file may hold, and the encoder must not follow
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(path))


def write_model(folder: Path, description: dict[str, Any] | None = None, **graph: Any) -> Path:
    """A model folder; returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_graph(folder / "model.onnx", **graph)
    write_tokenizer(folder / "tokenizer.json")
    if description is not None:
        (folder / "thresher.json").write_text(json.dumps(description))
    return folder
