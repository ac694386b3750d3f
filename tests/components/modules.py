"""Modules as people put them into the folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

FORECAST = '''
from fastmcp.tools import tool


@tool
def forecast(city: str) -> str:
    """The weather of tomorrow in a city."""
    print("printed by a tool", end="")
    return f"Sun in {city}"
'''
REGISTERED = '''
def register(mcp):
    @mcp.tool
    def add_numbers(a: int, b: int) -> int:
        """Add two whole numbers."""
        return a + b
'''
WITH_AUTH = '''
async def register(mcp, auth):
    @mcp.tool
    def whose_components() -> str:
        """Whose components these are."""
        return f"tenant {auth.tenant}, user {auth.user!r}"
'''
PROMPT = '''
from fastmcp.prompts import prompt


@prompt
def greeting(name: str) -> str:
    """A greeting for somebody."""
    return f"Say hello to {name}."
'''
RESOURCES = '''
from fastmcp.resources import resource


@resource("notes://all")
def notes() -> str:
    """All notes."""
    return "buy milk"


@resource("notes://one/{number}")
def note(number: str) -> str:
    """One note."""
    return f"note {number}"
'''
BROKEN = "value = 1 / 0\n"
LOOP = "while True:\n    pass\n"
WAITS = "import asyncio\n\nasync def register(mcp):\n    await asyncio.Event().wait()\n"
DEADLY = "import os\n\nos._exit(7)\n"
PROXY = """
import sys

from thresher.components import add_server

add_server("{name}", {{"command": sys.executable, "args": [{fake!r}, "good"]}})
"""


def put(folder: Path, **modules: str) -> None:
    """Write modules: `tools_weather` becomes `tools/weather.py`; each write is seen as a change."""
    for name, source in modules.items():
        kind, _, stem = name.partition("_")
        path = folder / kind / f"{stem}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        os.utime(path, ns=(time.time_ns(), time.time_ns()))
