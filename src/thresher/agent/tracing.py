"""Turns LangChain's tracing off: conversations are sent only to the chosen model."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Final

_GONE: Final = ("LANGCHAIN_TRACING", "LANGCHAIN_HANDLER")
"""Variables of LangChain's first tracer, which no longer exists; its library fails every run that finds them."""


@contextmanager
def untraced() -> Generator[None]:
    """Run LangChain's code without a tracer, whatever the environment says."""
    for name in _GONE:
        os.environ.pop(name, None)  # noqa: TID251 - not a setting of ours: taken away, not read
    with import_module("langsmith.run_helpers").tracing_context(enabled=False):
        yield
