"""Every constant that was fitted, again: `python -m benchmarks.fits [NAME ...] [--model FOLDER] [--package FOLDER]`.

By default all of them, one after the other, for the encoder in force; `--model` names the folder of another one, such
as one that `training/` has tuned. Each prints what it found beside what is in force, and where that stands; only
`words` and the requests of `operations` are written to their files. Nothing here sees a blind set.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks import api_ranking, background, context_fit, cut_weights, tool_fit

FITS: Final = {
    "words": "how common words are in tools: search/lexical/tool_words.txt",
    "tools": "fusion, cut, floor, calibration, forms: search/ranking.py, knowledge/tools/composition.py",
    "router": "where a message is cut: knowledge/intents/router/cues.py, segmentation.py",
    "operations": "the features of operations: knowledge/apis/search/ranking.py",
    "context": "how probably a message needs each kind: context/probabilities.py",
}
"""What each fits, in the order in which they build on each other, and where its constants stand."""


def main() -> None:
    """Run the fits that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fits", description="Fit constants again.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="; ".join(f"{name}: {what}" for name, what in FITS.items())
    )
    parser.add_argument("--model", type=Path, help="the folder of another encoder")
    parser.add_argument("--package", type=Path, help="the package of vendors' descriptions, for more of `tools`")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(FITS)):
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(FITS)}")
    if given.model is not None:
        os.environ["THRESHER_MODEL_DIR"] = str(given.model)
    fits: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
        "words": background.run,
        "tools": partial(tool_fit.run, given.model, given.package),
        "router": cut_weights.run,
        "operations": api_ranking.run,
        "context": context_fit.run,
    }
    for name in given.names or FITS:
        print(f"{name}: {FITS[name]}", flush=True)
        asyncio.run(fits[name]())


if __name__ == "__main__":
    main()
