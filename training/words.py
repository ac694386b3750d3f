"""Learns which words people use for what tools say of themselves, and writes the table that the product reads.

A ridge regression from the terms of a tool's name and brief to the words of its messages. Of each term the
table keeps the words that it speaks for most; a word counts the more, the fewer tools are asked for with it.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from thresher.core import Tool
from thresher.knowledge.tools.definitions import enrich
from thresher.knowledge.tools.message_words import TABLE, own_terms, term_weights
from thresher.search import Floats, terms

RIDGE = 1.0
WORDS = 12
"""Words kept of a term."""
LEAST = 0.15
"""The least strength of a word that is kept."""
LEAST_TERM, LEAST_WORD = 4, 8
"""Tools that must have a term, and tools whose messages must have a word."""
TOOLS, SERVERS = 3, 2
"""Tools and servers in which a term and a word must meet."""
_MOST = 3
"""Messages of a tool with a word after which more do not count."""
_WORD = re.compile(r"(?<![\w.@/'-])[A-Za-z]{3,}(?![\w@/]|[.-]\w|://)")
"""A word that is no part of an address, a path or an identifier."""


def learn(tools: Sequence[Tool], messages: Mapping[str, Sequence[str]]) -> str:
    """Return the text of the table.

    Args:
        tools: Tools that have messages.
        messages: What people type, by the tool's key.
    """
    said = [Counter(word for text in messages[tool.key] for word in _said(text)) for tool in tools]
    spelled = _spellings(text for tool in tools for text in messages[tool.key])
    known = Counter(word for words in said for word in words)
    words = sorted(word for word, count in known.items() if count >= LEAST_WORD and word in spelled)
    own = [own_terms(*enrich(tool).texts[:2]) for tool in tools]
    held = Counter(term for each in own for term in each)
    kept = {
        term: math.log(len(tools) / count)
        for term, count in sorted(held.items())
        if count >= LEAST_TERM and term.isalpha()
    }
    rows, columns = {term: row for row, term in enumerate(kept)}, {word: row for row, word in enumerate(words)}
    read = np.zeros((len(tools), len(kept)), np.float32)
    asked = np.zeros((len(tools), len(words)), np.float32)
    for place, (each, count) in enumerate(zip(own, said, strict=True)):
        for term, weight in term_weights(each, kept).items():
            read[place, rows[term]] = weight
        for word in count.keys() & columns.keys():
            asked[place, columns[word]] = min(count[word], _MOST) / _MOST
    strength = np.linalg.solve(
        read.T @ read + RIDGE * np.eye(len(kept), dtype=np.float32), read.T @ (asked - asked.mean(0))
    )
    strength *= np.array([math.log(len(tools) / known[word]) for word in words], np.float32)
    strength[~_met([tool.server for tool in tools], read > 0, asked > 0)] = 0
    lines = [_line(term, kept[term], strength[row], [spelled[word] for word in words]) for term, row in rows.items()]
    head = (
        f"# Written by `python -m training words`: {len(tools):,} tools, {sum(map(len, messages.values())):,} messages."
    )
    return "\n".join((head, *filter(None, lines), ""))


def write(tools: Sequence[Tool], messages: Mapping[str, Sequence[str]]) -> int:
    """Write the table; returns its size in bytes."""
    return TABLE.write_text(learn(tools, messages), encoding="utf-8")


def _said(text: str) -> set[str]:
    return {term for word in _WORD.findall(text) for term in terms(word)}


def _spellings(texts: Iterable[str]) -> dict[str, str]:
    """The commonest spelling of each word that is mostly written in small letters: others are names."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for word in _WORD.findall(text):
            for term in terms(word):
                found[term][word] += 1
    small = {term: Counter({word: n for word, n in each.items() if word.islower()}) for term, each in found.items()}
    return {
        term: each.most_common(1)[0][0]
        for term, each in small.items()
        if 2 * each.total() >= found[term].total() and terms(each.most_common(1)[0][0]) == [term]
    }


def _met(servers: Sequence[str], read: NDArray[np.bool_], asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which terms and words meet in enough tools and servers, (terms, words)."""
    tools = read.astype(np.float32).T @ asked.astype(np.float32)
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, server in enumerate(servers):
        places[server].append(place)
    count = np.zeros_like(tools)
    for own in places.values():
        met = read[own].astype(np.float32).T @ asked[own].astype(np.float32) > 0
        count += met
    return (tools >= TOOLS) & (count >= SERVERS)


def _line(term: str, rarity: float, strength: Floats, words: Sequence[str]) -> str:
    best = [place for place in np.argsort(-strength)[:WORDS] if strength[place] > LEAST]
    listed = " ".join(f"{words[place]}:{round(100 * float(strength[place]))}" for place in best)
    return f"{term} {rarity:.2f} {listed}" if listed else ""
