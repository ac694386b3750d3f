"""The words of a statement as its engine reads them: strings, names, comments and numbers, each with its place.

Invariant: a text is refused if engines, their settings or sqlglot could end a string, name or comment at different
places. What remains is passed to sqlglot in an unambiguous form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from thresher.sqlguard.records import Rule
from thresher.sqlguard.verdicts import Refusal

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
        kind: Its kind; `name` is a quoted identifier, `system` an engine variable such as `@@version`.
        text: Upper case for a word, unquoted for a name or string, else as written.
        start: Characters before it.
        end: Characters before what follows it.
    """

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def keyword(self) -> str:
        """The word or symbol; empty for quoted text, a number or a variable."""
        return self.text if self.kind in {"word", "symbol"} else ""


@dataclass(frozen=True, slots=True)
class TokenLexicon:
    """How an engine splits a text into words.

    Attributes:
        pattern: Alternatives named `space`, `line`, `block`, `string`, `name`, `bits`, `number`, `system`, `word`,
            `symbol`, tried in the engine's order.
        quote: Opening and closing quotation mark of names in sqlglot.
        refused: Rule, reason and hint of symbols that have their own refusal.
        introducers: Words that may directly precede a string and name its encoding.
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
) -> TokenLexicon:
    """Build a lexicon from the parts in which engines differ; each is a regular expression.

    Args:
        symbols: Allowed symbols, longest first if one begins another, separated by blanks.
        strings: A string.
        names: A quoted name.
        line: A comment to the end of the line.
        word: A word or an unquoted name.
        prefixes: Letters that may precede a string without changing where it ends.
        system: An engine variable.
        quote: Quotation marks of names in sqlglot.
        refused: Symbols with their own refusal.
        introducers: Words that name the encoding of a string.
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
    return TokenLexicon(re.compile(source, re.DOTALL), quote, refused or {}, introducers)


def read_tokens(sql: str, lexicon: TokenLexicon) -> tuple[list[Token], str]:
    """Split a text into words.

    Returns:
        The words, without comments and trailing semicolons, and the text for sqlglot: as long as the original, with
            comments and trailing semicolons blanked, and nothing inside quotes that could end them.

    Raises:
        Refusal: The text can be split in more than one way, or has symbols that are not allowed.
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


def _token(group: str, text: str, at: int, lexicon: TokenLexicon) -> tuple[Token, str | None]:
    """Return a word and its replacement for sqlglot; None if it stays."""
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


def _name(text: str, at: int, lexicon: TokenLexicon) -> tuple[Token, str]:
    """Return a quoted name with sqlglot's quotation marks."""
    body = text[1:-1]
    if not body.isidentifier() and (not body.strip() or _CONTROLS.search(body)):
        raise Refusal("syntax", "A quoted name is empty or has control characters.", offset=at, text=text)
    opening, closing = lexicon.quote
    name = Token("name", body.replace(text[-1] * 2, text[-1]), at, at + len(text))
    return name, opening + _masked(body) + closing


def _masked(body: str) -> str:
    """Return quoted text without anything that could end the quotes."""
    return body.translate(_MASK) if _MARKS.search(body) else body


def _blank(text: str, at: int) -> str:
    """Return the replacement of blanks or a comment for sqlglot."""
    if text[0] in "-/#":
        _check_comment(text, at)
        return " " * len(text)
    return text.replace("\f", " ")


def upper(text: str) -> str:
    """Convert ASCII text to upper case: no other letter turns into one of a keyword."""
    return text.upper() if text.isascii() else text


def _check_comment(text: str, at: int) -> None:
    """Refuse a comment that an engine may execute or end elsewhere."""
    inner = text[2:]
    if text.startswith("/*") and (inner.startswith(("!", "+")) or inner[:2].upper() == "M!"):
        hint = "Leave the comment out."
        raise Refusal("comment", "The engine executes this comment.", hint=hint, offset=at, text=text[:20])
    if "/*" in inner or _BLANKS.search(text):
        raise Refusal(
            "comment", "The comment may end at another place.", hint="Leave it out.", offset=at, text=text[:20]
        )


def _check_neighbours(token: Token, last: Token, sql: str, lexicon: TokenLexicon) -> None:
    """Refuse adjacent words that some engines read as one."""
    if token.kind in {"string", "number"} and sql[token.start] in "'.xXbBnNqQ" and last.kind == "word":
        if sql[token.start] == "'" and (last.text in _STICKING or last.text in lexicon.introducers):
            return
        hint = "Put a space between them."
        raise Refusal("syntax", "A word and a literal are not separated.", hint=hint, offset=last.start)
    if token.kind in {"name", "word", "number"} and last.kind in {"name", "string", "number", "system"}:
        raise Refusal("syntax", "Two words are not separated.", hint="Put a space between them.", offset=last.start)


def _unread(sql: str, at: int, lexicon: TokenLexicon) -> Refusal:
    """Return why no word begins here."""
    mark = sql[at]
    for text, (rule, reason, hint) in lexicon.refused.items():
        if sql.startswith(text, at):
            return Refusal(rule, reason, hint=hint, offset=at)
    if sql.startswith("/*", at):
        return Refusal("comment", "A comment does not end.", offset=at, text=sql[at : at + 20])
    if mark in "'\"`[":
        return Refusal("syntax", "A quote does not end.", offset=at, text=sql[at : at + 20])
    if mark in "?:$@":
        hint = "Write the value into the statement."
        return Refusal("parameter", "The statement has a parameter or a variable.", hint=hint, offset=at)
    if mark.isdigit() or mark == ".":
        return Refusal("syntax", "A number is not separated from a word.", hint="Put a space between them.", offset=at)
    return Refusal("syntax", f"{mark!r} is not allowed here.", offset=at, text=mark)


def _drop_end(tokens: list[Token], text: str) -> tuple[list[Token], str]:
    """Drop trailing semicolons; any other separates statements."""
    while tokens and tokens[-1].keyword == ";":
        last = tokens.pop()
        text = text[: last.start] + " " + text[last.end :]
    if not tokens:
        raise Refusal("empty", "There is no statement.")
    divided = next((token for token in tokens if token.keyword == ";"), None)
    if divided is not None:
        hint = "Send them one by one."
        raise Refusal(
            "several_statements", "There is more than one statement.", hint=hint, offset=divided.start, text=";"
        )
    return tokens, text
