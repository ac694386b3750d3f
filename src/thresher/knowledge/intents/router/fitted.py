"""A fitted router: the arrays that scoring needs, and their form on disk.

Invariant: frozen; unpacking what was packed gives the same scores, bit by bit; no pickle.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from thresher.core import InvalidInput
from thresher.embedding import Matrix
from thresher.knowledge.intents.router.calibration import Calibration
from thresher.knowledge.intents.router.head import Head
from thresher.knowledge.intents.router.keywords import Keywords, keywords_of
from thresher.knowledge.intents.router.records import Floats
from thresher.knowledge.intents.router.similarity import Groups

EDITION: Final = 5
"""Names the form of a fit and the way to it; a stored one of another edition is fitted anew."""

Basis: TypeAlias = Literal["head", "prototype"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Everything that scores a text.

    Attributes:
        intents: Names, in the order of all columns.
        basis: `head`, or `prototype` where the lines are too few to fit one.
        head: Which intent.
        lines: The training lines by intent, of half precision, so that what is stored is what is used.
        misses: The near misses by intent.
        everyday: Everyday messages.
        calibration: What the figures mean.
        limits: float32 (intents,), the least score that matches.
        keywords: Names of things in each intent's domain.
        lookup: The same, ready to be looked up; made from `keywords`.
        thresholds: The limits by name, 0 to 1.
    """

    intents: tuple[str, ...]
    basis: Basis
    head: Head
    lines: Groups
    misses: Groups
    everyday: Matrix
    calibration: Calibration
    limits: Floats
    keywords: tuple[tuple[str, ...], ...]
    lookup: Keywords = field(init=False, repr=False, compare=False)
    thresholds: Mapping[str, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookup", keywords_of(self.keywords))
        limits = {name: round(float(limit), 4) for name, limit in zip(self.intents, self.limits, strict=True)}
        object.__setattr__(self, "thresholds", limits)

    def packed(self) -> bytes:
        """The fit as bytes, for `unpacked`."""
        told = {
            "edition": EDITION,
            "intents": self.intents,
            "basis": self.basis,
            "keywords": self.keywords,
            "calibration": self.calibration.told(),
        }
        buffer = io.BytesIO()
        np.savez(
            buffer,
            told=np.frombuffer(json.dumps(told).encode(), np.uint8),
            centre=self.head.centre,
            weights=self.head.weights,
            bias=self.head.bias,
            usual=self.calibration.usual,
            spread=self.calibration.spread,
            limits=self.limits,
            everyday=self.everyday.astype(np.float16),
            **_columns("lines", self.lines),
            **_columns("misses", self.misses),
        )
        return buffer.getvalue()


def unpacked(data: bytes) -> Fitted:
    """A fit from its bytes.

    Raises:
        InvalidInput: They are of another edition, or no fit.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            told: dict[str, Any] = json.loads(arrays["told"].tobytes())
            if told["edition"] != EDITION:
                raise InvalidInput("The stored fit has another form.", hint="Fit again.")
            return _fitted(told, {name: arrays[name] for name in arrays.files})
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"The stored fit cannot be read: {error}.", hint="Fit again.") from None


def _fitted(told: Mapping[str, Any], arrays: Mapping[str, Any]) -> Fitted:
    return Fitted(
        intents=tuple(told["intents"]),
        basis=told["basis"],
        head=Head(arrays["centre"], arrays["weights"], arrays["bias"]),
        lines=_groups("lines", arrays),
        misses=_groups("misses", arrays),
        everyday=arrays["everyday"].astype(np.float32),
        calibration=Calibration(arrays["usual"], arrays["spread"], **told["calibration"]),
        limits=arrays["limits"],
        keywords=tuple(tuple(words) for words in told["keywords"]),
    )


def _columns(name: str, groups: Groups) -> dict[str, Any]:
    return {name: groups.rows.astype(np.float16), f"{name}_starts": groups.starts, f"{name}_order": groups.order}


def _groups(name: str, arrays: Mapping[str, Any]) -> Groups:
    return Groups(arrays[name].astype(np.float32), arrays[f"{name}_starts"], arrays[f"{name}_order"])
