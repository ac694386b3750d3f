"""Writes a tuned encoder as the folder that the product reads: an int8 ONNX graph, its tokenizer and its description.

The graph is written out here, because the general one takes an eighth longer: the product runs one text at a time, so
that nothing is masked; query, key and value are one product; the last layer is computed for the first token alone,
whose state is the vector. Weights are quantised per channel, activations when the graph runs.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process
from torch import Tensor
from torch.nn.functional import gelu, layer_norm

from training.base import CONFIG, base_tokenizer
from training.train import Encoder

MAX_TOKENS = 512
WIDTH, HEADS, LAYERS = CONFIG.hidden_size, CONFIG.num_attention_heads, CONFIG.num_hidden_layers


def _kept(value: Tensor) -> torch.nn.Parameter:
    return torch.nn.Parameter(value.detach().float().cpu().contiguous().clone(), requires_grad=False)


class _Layer(torch.nn.Module):
    """One layer; the last one computes the first token alone."""

    def __init__(self, weights: Mapping[str, Tensor], number: int) -> None:
        super().__init__()
        self.last = number == LAYERS - 1
        self.size = WIDTH // HEADS
        name = f"encoder.layer.{number}.".__add__
        scale = 1 / math.sqrt(self.size)
        parts = [name(f"attention.self.{one}") for one in ("query", "key", "value")]
        factors = (scale, 1.0, 1.0)
        matrix = [weights[f"{part}.weight"] * factor for part, factor in zip(parts, factors, strict=True)]
        bias = [weights[f"{part}.bias"] * factor for part, factor in zip(parts, factors, strict=True)]
        cut = 1 if self.last else 3
        self.first, self.first_bias = _kept(torch.cat(matrix[:cut]).T), _kept(torch.cat(bias[:cut]))
        if self.last:
            self.rest, self.rest_bias = _kept(torch.cat(matrix[1:]).T), _kept(torch.cat(bias[1:]))
        for field, part in (("out", "attention.output"), ("wide", "intermediate"), ("narrow", "output")):
            setattr(self, field, _kept(weights[name(f"{part}.dense.weight")].T))
            setattr(self, f"{field}_bias", _kept(weights[name(f"{part}.dense.bias")]))
        for field, part in (("middle", "attention.output"), ("end", "output")):
            setattr(self, field, _kept(weights[name(f"{part}.LayerNorm.weight")]))
            setattr(self, f"{field}_bias", _kept(weights[name(f"{part}.LayerNorm.bias")]))

    def forward(self, states: Tensor) -> Tensor:
        """States before and after the layer, (texts, tokens, width)."""
        read = states[:, :1] if self.last else states
        mixed = self._split(read @ self.first + self.first_bias)
        if self.last:
            mixed = [*mixed, *self._split(states @ self.rest + self.rest_bias)]
        query, key, value = mixed
        seen = (query @ key.transpose(-1, -2)).softmax(-1) @ value
        seen = seen.transpose(1, 2).reshape(read.shape[0], -1, WIDTH)
        read = layer_norm(
            read + seen @ self.out + self.out_bias, (WIDTH,), self.middle, self.middle_bias, CONFIG.layer_norm_eps
        )
        inner = gelu(read @ self.wide + self.wide_bias) @ self.narrow + self.narrow_bias
        return layer_norm(read + inner, (WIDTH,), self.end, self.end_bias, CONFIG.layer_norm_eps)

    def _split(self, mixed: Tensor) -> list[Tensor]:
        """Parts of a product, each (texts, heads, tokens, size)."""
        count = mixed.shape[-1] // WIDTH
        heads = mixed.reshape(mixed.shape[0], -1, count * HEADS, self.size).transpose(1, 2)
        return [heads[:, place * HEADS : (place + 1) * HEADS] for place in range(count)]


class _Graph(torch.nn.Module):
    """Token ids of texts without padding, (texts, tokens), to the state of each first token, (texts, width)."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        table = "embeddings.{}_embeddings.weight".format
        self.words = _kept(weights[table("word")])
        self.places = _kept(weights[table("position")] + weights[table("token_type")][0])
        self.begin = _kept(weights["embeddings.LayerNorm.weight"])
        self.begin_bias = _kept(weights["embeddings.LayerNorm.bias"])
        self.layers = torch.nn.ModuleList(_Layer(weights, number) for number in range(LAYERS))

    def forward(self, input_ids: Tensor) -> Tensor:
        """The vectors, not yet of length 1."""
        states = self.words[input_ids] + self.places[: input_ids.shape[1]]
        states = layer_norm(states, (WIDTH,), self.begin, self.begin_bias, CONFIG.layer_norm_eps)
        for layer in self.layers:
            states = layer(states)
        return states[:, 0]


def export(encoder: Encoder, folder: Path, *, quantised: bool = True) -> Path:
    """Write `model.onnx`, `tokenizer.json` and `thresher.json`; returns the folder.

    Args:
        encoder: The tuned encoder.
        folder: Where the files go.
        quantised: Whether the graph is int8; the fp32 one serves the comparison.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        whole, prepared = Path(name) / "whole.onnx", Path(name) / "prepared.onnx"
        torch.onnx.export(
            _Graph(encoder.bert.state_dict()).eval(),
            (torch.ones(1, 8, dtype=torch.long),),
            str(whole),
            input_names=["input_ids"],
            output_names=["sentence_embedding"],
            dynamic_axes={"input_ids": {0: "texts", 1: "tokens"}, "sentence_embedding": {0: "texts"}},
            opset_version=17,
            dynamo=False,
        )
        if quantised:
            quant_pre_process(str(whole), str(prepared), skip_symbolic_shape=True)
            quantize_dynamic(
                str(prepared),
                str(folder / "model.onnx"),
                weight_type=QuantType.QInt8,
                per_channel=True,
                extra_options={"MatMulConstBOnly": True},
            )
        else:
            shutil.copyfile(whole, folder / "model.onnx")
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
