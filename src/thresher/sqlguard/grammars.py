"""Rules on the words of a statement: how it begins, which words it may contain, what it calls, what it generates.

Invariant: the rules look at every word wherever it stands, so nothing depends on how a tree is built from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from thresher.sqlguard.records import Functions, Rule, StatementLimits
from thresher.sqlguard.sizes import check_sizes, is_gathering
from thresher.sqlguard.tokens import Token, TokenLexicon
from thresher.sqlguard.verdicts import Refusal

_WRITE_HINT: Final = "Only statements that read may run here."
_MULTIPLYING: Final = frozenset({"replace", "regexp_replace", "string_agg", "group_concat", "listagg"})
_REASONS: Final[Mapping[Rule, str]] = {
    "writes": "{word} changes or stores something.",
    "locks": "{word} locks rows or tables.",
    "file": "{word} reaches a file.",
    "statement": "{word} is not allowed.",
    "clause": "{word} is not on the list of clauses that only read.",
    "operator": "{word} is not on the list of operators that only read.",
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
    """A dialect as far as its words go.

    Attributes:
        tree: The dialect's name in sqlglot.
        lexicon: How it splits a text into words.
        starts: Words that a statement may begin with.
        refused: Words that are refused without quotes, unless a parenthesis follows and a function has that name.
        structural: Words that are always keywords, so that a parenthesis after them is not a call.
        contextual: Further words that are not functions directly after one of these words or symbols.
        sized: Functions that generate as many characters or rows as a number says.
        relation: Returns why a relation (its name and qualifiers, lower case) must not be read; empty if it may.
        schemas: Schemas of the engine's own functions, which may qualify a call.
        systems: Engine variables that may be read, lower case, without `@@`.
        bare_calls: Whether functions without arguments are called without parentheses, like columns.
    """

    tree: str
    lexicon: TokenLexicon
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
    """Return the words of a text as a set."""
    return frozenset(text.split())


def refusals(**rules: str) -> dict[str, Rule]:
    """Return a table of words with the rule that each breaks."""
    return {word: cast("Rule", rule) for rule, listed in rules.items() for word in listed.split()}


def check_start(tokens: Sequence[Token], grammar: Grammar) -> None:
    """Refuse a statement that does not begin with a reading keyword.

    Raises:
        Refusal: The word is its `kind`.
    """
    first = next((token for token in tokens if token.keyword != "("), tokens[0])
    if first.kind == "word" and first.text in grammar.starts:
        return
    rule = grammar.refused.get(first.text, "statement") if first.kind == "word" else "syntax"
    reason = f"A statement may not begin with {first.text[:40]}."
    raise Refusal(rule, reason, hint=_WRITE_HINT, offset=first.start, kind=first.text.lower()[:40])


def check_depth(tokens: Sequence[Token], limits: StatementLimits) -> None:
    """Refuse nesting that is too deep to build a tree of.

    Raises:
        Refusal: The nesting exceeds the limit, or parentheses do not match.
    """
    depth = 0
    for token in tokens:
        if (token.kind == "symbol" and token.text == "(") or (token.kind == "word" and token.text == "CASE"):
            depth += 1
        elif (token.kind == "symbol" and token.text == ")") or (token.kind == "word" and token.text == "END"):
            depth -= 1
        if depth > limits.depth:
            raise Refusal(
                "too_deep", "The statement is nested too deeply.", hint="Use less nesting.", offset=token.start
            )
        if depth < 0:
            raise Refusal("syntax", "A closing parenthesis has no opening one.", offset=token.start)


def check_words(tokens: Sequence[Token], grammar: Grammar, functions: Functions) -> None:
    """Refuse words that write, lock, connect elsewhere or end a session, wherever they stand.

    Raises:
        Refusal: With the rule of the word.
    """
    for index, token in enumerate(tokens):
        if token.kind == "system":
            _check_system(token, grammar)
        if token.kind != "word":
            if token.keyword == "." and (not index or tokens[index - 1].kind not in {"word", "name"}):
                raise Refusal("syntax", "A dot is not allowed here.", offset=token.start)
            continue
        _check_inner(tokens, index)
        if token.text not in grammar.refused:
            continue
        following = tokens[index + 1].keyword if index + 1 < len(tokens) else ""
        called = following == "(" and token.text.lower() in functions.allowed
        if called or (index and tokens[index - 1].keyword == "."):
            continue
        rule = grammar.refused[token.text]
        reason = _REASONS[rule].format(word=token.text)
        raise Refusal(rule, reason, hint=_WRITE_HINT, offset=token.start, kind=tokens[0].text.lower())


def _check_inner(tokens: Sequence[Token], index: int) -> None:
    """Refuse a bracket that begins like another statement: `(START TRANSACTION)`.

    Raises:
        Refusal: No engine accepts it, but a lenient grammar takes it for a name with an alias.
    """
    token = tokens[index]
    if token.text not in BEGINNINGS or not index or tokens[index - 1].keyword != "(" or index + 1 >= len(tokens):
        return
    if tokens[index + 1].kind in {"word", "name", "string"} and tokens[index + 1].text not in _BINDING:
        raise Refusal("statement", f"{token.text} is not allowed.", hint=_WRITE_HINT, offset=token.start)


def _check_system(token: Token, grammar: Grammar) -> None:
    """Refuse an engine variable that is not on the list."""
    name = token.text.lower().removeprefix("@@").removeprefix("global.").removeprefix("session.").removeprefix("local.")
    if name not in grammar.systems:
        hint = "Ask the database's owner for settings."
        raise Refusal(
            "parameter", f"{token.text[:60]} must not be read.", hint=hint, offset=token.start, text=token.text
        )


def check_pairs(tokens: Sequence[Token], pairs: Mapping[tuple[str, str], str]) -> None:
    """Refuse pairs of words that do more than read, each with or without quotes.

    Args:
        tokens: The statement.
        pairs: The reason for each pair, in upper case.

    Raises:
        Refusal: `writes`, at the second word.
    """
    for first, second in itertools.pairwise(tokens):
        reason = pairs.get((first.text, second.text.upper()))
        if reason:
            raise Refusal("writes", reason, hint=_WRITE_HINT, offset=second.start)


def check_calls(
    tokens: Sequence[Token], grammar: Grammar, functions: Functions, limits: StatementLimits
) -> tuple[str, ...]:
    """Refuse calls of unlisted functions: every name before a parenthesis, quoted or not.

    Returns:
        The distinct functions that are called, lower case.

    Raises:
        Refusal: A function is not listed or not the engine's own.
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
        reads = any(token.keyword == "FROM" for token in tokens)
        gathering = reads and any(is_gathering(name.rpartition(".")[2]) for name in called)
        check_sizes(tokens, sized, multiplying, limits, gathering=gathering)
    return tuple(called)


def _pairs(tokens: Sequence[Token]) -> dict[int, int]:
    """Return the position of the closing parenthesis for each opening one."""
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
        raise Refusal("syntax", "An opening parenthesis has no closing one.", offset=tokens[opened[-1]].start)
    return dict(sorted(pairs.items()))


def _called(tokens: Sequence[Token], opening: int, closing: int, grammar: Grammar) -> str:
    """Return the function that a parenthesis calls, lower case, with its schema; empty if it is not a call."""
    last = tokens[opening - 1] if opening else None
    if last is None or last.kind in {"symbol", "number"}:
        return ""
    if last.kind in {"string", "system"}:
        raise Refusal("syntax", "A parenthesis is not allowed here.", offset=last.start)
    if [token.keyword for token in tokens[opening + 1 : closing]] == ["+"]:
        return ""  # Oracle's outer join operator
    before = tokens[opening - 2] if opening > 1 else None
    if before is not None and before.keyword == ".":
        return _qualified(tokens, opening)
    word = last.text if last.kind == "word" else ""
    if word in grammar.structural or (before is not None and before.keyword == "AS"):
        return ""
    if before is not None and {before.keyword, before.kind} & grammar.contextual.get(word, frozenset()):
        return ""
    if before is not None and before.keyword in {"WITH", "RECURSIVE", ","} and _is_query_name(tokens, closing):
        return ""
    return _part(last)


def _qualified(tokens: Sequence[Token], opening: int) -> str:
    """Return the dotted name before a parenthesis."""
    parts = [_part(tokens[opening - 1])]
    index = opening - 2
    while index > 0 and tokens[index].keyword == "." and tokens[index - 1].kind in {"word", "name"}:
        parts.append(_part(tokens[index - 1]))
        index -= 2
    return ".".join(reversed(parts))


def _part(token: Token) -> str:
    """Return a part of a function's name, lower case.

    Raises:
        Refusal: A quoted name contains a dot, so that it would look like two.
    """
    if "." in token.text:
        raise Refusal("function", "A function's name contains a dot.", hint="Do without it.", offset=token.start)
    return token.text.lower()


def _is_query_name(tokens: Sequence[Token], closing: int) -> bool:
    """Return whether this closes the column list of a query in WITH: `name (a, b) AS (...)`."""
    after = [token.keyword for token in tokens[closing + 1 : closing + 4]]
    return after[:1] == ["AS"] and after[1:2] in (["("], ["MATERIALIZED"], ["NOT"])


def _check_function(name: str, token: Token, grammar: Grammar, functions: Functions) -> None:
    """Refuse a function that is not listed.

    Raises:
        Refusal: `function`, or `shadowed_function` if a user-defined function has the name.
    """
    if name in functions.own:
        return
    schema, _, plain = name.rpartition(".")
    qualified = schema in grammar.schemas
    if name not in functions.allowed and not (qualified and plain in functions.allowed):
        hint = "Use built-in functions that compute, or ask the owner of the connection to allow it."
        reason = f"The function {name[:60]} is not on the list of functions that only read."
        raise Refusal("function", reason, hint=hint, offset=token.start, text=token.text)
    if plain in functions.shadowed and not qualified:
        reason = f"A user-defined function has the name {plain[:60]}."
        raise Refusal("shadowed_function", reason, hint="Do without it.", offset=token.start, text=token.text)
