"""The protocol between the encoder and its worker process: length-prefixed frames over pipes.

Invariant: a frame is read completely or not at all.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from thresher.core import EncoderError, dumps
from thresher.embedding.protocol import Matrix
from thresher.embedding.registry import ModelFiles, ModelSpec

_HEAD = struct.Struct(">cI")

READY, VECTORS, FAILED = b"R", b"V", b"E"
START, TEXTS = b"S", b"T"


def write_frame(stream: BinaryIO, kind: bytes, payload: bytes) -> None:
    """Write one frame: a kind of one byte and up to 4 GiB.

    Raises:
        OSError: The other side is gone.
    """
    stream.write(_HEAD.pack(kind, len(payload)) + payload)
    stream.flush()


def read_frame(stream: BinaryIO) -> tuple[bytes, bytes] | None:
    """The next frame as (kind, payload); None if the other side is gone."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, length = _HEAD.unpack(head)
    payload = stream.read(length)
    return (kind, payload) if len(payload) == length else None


def pack_start(files: ModelFiles, threads: int) -> bytes:
    """What a worker needs before its first text."""
    spec = {key: value for key, value in asdict(files.spec).items() if key != "package"}
    place = {"model": files.model, "tokenizer": files.tokenizer, "digests": files.digests, "hint": files.hint}
    return dumps({"spec": spec, "files": place, "threads": threads}).encode()


def unpack_start(payload: bytes) -> tuple[ModelFiles, int]:
    """The reverse of `pack_start`."""
    start: Mapping[str, Any] = json.loads(payload)
    place = start["files"]
    files = ModelFiles(
        ModelSpec(**start["spec"]), Path(place["model"]), Path(place["tokenizer"]), place["digests"], place["hint"]
    )
    return files, start["threads"]


def pack_texts(texts: Sequence[str]) -> bytes:
    """The payload of a frame of texts."""
    return json.dumps(list(texts)).encode()


def unpack_texts(payload: bytes) -> list[str]:
    """The reverse of `pack_texts`."""
    return json.loads(payload)


def unpack_vectors(payload: bytes, count: int) -> Matrix:
    """Vectors of `count` texts, shape (count, dimension)."""
    return np.frombuffer(payload, np.float32).reshape(count, -1)


def pack_error(error: EncoderError) -> bytes:
    """The payload of a frame for an error."""
    return json.dumps({"message": error.message, "hint": error.hint}).encode()


def unpack_error(payload: bytes) -> EncoderError:
    """The reverse of `pack_error`."""
    content: Mapping[str, str] = json.loads(payload)
    return EncoderError(content["message"], hint=content["hint"])
