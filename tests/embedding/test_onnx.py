from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.embedding.tiny import write_model, write_tokenizer
from thresher.core import EncoderError
from thresher.embedding.onnx import PairModel, TextModel, batches, normalised, pool
from thresher.embedding.registry import ModelSpec, locate, read_folder

PACKAGED = ["thresher-small-en-1", "bge-small-en-v1.5"]
TEXTS = ["list all files", "a", "send a mail to everybody in the team now", "x y"]


def load(folder: Path) -> TextModel:
    """The model in a folder."""
    return TextModel(read_folder(folder, ModelSpec("m")))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
def test_a_vector_does_not_depend_on_its_neighbours(tmp_path: Path, pooling: str, *, dynamic: bool) -> None:
    """In a batch or alone; a dynamically quantised graph would change it."""
    model = load(write_model(tmp_path / "m", {"pooling": pooling}, dynamic=dynamic))

    together = model.encode(TEXTS)

    alone = np.vstack([model.encode([text]) for text in TEXTS])
    assert np.allclose(together, alone, atol=1e-6)


@pytest.mark.parametrize("name", PACKAGED)
def test_a_vector_of_a_packaged_model_is_the_same_to_the_bit(name: str) -> None:
    """Alone, among others, and in another process's order."""
    model = TextModel(locate(name))

    assert np.array_equal(model.encode(TEXTS), model.encode(TEXTS[::-1])[::-1])
    assert np.array_equal(model.encode(TEXTS)[:1], model.encode(TEXTS[:1]))


@pytest.mark.parametrize("name", PACKAGED)
def test_related_texts_are_closer_than_others(name: str) -> None:
    """The packaged model is pooled and normalised as it was trained."""
    model = TextModel(locate(name))

    rows = model.encode(["delete a file", "remove a document from disk", "weather forecast for tomorrow"])

    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.15


def test_no_more_than_the_models_tokens_are_read(tiny_folder: Path) -> None:
    """The closing token stays when a text is cut."""
    model = load(tiny_folder)

    assert np.array_equal(model.encode(["a" * 30 + "b"]), model.encode(["a" * 30 + "c" * 50]))
    assert not np.array_equal(model.encode(["a" * 29 + "b"]), model.encode(["a" * 29 + "c"]))


@pytest.mark.parametrize("inputs", [["input_ids"], ["input_ids", "attention_mask", "token_type_ids", "position_ids"]])
def test_the_graph_determines_its_inputs(tmp_path: Path, inputs: list[str]) -> None:
    """From ids alone to all inputs of such graphs."""
    model = load(write_model(tmp_path / "m", inputs=inputs))

    assert model.encode(["abc"]).shape == (1, 16)


@pytest.mark.parametrize("inputs", [["input_ids", "pixels"], ["attention_mask", "input_idz"]])
def test_a_graph_of_another_kind_is_refused(tmp_path: Path, inputs: list[str]) -> None:
    """The error names its inputs."""
    folder = write_model(tmp_path / "m")
    graph = (folder / "model.onnx").read_bytes()
    for old, new in zip(["input_ids", "attention_mask"], inputs, strict=True):
        padded = new.ljust(len(old), "_")[: len(old)]
        graph = graph.replace(old.encode(), padded.encode())
    (folder / "model.onnx").write_bytes(graph)

    with pytest.raises(EncoderError, match="requires the inputs"):
        load(folder)


def test_an_invalid_graph_is_refused(tiny_folder: Path) -> None:
    """For example a truncated download."""
    (tiny_folder / "model.onnx").write_bytes(b"\x08\x08nonsense")

    with pytest.raises(EncoderError, match="ONNX Runtime"):
        load(tiny_folder)


def test_an_invalid_tokenizer_is_refused(tiny_folder: Path) -> None:
    """Valid JSON is not enough."""
    (tiny_folder / "tokenizer.json").write_text("{}")

    with pytest.raises(EncoderError, match="tokenizer"):
        load(tiny_folder)


def test_a_wrong_dimension_in_the_description_is_refused(tmp_path: Path) -> None:
    """At the first text."""
    model = load(write_model(tmp_path / "m", {"dimension": 5}))

    with pytest.raises(EncoderError, match="gives 16 dimensions, not 5"):
        model.encode(["a"])


def test_work_ends_when_the_check_raises(tiny_folder: Path) -> None:
    """So that close need not wait for a long batch."""

    def stop() -> None:
        raise EncoderError("enough")

    with pytest.raises(EncoderError, match="enough"):
        load(tiny_folder).encode(["a"], stop)


def test_batches_group_similar_lengths_within_the_budget() -> None:
    """One row always fits."""
    assert batches([5, 100, 6, 5, 9], 20) == [[0, 3, 2], [4], [1]]
    assert batches([], 20) == []


def test_pooling_reads_the_mask() -> None:
    """Padding has no weight; output that is pooled already is unchanged."""
    states = np.array([[[1.0], [3.0], [99.0]]], np.float32)
    mask = np.array([[1, 1, 0]])

    assert [pool(states, mask, how).item() for how in ("cls", "mean", "last")] == [1.0, 2.0, 3.0]
    assert pool(states[:, 0], mask, "mean").shape == (1, 1)


def test_a_row_of_zeros_stays_finite() -> None:
    """It has no direction."""
    assert np.array_equal(
        normalised(np.array([[0, 0], [3, 4]], np.float32)), np.array([[0, 0], [0.6, 0.8]], np.float32)
    )


def test_a_pair_model_reads_both_texts(tmp_path: Path) -> None:
    """Any graph whose last number per row is the score."""
    write_tokenizer(write_model(tmp_path / "m", dimension=1) / "tokenizer.json")
    model = PairModel(read_folder(tmp_path / "m", ModelSpec("m")))

    assert model.score("query", ["a", "\ud800" * 9000, ""]).shape == (3,)
    assert model.score("query", []).shape == (0,)
