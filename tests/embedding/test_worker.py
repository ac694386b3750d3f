"""The worker process: started on demand, replaced if it dies, ended when idle."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.embedding.tiny import write_model
from tests.support import eventually
from thresher.core import EncoderError
from thresher.embedding.__main__ import serve
from thresher.embedding.frames import (
    FAILED,
    READY,
    START,
    TEXTS,
    VECTORS,
    pack_start,
    pack_texts,
    read_frame,
    write_frame,
)
from thresher.embedding.local import LocalEncoder
from thresher.embedding.onnx import TextModel
from thresher.embedding.registry import ModelFiles, ModelSpec, read_folder
from thresher.embedding.worker import Worker

TEXTS_MANY = [f"text {number}" for number in range(30)]
Open = Callable[..., LocalEncoder]


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def files(tiny_folder: Path) -> ModelFiles:
    """The tiny model's files."""
    return read_folder(tiny_folder, ModelSpec("tiny"))


@pytest.fixture
def worker(files: ModelFiles) -> Iterator[Worker]:
    """A worker with an idle time of a minute."""
    worker = Worker(lambda: files, threads=2)
    yield worker
    worker.stop()


async def test_many_documents_go_to_a_niced_process_and_few_do_not(open_local: Open, tiny_folder: Path) -> None:
    """Both give the same vectors."""
    encoder = open_local(tiny_folder)

    few = await encoder.embed_documents(TEXTS_MANY[:8])
    assert encoder.worker.pid is None
    many = await encoder.embed_documents([*TEXTS_MANY, *TEXTS_MANY])

    pid = encoder.worker.pid
    assert pid is not None
    assert os.getpriority(os.PRIO_PROCESS, pid) == max(10, os.getpriority(os.PRIO_PROCESS, 0))
    assert np.array_equal(few, many[:8])
    assert np.array_equal(many[:30], many[30:])


def test_a_worker_can_be_started_before_its_first_batch(worker: Worker) -> None:
    """The batch then finds it running; a second call starts no second process."""
    worker.prepare()
    first = worker.pid
    worker.prepare()
    worker.embed(["a"])

    assert first is not None
    assert worker.pid == first


def test_a_worker_that_cannot_start_fails_only_at_the_first_batch() -> None:
    """Preparing raises no error."""

    def missing() -> ModelFiles:
        raise EncoderError("There is no model.")

    worker = Worker(missing, threads=1)
    worker.prepare()

    with pytest.raises(EncoderError, match="There is no model"):
        worker.embed(["a"])


def test_a_killed_worker_is_started_again(worker: Worker) -> None:
    """The batch goes to the new one, and the caller sees no difference."""
    worker.embed(["a"])
    first = worker.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)

    assert worker.embed(["a", "b"]).shape == (2, 16)
    assert worker.pid not in (None, first)


def test_a_hanging_worker_is_replaced_and_after_two_tries_is_an_error(files: ModelFiles) -> None:
    """The time limit of a batch is too short here for a process even to start."""
    worker = Worker(lambda: files, threads=1, stall_seconds=0.001)

    with pytest.raises(EncoderError, match=r"ended 2 times.*out-of-memory"):
        worker.embed(["a"])
    assert worker.pid is None


def test_a_model_that_the_worker_cannot_load_is_an_error_at_once(tiny_folder: Path) -> None:
    """A file that changed since it was found: there is no second try."""
    files = read_folder(tiny_folder, ModelSpec("tiny"))
    (tiny_folder / "model.onnx").write_bytes(b"\x08\x08nonsense")
    worker = Worker(lambda: files, threads=1)

    with pytest.raises(EncoderError, match="ONNX Runtime"):
        worker.embed(["a"])
    assert worker.pid is None


def test_an_error_inside_the_worker_is_returned_and_the_worker_stays(tmp_path: Path) -> None:
    """A dimension that the graph does not have."""
    files = read_folder(write_model(tmp_path / "m", {"dimension": 3}), ModelSpec("m"))
    worker = Worker(lambda: files, threads=1)

    for _ in range(2):
        with pytest.raises(EncoderError, match="dimensions"):
            worker.embed(["a"])
    assert worker.pid is not None
    worker.stop()


async def test_an_idle_worker_ends(files: ModelFiles) -> None:
    """The next batch starts another."""
    worker = Worker(lambda: files, threads=1, idle_seconds=0.05)
    worker.embed(["a"])
    await eventually(lambda: worker.pid is None)

    assert worker.embed(["a"]).shape == (1, 16)
    await eventually(lambda: worker.pid is None)
    worker.stop()


async def test_closing_ends_a_pending_batch_and_the_process(open_local: Open) -> None:
    """The caller gets an error promptly."""
    encoder = open_local()
    work = asyncio.create_task(encoder.embed_documents([f"{text} with words " * 100 for text in TEXTS_MANY * 9]))
    pid = await eventually(lambda: encoder.worker.pid)

    await encoder.close()

    with pytest.raises(EncoderError, match="closed"):
        await work
    assert not alive(pid)


async def test_a_cancelled_call_stops_after_its_batch(open_local: Open, tiny_folder: Path) -> None:
    """The encoder continues to serve others."""
    encoder = open_local(tiny_folder)
    work = asyncio.create_task(encoder.embed_documents([f"text {number}" for number in range(5000)]))
    await eventually(lambda: encoder.worker.pid)
    work.cancel()

    with pytest.raises(asyncio.CancelledError):
        await work
    assert (await encoder.embed_documents(TEXTS_MANY)).shape == (30, 16)


async def test_two_large_calls_take_turns(open_local: Open, tiny_folder: Path) -> None:
    """Both complete, in one process."""
    encoder = open_local(tiny_folder)
    long = [f"text {number}" for number in range(500)]

    first, second = await asyncio.gather(encoder.embed_documents(long), encoder.embed_documents(long[::-1]))

    assert np.array_equal(first, second[::-1])


async def test_the_worker_dies_with_its_parent(tiny_folder: Path) -> None:
    """Even if the parent is killed during a batch and closes nothing."""
    code = f"""
import threading
from pathlib import Path
from thresher.embedding.registry import ModelSpec, read_folder
from thresher.embedding.worker import Worker
files = read_folder(Path({str(tiny_folder)!r}), ModelSpec("tiny"))
worker = Worker(lambda: files, threads=1)
worker.embed(["a"])
print(worker.pid, flush=True)
while True:
    worker.embed(["text"] * 5000)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(await asyncio.to_thread(parent.stdout.readline))
    assert alive(pid)

    parent.kill()
    parent.communicate()

    await eventually(lambda: not alive(pid))


@pytest.mark.parametrize("closing", ["await encoder.close()", "pass"])
async def test_an_interrupt_leaves_nothing_behind(tiny_folder: Path, closing: str) -> None:
    """Ctrl-C during a large call, whether or not the program still closes the encoder."""
    code = f"""
import asyncio
from pathlib import Path
from thresher.core import load_settings
from thresher.embedding import open_encoder

async def main():
    encoder = open_encoder(load_settings(model_dir=Path({str(tiny_folder)!r})))
    try:
        await encoder.embed_documents([f"text {{number}}" for number in range(100)])
        print(encoder.worker.pid, flush=True)
        await encoder.embed_documents([f"text {{number}}" for number in range(1_000_000)])
    finally:
        {closing}

asyncio.run(main())
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(await asyncio.to_thread(parent.stdout.readline))

    parent.send_signal(signal.SIGINT)
    _, errors = await asyncio.to_thread(parent.communicate, timeout=30)

    assert "KeyboardInterrupt" in errors
    await eventually(lambda: not alive(pid))


def test_a_worker_started_by_hand_survives_an_interrupt_and_ends_with_its_input(files: ModelFiles) -> None:
    """Ctrl-C in a terminal reaches the whole group; the parent handles it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "thresher.embedding"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    write_frame(process.stdin, START, pack_start(files, 1))
    assert read_frame(process.stdout) == (READY, b"")
    process.send_signal(signal.SIGINT)
    write_frame(process.stdin, TEXTS, pack_texts(["a"]))

    frame = read_frame(process.stdout)
    process.stdin.close()

    assert frame is not None
    assert frame[0] == VECTORS
    assert process.wait(20) == 0
    process.stdout.close()


class Serving:
    """`serve` in a thread, over real pipes."""

    def __init__(self) -> None:
        (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
        self.input, self.output = os.fdopen(write_in, "wb"), os.fdopen(read_out, "rb")
        self.source, self.sink = os.fdopen(read_in, "rb"), os.fdopen(write_out, "wb")
        self.ended = threading.Event()
        self.thread = threading.Thread(target=serve, args=(self.source, self.sink, self.ended.set))
        self.thread.start()

    def end(self) -> None:
        """Close the input and wait."""
        self.input.close()
        self.thread.join(20)
        assert self.ended.wait(20)
        for stream in (self.output, self.source, self.sink):
            stream.close()


@pytest.fixture
def serving() -> Iterator[Serving]:
    """The worker's loop without a process."""
    serving = Serving()
    yield serving
    serving.end()


def test_the_worker_answers_each_frame(serving: Serving, files: ModelFiles) -> None:
    """The model's vectors, in the texts' order."""
    write_frame(serving.input, START, pack_start(files, 2))
    write_frame(serving.input, TEXTS, pack_texts(TEXTS_MANY))

    assert read_frame(serving.output) == (READY, b"")
    frame = read_frame(serving.output)
    assert frame == (VECTORS, TextModel(files).encode(TEXTS_MANY).tobytes())


def test_the_worker_reports_a_load_error(serving: Serving, files: ModelFiles) -> None:
    """And ends."""
    files.tokenizer.unlink()
    write_frame(serving.input, START, pack_start(files, 1))

    frame = read_frame(serving.output)
    assert frame is not None
    assert frame[0] == FAILED


def test_the_worker_reports_an_embedding_error(serving: Serving, tmp_path: Path) -> None:
    """And stays."""
    wrong = read_folder(write_model(tmp_path / "m", {"dimension": 3}), ModelSpec("m"))
    write_frame(serving.input, START, pack_start(wrong, 1))
    write_frame(serving.input, TEXTS, pack_texts(["a"]))

    assert read_frame(serving.output) == (READY, b"")
    frame = read_frame(serving.output)
    assert frame is not None
    assert frame[0] == FAILED


def test_a_worker_without_a_start_ends_quietly(serving: Serving) -> None:
    """Its parent was killed before the start frame."""
    serving.end()

    assert not serving.thread.is_alive()


@pytest.mark.parametrize("cut", [0, 3, 7])
def test_an_incomplete_frame_is_ignored(cut: int) -> None:
    """The other side died while writing."""
    stream = io.BytesIO()
    write_frame(stream, TEXTS, b"payload")

    assert read_frame(io.BytesIO(stream.getvalue()[:cut])) is None
