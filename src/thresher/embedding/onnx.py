"""The adapter to ONNX Runtime and tokenizers: texts in, unit vectors or scores out.

Invariant: a text's vector depends on the text alone. An int8 graph with dynamic quantisation scales a whole batch by
its largest value, so that a text's vector changes with its neighbours and even with padding (measured on bge-small:
cosine 0.997 mean, 0.987 worst). Such a graph therefore runs one text at a time, unpadded; on CPU that costs at most 15
% more than the best batch size, and half as much as a large batch. Graphs without dynamic quantisation run batches
sorted by length and bounded by tokens.

Each run uses one thread and calls run in parallel: two threads inside a run gain nothing below 64 tokens (5.6 against
6.8 ms), and spinning threads double the CPU time and lose to any other process.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
import onnxruntime.capi.onnxruntime_pybind11_state as runtime_state
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from thresher.core import EncoderError
from thresher.embedding.protocol import EncoderModel, Matrix, Scores, Windows
from thresher.embedding.registry import FOLDER_HINT, ModelFiles, ModelSpec, Pooling, verify
from thresher.embedding.tokens import printable
from thresher.embedding.windows import cut, keep_ends

BATCH_TOKENS = 512
"""Tokens in one batch, padding included: on two cores 512 was best, 2,048 a third slower, 8,192 half as fast."""
CHARACTERS_A_TOKEN = 32
"""Text beyond this many characters per token of the limit is not read; this bounds the work for a text of 1 MB."""
PAIR_TOKENS = 144
"""Tokens of a text that are read with a query: all of nine passages in ten; time grows faster than length (128 tokens
take 29 ms, 256 take 71)."""
WINDOW_MARGIN = 8
"""Tokens left free in a window, because a piece cut inside a word may have a few more tokens."""

_state: Any = runtime_state
_RUNTIME_ERRORS: tuple[type[Exception], ...] = (
    _state.Fail,
    _state.InvalidArgument,
    _state.InvalidGraph,
    _state.InvalidProtobuf,
    _state.NoSuchFile,
    _state.NotImplemented,
    _state.RuntimeException,
)
_ARRAYS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_OUTPUTS = ("sentence_embedding", "last_hidden_state", "token_embeddings", "logits")


class Graph:
    """An ONNX graph that reads token ids.

    Attributes:
        rows_independent: Whether a row's result is the same in any batch.
        width: Last dimension of the output; None if the graph does not fix it.

    Raises:
        EncoderError: The file is not a graph that this adapter supports.
    """

    def __init__(self, path: Path) -> None:
        options: Any = cast("Any", onnxruntime).SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # warnings about the machine would appear in a client's output
        try:
            self._session: Any = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except _RUNTIME_ERRORS as error:
            raise EncoderError(f"{path} is not a model that ONNX Runtime can run.", hint=FOLDER_HINT) from error
        self.rows_independent = not _contains(path, b"DynamicQuantize")
        inputs = {str(node.name): _ARRAYS.get(node.type) for node in self._session.get_inputs()}
        self._inputs = {name: kind for name, kind in inputs.items() if kind is not None}
        shapes: dict[str, list[Any]] = {node.name: node.shape for node in self._session.get_outputs()}
        self._output = next((name for name in _OUTPUTS if name in shapes), next(iter(shapes)))
        width = shapes[self._output][-1] if shapes[self._output] else None
        self.width = width if isinstance(width, int) else None
        if "input_ids" not in self._inputs or not inputs.keys() <= self._inputs.keys() & set(_INPUTS):
            raise EncoderError(f"{path} requires the inputs {sorted(inputs)}.", hint=f"Known: {', '.join(_INPUTS)}.")

    def run(self, encodings: Sequence[Encoding], limit: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Run one batch, padded to its longest row.

        Args:
            encodings: Tokenised texts.
            limit: Most tokens of a row; a longer row is cut, but keeps its closing special token.

        Returns:
            The graph's output, (n, tokens, width) or (n, width), and the mask, (n, tokens).
        """
        rows = [_limited(encoding, limit) for encoding in encodings]
        shape = (len(rows), max(map(len, rows)))
        ids, mask, types = (np.zeros(shape, np.int64) for _ in range(3))
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
            if "token_type_ids" in self._inputs:
                types[index, : len(row)] = encodings[index].type_ids[: len(row)]
        positions = np.broadcast_to(np.arange(shape[1]), shape)
        arrays: dict[str, NDArray[Any]] = dict(zip(_INPUTS, (ids, mask, types, positions), strict=True))
        feed = {name: arrays[name].astype(kind, copy=False) for name, kind in self._inputs.items()}
        try:
            output = self._session.run([self._output], feed)[0]
        except _RUNTIME_ERRORS as error:
            raise EncoderError(f"The model failed: {str(error).splitlines()[0]}.", hint=FOLDER_HINT) from error
        return np.asarray(output, np.float32), mask


class TextModel:
    """A loaded encoder: tokenizer and graph. Blocking; thread-safe.

    Raises:
        EncoderError: A file is missing, wrong, or not a model that this adapter supports.
    """

    def __init__(self, files: ModelFiles) -> None:
        fingerprint = verify(files)
        self._spec = files.spec
        self._tokenizer = open_tokenizer(files)
        self._graph = Graph(files.model)
        dimension = files.spec.dimension or self._graph.width or self._pooled(self._tokenized(["a"])).shape[1]
        self.model = describe(files.spec, fingerprint, dimension)

    def encode(self, texts: Sequence[str], check: Callable[[], None] = lambda: None) -> Matrix:
        """Embed texts.

        Args:
            texts: Any strings.
            check: Called before each run; an exception that it raises ends the work.

        Returns:
            Shape (len(texts), dimension), rows of length 1 (a row of zeros stays zero).
        """
        result = np.zeros((len(texts), self.model.dimension), np.float32)
        encodings = self._tokenized(texts)
        for batch in self._batches([len(encoding) for encoding in encodings]):
            check()
            rows = self._pooled([encodings[index] for index in batch])
            if rows.shape[1] != self.model.dimension:
                raise EncoderError(
                    f"The model gives {rows.shape[1]} dimensions, not {self.model.dimension}.",
                    hint="Correct the dimension in thresher.json.",
                )
            result[batch] = rows
        return normalised(result)

    def _pooled(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
        states, mask = self._graph.run(encodings, self._spec.max_tokens)
        return pool(states, mask, self._spec.pooling)

    def _tokenized(self, texts: Sequence[str]) -> list[Encoding]:
        most = self._spec.max_tokens * CHARACTERS_A_TOKEN
        return self._tokenizer.encode_batch_fast([printable(text[:most]) for text in texts])

    def _batches(self, lengths: Sequence[int]) -> list[list[int]]:
        if not self._graph.rows_independent:
            return [[index] for index in range(len(lengths))]
        return batches([min(length, self._spec.max_tokens) for length in lengths], BATCH_TOKENS)


class PairModel:
    """A loaded cross-encoder: scores (query, text) pairs. Blocking; thread-safe.

    Raises:
        EncoderError: As for `TextModel`.
    """

    def __init__(self, files: ModelFiles) -> None:
        verify(files)
        self._limit = files.spec.max_tokens
        self._tokenizer = open_tokenizer(files)
        cast("Any", self._tokenizer).enable_truncation(self._limit, strategy="longest_first")
        self._graph = Graph(files.model)

    def score(self, query: str, texts: Sequence[str], check: Callable[[], None] = lambda: None) -> Scores:
        """Score the beginning of each text against the query: logits, shape (len(texts),)."""
        most = self._limit * CHARACTERS_A_TOKEN
        scores = np.zeros(len(texts), np.float32)
        for index, text in enumerate(texts):
            check()
            pair = self._tokenizer.encode(printable(query[:most]), printable(text[:most]))
            limit = min(self._limit, len(pair.ids) - sum(pair.type_ids) + PAIR_TOKENS)
            scores[index] = self._graph.run([pair], limit)[0].reshape(-1)[-1]
        return scores


def open_tokenizer(files: ModelFiles) -> Tokenizer:
    """Load the tokenizer, without the truncation and padding that its file may set.

    Raises:
        EncoderError: The file cannot be read as a tokenizer.
    """
    try:
        tokenizer = Tokenizer.from_str(files.tokenizer.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises Exception itself
        raise EncoderError(f"{files.tokenizer} cannot be read as a tokenizer.", hint=files.hint) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def describe(spec: ModelSpec, fingerprint: str, dimension: int) -> EncoderModel:
    """The public record of a model."""
    return EncoderModel(f"{spec.name}@{fingerprint}", dimension, spec.max_tokens, spec.query_prefix)


def text_windows(tokenizer: Tokenizer, text: str, *, size: int, most: int) -> Windows:
    """Cut a text by the encoder's own tokens.

    Args:
        tokenizer: A tokenizer from `open_tokenizer`.
        text: The text; of a very long one only a head and a tail are read.
        size: Most tokens of a piece, special ones included.
        most: Most pieces.
    """
    text = printable(text)
    room = max(1, size - tokenizer.num_special_tokens_to_add(is_pair=False))
    reach = room * most * CHARACTERS_A_TOKEN // 4
    parts = [(0, text)] if len(text) <= 2 * reach else [(0, text[:reach]), (len(text) - reach, text[-reach:])]
    spans: list[tuple[int, int]] = []
    for start, part in parts:
        offsets = [span for span in tokenizer.encode(part, add_special_tokens=False).offsets if span[1] > span[0]]
        if len(offsets) <= room and len(parts) == 1:
            return Windows([text])
        size_cut = max(1, room - min(WINDOW_MARGIN, room // 4))
        spans += [(start + a, start + b) for a, b in cut(offsets, size=size_cut, overlap=size_cut // 8)]
    kept, left_out = keep_ends(spans, most)
    if len(parts) == 2 and left_out == 0:
        left_out = len(text) - 2 * reach
    return Windows((text[a:b] for a, b in kept), left_out)


def pool(states: NDArray[np.float32], mask: NDArray[np.int64], how: Pooling) -> NDArray[np.float32]:
    """Pool token states (n, tokens, width) into one vector per row; output that is pooled already is unchanged."""
    if states.ndim == 2:
        return states
    match how:
        case "cls":
            return states[:, 0]
        case "last":
            return states[np.arange(len(states)), mask.sum(axis=1) - 1]
        case "mean":
            weights = mask[:, :, None].astype(np.float32)
            return (states * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)


def normalised(rows: Matrix) -> Matrix:
    """Rows of length 1; a row of zeros stays zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group indices by length so that rows times the longest row stay within a budget (one row always fits)."""
    groups: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if groups and lengths[index] * (len(groups[-1]) + 1) <= budget:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _limited(encoding: Encoding, limit: int) -> list[int]:
    ids = encoding.ids
    if len(ids) <= limit:
        return ids or [0]
    return [*ids[: limit - 1], ids[-1]] if encoding.special_tokens_mask[-1] else ids[:limit]


def _contains(path: Path, needle: bytes) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(needle) >= 0


def work_shares(lengths: Sequence[int], count: int) -> list[list[int]]:
    """Split indices into at most `count` shares of about equal work, none of them empty.

    Args:
        lengths: Amount of work of each index.
        count: Most shares, at least 1.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    return [order[start::count] for start in range(min(count, len(order)))]
