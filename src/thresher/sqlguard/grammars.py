"""Rules on the words of a statement: what it begins with, which words it may not have, what it calls, how large it is.

Invariant: the rules look at every word wherever it stands, so that nothing depends on how a tree is built from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from thresher.sqlguard.records import Functions, Limits, Rule
from thresher.sqlguard.sizes import check_sizes, is_gathering
from thresher.sqlguard.tokens import Lexicon, Token
from thresher.sqlguard.verdicts import Refused

_WRITE_HINT: Final = "Only statements that read may run here."
_MULTIPLYING: Final = frozenset({"replace", "regexp_replace", "string_agg", "group_concat", "listagg"})
_REASONS: Final[Mapping[Rule, str]] = {
    "writes": "{word} changes or stores something.",
    "locks": "{word} locks rows or tables.",
    "file": "{word} reaches a file.",
    "statement": "{word} may not run here.",
    "clause": "{word} is not among the clauses that only read.",
    "operator": "{word} is not among the operators that only read.",
}

BEGINNINGS: Final = frozenset(
    {
        *(
            "VACUUM",
            "START",
            "GRANT",
            "SET",
            "EXECUTE",
            "LOAD",
            "USE",
            "RESET",
            "ABORT",
            "END",
            "DO",
            "CALL",
            "PREPARE",
            "BEGIN",
        ),
        *("DEALLOCATE", "CHECKPOINT", "REINDEX", "MERGE", "UPSERT", "COPY", "EXPORT", "IMPORT", "INSTALL", "FLUSH"),
        *("SHUTDOWN", "STOP", "CHANGE", "CACHE", "HELP", "XA", "BINLOG", "REPAIR", "CHECK", "CHECKSUM", "TRUNCATE"),
        *("REVOKE", "KILL", "COMMENT", "UNLISTEN", "LISTEN", "NOTIFY", "EXEC", "BACKUP", "RESTORE", "DBCC", "WAITFOR"),
        *("UNINSTALL", "HANDLER", "GET", "SOURCE", "DELIMITER", "SAVEPOINT", "ROLLBACK", "COMMIT", "RELEASE", "SHOW"),
    }
)
_BINDING: Final = frozenset({"AND", "OR", "IS", "IN", "NOT", "BETWEEN", "LIKE", "AS", "JOIN", "LEFT", "COLLATE", "DIV"})


@dataclass(frozen=True, slots=True)
class Grammar:
    """A dialect, as far as its words tell.

    Attributes:
        tree: The dialect's name in the tree's grammar.
        lexicon: How it cuts a text into words.
        starts: Words that a statement may begin with.
        refused: Words that may not be written without quotes, unless a parenthesis follows and a function is called so.
        structural: Words that are always the grammar's own, so that a parenthesis behind them is no call.
        contextual: Further words which are no function right behind one of these words or marks.
        sized: Functions that make as many characters or rows as a number says.
        relation: Why a relation (its name and what qualifies it, lower case) may not be read; empty where it may.
        schemas: Schemas of the engine's own functions: a call may be qualified with them.
        systems: Variables of the engine that may be read, lower case, without the `@@`.
        bare_calls: Whether a function without arguments is called without brackets, as a column is read.
    """

    tree: str
    lexicon: Lexicon
    starts: frozenset[str]
    refused: Mapping[str, Rule]
    structural: frozenset[str]
    contextual: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    sized: frozenset[str] = frozenset()
    relation: Callable[[tuple[str, ...]], str] = lambda _: ""
    schemas: frozenset[str] = frozenset()
    systems: frozenset[str] = frozenset()
    bare_calls: bool = False


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def refusals(**rules: str) -> dict[str, Rule]:
    """A table of words by the rule that they break."""
    return {word: cast("Rule", rule) for rule, listed in rules.items() for word in listed.split()}


def check_start(tokens: Sequence[Token], grammar: Grammar) -> None:
    """Refuses a statement that begins with anything but a word of reading.

    Raises:
        Refused: With the word as its kind.
    """
    first = next((token for token in tokens if token.said != "("), tokens[0])
    if first.kind == "word" and first.text in grammar.starts:
        return
    rule = grammar.refused.get(first.text, "statement") if first.kind == "word" else "syntax"
    reason = f"A statement may not begin with {first.text[:40]}."
    raise Refused(rule, reason, hint=_WRITE_HINT, offset=first.start, kind=first.text.lower()[:40])


def check_depth(tokens: Sequence[Token], limits: Limits) -> None:
    """Refuses what is nested deeper than a tree of it could be read.

    Raises:
        Refused: Deeper than the limit, or parentheses that do not match.
    """
    depth = 0
    for token in tokens:
        if (token.kind == "symbol" and token.text == "(") or (token.kind == "word" and token.text == "CASE"):
            depth += 1
        elif (token.kind == "symbol" and token.text == ")") or (token.kind == "word" and token.text == "END"):
            depth -= 1
        if depth > limits.depth:
            raise Refused(
                "too_deep", "The statement is nested too deeply.", hint="Write it flatter.", offset=token.start
            )
        if depth < 0:
            raise Refused("syntax", "A parenthesis closes that was not opened.", offset=token.start)


def check_words(tokens: Sequence[Token], grammar: Grammar, functions: Functions) -> None:
    """Refuses words that write, lock, reach out or end a session, wherever they stand.

    Raises:
        Refused: With the word's own rule.
    """
    for index, token in enumerate(tokens):
        if token.kind == "system":
            _check_system(token, grammar)
        if token.kind != "word":
            if token.said == "." and (not index or tokens[index - 1].kind not in {"word", "name"}):
                raise Refused("syntax", "A dot may not stand here.", offset=token.start)
            continue
        _check_inner(tokens, index)
        if token.text not in grammar.refused:
            continue
        following = tokens[index + 1].said if index + 1 < len(tokens) else ""
        called = following == "(" and token.text.lower() in functions.allowed
        if called or (index and tokens[index - 1].said == "."):
            continue
        rule = grammar.refused[token.text]
        reason = _REASONS[rule].format(word=token.text)
        raise Refused(rule, reason, hint=_WRITE_HINT, offset=token.start, kind=tokens[0].text.lower())


def _check_inner(tokens: Sequence[Token], index: int) -> None:
    """Refuses what begins like another statement inside brackets: `(START TRANSACTION)`.

    Raises:
        Refused: No grammar has it; a lenient one would take it for a name with an alias.
    """
    token = tokens[index]
    if token.text not in BEGINNINGS or not index or tokens[index - 1].said != "(" or index + 1 >= len(tokens):
        return
    if tokens[index + 1].kind in {"word", "name", "string"} and tokens[index + 1].text not in _BINDING:
        raise Refused("statement", f"{token.text} may not run here.", hint=_WRITE_HINT, offset=token.start)


def _check_system(token: Token, grammar: Grammar) -> None:
    """Refuses a variable of the engine that is not on the list."""
    name = token.text.lower().removeprefix("@@").removeprefix("global.").removeprefix("session.").removeprefix("local.")
    if name not in grammar.systems:
        hint = "Ask the database's owner for settings."
        raise Refused(
            "parameter", f"{token.text[:60]} may not be read.", hint=hint, offset=token.start, text=token.text
        )


def check_pairs(tokens: Sequence[Token], pairs: Mapping[tuple[str, str], str]) -> None:
    """Refuses words that do more than read where one follows the other, each with or without quotes.

    Args:
        tokens: The statement.
        pairs: The reason for each pair, in upper case.

    Raises:
        Refused: `writes`, at the second.
    """
    for first, second in itertools.pairwise(tokens):
        reason = pairs.get((first.text, second.text.upper()))
        if reason:
            raise Refused("writes", reason, hint=_WRITE_HINT, offset=second.start)


def check_calls(tokens: Sequence[Token], grammar: Grammar, functions: Functions, limits: Limits) -> tuple[str, ...]:
    """Refuses calls of anything but the listed functions: every name before a parenthesis, quoted or not.

    Returns:
        The functions that are called, lower case, each once.

    Raises:
        Refused: A function that is not on the list, or is not the engine's own.
    """
    closing = _pairs(tokens)
    called: dict[str, None] = {}
    sized: list[tuple[int, int]] = []
    multiplying: list[tuple[int, int]] = []
    for index in closing:
        name = _called(tokens, index, closing[index], grammar)
        if not name:
            continue
        _check_function(name, tokens[index - 1], grammar, functions)
        called[name] = None
        plain = name.rpartition(".")[2]
        if plain in grammar.sized:
            sized.append((index, closing[index]))
        elif plain in _MULTIPLYING:
            multiplying.append((index, closing[index]))
    if sized or multiplying:
        reads = any(token.said == "FROM" for token in tokens)
        gathering = reads and any(is_gathering(name.rpartition(".")[2]) for name in called)
        check_sizes(tokens, sized, multiplying, limits, gathering=gathering)
    return tuple(called)


def _pairs(tokens: Sequence[Token]) -> dict[int, int]:
    """Where each parenthesis closes."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind != "symbol":
            continue
        if token.text == "(":
            opened.append(index)
        elif token.text == ")" and opened:
            pairs[opened.pop()] = index
    if opened:
        raise Refused("syntax", "A parenthesis does not close.", offset=tokens[opened[-1]].start)
    return dict(sorted(pairs.items()))


def _called(tokens: Sequence[Token], opening: int, closing: int, grammar: Grammar) -> str:
    """The function that the parenthesis calls, lower case, with its schema; empty where it is no call."""
    last = tokens[opening - 1] if opening else None
    if last is None or last.kind in {"symbol", "number"}:
        return ""
    if last.kind in {"string", "system"}:
        raise Refused("syntax", "A parenthesis may not follow here.", offset=last.start)
    if [token.said for token in tokens[opening + 1 : closing]] == ["+"]:
        return ""  # Oracle's mark of an outer join
    before = tokens[opening - 2] if opening > 1 else None
    if before is not None and before.said == ".":
        return _qualified(tokens, opening)
    word = last.text if last.kind == "word" else ""
    if word in grammar.structural or (before is not None and before.said == "AS"):
        return ""
    if before is not None and {before.said, before.kind} & grammar.contextual.get(word, frozenset()):
        return ""
    if before is not None and before.said in {"WITH", "RECURSIVE", ","} and _is_query_name(tokens, closing):
        return ""
    return _part(last)


def _qualified(tokens: Sequence[Token], opening: int) -> str:
    """The dotted name before a parenthesis."""
    parts = [_part(tokens[opening - 1])]
    index = opening - 2
    while index > 0 and tokens[index].said == "." and tokens[index - 1].kind in {"word", "name"}:
        parts.append(_part(tokens[index - 1]))
        index -= 2
    return ".".join(reversed(parts))


def _part(token: Token) -> str:
    """A part of a function's name, lower case.

    Raises:
        Refused: A quoted name with a dot inside, which would look like two.
    """
    if "." in token.text:
        raise Refused("function", "A function's name has a dot.", hint="Do without it.", offset=token.start)
    return token.text.lower()


def _is_query_name(tokens: Sequence[Token], closing: int) -> bool:
    """Whether what closes here are the columns of a query in WITH: `name (a, b) AS (...)`."""
    after = [token.said for token in tokens[closing + 1 : closing + 4]]
    return after[:1] == ["AS"] and after[1:2] in (["("], ["MATERIALIZED"], ["NOT"])


def _check_function(name: str, token: Token, grammar: Grammar, functions: Functions) -> None:
    """Refuses a function that is not on the list.

    Raises:
        Refused: `function`, or `shadowed_function` where somebody's own function bears the name.
    """
    if name in functions.own:
        return
    schema, _, plain = name.rpartition(".")
    qualified = schema in grammar.schemas
    if name not in functions.allowed and not (qualified and plain in functions.allowed):
        hint = "Use the engine's own functions that compute, or ask the connection's owner to allow it."
        raise Refused("function", f"The function {name[:60]} is not among those that only read.", hint=hint,
                      offset=token.start, text=token.text)  # fmt: skip
    if plain in functions.shadowed and not qualified:
        reason = f"Somebody's own function has the name {plain[:60]}."
        raise Refused("shadowed_function", reason, hint="Do without it.", offset=token.start, text=token.text)
