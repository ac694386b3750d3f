"""Writes a tuned encoder as the folder that the product reads: an int8 ONNX graph, its tokenizer and its description.

Invariant: the graph gives token states; pooling is the product's. Weights are quantised per channel, activations when
the graph runs, so that texts run one at a time (see `thresher.embedding.onnx`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process
from torch import Tensor

from training.train import Encoder

MAX_TOKENS = 256
"""What the base was trained to read."""


class _States(torch.nn.Module):
    """The token states of an encoder as a graph's only output."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.bert = encoder.bert

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Token states, (texts, tokens, width)."""
        return self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def export(encoder: Encoder, base: Path, folder: Path, *, quantised: bool = True) -> Path:
    """Write `model.onnx`, `tokenizer.json` and `thresher.json`; returns the folder.

    Args:
        encoder: The tuned encoder.
        base: The folder of the base model, for its tokenizer.
        folder: Where the files go.
        quantised: Whether the graph is int8; the fp32 one serves the comparison.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        whole, prepared = Path(name) / "whole.onnx", Path(name) / "prepared.onnx"
        ids = torch.ones(2, 8, dtype=torch.long)
        axes = {0: "texts", 1: "tokens"}
        torch.onnx.export(
            _States(encoder).eval(),
            (ids, ids),
            str(whole),
            input_names=["input_ids", "attention_mask"],
            output_names=["last_hidden_state"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "last_hidden_state": axes},
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
                reduce_range=False,
            )
        else:
            shutil.copyfile(whole, folder / "model.onnx")
    tokenizer = json.loads((base / "tokenizer.json").read_text())
    tokenizer |= {"truncation": None, "padding": None}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    digests = {name: _digest(folder / name) for name in ("model.onnx", "tokenizer.json")}
    described = {
        "name": folder.name,
        "pooling": "mean",
        "max_tokens": MAX_TOKENS,
        "query_prefix": "",
        "sha256": digests,
    }
    (folder / "thresher.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    return folder


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
