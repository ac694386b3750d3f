"""Threads that are told to stop take no lock along that the rest of the process needs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path


async def test_a_thread_that_is_stopped_while_it_imports_or_logs_hangs_nobody(tmp_path: Path) -> None:
    """A lock that stays taken hangs the process at its next import: so it is tried in one of its own."""
    command = [sys.executable, "-m", "tests.gateway.stopper", str(tmp_path), "60"]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    try:
        async with asyncio.timeout(55):
            told, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()

    assert told == b"all is well\n"
