"""The prompt hook: the whole life of its process against a running daemon, beside a Python that does nothing."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks import machine, processes, product

ROUNDS = 60
FITTING = "is there a tool that can send an email to customer {round}"
"""A message for which a built-in pack has rules; each is new to every cache."""
PASSING = "what a lovely day it is, number {round}"
"""A message for which no pack has any."""


def _event(prompt: str, folder: Path) -> str:
    about = {"session_id": "bench", "transcript_path": "", "hook_event_name": "UserPromptSubmit"}
    return json.dumps({**about, "cwd": str(folder), "prompt": prompt})


def _timed(command: Sequence[str], variables: dict[str, str], text: str = "") -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(command, env=variables, input=text, text=True, capture_output=True, check=True)
    spent = (time.perf_counter() - started) * 1000
    if done.stderr:
        raise RuntimeError(f"{command[0]} complained: {done.stderr}")
    return spent, done.stdout


def _times(folder: Path) -> dict[str, Any]:
    """All commands in turn, so that whatever else the machine does hits each alike."""
    variables = processes.environment(folder)
    hook = [processes.THRESHER, "hook", "--timeout", "60"]
    _timed([processes.THRESHER, "intents", "list", "--json"], variables)  # the router is fitted from here on
    warm, _ = _timed(hook, variables, _event("is there a tool to send emails", folder.parent))
    spent: dict[str, list[float]] = {"python": [], "fitting": [], "passing": [], "same": []}
    for round_ in range(ROUNDS):
        spent["python"].append(_timed([sys.executable, "-c", "pass"], variables)[0])
        for name, text, fits in (
            ("fitting", FITTING.format(round=round_), True),
            ("passing", PASSING.format(round=round_), False),
            ("same", "is there a tool to send emails", True),
        ):
            taken, said = _timed(hook, variables, _event(text, folder.parent))
            if bool(said) != fits:
                raise RuntimeError(f"The hook answered {text!r} with {said[:80]!r}.")
            spent[name].append(taken)
    return (
        {"rounds": ROUNDS, "first_ms": round(warm, 1)}
        | {name: _summary(times) for name, times in spent.items()}
        | {
            f"{name}_ratio": round(median(a / b for a, b in zip(spent[name], spent["python"], strict=True)), 2)
            for name in ("fitting", "passing", "same")
        }
    )


def _summary(times: list[float]) -> dict[str, float]:
    return {"p50_ms": round(median(times), 1), "p95_ms": round(quantiles(times, n=20)[-1], 1)}


async def run() -> dict[str, Any]:
    """Measure and save."""
    with product.folder() as folder:
        async with processes.serving(folder, THRESHER_HOME_PACKS="off"):
            figures = await asyncio.to_thread(_times, folder)
    print(figures, flush=True)
    machine.save("hook", figures)
    return figures
