"""A tool's definition as a value: cleaned, hashed, written as a line for a model, and enriched for the search.

One vector over everything that is known about a tool drowns its name in parameters. So its name is embedded separately,
then a brief and the full text, and the index stores the weighted sum of the three.

Invariant: pure. Two definitions have one hash exactly if a model reads the same in both; the order of keys and of
required parameters does not matter, and the server's name is not part of a definition. The same definition always gives
the same texts, since their hash decides what is embedded. A line never breaks, and is at most about 420 characters.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from thresher.core import JSON, Arm, Tool, Why, first_sentence, one_line, plain, shortened
from thresher.embedding import count_tokens
from thresher.knowledge.tools.message_words import message_words, question_words
from thresher.knowledge.tools.models import FoundTool, plain_name
from thresher.search import Slot, split_name, terms


def definition_hash(tool: Tool) -> bytes:
    """Return the SHA-256 of the definition; equal for the same tool on two servers."""
    parts = [tool.name, tool.title, tool.description, tool.input_schema, tool.output_schema, tool.annotations]
    text = json.dumps(_canonical(plain(parts)), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value).items()
        return {name: _sorted(entry) if name == "required" else _canonical(entry) for name, entry in entries}
    return [_canonical(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else value


def _sorted(value: Any) -> Any:
    """The names of required parameters, sorted; a property that is itself called `required` is not changed."""
    if isinstance(value, list) and all(isinstance(name, str) for name in cast("list[Any]", value)):
        return sorted(cast("list[str]", value))
    return _canonical(value)


def pending_text(tool: Tool, digest: bytes) -> str:
    """Return a pending definition as JSON text: its hash, and what a model would read of it."""
    return compact(
        {
            "hash": digest.hex(),
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "annotations": tool.annotations,
        }
    )


def tool_of(server: str, name: str, pending: JSON) -> Tool:
    """Return the definition that `pending_text` wrote."""
    return Tool(
        server,
        name,
        pending["title"],
        pending["description"],
        pending["inputSchema"],
        pending["outputSchema"],
        pending["annotations"],
    )


_OPTIONAL_SHOWN = 3
_PARAMETERS_CHARACTERS = 240
_CALL_CHARACTERS = 440
_ENUM_CHARACTERS = 36
_SHORT = {"boolean": "bool", "integer": "int"}


def line(name: str, tool: Tool, summary: str | None = None) -> str:
    """Return one line: `name(required: type, optional?: type) - First sentence`, or another summary than that."""
    summary = one_line(first_sentence(tool.description or tool.title) if summary is None else summary)
    call = one_line(f"{name}{signature(tool.input_schema)}", _CALL_CHARACTERS)
    return f"{call} - {summary}" if summary else call


_SUMMARY: Final = 72
"""Characters of what a tool does in a full line; the definition has the rest."""
_PLAIN: Final = re.compile(r": string(?=[,)])")
"""The type of most parameters, which is left out."""


@dataclass(frozen=True, slots=True)
class ToolLine:
    """The three ways to write a tool, and what they cost.

    Attributes:
        name: The name to call it by.
        prefix: What its name shares with those of its server, such as `git_`; empty if nothing.
        full: Signature and what it does; the name stands before it.
        short: Signature and gist.
        gist: A few words that tell it from others; may be empty.
        brief: The rest of its name, and the gist.
        full_tokens: The cost of name and `full` on a line of their own.
        short_tokens: That of name and `short`.
        brief_tokens: The cost of `brief` in the list of its server.
        prefix_tokens: The cost of beginning that list.
    """

    name: str
    prefix: str
    full: str
    short: str
    gist: str
    brief: str
    full_tokens: int
    short_tokens: int
    brief_tokens: int
    prefix_tokens: int


def tool_line(name: str, server: str, line: str, gist: str) -> ToolLine:
    """Return how a tool is written.

    Args:
        name: The name to call it by.
        server: Its server's plain name.
        line: Its signature and first sentence, as the catalogue has them.
        gist: A few words that tell it from others; empty if its name does.
    """
    prefix = f"{server}_" if name.startswith(f"{server}_") else ""
    signature, bracket, sentence = line.partition(") - ")
    signature = _PLAIN.sub("", f"{signature})" if bracket else line)
    summary = shortened(sentence, _SUMMARY).rstrip(".")
    words = one_line(gist)
    full, short = (f"{signature}{f' - {text}' if text else ''}" for text in (summary, words))
    brief = f"{name.removeprefix(prefix)}{f' ({words})' if words else ''}"
    full_tokens, short_tokens = (count_tokens(f"!{name}{text}\n") for text in (full, short))
    if full_tokens <= short_tokens:
        short, short_tokens = full, full_tokens
    listed = count_tokens(f" !{brief},"), count_tokens(f"{prefix}{{}}\n")
    return ToolLine(name, prefix, full, short, words, brief, full_tokens, short_tokens, *listed)


def found_line(tool: FoundTool) -> str:
    """Return a found tool on a line of its own for a model: marked by `!` if it may change something."""
    also = "".join(f" = {name}" for name in tool.also)
    named = f"{tool.name}{also}: {tool.gist}" if tool.gist else f"{tool.name}{also}"
    full = f"{tool.name}{also}{tool.line.removeprefix(tool.name)}"
    return f"{'!' if tool.write else ''}{full if tool.form == 'full' else named}"


def why_text(why: Why) -> str:
    """Return the reasons in one phrase: `meaning #1 0.83, words #2 11.2, chosen 3 times: log (owner's words: log)`."""
    trained = f"trained {why.trained:+.1f}" if why.trained else ""
    arms = [_arm("meaning", why.dense, 2), _arm("words", why.lexical, 1), use_text(why), trained]
    text = ", ".join(arm for arm in arms if arm) or why.source
    own = f" (owner's words: {', '.join(why.own_words)})" if why.own_words else ""
    likely = f" (probable words: {', '.join(why.minor_terms)})" if why.minor_terms else ""
    asked = f" (a model's questions: {', '.join(why.question_terms)})" if why.question_terms else ""
    return f"{text}: {', '.join(why.terms)}{own}{likely}{asked}" if why.terms else text


def use_text(why: Why) -> str:
    """Return what use has taught, in words; empty if it has no effect."""
    if not why.learned:
        return ""
    if why.learned < 0:
        return "passed over for like messages"
    return "chosen once for a like message" if why.uses == 1 else f"chosen {why.uses} times for like messages"


def _arm(name: str, arm: Arm, digits: int) -> str:
    if arm.rank is None:
        return ""
    return f"{name} #{arm.rank}" + (f" {arm.score:.{digits}f}" if arm.score is not None else "")


def signature(schema: JSON) -> str:
    """Return the parameters in brackets: required ones first, then optional ones while there is room."""
    properties = _mapping(schema.get("properties"))
    needed = _strings(schema.get("required"))
    required = [name for name in properties if name in needed]
    optional = [name for name in properties if name not in needed]
    shown = [f"{name}: {type_name(properties[name])}" for name in required]
    size = sum(map(len, shown))
    for count, name in enumerate(optional):
        part = f"{name}?: {type_name(properties[name])}"
        size += len(part)
        if count == _OPTIONAL_SHOWN or size > _PARAMETERS_CHARACTERS:
            shown.append(f"+{len(optional) - count} optional")
            break
        shown.append(part)
    return shortened(f"({', '.join(shown)})", _PARAMETERS_CHARACTERS * 5 // 4)


def type_name(schema: object) -> str:
    """Return a short name of a JSON Schema type: `string`, `int[]`, `"a"|"b"`, `object`; `any` if it has none."""
    entry = _mapping(schema)
    if isinstance(values := entry.get("enum"), list) and values:
        text = "|".join(compact(value) for value in cast("list[Any]", values))
        if len(text) <= _ENUM_CHARACTERS:
            return text
    kind = entry.get("type")
    if isinstance(kind, list):
        names = [name for name in cast("list[object]", kind) if name != "null"]
        return "|".join(type_name({**entry, "type": name, "enum": None}) for name in names) or "null"
    if kind == "array":
        inner = type_name(entry["items"]) if entry.get("items") else ""
        return f"({inner})[]" if "|" in inner else f"{inner}[]" if inner else "array"
    if isinstance(kind, str):
        return _SHORT.get(kind, kind)
    return _union(entry)


def _union(entry: Mapping[str, Any]) -> str:
    for word in ("anyOf", "oneOf", "allOf"):
        if isinstance(branches := entry.get(word), list):
            names = dict.fromkeys(type_name(branch) for branch in cast("list[object]", branches)[:4])
            text = "|".join(name for name in names if name != "null")
            return text if len(text) <= _ENUM_CHARACTERS else "any"
    return "object" if "$ref" in entry or "properties" in entry else "any"


def definition_text(name: str, tool: Tool) -> str:
    """Return the definition as a client would send it to a model, compact: the basis of tokens saved."""
    return compact({"name": name, "description": tool.description, "inputSchema": tool.input_schema})


def compact(value: object) -> str:
    """Return JSON without white space, which costs a model tokens."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def _strings(value: object) -> set[str]:
    return {name for name in cast("list[object]", value) if isinstance(name, str)} if isinstance(value, list) else set()


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


_GIST_WORDS = 4
"""Words of name and gist together that tell what a tool does."""
_MOST_GIST = 3
_GIST_CHARACTERS = 14
"""Of one word: scripts without spaces make words of whole sentences."""
_LATE = 0.05
"""What each place further back in the sentence takes from a word."""
_PLAIN_WORD = re.compile(r"[^\W_][\w'-]*")
_EMPTY_WORDS = frozenset(
    (
        *("all", "allow", "ani", "api", "current", "e", "eg", "etc", "exist", "function", "g", "get", "give", "given"),
        *("i", "ie", "let", "more", "one", "provid", "relat", "return", "singl", "specif", "specifi", "support"),
        *("tool", "use", "usual", "variou", "via"),
    )
)
"""Terms that say nothing about a tool, besides the stop words."""


_FEW_SHARE = 2
_SHARED_PART = 5
"""A sentence that more than so many tools of a server have, and more than one in so many, is the server's preamble."""
_SENTENCES_READ = 6


def summaries(tools: Sequence[Tool]) -> dict[str, str]:
    """Return what each tool of a server does, by name: its first sentence that is not the server's preamble."""
    read = {tool.name: _SENTENCE.split(tool.description.strip(), maxsplit=_SENTENCES_READ) for tool in tools}
    plain_ones = {name: [" ".join(one.casefold().split()) for one in found] for name, found in read.items()}
    holders = Counter(one for found in plain_ones.values() for one in set(found))
    most = max(_FEW_SHARE, len(tools) // _SHARED_PART)
    starts = {name: (i for i, one in enumerate(found) if holders[one] <= most) for name, found in plain_ones.items()}
    return {
        tool.name: first_sentence(" ".join(read[tool.name][next(starts[tool.name], 0) :]) or tool.title)
        for tool in tools
    }


def gists(tools: Sequence[Tool], summarized: Mapping[str, str]) -> dict[str, str]:
    """Return a few words for each tool of a server that tell it from the others, by name.

    They are words of its summary that its name does not have, the rarer in the other tools the rather, in the order of
    the sentence; none where the name has enough of them.

    Args:
        tools: The server's tools.
        summarized: Their `summaries`.
    """
    sentences = {tool.name: _PLAIN_WORD.findall(summarized[tool.name]) for tool in tools}
    found = {name: {word: term for word in words for term in terms(word)[:1]} for name, words in sentences.items()}
    holders = Counter(term for words in found.values() for term in set(words.values()))
    return {name: _gist(name, sentences[name], words, holders, len(tools)) for name, words in found.items()}


def _gist(name: str, sentence: Sequence[str], found: Mapping[str, str], holders: Mapping[str, int], tools: int) -> str:
    said = terms(split_name(name))
    known = {*said, *_EMPTY_WORDS}
    worth: dict[str, float] = {}
    for place, word in enumerate(dict.fromkeys(sentence)):
        term = found.get(word)
        if term is not None and term not in known:
            known.add(term)
            worth[word] = math.log(1 + tools / holders[term]) - _LATE * place
    most = min(max(_GIST_WORDS - len(said), 0), _MOST_GIST)
    best = sorted(worth, key=lambda word: -worth[word])[:most]
    return " ".join(shortened(word, _GIST_CHARACTERS) for word in worth if word in best)


NAME_WEIGHT = 0.4
BRIEF_WEIGHT = 0.3
FULL_WEIGHT = 0.3
"""Shares of the three texts. Name shares of 0.3 to 0.45 are equal on the development sets; 0 costs 9 points of recall@5
on MetaTool's pairs. The brief helps if descriptions ramble, the full text if tools differ only in detail."""

OWN_WEIGHT = 0.3
"""Share of the owner's words, each a text of its own; the other three keep their proportions. Measured on MetaTool's
messages: `docs/decisions/0065-owners-words.md`."""
QUESTION_WEIGHT = 0.2
"""Share of a model's questions, each a text of its own: `docs/decisions/0086-questions-by-a-model.md`."""

_MAX_ENUM = 24
_MAX_DEPTH = 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=。)|\n\s*\n")


@dataclass(frozen=True, slots=True)
class ToolText:
    """What the search index gets of a tool.

    Attributes:
        texts: Texts to embed, without the encoder's query prefix.
        weights: One weight per text, adding up to 1.
        lexical: The text whose terms are indexed.
        likely: Words that people probably use for it, and those of a model's questions, none of them in `lexical`; they
            are indexed with a small weight.
    """

    texts: tuple[str, ...]
    weights: tuple[float, ...]
    lexical: str
    likely: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the index."""
        return {"text": self.lexical, "likely": " ".join(self.likely)}


@dataclass(frozen=True, slots=True)
class _ToolParameter:
    name: str
    description: str
    values: tuple[str, ...]


def enrich(
    tool: Tool, server_description: str = "", words: Sequence[str] = (), questions: Sequence[str] = ()
) -> ToolText:
    """Build the texts of one tool.

    Args:
        tool: Its definition.
        server_description: The server's description of itself; its first sentence is used.
        words: The owner's own words or messages; they count like words of the description.
        questions: Messages that a model wrote; their words count like probable ones, and each is embedded.
    """
    parameters = list(_parameters(tool.input_schema, 1))
    about = _first_sentence(server_description)
    own_name = split_name(tool.name) or tool.name
    titled = tool.title and split_name(tool.title).casefold() != own_name.casefold()
    server = plain_name(tool.server)
    before = f"{split_name(server)}. " if server else ""
    label = f"{before}{own_name} ({tool.title})" if titled else f"{before}{own_name}"
    listed = ", ".join(split_name(one.name) for one in parameters)
    after = f" Parameters: {listed} {about}" if listed else f" {about}"
    brief = f"{label}: {_first_sentence(tool.description)}{after}".strip()
    full = f"{label}: {tool.description}{after}".strip()
    # The name counts twice: a word of it says more than a word of the description.
    named = (server, tool.name, tool.name, tool.title, tool.description, about)
    lexical = " ".join((*named, *(" ".join((one.name, one.description, *one.values)) for one in parameters), *words))
    own = set(terms(lexical))
    written = question_words(questions, own)
    likely = *written, *message_words(own_name, brief, own.union(*(terms(one) for one in written)))
    shares = (NAME_WEIGHT, BRIEF_WEIGHT, FULL_WEIGHT)
    for more, share in ((words, OWN_WEIGHT), (questions, QUESTION_WEIGHT)):
        if more:
            shares = (*((1 - share) * weight for weight in shares), *(share / len(more) for _ in more))
    return ToolText((own_name, brief, full, *words, *questions), shares, lexical, likely)


def slots_of(schema: Mapping[str, object]) -> tuple[Slot, ...]:
    """Return a tool's arguments: the parameters of its schema's first level."""
    listed = schema.get("required")
    required = {str(name) for name in cast("list[object]", listed)} if isinstance(listed, list) else set[str]()
    properties = _mapping(schema.get("properties"))
    return tuple(_slot(name, _mapping(value), required=name in required) for name, value in properties.items())


def _first_sentence(text: str) -> str:
    """The first sentence or paragraph of a text; unlike the one of `core` it is never shortened."""
    return _SENTENCE.split(text.strip(), maxsplit=1)[0].strip()


def _slot(name: str, detail: Mapping[str, object], *, required: bool) -> Slot:
    parameter = _parameter(name, detail)
    kind = detail.get("type")
    if isinstance(kind, list) and kind:
        kind = cast("list[object]", kind)[0]
    text = parameter.description
    return Slot(name, text, _first_sentence(text), kind if isinstance(kind, str) else "", required, parameter.values)


def _parameters(schema: Mapping[str, object], depth: int) -> Iterator[_ToolParameter]:
    """Parameters of a schema, nested ones after their parent."""
    for name, value in _mapping(schema.get("properties")).items():
        detail = _mapping(value)
        yield _parameter(name, detail)
        if depth < _MAX_DEPTH:
            yield from _parameters(detail, depth + 1)
            yield from _parameters(_mapping(detail.get("items")), depth + 1)


def _parameter(name: str, detail: Mapping[str, object]) -> _ToolParameter:
    description = detail.get("description")
    values = detail.get("enum")
    listed = tuple(str(one) for one in cast("list[object]", values)[:_MAX_ENUM]) if isinstance(values, list) else ()
    return _ToolParameter(name, description if isinstance(description, str) else "", listed)


_DEPTH = 100


def cleaned(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools without NUL characters, lone surrogates and very deep nesting, one per name: the first."""
    first: dict[str, Tool] = {}
    for tool in tools:
        name = _text(tool.name)
        if name.strip():
            first.setdefault(name, _cleaned(name, tool))
    return list(first.values())


def _cleaned(name: str, tool: Tool) -> Tool:
    return Tool(
        server=tool.server,
        name=name,
        title=_text(tool.title),
        description=_text(tool.description),
        input_schema=_value(tool.input_schema, 0),
        output_schema=None if tool.output_schema is None else _value(tool.output_schema, 0),
        annotations=_value(tool.annotations, 0),
    )


def _text(text: str) -> str:
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _value(value: Any, depth: int) -> Any:
    if depth > _DEPTH:
        return None
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value).items()
        return {_text(str(name)): _value(entry, depth + 1) for name, entry in entries}
    if isinstance(value, list | tuple):
        return [_value(entry, depth + 1) for entry in cast("list[Any]", value)]
    return value
