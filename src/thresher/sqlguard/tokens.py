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
from thresher.sqlguard.verdicts import Refused

Refusals: TypeAlias = Mapping[str, tuple[Rule, str, str]]
Kind: TypeAlias = Literal["word", "name", "string", "number", "system", "symbol"]

_BLANKS: Final = re.compile(r"(?:(?![\n\t\r])[\x00-\x1f]|[\x7f\x85\u2028\u2029]|\r(?!\n|\Z))")
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f]")
_MARKS: Final = re.compile(r"[\\'\"`\[\]\x00-\x1f\x7f]")
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

    @property
    def said(self) -> str:
        """The word or the mark; empty for what stands in quotes, a number or a variable."""
        return self.text if self.kind in {"word", "symbol"} else ""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """How an engine cuts a text into words.

    Attributes:
        pattern: Alternatives named `space`, `line`, `block`, `string`, `name`, `bits`, `number`, `system`, `word`,
            `symbol`, tried in the order that the engine does.
        quote: What the tree's grammar quotes names with: opening and closing mark.
        refused: Rule, reason and hint of marks that are refused with one of their own.
        introducers: Words that may stand right before a string and say what its bytes are.
    """

    pattern: re.Pattern[str]
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
    return Lexicon(re.compile(source, re.DOTALL), quote, refused or {}, introducers)


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
    at = kept = last = 0
    for found in lexicon.pattern.finditer(sql):
        start, end, group = found.start(), found.end(), found.lastgroup
        if start != at:
            break
        at = end
        if group == "space" or group == "line" or group == "block":
            blank = _blank(found.group(), start)
            parts += (sql[kept:start], blank)
            kept = end
            continue
        token, masked = _token(str(group), found.group(), start, lexicon)
        if start == last and tokens and group != "symbol":
            _check_neighbours(token, tokens[-1], sql, lexicon)
        tokens.append(token)
        last = end
        if masked is not None:
            parts += (sql[kept:start], masked)
            kept = end
    if at != len(sql):
        raise _unread(sql, at, lexicon)
    parts.append(sql[kept:])
    return _drop_end(tokens, "".join(parts))


def _token(group: str, text: str, at: int, lexicon: Lexicon) -> tuple[Token, str | None]:
    """A word and what the tree's grammar gets in its place; None: the word itself."""
    end = at + len(text)
    if group == "symbol":
        return Token("symbol", text, at, end), None
    if group == "word":
        return Token("word", upper(text), at, end), None
    if group == "string":
        mark = next(index for index, letter in enumerate(text) if letter in "'\"")
        body = text[mark + 1 : -1]
        return Token("string", body, at, end), " " * mark + "'" + _masked(body) + "'"
    if group == "name":
        return _name(text, at, lexicon)
    if group == "bits":
        return Token("number", text, at, end), None
    return Token(cast("Kind", group), text, at, end), None


def _name(text: str, at: int, lexicon: Lexicon) -> tuple[Token, str]:
    """A quoted name, its quotes as the tree's grammar writes them."""
    body = text[1:-1]
    if not body.isidentifier() and (not body.strip() or _CONTROLS.search(body)):
        raise Refused("syntax", "A quoted name is empty or has characters that are no text.", offset=at, text=text)
    opening, closing = lexicon.quote
    name = Token("name", body.replace(text[-1] * 2, text[-1]), at, at + len(text))
    return name, opening + _masked(body) + closing


def _masked(body: str) -> str:
    """What stands in quotes, without anything that could end them."""
    return body.translate(_MASK) if _MARKS.search(body) else body


def _blank(text: str, at: int) -> str:
    """What the tree's grammar gets in place of blanks or a comment."""
    if text[0] in "-/#":
        _check_comment(text, at)
        return " " * len(text)
    return text.replace("\f", " ")


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


def _check_neighbours(token: Token, last: Token, sql: str, lexicon: Lexicon) -> None:
    """Refuses words that stick together and are read as one by some."""
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


def _drop_end(tokens: list[Token], text: str) -> tuple[list[Token], str]:
    """Without the semicolons at the end; one elsewhere divides statements."""
    while tokens and tokens[-1].said == ";":
        last = tokens.pop()
        text = text[: last.start] + " " + text[last.end :]
    if not tokens:
        raise Refused("empty", "There is no statement.")
    divided = next((token for token in tokens if token.said == ";"), None)
    if divided is not None:
        hint = "Send them one by one."
        raise Refused(
            "several_statements", "There is more than one statement.", hint=hint, offset=divided.start, text=";"
        )
    return tokens, text
