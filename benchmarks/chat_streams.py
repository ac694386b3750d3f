"""Streamed answers through Thresher: what it adds to the model's first word, and two hundred streams at once.

The model is a process of its own that says a word twenty times a second; each answer begins with the second in which it
went out, by the clock that all processes of a machine share. Its lag is how much later than its turn a word arrives,
counted from that second on. Thresher is a daemon; the client, the model and the daemon share this machine's cores.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil

from benchmarks import data, machine, product
from benchmarks.chat_model import serving_model
from benchmarks.processes import THRESHER, environment, serving

STREAMS = 200
ALONE = 30
"""Streams one after another."""
RATE = 20
WORDS = 600
FEW = 20
"""Words of a stream that is alone."""
TEXT = " ".join(f"w{number}" for number in range(WORDS))


@dataclass(slots=True)
class Heard:
    """One stream. Seconds by the monotonic clock."""

    asked: float
    stamp: float = 0.0
    words: list[str] = field(default_factory=list[str])
    times: list[float] = field(default_factory=list[float])
    done: bool = False

    def take(self, event: dict[str, Any], now: float) -> None:
        """Take an event of the stream."""
        for choice in event.get("choices", ()):
            for word in (choice["delta"].get("content") or "").split():
                if not self.stamp:
                    self.stamp = float(word)
                else:
                    self.words.append(word)
                self.times.append(now)


async def listen(url: str, model: str, words: int = WORDS) -> Heard:
    """One stream over a connection of its own, to its end or until so many words have come."""
    place = urlsplit(url)
    asked = {"model": model, "stream": True, "messages": [{"role": "user", "content": "Count."}]}
    body = json.dumps(asked).encode()
    head = f"POST {place.path}/chat/completions HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-type: application/json\r\n"
    heard = Heard(time.monotonic())
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        writer.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        while (words == WORDS or len(heard.words) < words) and (line := await reader.readline()):
            if line.startswith(b"data: {"):
                heard.take(json.loads(line[6:]), time.monotonic())
            elif line.startswith(b"data: [DONE]"):
                heard.done = True
                break
    finally:
        writer.close()
    return heard


def figures_of(streams: Sequence[Heard]) -> dict[str, Any]:
    """What became of some streams."""
    begun = [one for one in streams if one.times]
    lags = [when - one.stamp - number / RATE for one in begun for number, when in enumerate(one.times) if number]
    return {
        "streams": len(streams),
        "first_word_after_the_models_ms": _milliseconds([one.times[0] - one.stamp for one in begun]),
        "first_word_after_the_request_ms": _milliseconds([one.times[0] - one.asked for one in begun]),
        "lag_of_words_ms": _milliseconds(lags),
        "seconds_p95": round(float(np.percentile([one.times[-1] - one.stamp for one in begun], 95)), 2),
        "seconds_from_request_p95": round(float(np.percentile([one.times[-1] - one.asked for one in begun], 95)), 2),
        "most_side_by_side": most_side_by_side(begun),
    }


def most_side_by_side(streams: Sequence[Heard]) -> int:
    """How many streams were told at one moment."""
    ends = sorted((when, step) for one in streams for when, step in ((one.times[0], 1), (one.times[-1], -1)))
    now = most = 0
    for _, step in ends:
        now += step
        most = max(most, now)
    return most


def lost(streams: Sequence[Heard]) -> int:
    """How many streams lack a word or their end."""
    return sum(one.words != TEXT.split() or not one.done for one in streams)


def _milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    return {f"p{share}": round(1000 * float(np.percentile(seconds, share)), 1) for share in (50, 95, 99)}


async def measured(url: str, model: str) -> dict[str, Any]:
    """Streams one after another, of which a few words are heard; one that is alone; and all at once."""
    await listen(url, model, FEW)
    short = [await listen(url, model, FEW) for _ in range(ALONE)]
    alone = await listen(url, model)
    many = await asyncio.gather(*(listen(url, model) for _ in range(STREAMS)))
    return {
        "one_after_another": figures_of(short),
        "alone": figures_of([alone]),
        "at_once": figures_of(many) | {"lost": lost(many)},
    }


def _add_database(folder: Path) -> None:
    """Something to ask, so that tools are offered."""
    chinook = data.folder().parent / "databases" / "chinook" / "chinook.sqlite"
    command = [THRESHER, "db", "add", "chinook", "--url", f"sqlite:///{chinook}", "--json"]
    subprocess.run(command, env=environment(folder), capture_output=True, check=True)


def _processor_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


async def run() -> dict[str, Any]:
    """Measure and save."""
    options = ("--text", TEXT, "--tokens-per-second", str(RATE), "--first-token-seconds", "0.1", "--stamped")
    figures: dict[str, Any] = {"streams": STREAMS, "words": WORDS, "words_per_second": RATE}
    async with serving_model(*options) as model:
        figures["bare"] = await measured(model, "fake")
        print("bare", figures["bare"], flush=True)
        with product.folder() as folder:
            async with serving(folder, THRESHER_LLM_URL=model, THRESHER_LLM_MODEL="fake") as daemon:
                await asyncio.to_thread(_add_database, folder)
                before = _processor_seconds(daemon.pid)
                figures["thresher"] = await measured(f"{daemon.url.removesuffix('/mcp')}/v1", "thresher")
                figures["thresher"]["processor_seconds"] = round(_processor_seconds(daemon.pid) - before, 1)
    print("thresher", figures["thresher"], flush=True)
    ours = figures["thresher"]
    for name, figure in (("p95_ratio", "seconds_p95"), ("p95_from_request_ratio", "seconds_from_request_p95")):
        figures[name] = round(ours["at_once"][figure] / ours["alone"][figure], 3)
    machine.save("chat_streams", figures)
    return figures
