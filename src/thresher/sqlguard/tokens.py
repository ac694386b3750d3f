"""The words of a statement as its engine reads them: strings, names, comments and numbers, each with its place.

Invariant: where engines, their settings or the tree's grammar may end a string, a name or a comment at different
places, the text is refused; what is left is handed to the tree's grammar in a form that has one reading only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from thresher.sqlguard.records import Rule
from thresher.sqlguard.refusals import Refused

Refusals: TypeAlias = Mapping[str, tuple[Rule, str, str]]
Kind: TypeAlias = Literal["word", "name", "string", "number", "system", "symbol"]

_BLANKS: Final = re.compile(r"(?:(?![\n\t\r])[\x00-\x1f]|[\x7f\x85\u2028\u2029]|\r(?!\n|\Z))")
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f]")
_MASK: Final = {ord(mark): "x" for mark in "\\'\"`[]"} | dict.fromkeys([*range(32), 127], "x")
_STICKING: Final = {
    *(
        "SELECT",
        "DISTINCT",
        "ALL",
        "WHERE",
        "AND",
        "OR",
        "NOT",
        "IN",
        "LIKE",
        "GLOB",
        "REGEXP",
        "RLIKE",
        "THEN",
        "ELSE",
    ),
    *("WHEN", "CASE", "BETWEEN", "AS", "BY", "ON", "HAVING", "FROM", "DATE", "TIME", "TIMESTAMP", "INTERVAL", "ESCAPE"),
}


class Token(NamedTuple):
    """One word of the text.

    Attributes:
        kind: What it is; `name` is a quoted identifier, `system` a variable of the engine such as `@@version`.
        text: Upper case for a word, without its quotes for a name or a string, else as written.
        start: Characters before it.
        end: Characters before what follows it.
    """

    kind: Kind
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Lexicon:
    """How an engine cuts a text into words.

    Attributes:
        pattern: Alternatives named `space`, `line`, `block`, `string`, `name`, `bits`, `number`, `system`, `word`,
            `symbol`, tried in the order that the engine does.
        symbols: The operators and marks that may be written.
        quote: What the tree's grammar quotes names with: opening and closing mark.
        refused: Rule, reason and hint of marks that are refused with one of their own.
        introducers: Words that may stand right before a string and say what its bytes are.
    """

    pattern: re.Pattern[str]
    symbols: frozenset[str]
    quote: tuple[str, str] = ('"', '"')
    refused: Refusals = field(default_factory=dict[str, tuple[Rule, str, str]])
    introducers: frozenset[str] = frozenset()


def lexicon(
    symbols: str,
    *,
    strings: str = r"'(?:[^']|'')*+'",
    names: str = r'"(?:[^"]|"")*+"',
    line: str = r"--[^\n]*+",
    word: str = r"[^\W\d][\w$]*+",
    prefixes: str = "",
    system: str = r"(?!)",
    quote: tuple[str, str] = ('"', '"'),
    refused: Refusals | None = None,
    introducers: frozenset[str] = frozenset(),
) -> Lexicon:
    """Builds a lexicon from the parts in which engines differ; each is a regular expression.

    Args:
        symbols: What may be written, longest first where one begins another, divided by blanks.
        strings: A string.
        names: A quoted name.
        line: A comment up to the end of the line.
        word: A word or a name without quotes.
        prefixes: Letters that may stand before a string without changing where it ends.
        system: A variable of the engine.
        quote: What the tree's grammar quotes names with.
        refused: Marks with a refusal of their own.
        introducers: Words that say what the bytes of a string are.
    """
    known = symbols.split()
    marks = "|".join(re.escape(mark) for mark in sorted(known, key=len, reverse=True))
    prefix = f"[{prefixes}]?" if prefixes else ""
    source = (
        rf"(?P<space>[ \t\r\n\f]++)|(?P<line>{line})|(?P<block>/\*.*?\*/)"
        rf"|(?P<bits>[xX]'(?:[0-9A-Fa-f]{{2}})*+'|[bB]'[01]*+')|(?P<string>{prefix}(?:{strings}))|(?P<name>{names})"
        r"|(?P<number>(?:0[xX][0-9A-Fa-f]++|(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?)(?![\w$#@.'\"`\[]))"
        rf"|(?P<system>{system})|(?P<word>{word})|(?P<symbol>(?!--|/\*)(?:{marks}|;))"
    )
    return Lexicon(re.compile(source, re.DOTALL), frozenset(known), quote, refused or {}, introducers)


def read_tokens(sql: str, lexicon: Lexicon) -> tuple[list[Token], str]:
    """Cuts a text into its words.

    Returns:
        The words, without comments and without semicolons at the end, and the text for the tree's grammar: as long as
        the original, with comments and the semicolons at the end blank, and nothing inside quotes that could end them.

    Raises:
        Refused: The text can be cut in more than one way, or has marks that may not be written.
    """
    tokens: list[Token] = []
    parts: list[str] = []
    at, match = 0, lexicon.pattern.match
    while at < len(sql):
        found = match(sql, at)
        if found is None or found.end() == at:
            raise _unread(sql, at, lexicon)
        group, text, end = str(found.lastgroup), found.group(), found.end()
        if group == "space":
            parts.append(text.replace("\f", " "))
        elif group in {"line", "block"}:
            _check_comment(text, at)
            parts.append(" " * len(text))
        else:
            token, part = _token(group, text, at, lexicon)
            _check_neighbours(token, tokens, sql, lexicon)
            tokens.append(token)
            parts.append(part)
        at = end
    return _drop_end(tokens, parts)


def _token(group: str, text: str, at: int, lexicon: Lexicon) -> tuple[Token, str]:
    """A word and what the tree's grammar gets in its place."""
    end = at + len(text)
    if group == "word":
        return Token("word", upper(text), at, end), text
    if group == "string":
        mark = next(index for index, letter in enumerate(text) if letter in "'\"")
        body = text[mark + 1 : -1]
        return Token("string", body, at, end), " " * mark + "'" + body.translate(_MASK) + "'"
    if group == "name":
        return _name(text, at, lexicon)
    if group == "bits":
        return Token("number", text, at, end), text
    return Token(cast("Kind", group), text, at, end), text


def _name(text: str, at: int, lexicon: Lexicon) -> tuple[Token, str]:
    """A quoted name, its quotes as the tree's grammar writes them."""
    body = text[1:-1]
    if not body.strip() or _CONTROLS.search(body):
        raise Refused("syntax", "A quoted name is empty or has characters that are no text.", offset=at, text=text)
    doubled = text[-1] * 2
    opening, closing = lexicon.quote
    name = Token("name", body.replace(doubled, text[-1]), at, at + len(text))
    return name, opening + body.translate(_MASK) + closing


def upper(text: str) -> str:
    """Upper case by the letters of ASCII only: no other letter becomes one of a keyword."""
    return text.upper() if text.isascii() else text


def _check_comment(text: str, at: int) -> None:
    """Refuses a comment which an engine may run, or end elsewhere."""
    inner = text[2:]
    if text.startswith("/*") and (inner.startswith(("!", "+")) or inner[:2].upper() == "M!"):
        hint = "Leave the comment out."
        raise Refused("comment", "A comment is read by the engine.", hint=hint, offset=at, text=text[:20])
    if "/*" in inner or _BLANKS.search(text):
        raise Refused("comment", "A comment may end at another place.", hint="Leave it out.", offset=at, text=text[:20])


def _check_neighbours(token: Token, before: list[Token], sql: str, lexicon: Lexicon) -> None:
    """Refuses words that stick together and are read as one by some."""
    if not before or before[-1].end != token.start:
        return
    last = before[-1]
    if token.kind in {"string", "number"} and sql[token.start] in "'.xXbBnNqQ" and last.kind == "word":
        if sql[token.start] == "'" and (last.text in _STICKING or last.text in lexicon.introducers):
            return
        hint = "Put a blank between them."
        raise Refused("syntax", "A word and a literal stick together.", hint=hint, offset=last.start)
    if token.kind in {"name", "word", "number"} and last.kind in {"name", "string", "number", "system"}:
        raise Refused("syntax", "Two words stick together.", hint="Put a blank between them.", offset=last.start)


def _unread(sql: str, at: int, lexicon: Lexicon) -> Refused:
    """Why no word begins here."""
    mark = sql[at]
    for text, (rule, reason, hint) in lexicon.refused.items():
        if sql.startswith(text, at):
            return Refused(rule, reason, hint=hint, offset=at)
    if sql.startswith("/*", at):
        return Refused("comment", "A comment does not end.", offset=at, text=sql[at : at + 20])
    if mark in "'\"`[":
        return Refused("syntax", "A quote does not end.", offset=at, text=sql[at : at + 20])
    if mark in "?:$@":
        hint = "Write the value into the statement."
        return Refused("parameter", "The statement has a parameter or a variable.", hint=hint, offset=at)
    if mark.isdigit() or mark == ".":
        return Refused("syntax", "A number runs into a word.", hint="Put a blank between them.", offset=at)
    return Refused("syntax", f"{mark!r} may not be written here.", offset=at, text=mark)


def _drop_end(tokens: list[Token], parts: list[str]) -> tuple[list[Token], str]:
    """Without the semicolons at the end; one elsewhere divides statements."""
    text = "".join(parts)
    while tokens and tokens[-1].text == ";" and tokens[-1].kind == "symbol":
        last = tokens.pop()
        text = text[: last.start] + " " + text[last.end :]
    if not tokens:
        raise Refused("empty", "There is no statement.")
    for token in tokens:
        if token.kind == "symbol" and token.text == ";":
            raise Refused(
                "several_statements", "There is more than one statement.", hint="Send them one by one.",
                offset=token.start, text=";",
            )  # fmt: skip
    return tokens, text
