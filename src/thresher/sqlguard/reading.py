"""Reads a statement of an engine whose own grammar is not at hand: first by its words, then by its tree.

Invariant: both readings must agree that it only reads; the words are cut as the engine cuts them, so that the tree's
grammar cannot be led to see another statement than the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thresher.sqlguard.grammars import Grammar, check_calls, check_depth, check_start, check_words
from thresher.sqlguard.lists import listed
from thresher.sqlguard.records import Dialect, Functions, Knowledge, Limits, Verdict
from thresher.sqlguard.refusals import Refused
from thresher.sqlguard.tokens import Token
from thresher.sqlguard.trees import check_retries, check_tree, read_tree


@dataclass(frozen=True, slots=True)
class Text:
    """A statement in words.

    Attributes:
        tokens: Its words; at least one.
        masked: The text for the tree's grammar, as long as the original.
    """

    tokens: Sequence[Token]
    masked: str

    def behind(self, count: int) -> Text:
        """The same without its first words.

        Raises:
            Refused: Nothing is left.
        """
        if count >= len(self.tokens):
            raise Refused("syntax", "The statement ends too early.", offset=self.tokens[-1].start)
        start = self.tokens[count].start
        return Text(self.tokens[count:], " " * start + self.masked[start:])


def known_functions(dialect: Dialect, knowledge: Knowledge) -> Functions:
    """The functions that may be called: those of the catalog where it is known, but never one that is not listed."""
    return knowledge.functions or listed(dialect)


def read_query(text: Text, grammar: Grammar, functions: Functions, limits: Limits) -> Verdict:
    """The verdict of a query that may run.

    Args:
        text: The query.
        grammar: Its dialect.
        functions: What it may call.
        limits: How deep and large it may be.

    Raises:
        Refused: What it broke.
    """
    check_start(text.tokens, grammar)
    check_depth(text.tokens, limits)
    check_words(text.tokens, grammar, functions)
    called = check_calls(text.tokens, grammar, functions, limits)
    check_retries(text.tokens, grammar)
    return check_tree(read_tree(text.masked, grammar), grammar, functions, called)


def explained(verdict: Verdict) -> Verdict:
    """The verdict of a plan, by that of the query."""
    return replace(verdict, kind="explain", limited=True)


def texts(tokens: Sequence[Token], count: int) -> list[str]:
    """The first words as texts; a quoted one counts as its kind."""
    return [token.text if token.kind in {"word", "symbol"} else token.kind for token in tokens[:count]]
