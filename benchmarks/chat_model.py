"""A deterministic chat model that speaks the OpenAI wire format, as a process of its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from benchmarks.processes import START_SECONDS


@asynccontextmanager
async def serving_model(*options: str) -> AsyncGenerator[str]:
    """Its address, until the block ends.

    Args:
        options: As `python -m tests.fakes.chat_server` has them.
    """
    command = (sys.executable, "-m", "tests.fakes.chat_server", *options)
    process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            url = (await process.stdout.readline()).decode().strip()
        if not url:
            raise RuntimeError("the model did not start")
        yield url
    finally:
        process.stdin.close()
        await process.wait()
