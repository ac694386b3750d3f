"""The worker process: embeds batches for its parent (`python -m thresher.embedding`).

Invariant: the process ends when its input does, even in the middle of a batch, so that it cannot outlive its parent.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

import numpy as np

from thresher.core import EncoderError
from thresher.embedding.frames import (
    FAILED,
    READY,
    VECTORS,
    pack_error,
    read_frame,
    unpack_start,
    unpack_texts,
    write_frame,
)
from thresher.embedding.onnx import TextModel, work_shares
from thresher.embedding.protocol import Matrix

Inbox = queue.SimpleQueue[bytes | None]


def serve(source: BinaryIO, sink: BinaryIO, on_end: Callable[[], None]) -> None:
    """Answer frames until the input ends.

    Args:
        source: Input with a start frame, then text frames.
        sink: Output with one answer per frame.
        on_end: Called, in another thread, as soon as the input has ended.
    """
    inbox: Inbox = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(source, inbox, on_end), daemon=True).start()
    start = inbox.get()
    if start is None:
        return
    files, threads = unpack_start(start)
    try:
        model = TextModel(files)
    except EncoderError as error:
        write_frame(sink, FAILED, pack_error(error))
        return
    write_frame(sink, READY, b"")
    with ThreadPoolExecutor(threads) as pool:
        while (payload := inbox.get()) is not None:
            _answer(sink, model, pool, threads, unpack_texts(payload))


def _answer(sink: BinaryIO, model: TextModel, pool: ThreadPoolExecutor, threads: int, texts: list[str]) -> None:
    try:
        write_frame(sink, VECTORS, _encode(model, pool, threads, texts).tobytes())
    except EncoderError as error:
        write_frame(sink, FAILED, pack_error(error))


def _encode(model: TextModel, pool: ThreadPoolExecutor, threads: int, texts: list[str]) -> Matrix:
    shares = work_shares([len(text) for text in texts], threads)
    jobs = [pool.submit(model.encode, [texts[index] for index in share]) for share in shares]
    result = np.zeros((len(texts), model.model.dimension), np.float32)
    for share, job in zip(shares, jobs, strict=True):
        result[share] = job.result()
    return result


def _receive(source: BinaryIO, inbox: Inbox, on_end: Callable[[], None]) -> None:
    while (frame := read_frame(source)) is not None:
        inbox.put(frame[1])
    inbox.put(None)
    on_end()


def main() -> None:
    """Run the worker on its standard input and output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and closes our input
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's output must not appear between frames
    serve(sys.stdin.buffer, sink, lambda: os._exit(0))


if __name__ == "__main__":
    main()
