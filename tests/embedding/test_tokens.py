from __future__ import annotations

import sys
import threading

import pytest

from thresher.core import ConfigurationError
from thresher.embedding import count_tokens
from thresher.embedding.tokens import printable, token_core

KNOWN = [
    ("", 0),
    ("hello world", 2),
    ("a" * 1000, 125),
    ("日本語のテキスト", 6),
    ("👩‍👩‍👧‍👦🎉", 13),
    ("\0\0a", 2),
    ("<|endoftext|>", 7),
    ("  \n\t  x", 3),
]
"""Counts equal those of tiktoken's o200k_base, special tokens read as text."""


@pytest.mark.parametrize(("text", "count"), KNOWN)
def test_counts_equal_tiktokens(text: str, count: int) -> None:
    """Other scripts, emoji, control characters and special tokens too."""
    assert count_tokens(text) == count


def test_a_lone_surrogate_counts_as_a_question_mark() -> None:
    """UTF-8 cannot encode one."""
    assert printable("x\ud800y") == "x?y"
    assert count_tokens("x\ud800y") == count_tokens("x?y")


def test_a_megabyte_without_a_gap_is_counted() -> None:
    """The worst case of byte-pair encoding."""
    assert count_tokens("a" * 1_000_000) == 125_000


def test_many_threads_count_at_once() -> None:
    """The tables are shared."""
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(count_tokens("hello world " * 500))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(counts)) == 1


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install."""
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [])
    token_core.cache_clear()

    with pytest.raises(ConfigurationError, match="Install bpe-openai"):
        count_tokens("x")
