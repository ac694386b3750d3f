"""Regular expressions that are compiled when they are first used.

Invariant: standard library only. Most starts never see the text that hundreds of patterns are for, and compiling them
all would be a tenth of a daemon's start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

_METHODS: Final = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split")


class LazyPattern:
    """A regular expression with the methods of `re.Pattern`, compiled at the first call of one of them.

    Args:
        source: The expression.
        flags: Those of `re.compile`.
    """

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    fullmatch: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]
    findall: Callable[..., list[Any]]
    sub: Callable[..., str]
    split: Callable[..., list[Any]]

    def __init__(self, source: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.pattern = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
