"""The style of a source and values written in it, so that additions look like the rest.

Invariant: the style is taken from the text alone, with common defaults; any YAML reader understands what is written.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any, Final, Literal, TypeAlias, cast

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import (
    DoubleQuotedScalarString,
    LiteralScalarString,
    PlainScalarString,
    SingleQuotedScalarString,
)

from thresher.openapi.patching.nodes import MappingNode
from thresher.openapi.records import Json

Quote: TypeAlias = Literal["plain", "'", '"']

_SAMPLE: Final = 200_000
_DASH: Final = re.compile(r"^( *)(?:- +)?[^\s#-][^\n]*:[ \t]*\r?\n( *)- ", re.MULTILINE)
_DEEPER: Final = re.compile(r"^( *)[^\s#-][^\n]*:[ \t]*\r?\n( +)[^\s#-]", re.MULTILINE)
_QUOTED: Final = re.compile(r"^ *(?:- +)?(?:description|summary): +(['\"\w])", re.MULTILINE)
_JSON_DEEPER: Final = re.compile(r"^([ \t]*)\S[^\n]*\{\r?\n([ \t]+)\"", re.MULTILINE)
_COLON: Final = re.compile(r"\"([ \t]*:[ \t]*)[\"{\[]")
_ESCAPED: Final = re.compile(r"\\u[0-9a-fA-F]{4}")


@dataclass(frozen=True, slots=True)
class Style:
    """The style of a source.

    Attributes:
        newline: Its line break.
        indent: Indentation per level; empty for JSON on one line.
        dash: For YAML, columns from a key to the dashes of its list.
        quote: For YAML, quotes of short texts that need none.
        quoting: For YAML, quotes of texts that need them.
        colon: For JSON, what separates key and value.
        ascii: For JSON, whether other characters are escaped.
        ordered: Whether keys are sorted.
    """

    newline: str = "\n"
    indent: str = "  "
    dash: int = 2
    quote: Quote = "plain"
    quoting: Quote = '"'
    colon: str = ": "
    ascii: bool = False
    ordered: bool = False


def style_of(text: str, form: str, nodes: Iterable[MappingNode]) -> Style:
    """Return the style of a text.

    Args:
        text: The source.
        form: `json` or `yaml`.
        nodes: Some of its mappings.
    """
    sample = text[:_SAMPLE]
    newline = "\r\n" if "\r\n" in sample and sample.count("\r\n") * 2 > sample.count("\n") else "\n"
    ordered = _ordered(nodes)
    if form == "json":
        indent = _commonest(low[len(high) :] for high, low in _JSON_DEEPER.findall(sample) if low.startswith(high))
        colon = _commonest(_COLON.findall(sample), ": ")
        escaped = text.isascii() and _ESCAPED.search(text) is not None
        return Style(newline, indent, colon=colon, ascii=escaped, ordered=ordered)
    indent = _commonest((low[len(high) :] for high, low in _DEEPER.findall(sample) if len(low) > len(high)), "  ")
    dashes = (str(len(low) - len(high)) for high, low in _DASH.findall(sample) if len(low) >= len(high))
    quotes = Counter(sign if sign in "'\"" else "plain" for sign in _QUOTED.findall(sample))
    quoting: Quote = "'" if quotes["'"] > quotes['"'] else '"'
    quote: Quote = quoting if quotes[quoting] > quotes["plain"] else "plain"
    return Style(newline, indent, int(_commonest(dashes, "2")), quote, quoting, ordered=ordered)


def _ordered(nodes: Iterable[MappingNode]) -> bool:
    orders = Counter(_sorted(node) for node in nodes if len(node.entries) > 2)
    return orders[True] > orders.total() * 0.8


def _sorted(node: MappingNode) -> bool:
    keys = [entry.key for entry in node.entries]
    return keys == sorted(keys)


def _commonest(found: Iterable[str], otherwise: str = "") -> str:
    counted = Counter(found).most_common(1)
    return counted[0][0] if counted else otherwise


_PLAIN: Final = re.compile(r"[^\W\d_](?:.*\S)?")
_FLOW_SIGNS: Final = re.compile(r"[,\[\]{}]")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that YAML 1.1 reads as something else than text; many readers still follow it."""
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_WIDE: Final = 1 << 30


def is_plain(text: str, *, flow: bool = False) -> bool:
    """Return whether a text needs no quotes, for readers of YAML 1.1 and 1.2."""
    if not _PLAIN.fullmatch(text) or "\t" in text or _UNPRINTABLE.search(text):
        return False
    if text.lower() in _WORDS or text.endswith(":"):
        return False
    return ": " not in text and " #" not in text and not (flow and _FLOW_SIGNS.search(text))


def line_text(text: str, quote: Quote, quoting: Quote, *, flow: bool = False) -> str:
    """Return a text on one line.

    Args:
        text: The text.
        quote: Quotes to use if none are needed.
        quoting: Quotes to use if they are needed.
        flow: Whether it is placed in braces.
    """
    wished = quoting if quote == "plain" and not is_plain(text, flow=flow) else quote
    if wished == "plain":
        return text
    if wished == "'" and "\n" not in text and not _UNPRINTABLE.search(text):
        return "'" + text.replace("'", "''") + "'"
    escaped = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped)


class BlockWriter:
    """Writes entries of block mappings; not safe for concurrent use.

    Args:
        style: Style of the source.
    """

    def __init__(self, style: Style) -> None:
        self._yaml: Any = YAML()
        self._yaml.indent(mapping=len(style.indent), sequence=style.dash + 2, offset=style.dash)
        self._yaml.width = _WIDE
        self._yaml.allow_unicode = True

    def entry(self, key: str, value: Json, style: Style) -> str:
        """Return an entry with its key at column 0, without the last line break; line breaks are line feeds."""
        if isinstance(value, str) and "\n" not in value:
            return f"{line_text(key, 'plain', style.quoting)}: {line_text(value, style.quote, style.quoting)}"
        out = StringIO()
        self._yaml.dump({_key(key, style): _wrapped(value, style)}, out)
        return out.getvalue().removesuffix("\n")


def flow_text(value: Json) -> str:
    """Return a value on one line of YAML that is also JSON."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def _wrapped(value: Json, style: Style) -> Any:
    """Return the value with each text marked for how to write it."""
    if isinstance(value, dict):
        entries = cast("dict[str, Json]", value)
        return {_key(key, style): _wrapped(each, style) for key, each in entries.items()}
    if isinstance(value, list):
        return [_wrapped(each, style) for each in cast("list[Json]", value)]
    return _scalar(value, style) if isinstance(value, str) else value


def _key(text: str, style: Style) -> str:
    return _scalar(text, replace(style, quote="plain"))


def _scalar(text: str, style: Style) -> str:
    if "\n" in text.rstrip("\n") and not _UNPRINTABLE.search(text):
        return LiteralScalarString(text)
    if "\n" in text or _UNPRINTABLE.search(text):
        return DoubleQuotedScalarString(text)
    match line_text(text, style.quote, style.quoting)[:1]:
        case "'":
            return SingleQuotedScalarString(text)
        case '"':
            return DoubleQuotedScalarString(text)
        case _:
            return PlainScalarString(text)
