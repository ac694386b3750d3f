"""Chooses the documents that a question is about, for answers from several of them.

A word of a document's title or path names it if hardly another document is named by it, and so does a capitalised word
of its opening or one that stands everywhere in it; a repository is named by its name. If a question names two or more,
only those are chosen. Otherwise every document is whose best passage is nearly as good as the best of all.

Invariant: pure; nothing in it iterates over more than `CANDIDATES` documents in Python.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np

from thresher.embedding import count_tokens
from thresher.knowledge.documents.answers.repository_choice import name_mention
from thresher.knowledge.documents.answers.scoring import EVERYWHERE, LEAST_CHUNKS, ScoredChunks
from thresher.knowledge.documents.models import CHUNK_BITS, Document
from thresher.search import query_words, terms

CANDIDATES: Final = 256
"""Documents that are looked at: those with the best passages."""
MARGIN: Final = 8.0
"""Score of its best passage below the best at which a document is left out."""
_FEW: Final = 4
"""A word names documents if it names at most one of so many."""
_COPIES: Final = 3
"""Most documents that one name means."""
_FIRST: Final = re.compile(r"\W*(\w+)(?:,|['\u2019]s\b|\s+(?:and|or|vs|versus|against)\b)", re.IGNORECASE)
"""A first word that is joined to another or possesses something, as names do and verbs do not."""
_SENTENCE_END: Final = (".", "?", "!", ":")
_JOINS: Final = frozenset(
    """a against an and as at between both by compared comparing for from in of or than the to under versus vs
    with""".split()  # noqa: SIM905 - a text is easier to read
)
"""Words that join names or lead to them."""
_BARE: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a question names.

    Attributes:
        documents: The words that name each document, by its key.
        repositories: Keys of the repositories that it names.
        words: All those words, and those of the names of two or more repositories.
    """

    documents: Mapping[int, tuple[str, ...]]
    repositories: frozenset[int]
    words: frozenset[str]

    @property
    def compared(self) -> frozenset[int]:
        """Keys of the repositories that are compared; a single one only says where to look."""
        return self.repositories if len(self.repositories) > 1 else frozenset()

    def __len__(self) -> int:
        """The number of things that are compared by their names."""
        return len(self.documents) + len(self.compared)


@dataclass(frozen=True, slots=True)
class DocumentCandidate:
    """A document that an answer may use.

    Attributes:
        document: The document.
        why: Why it was chosen, in a few words.
        group: What it competes with: its own key if it was named; its repository's, negative, if that was; else 0.
        gap: Score of its best passage below the best of its group.
    """

    document: Document
    why: str
    group: int = 0
    gap: float = 0.0


def mentions(query: str, scored: ScoredChunks) -> Mentions:
    """What a question names.

    Args:
        query: The question.
        scored: The chunks of the documents that may be named.
    """
    repositories = {
        key: terms(head.name)
        for key, head in scored.heads.items()
        if len(scored.heads) > 1
        and (name_mention(query, head.name) or name_mention(query, head.name.rstrip("0123456789.-")))
    }
    passed = {term for some in repositories.values() for term in some}
    capital = _capitalised(query)
    named_by = _named_by(query, scored, passed, capital)
    if len(repositories) > 1 or any(term in capital for term in named_by):
        first = frozenset(terms(found[1]) if (found := _FIRST.match(query)) else ())
        named_by = {term: some for term, some in named_by.items() if term in capital | first or term.isdecimal()}
    documents = _meant(named_by, capital)
    # The name of a single repository may be a common word, such as "contracts".
    words = {term for some in documents.values() for term in some} | (passed if len(repositories) > 1 else set[str]())
    return Mentions(documents, frozenset(repositories), frozenset(words))


def _capitalised(query: str) -> frozenset[str]:
    """Terms of the words with a capital letter that do not begin a sentence."""
    words = query.split()
    inner = [word for before, word in pairwise(words) if not before.endswith(_SENTENCE_END)]
    return frozenset(term for word in inner if any(sign.isupper() for sign in word) for term in terms(word))


def _named_by(
    query: str, scored: ScoredChunks, passed: Collection[str], capital: Collection[str]
) -> dict[str, list[int]]:
    """The candidates that each of the question's words may name."""
    keys, firsts = scored.documents
    if len(keys) < 2:
        return {}
    chunks = np.diff(np.r_[firsts, len(scored.ids)])
    candidates = np.array(sorted(scored.best_documents(CANDIDATES)), np.int64)
    sizes = chunks[np.searchsorted(keys, candidates)]
    titles = [_title_words(one.title, one.path) for one in map(scored.document, candidates.tolist())]
    few = max(len(keys) / _FEW, 1)
    found = dict[str, list[int]]()
    for term, word in query_words(query).items():
        ids, _ = scored.scoring.holders.get(term, (np.empty(0, np.int64), None))
        named = np.array([word in title for title in titles], np.bool_)
        if term in passed:
            continue
        if not named.any():
            held = np.isin(keys, np.unique(ids >> CHUNK_BITS)).sum()
            # Of a question without capitals, a word that one document alone holds and that is not common.
            if term in capital or (not capital and held == 1 and count_tokens(f" {word}") > 1):
                bounds = np.searchsorted(ids, [candidates << CHUNK_BITS, candidates + 1 << CHUNK_BITS])
                everywhere = (bounds[1] - bounds[0] >= EVERYWHERE * sizes) & (sizes >= LEAST_CHUNKS)
                named = everywhere | (np.isin(candidates << CHUNK_BITS, ids) & (held <= few))
        if named.any() and (named.sum() <= few or term.isdecimal()):
            found[term] = candidates[named].tolist()
    return found


@lru_cache(maxsize=4096)
def _title_words(title: str, path: str) -> frozenset[str]:
    """Words as they are written: "contracts" in a question does not name contract-07.md."""
    return frozenset(query_words(f"{title} {path.rpartition('.')[0] or path}").values())


def _meant(named_by: Mapping[str, list[int]], capital: Collection[str]) -> dict[int, tuple[str, ...]]:
    """The document that each word means, if one fits it best: "GPL" and "2" both name GPL-2, and "2" others as well.

    Beside another name, one that a few fit equally, such as copies of a document, means all of them.
    """
    spelt = {key for term, some in named_by.items() if not term.isdecimal() for key in some}
    held = {term: [key for key in some if key in spelt] for term, some in named_by.items()}
    strength = dict[int, float]()
    for some in held.values():
        for key in some:
            strength[key] = strength.get(key, 0.0) + 1 / len(some)
    meant = dict[tuple[int, ...], tuple[str, ...]]()
    for term, some in held.items():
        most = max((strength[key] for key in some), default=0.0)
        best = tuple(key for key in some if strength[key] >= most)
        if 0 < len(best) <= (_COPIES if term in capital else 1):
            meant[best] = (*meant.get(best, ()), term)
    return {key: words for some, words in meant.items() for key in some if len(some) == 1 or len(meant) > 1}


def without_names(query: str, names: Collection[str]) -> str:
    """A question without the names that it holds, and without the words that join them or lead to them."""
    kept: list[str] = []
    run: list[str] = []
    held = False
    for word in query.split():
        found = terms(word)
        name = bool(found) and all(term in names for term in found)
        if name or all(one in _JOINS for one in _BARE.findall(word.lower())):
            run.append(word)
            held = held or name
            continue
        kept += [word] if held else [*run, word]
        run, held = [], False
    return " ".join(kept if held else kept + run)


def choose_documents(named: Mentions, scored: ScoredChunks) -> list[DocumentCandidate]:
    """The documents to answer from, best first.

    Args:
        named: What the question names.
        scored: The chunks of all documents that may be chosen.
    """
    keys, firsts = scored.documents
    best = np.maximum.reduceat(scored.scores, firsts) if len(firsts) else np.empty(0, np.float32)
    ahead = np.isin(keys, list(named.documents))
    order = np.argsort(-best, kind="stable")
    order = np.r_[order[ahead[order]], order[~ahead[order]][:CANDIDATES]]
    tops = dict[int, float]()
    found: list[DocumentCandidate] = []
    for place in order.tolist():
        document, score = scored.document(int(keys[place])), float(best[place])
        if words := named.documents.get(document.id):
            found.append(DocumentCandidate(document, f"named in the question: {', '.join(words)}", document.id))
            continue
        group = -document.repository if document.repository in named.compared else 0
        if not group and len(named) > 1:
            continue
        gap = tops.setdefault(group, score) - score
        if gap <= MARGIN:
            whose = f"of {scored.heads[document.repository].name}, which the question names: " if group else ""
            why = "fits best" if gap == 0 else "fits nearly as well"
            found.append(DocumentCandidate(document, whose + why, group, gap))
    return found
