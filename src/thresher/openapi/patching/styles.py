"""How a source is written, so that what is added looks like the rest of it.

Invariant: seen from the text alone; a text that shows nothing gets the common way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from thresher.openapi.patching.nodes import Node

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
    """How a source is written.

    Attributes:
        newline: Its line break.
        indent: What one level adds; of JSON empty where it stands in one line.
        dash: Of YAML: columns from a key to the dashes of its list.
        quote: Of YAML: how short texts are quoted where they need not be.
        quoting: Of YAML: how they are quoted where they must be.
        colon: Of JSON: what stands between key and value.
        ascii: Of JSON: whether other characters are escaped.
        ordered: Whether keys stand in the order of the alphabet.
    """

    newline: str = "\n"
    indent: str = "  "
    dash: int = 2
    quote: Quote = "plain"
    quoting: Quote = '"'
    colon: str = ": "
    ascii: bool = False
    ordered: bool = False


def style_of(text: str, form: str, nodes: Iterable[Node]) -> Style:
    """How a text is written.

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


def _ordered(nodes: Iterable[Node]) -> bool:
    orders = Counter(_sorted(node) for node in nodes if len(node.entries) > 2)
    return orders[True] > orders.total() * 0.8


def _sorted(node: Node) -> bool:
    keys = [entry.key for entry in node.entries]
    return keys == sorted(keys)


def _commonest(found: Iterable[str], otherwise: str = "") -> str:
    counted = Counter(found).most_common(1)
    return counted[0][0] if counted else otherwise
