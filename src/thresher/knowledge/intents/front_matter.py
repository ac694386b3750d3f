"""Front matter of rules: split off the body, read as YAML or line by line, and its fields.

YAML is read here from the parser's events by a builder of its own, and not by the one of `openapi`: there a value has a
type, here every scalar is the text as written, since `version: 1.0` and `name: on` are texts to Agent Skills and a pack
is shown and exported again as its author wrote it; and text that is not YAML is still read.

Invariant: values are texts, lists of texts and mappings of texts. No tag makes an object, no alias is followed, nesting
is bounded, and the work is bounded by the length of the text. A pack's name holds no path, no control character and
nothing that a URL must escape.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias, cast

import yaml

LONGEST_NAME: Final = 64
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_OTHER: Final = re.compile(r"[^a-z0-9]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_name(text: str) -> bool:
    """Return whether a text is a name by the Agent Skills specification: 1 to 64 of `a-z0-9-`."""
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None


def name_of(text: str) -> str:
    """Return the name nearest to a text; the same text always gives the same name.

    `PDF Tools` gives `pdf-tools`; a text without any Latin letter or digit gives `pack-` and a part of its hash.
    """
    plain = unicodedata.normalize("NFKD", _HUMP.sub("-", text)).encode("ascii", "ignore").decode("ascii")
    name = _OTHER.sub("-", plain.lower()).strip("-")[:LONGEST_NAME].rstrip("-")
    return name or f"pack-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


Value: TypeAlias = "str | list[Value] | dict[str, Value]"

_DEPTH: Final = 10
_NODES: Final = 5_000
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_EVENTS: Final = cast("Callable[[str], Iterator[Any]]", partial(cast("Any", yaml).parse, Loader=_LOADER))
"""The parser only: nothing is composed or constructed."""
_EMPTY: Final = ("", "~", "null", "Null", "NULL")
_ENTRY: Final = re.compile(r"([A-Za-z][\w.-]*)\s*:(?:\s+(.*))?$")
_QUOTED: Final = re.compile(r"(['\"])(.*)\1\s*(?:#.*)?$", re.S)
_BLOCK: Final = re.compile(r"([|>])[+-]?\d?\s*$")


class Unreadable(ValueError):
    """It is not YAML, or YAML that is not read: the message says why, as part of a sentence."""


def parsed(text: str) -> Value:
    """Read YAML; every scalar is the text as written.

    Raises:
        Unreadable: It is not well formed, has anchors, aliases or tags, or nests too deep.
    """
    try:
        return _ValueBuilder(_EVENTS(text)).document()
    except (yaml.YAMLError, RecursionError, UnicodeError) as error:
        raise Unreadable(_where(error)) from None


def read_loosely(text: str) -> dict[str, Value]:
    """Read `key: value` line by line; everything after the first colon is the value.

    Indented lines continue the key above: as a list if they begin with `- `, as a mapping if they are entries and the
    key had no value, else as more text.
    """
    fields: dict[str, Value] = {}
    key, below = "", list[str]()
    for line in (*text.replace("\t", "  ").split("\n"), "end:"):
        entry = _ENTRY.match(line)
        if entry is None:
            below.append(line)
            continue
        if key:
            fields[key] = _value(cast("str", fields[key]), below)
        key, below = entry[1], []
        fields.setdefault(key, "")
        fields[key] = (entry[2] or "").strip()
    fields.pop("end", None)
    return fields


def _value(first: str, below: list[str]) -> Value:
    inner = [line.strip() for line in below if line.strip() and not line.lstrip().startswith("#")]
    if not inner:
        return _listed(first)
    if _BLOCK.match(first):
        return ("\n" if first.startswith("|") else " ").join(inner)
    if not first and all(line.startswith("- ") or line == "-" for line in inner):
        return [_plain(line[1:].strip()) for line in inner]
    entries = [_ENTRY.match(line) for line in inner]
    if not first and all(entries):
        return {entry[1]: _plain((entry[2] or "").strip()) for entry in entries if entry}
    return _plain(" ".join((first, *inner)).strip())


def _listed(text: str) -> Value:
    if text.startswith("[") and text.endswith("]"):
        return [_plain(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    return _plain(text)


def _plain(text: str) -> str:
    quoted = _QUOTED.match(text)
    return quoted[2] if quoted else ("" if text in _EMPTY else text)


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it is not well formed"
    return f"line {mark.line + 2}: {problem}" if mark is not None else str(problem)


class _ValueBuilder:
    """Builds plain values from the events of a parser."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._nodes = 0

    def document(self) -> Value:
        """Return the first document; the rest is ignored."""
        for event in self._events:
            if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
                return "" if isinstance(event, yaml.StreamEndEvent) else self._node(event, 0)
        return ""

    def _node(self, event: Any, depth: int) -> Value:
        self._check(event, depth)
        if isinstance(event, yaml.ScalarEvent):
            value = cast("str", event.value)
            return "" if not event.style and value in _EMPTY else value
        if isinstance(event, yaml.SequenceStartEvent):
            return [self._node(inner, depth + 1) for inner in self._until(yaml.SequenceEndEvent)]
        mapping: dict[str, Value] = {}
        for inner in self._until(yaml.MappingEndEvent):
            key = self._node(inner, depth + 1)
            value = self._node(next(self._events), depth + 1)
            if isinstance(key, str):
                mapping[key] = value
        return mapping

    def _until(self, end: type) -> Iterator[Any]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _check(self, event: Any, depth: int) -> None:
        self._nodes += 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise Unreadable("anchors and aliases are not read")
        if getattr(event, "tag", None):
            raise Unreadable("tags are not read")
        if depth > _DEPTH or self._nodes > _NODES:
            raise Unreadable("it nests too deep or holds too much")


_LONGEST: Final = 64 << 10
_LINES: Final = 2_000
_FENCE: Final = re.compile(r"-{3,}\s*")
_CLOSE: Final = re.compile(r"(?:-{3,}|\.{3})\s*")
_KEY_LINE: Final = re.compile(r"[A-Za-z][\w.-]*\s*:(?:\s|$)")
_INNER: Final = re.compile(r"(?:\s|#|-\s)|\Z")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A file of rules in its two parts.

    Attributes:
        fields: The fields of the front matter, keys in lower case.
        body: The rest, without blank lines around it.
        mended: What was corrected, one sentence each.
        present: Whether there was any front matter.
    """

    fields: dict[str, Value] = field(default_factory=dict[str, Value])
    body: str = ""
    mended: tuple[str, ...] = ()
    present: bool = False


def split(text: str, *, quietly: bool = False) -> FrontMatter:
    """Split a file of rules.

    Args:
        text: With Unix line ends.
        quietly: Whether front matter that is not YAML is usual in this form and not reported.
    """
    lines = text.lstrip("\n\t \ufeff").split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return FrontMatter(body=text.strip())
    end, mended = _end(lines)
    head = "\n".join(lines[1:end])
    body = "\n".join(lines[end + 1 :] if end < len(lines) and _CLOSE.fullmatch(lines[end]) else lines[end:])
    if len(head) > _LONGEST:
        return FrontMatter(body=body.strip(), mended=("The front matter is longer than 64 KiB and was left out.",))
    fields, reread = _fields(head)
    return FrontMatter(fields, body.strip(), mended if quietly else (*mended, *reread), present=True)


def _end(lines: list[str]) -> tuple[int, tuple[str, ...]]:
    """Return the index of the line that closes the front matter, or else of the first line after it."""
    for number, line in enumerate(lines[1 : _LINES + 1], 1):
        if _CLOSE.fullmatch(line):
            return number, ()
    mended = ("The line --- that closes the front matter is missing.",)
    for number, line in enumerate(lines[1:], 1):
        if number > _LINES or line.startswith("# ") or not (_KEY_LINE.match(line) or _INNER.match(line)):
            return number, mended
        if not line.strip() and not any(_KEY_LINE.match(later) for later in lines[number + 1 : number + 2]):
            return number, mended
    return len(lines), mended


def _fields(head: str) -> tuple[dict[str, Value], tuple[str, ...]]:
    """Read as YAML, or line by line if that fails."""
    try:
        value = parsed(head)
    except Unreadable as error:
        return _lowered(read_loosely(head)), (
            f"The front matter is not plain YAML ({error}) and was read line by line.",
        )
    if isinstance(value, dict):
        return _lowered(value), ()
    if not value:
        return {}, ()
    return _lowered(read_loosely(head)), ("The front matter is not a list of keys and values.",)


def _lowered(fields: dict[str, Value]) -> dict[str, Value]:
    return {key.lower(): value for key, value in fields.items()}


LONGEST_VALUE: Final = 4_000


def text_of(fields: Mapping[str, Value], key: str) -> str:
    """Return the text of a key; a list's texts joined by blanks."""
    value = fields.get(key, "")
    if isinstance(value, list):
        return " ".join(part for part in value if isinstance(part, str)).strip()
    return value.strip() if isinstance(value, str) else ""


def listed(value: Value) -> list[str]:
    """Return the texts of a list; a single text is a list of one."""
    if isinstance(value, str):
        return [value]
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []


def metadata_of(fields: Mapping[str, Value]) -> tuple[dict[str, str], list[str]]:
    """Return the keys and texts of `metadata`, and what was left out, one sentence each."""
    given = fields.get("metadata", "")
    if not isinstance(given, dict):
        return {}, ["Its metadata is not a list of keys and values and was left out."] if given else []
    metadata: dict[str, str] = {}
    mended: list[str] = []
    for key, value in given.items():
        if isinstance(value, str):
            metadata[key] = value[:LONGEST_VALUE]
        elif isinstance(value, list) and all(isinstance(part, str) for part in value):
            metadata[key] = ", ".join(cast("list[str]", value))[:LONGEST_VALUE]
        else:
            mended.append(f"Its metadata '{name_of(key)}' is not text and was left out.")
    return metadata, mended


def tools_of(value: Value) -> tuple[str, ...]:
    """Return tools by name, separated by blanks and commas outside of brackets: `Bash(git add:*)` is one."""
    if not isinstance(value, str):
        return tuple(listed(value))
    tools, depth = [""], 0
    for character in value:
        depth = max(0, depth + {"(": 1, ")": -1}.get(character, 0))
        if depth == 0 and (character.isspace() or character == ","):
            tools.append("")
        else:
            tools[-1] += character
    return tuple(dict.fromkeys(tool for tool in tools if tool))
