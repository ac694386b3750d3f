"""The door: light until LangGraph is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import thresher.agent.threads


def test_the_service_does_without_langgraph() -> None:
    """The daemon sweeps threads at every start; only an answer needs the saver, and half a second for its imports."""
    code = (
        "import sys, thresher.agent, thresher.agent.threads as threads\n"
        "heavy = [name for name in sys.modules if name.partition('.')[0] in ('langgraph', 'langchain_core')]\n"
        "print(heavy, threads.ThreadSaver.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[] ThreadSaver\n"


def test_a_name_that_is_not_there_is_an_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="Nothing"):
        _ = thresher.agent.threads.Nothing
