"""Writes the weights of the scanner's classifier: logistic regression on sentences, poisoned and harmless.

Run by `make vectors` after a change of `scanner_lines.jsonl` or of the classifier's features. What teaches: the lines,
each a poisoned text beside a harmless one of the same subject; the definitions of the tests and of the sets that were
once asked blind, of each poisoned one the sentence that looks worst; and, as harmless, the catalogue of the demo and
half of the public definitions that the benchmarks read, which stand outside of this repository (`THRESHER_BENCH_DATA`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks import data
from thresher.core import Tool
from thresher.demo.catalogue import read_catalogue
from thresher.scanner import classifier
from thresher.scanner.hidden_text import folded
from thresher.scanner.texts import ScanText, texts

ROOT: Final = Path(__file__).parents[1]
LINES: Final = Path(__file__).with_name("scanner_lines.jsonl")
POISONED: Final = (
    "tests/scanner/definitions/poisons.jsonl",
    "tests/scanner/definitions/reach_poisons.jsonl",
    "benchmarks/questions/poisons_1.jsonl",
    "benchmarks/questions/poisons_2.jsonl",
    "benchmarks/questions/poisons_3.jsonl",
    "benchmarks/questions/poisons_4.jsonl",
    "benchmarks/questions/poisons_5.jsonl",
)
HARMLESS: Final = (
    "tests/scanner/definitions/clean.jsonl",
    "tests/scanner/definitions/reach_clean.jsonl",
    "benchmarks/questions/clean_1.jsonl",
    "benchmarks/questions/clean_2.jsonl",
    "benchmarks/questions/clean_3.jsonl",
    "benchmarks/questions/clean_4.jsonl",
    "benchmarks/questions/clean_5.jsonl",
)
RIDGE: Final = 1 / 30
"""Decay against the sum over all texts."""
PART: Final = 0.2
"""Share of the weight of all texts that the poisoned ones have."""
_WHOLE, _SENTENCE, _ORDINARY = 1.0, 0.5, 0.3
"""Weight of a line, of a sentence of a harmless one, and of a sentence of a definition not made to teach."""
_ROUNDS: Final = 2
_STEPS: Final = 400


@dataclass(slots=True)
class Material:
    """Texts by their features, with their labels and weights."""

    features: list[list[int]] = field(default_factory=list[list[int]])
    labels: list[float] = field(default_factory=list[float])
    weights: list[float] = field(default_factory=list[float])

    def add(self, found: Iterable[str], label: float, weight: float) -> None:
        """Add a text."""
        self.features.append([crc32(feature.encode()) % classifier.SIZE for feature in found])
        self.labels.append(label)
        self.weights.append(weight)


def rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def definitions(files: Sequence[str]) -> list[Tool]:
    """The tools of some files."""
    found = [row["tool"] for file in files for row in rows(ROOT / file)]
    return [Tool("", tool["name"], "", tool.get("description", ""), tool.get("inputSchema") or {}) for tool in found]


def seen(tool: Tool) -> Iterator[set[str]]:
    """The features of everything that the classifier looks at of a definition."""
    for text in texts(tool):
        if classifier.is_read(text):
            yield from (found for found, _ in classifier.parts(text, folded(text.text)))


def public() -> list[Tool]:
    """The public definitions that the benchmarks read.

    Raises:
        FileNotFoundError: They are not there.
    """
    pools = (data.livemcpbench(), data.metatool_multi(), data.mcpproxy(), data.bfcl(), data.bfcl_offered())
    return [tool for pool in pools for tool in pool.tools]


def teaches(tool: Tool) -> bool:
    """Whether a public definition is of the half that teaches; false alarms are counted on the other."""
    return hashlib.sha256(tool.description.encode()).digest()[0] % 2 == 1


def gathered() -> Material:
    """All that is labelled by itself."""
    material = Material()
    for row in rows(LINES):
        role = "value" if row["place"] == "value" else "prose"
        name = row["name"] if row["place"] in ("parameter", "value") else ""
        text = ScanText("/title" if row["place"] == "title" else "", "", role, name)
        if "poison" in row:
            material.add(classifier.features(text, folded(row["poison"])), 1.0, _WHOLE)
        if "clean" in row:
            clean = folded(row["clean"])
            material.add(classifier.features(text, clean), 0.0, _WHOLE)
            for found, _ in classifier.parts(text, clean):
                material.add(found, 0.0, _SENTENCE)
    harmless = (*definitions(HARMLESS), *read_catalogue().tools, *filter(teaches, public()))
    ordinary = {frozenset(found) for tool in harmless for found in seen(tool)}
    for found in sorted(ordinary, key=sorted):
        material.add(found, 0.0, _ORDINARY)
    return material


def fitted(material: Material) -> NDArray[np.float64]:
    """Weights and constant: float (SIZE + 1,), by accelerated gradient descent."""
    counts = np.array([max(1, len(found)) for found in material.features])
    places = np.concatenate([np.array(found or [0]) for found in material.features])
    owner, starts = np.repeat(np.arange(len(counts)), counts), np.concatenate([[0], np.cumsum(counts)[:-1]])
    scale = 1 / np.sqrt(counts)
    labels, weights = np.array(material.labels), np.array(material.weights)
    share = weights[labels == 0].sum() / weights[labels == 1].sum() * PART / (1 - PART)
    weights = np.where(labels == 1, weights * share, weights)
    found = ahead = np.zeros(classifier.SIZE + 1)
    rate = 1 / (_steepest(places, owner, starts, scale, weights) / 4 + RIDGE)
    for step in range(_STEPS):
        odds = np.add.reduceat(ahead[places], starts) * scale + ahead[-1]
        error = weights * (1 / (1 + np.exp(-odds)) - labels)
        slope = np.bincount(places, (error * scale)[owner], classifier.SIZE + 1) + RIDGE * ahead
        slope[-1] = error.sum()
        former, found = found, ahead - rate * slope
        ahead = found + step / (step + 3) * (found - former)
    return found


def _steepest(
    places: NDArray[np.int64],
    owner: NDArray[np.int64],
    starts: NDArray[np.int64],
    scale: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> float:
    """The largest eigenvalue of the texts' weighted products, nearly, by power iteration."""
    vector, value = np.ones(classifier.SIZE + 1), 0.0
    for _ in range(30):
        vector /= np.linalg.norm(vector)
        odds = weights * (np.add.reduceat(vector[places], starts) * scale + vector[-1])
        vector = np.bincount(places, (odds * scale)[owner], classifier.SIZE + 1)
        vector[-1] = odds.sum()
        value = float(np.linalg.norm(vector))
    return 1.05 * value


def verdict(weights: NDArray[np.float64], found: set[str]) -> float:
    """The log odds of a text before the weights are rounded."""
    places = [crc32(feature.encode()) % classifier.SIZE for feature in found]
    return float(weights[places].sum() / np.sqrt(max(1, len(places))) + weights[-1])


def taught() -> NDArray[np.float64]:
    """The weights, after the worst sentence of each poisoned definition has taught as well."""
    weights = fitted(gathered())
    poisoned = [list(seen(tool)) for tool in definitions(POISONED)]
    for _ in range(_ROUNDS):
        material = gathered()
        for found in filter(None, poisoned):
            material.add(max(found, key=lambda one: verdict(weights, one)), 1.0, _WHOLE)
        weights = fitted(material)
    return weights


def main() -> None:
    """Write the weights as signed bytes."""
    rounded = np.clip(np.round(taught() / classifier.STEP), -127, 127).astype(np.int8)
    classifier.WEIGHTS.write_bytes(rounded.tobytes())


if __name__ == "__main__":
    main()
