"""Reads a folder or file into a pack: Thresher's own, any Agent Skill, a Cursor rule, a Copilot instruction.

Sloppy input is accepted, and what was corrected is reported; only danger or missing content is refused. A broken
evaluation query is left out and counted; a value of the wrong type counts as missing. A skill without training lines
gets them from its description: what it does, when to use it, and when not.

Invariant: the text of a pack is data: nothing in it is run, and nothing outside its folder is read. A line taken from a
description is in it word for word, except for white space.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from thresher.core import InvalidInput
from thresher.knowledge.intents.files import LINES_BYTES, Contents, decoded, digest_of, read_file, read_folder
from thresher.knowledge.intents.front_matter import (
    LONGEST_VALUE,
    Value,
    is_name,
    listed,
    metadata_of,
    name_of,
    split,
    text_of,
    tools_of,
)
from thresher.knowledge.intents.globs import globs_of
from thresher.knowledge.intents.models import EvalQuery, Form, Origin, Pack, PackProblem
from thresher.scanner import Finding, scan_rules
from thresher.search import terms

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n{2,}|\n\s*[-*•]\s+|\s+[-–—]\s+(?=[A-Z])")  # noqa: RUF001 - dashes and full stops of other scripts part sentences too
_QUOTED: Final = re.compile(r"[\"“]([^\"“”\n]{3,200})[\"”]|(?<!\w)['‘]([^'‘’\n]{3,200})['’](?!\w)")  # noqa: RUF001 - curly quotation marks
_NOT: Final = re.compile(
    r"\b(?:(?:do\s+not|don['’]t|never)\s+(?:use|invoke|trigger|apply|activate)|not\s+(?:meant\s+|intended\s+)?for|avoid\s+using)\b",  # noqa: RUF001 - a curly apostrophe
    re.I,
)
_USE: Final = re.compile(
    r"""^(?:\W{0,10}(?:(?:this\s+skill\s+)?(?:should\s+be\s+|must\s+be\s+|is\s+to\s+be\s+)?(?:proactively\s+)?
    (?:use[ds]?|using|triggers?(?:ed)?|invoked?|apply|applies|activates?d?|useful|helpful)
    (?:\s+(?:this(?:\s+(?:skill|rule|guide|agent))?|it|proactively|whenever\s+possible))?)?
    \W{0,10}\b(?:when(?:ever)?|if|for|on|to|phrases?|include)\b(?:\s*:)?
    (?:\s+(?:the\s+|an?\s+)?(?:users?|you|someone|they|people)\s+
      (?:\w+\s+)?(?:asks?|wants?|needs?|mentions?|says?|requests?|are|is)(?:\s+(?:to|for|you\s+to|about|something\s+like))*)?
    )(?:\s*:)?\s+""",
    re.I | re.X,
)
_ALTERNATIVE: Final = re.compile(
    r"\s*(?:;|\(\d\)|,?\s+or\s+(?=when|if|to\b|asks?\b|wants?\b|mentions?\b|needs?\b)|,\s+(?=(?:when|if)\b))\s*", re.I
)
_AGAIN: Final = re.compile(
    r"""^(?:or\s+)?(?:(?:when(?:ever)?|if)\s+)?(?:(?:the\s+|an?\s+)?(?:users?|you|someone|they)\s+)?
    (?:(?:asks?|wants?|needs?|mentions?|says?|requests?)\s+)?(?:(?:to|for|about)\s+)?""",
    re.I | re.X,
)
_KEYWORDS: Final = re.compile(
    r"^\W{0,10}(?:[\w-]+\s+){0,2}(?:keywords?|triggers?|topics?|tags?|terms?)\s*(?:include)?:\s*", re.I
)
_BRACKETS: Final = re.compile(r"\([^()]{0,200}\)")
_NOT_FOR: Final = re.compile(r"^[\s:,]*(?:for|when|if|with|on)?\b[\s:]*", re.I)
_THINGS: Final = re.compile(r"[,;/]|\b(?:or|and)\b", re.I)
_ENDS: Final = " .,:;-–—"  # noqa: RUF001 - dashes
_SHORTEST: Final = 3
_LONGEST_PHRASE: Final = 400
_MOST_PHRASES: Final = 60
_LIST: Final = 4
_ITEM_WORDS: Final = 6


def described_lines(description: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what people ask for according to a description, and what it is not for.

    Returns:
        Training lines and near-miss negatives, each distinct, in the order of the description.
    """
    positive: dict[str, None] = {}
    negative: dict[str, None] = {}
    for sentence in _SENTENCE.split(description[:8_192]):
        meant, _, refused = _parted(sentence)
        positive.update(dict.fromkeys(_lines(meant)))
        negative.update(dict.fromkeys((*_lines(refused), *_refusals(refused))))
    return tuple(positive)[:_MOST_PHRASES], tuple(line for line in negative if line not in positive)[:_MOST_PHRASES]


def _parted(sentence: str) -> tuple[str, str, str]:
    """Split a sentence into what it is for, the words of denial, and what it is not for."""
    denial = _NOT.search(sentence)
    return (sentence[: denial.start()], denial[0], sentence[denial.end() :]) if denial else (sentence, "", "")


def _lines(text: str) -> list[str]:
    text = " ".join(text.split()).strip(_ENDS)
    if len(text) < _SHORTEST:
        return []
    quoted = [next(part for part in match.groups() if part) for match in _QUOTED.finditer(text)]
    if (words := _KEYWORDS.match(text)) and not quoted:
        return [word for part in text[words.end() :].split(",") if len(word := part.strip(_ENDS)) >= _SHORTEST]
    use = _USE.match(text)
    if use is None:
        return [text[:_LONGEST_PHRASE], *quoted]
    if len(quoted) > 1:
        return quoted
    parts = [_AGAIN.sub("", part).strip(_ENDS) for part in _ALTERNATIVE.split(text[use.end() :])]
    return [
        line for part in parts if len(part) >= _SHORTEST for line in (part[:_LONGEST_PHRASE], *_items(part))
    ] + quoted


def _refusals(text: str) -> list[str]:
    """Return the single things that a skill is not for, without what stands in brackets ("(use another-skill)")."""
    things = _THINGS.split(_NOT_FOR.sub("", _BRACKETS.sub(" ", text)))
    return [thing for part in things if len(thing := " ".join(part.split()).strip(_ENDS)) >= _SHORTEST]


def _items(part: str) -> list[str]:
    """Return the items of a list of at least four, each of two to six words: one word alone is too vague."""
    items = [re.sub(r"^(?:and|or)\s+", "", item.strip()) for item in part.split(",")]
    if len(items) < _LIST or any(len(item.split()) > _ITEM_WORDS for item in items):
        return []
    return [item for item in items if len(item.split()) > 1]


_MOST_QUERIES: Final = 2_000
_LONGEST_QUERY: Final = 1_000


def queries_of(text: str) -> tuple[tuple[EvalQuery, ...], str]:
    """Return the distinct queries of a file's text, and what was left out (the end of a sentence; may be empty)."""
    try:
        entries: Any = json.loads(text)
    except (ValueError, RecursionError):
        return (), "it is not JSON and was left out."
    if isinstance(entries, dict):
        entries = next(iter(value for value in cast("dict[str, Any]", entries).values() if _is_list(value)), None)
    listed = cast("list[Any]", entries) if _is_list(entries) else list[Any]()
    queries = dict.fromkeys(query for entry in listed[:_MOST_QUERIES] if (query := _query(entry)) is not None)
    left_out = len(listed) - len(queries)
    return tuple(queries), f"{left_out} of {len(listed)} entries were left out." if left_out else ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _query(entry: Any) -> EvalQuery | None:
    if not isinstance(entry, dict):
        return None
    fields = cast("dict[str, Any]", entry)
    query, should = fields.get("query"), fields.get("should_trigger")
    if not isinstance(query, str) or not isinstance(should, bool):
        return None
    text = " ".join(query.replace("\0", "").encode("utf-8", "replace").decode().split())
    return EvalQuery(text, should) if 0 < len(text) <= _LONGEST_QUERY else None


ReadPack: TypeAlias = tuple[Pack, tuple[PackProblem, ...]]
"""A pack, and what was corrected in reading it."""

RULES: Final = "SKILL.md"
EXAMPLES: Final = "examples.txt"
NOT_EXAMPLES: Final = "not_examples.txt"
EVALS: Final = "evals/eval_queries.json"
CODE: Final = "tools.py"
CURSOR: Final = ".mdc"
COPILOT: Final = ".instructions.md"
LONGEST_DESCRIPTION: Final = 1_024
LONGEST_COMPATIBILITY: Final = 500
_KEPT_DESCRIPTION: Final = 8_192
_MOST_LINES: Final = 10_000
_LONGEST_LINE: Final = 1_000
_SCANNED: Final = 2 << 20
"""Bytes of the texts beside the rules that the scanner reads: a second or two of work."""
_ALL_FILES: Final = frozenset({"*", "**", "**/*"})
_GLOBS: Final = ("globs", "applyto", "paths")
_WORDS_READ: Final = 512 << 10
"""Bytes of the texts beside the rules whose words count: half a second of work."""
_PROSE: Final = (".md", ".txt")
_SIGNS: Final = re.compile(r"[-_/.]+")
_YES: Final = frozenset({"true", "yes", "on", "1"})


@dataclass(slots=True)
class _PackDraft:
    """A pack while it is read: its source, and what was corrected."""

    path: Path
    form: Form
    contents: Contents
    mended: list[str] = field(default_factory=list[str])

    def text(self, name: str) -> str:
        """Return a file's text; empty if it does not exist."""
        octets = self.contents.texts.get(name)
        if octets is None:
            if any(file.path == name for file in self.contents.files):
                self.mended.append(f"{name} is larger than {LINES_BYTES >> 20} MiB and was left out.")
            return ""
        text, mended = decoded(octets)
        if mended:
            self.mended.append(f"{name}: {mended}")
        return text

    def lines(self, name: str) -> tuple[str, ...]:
        """Return the distinct lines of a file of training lines."""
        lines = [" ".join(line.split()) for line in self.text(name).split("\n")]
        kept = [line for line in lines if line and not line.startswith("#")]
        if cut := sum(len(line) > _LONGEST_LINE for line in kept):
            self.mended.append(f"{name}: {cut} lines of more than {_LONGEST_LINE:,} characters were left out.")
        distinct = dict.fromkeys(line for line in kept if len(line) <= _LONGEST_LINE)
        if len(distinct) > _MOST_LINES:
            self.mended.append(f"{name}: only the first {_MOST_LINES:,} of {len(distinct):,} lines are used.")
        return tuple(distinct)[:_MOST_LINES]


def read_pack(path: Path, origin: Origin, *, label: str = "", before: ReadPack | None = None) -> ReadPack:
    """Read a folder with a `SKILL.md`, an `.mdc` file or an `*.instructions.md` file.

    Args:
        path: The folder or file.
        origin: Where it was found.
        label: The name of a rule file whose own name is not distinct enough, such as `backend/style`.
        before: The former result for this path; it is returned if no byte has changed.

    Returns:
        The pack, and what was corrected.

    Raises:
        InvalidInput: It cannot be used: unreadable, too large, or without any text.
    """
    path = path.resolve()
    reading = _PackDraft(path, *_opened(path))
    if before is not None and not reading.contents.refused and before[0].digest == digest_of(reading.contents.files):
        return before
    pack = _skill(reading, origin) if path.is_dir() else _rule_file(reading, origin, label or path.name)
    reading.mended += [f"{name} was left out: {why[0].lower()}{why[1:]}" for name, why in reading.contents.refused]
    return pack, tuple(PackProblem(path, mended, severity="warning") for mended in reading.mended)


def is_rule_file(name: str) -> bool:
    """Return whether a file of this name is a rule of Cursor or Copilot."""
    return name.endswith((CURSOR, COPILOT)) and not name.startswith(".")


def _opened(path: Path) -> tuple[Form, Contents]:
    if path.is_dir():
        contents = read_folder(path)
        return ("pack" if any(file.path == EXAMPLES for file in contents.files) else "skill"), contents
    if not is_rule_file(path.name):
        raise InvalidInput(
            "It is neither a folder with a SKILL.md nor a rule file.",
            hint="Name a folder, an .mdc file or an .instructions.md file.",
        )
    return ("cursor" if path.name.endswith(CURSOR) else "copilot"), read_file(path)


def _skill(reading: _PackDraft, origin: Origin) -> Pack:
    matter = split(reading.text(_rules_name(reading)))
    reading.mended += matter.mended
    if not matter.present:
        reading.mended.append("SKILL.md has no front matter.")
    fields, name = matter.fields, _skill_name(reading, matter.fields)
    description = _description(reading, fields, matter.body)
    evals = _evals(reading)
    examples, not_examples = reading.lines(EXAMPLES), reading.lines(NOT_EXAMPLES)
    if reading.form == "skill":
        examples, refused = _training(description, evals)
        not_examples = tuple(dict.fromkeys((*not_examples, *refused)))
    metadata, left_out = metadata_of(fields)
    reading.mended += left_out
    files = reading.contents.files
    return Pack(
        name=name,
        description=description,
        rules=matter.body,
        form=reading.form,
        origin=origin,
        path=reading.path,
        examples=examples,
        not_examples=not_examples,
        evals=evals,
        metadata=metadata,
        allowed_tools=tools_of(fields.get("allowed-tools", "")),
        license=text_of(fields, "license")[:LONGEST_VALUE],
        compatibility=_compatibility(reading, fields),
        code=reading.path / CODE if any(file.path == CODE for file in files) else None,
        words=_words(reading, name, description, matter.body) if reading.form == "skill" else {},
        files=files,
        digest=digest_of(files),
        findings=() if origin == "built-in" else _scanned(reading, matter.body, description, metadata),
    )


def _rule_file(reading: _PackDraft, origin: Origin, label: str) -> Pack:
    matter = split(reading.text(reading.path.name), quietly=True)
    reading.mended += matter.mended
    if not matter.body:
        raise InvalidInput("It holds no rules.", hint="Write them below the front matter.")
    stem = label.removesuffix(CURSOR).removesuffix(COPILOT)
    given = " ".join(text_of(matter.fields, "description").split())[:_KEPT_DESCRIPTION]
    examples, refused = described_lines(given)
    globs = globs_of([glob for key in _GLOBS for glob in listed(matter.fields.get(key, ""))])
    everywhere = reading.form == "copilot" and not _ALL_FILES.isdisjoint(globs)
    description = given or _heading(matter.body) or stem
    return Pack(
        name=name_of(stem),
        description=description,
        rules=matter.body,
        form=reading.form,
        origin=origin,
        path=reading.path,
        examples=examples,
        not_examples=refused,
        globs=globs,
        always=everywhere or text_of(matter.fields, "alwaysapply").lower() in _YES,
        words=_words(reading, name_of(stem), description, matter.body),
        files=reading.contents.files,
        digest=digest_of(reading.contents.files),
        findings=_scanned(reading, matter.body, description, {}),
    )


def _rules_name(reading: _PackDraft) -> str:
    """Return the name of the file of rules: `SKILL.md`, or nearly."""
    names = {file.path for file in reading.contents.files}
    if RULES in names:
        if RULES not in reading.contents.texts:
            raise InvalidInput("SKILL.md is larger than 256 KiB.", hint="Move details into files beside it.")
        return RULES
    near = sorted(name for name in reading.contents.texts if name.lower() == RULES.lower())
    if not near:
        why = dict(reading.contents.refused).get(RULES)
        said = (
            f"SKILL.md cannot be read: {why[0].lower()}{why[1:].rstrip('.')}." if why else "The folder has no SKILL.md."
        )
        raise InvalidInput(said, hint="Write one, as a plain file.")
    reading.mended.append(f"{near[0]} should be called SKILL.md.")
    return near[0]


def _skill_name(reading: _PackDraft, fields: Mapping[str, Value]) -> str:
    folder, given = reading.path.name, text_of(fields, "name")
    if not given:
        reading.mended.append(f"It has no name; '{name_of(folder)}', by its folder, is used.")
        return name_of(folder)
    name = name_of(given) if any(part.isalnum() for part in given if part.isascii()) else name_of(folder)
    if not is_name(given):
        reading.mended.append(f"Its name is not 1 to 64 of a-z, 0-9 and single hyphens; '{name}' is used.")
    elif given != folder:
        reading.mended.append(f"Its name, '{given}', is not that of its folder.")
    return name


def _description(reading: _PackDraft, fields: Mapping[str, Value], body: str) -> str:
    description = " ".join(text_of(fields, "description").split())
    if not description:
        description = _heading(body)
        if not description:
            raise InvalidInput(
                "It has neither a description nor rules.", hint="Say in 'description' what it does and when to use it."
            )
        reading.mended.append("It has no description; its first lines are used.")
    if len(description) > LONGEST_DESCRIPTION:
        reading.mended.append(f"Its description has more than {LONGEST_DESCRIPTION:,} characters.")
    return description[:_KEPT_DESCRIPTION]


def _compatibility(reading: _PackDraft, fields: Mapping[str, Value]) -> str:
    text = text_of(fields, "compatibility")
    if len(text) > LONGEST_COMPATIBILITY:
        reading.mended.append(f"Its compatibility has more than {LONGEST_COMPATIBILITY} characters.")
    return text[:LONGEST_VALUE]


def _heading(body: str) -> str:
    """Return the first heading and the first paragraph of a text, in place of a description."""
    blocks = [" ".join(block.split()) for block in body[:20_000].split("\n\n") if block.strip()]
    words = [block.lstrip("# ") for block in blocks if not block.startswith(("```", "|", "<!--", "---"))]
    return ". ".join(words[:2])[:LONGEST_DESCRIPTION].strip()


def _evals(reading: _PackDraft) -> tuple[EvalQuery, ...]:
    text = reading.text(EVALS)
    queries, mended = queries_of(text) if text else ((), "")
    if mended:
        reading.mended.append(f"{EVALS}: {mended}")
    return queries


def _training(description: str, evals: tuple[EvalQuery, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return lines and negatives of a skill without own lines: from its description and its evaluation queries."""
    positive, negative = described_lines(description)
    asked = [query.query for query in evals if query.should_trigger]
    not_asked = [query.query for query in evals if not query.should_trigger]
    return tuple(dict.fromkeys((*positive, *asked))), tuple(dict.fromkeys((*negative, *not_asked)))


def _words(reading: _PackDraft, name: str, description: str, rules: str) -> dict[str, int]:
    """Count the index terms of a skill's texts: its rules, and what stands beside them as far as it is read."""
    own, left = {RULES.lower(), EVALS, reading.path.name.lower()}, _WORDS_READ
    counts = Counter(terms(f"{name} {description} {rules}"))
    for path, octets in reading.contents.texts.items():
        if path.lower() in own or not path.lower().endswith(_PROSE) or left <= 0:
            continue
        counts.update(terms(decoded(octets[:left])[0]))
        left -= len(octets)
    return dict(counts)


def _scanned(reading: _PackDraft, rules: str, description: str, metadata: Mapping[str, str]) -> tuple[Finding, ...]:
    """Scan every text of the pack that may reach a model."""
    texts = {"/description": description, "/rules": rules, **{f"/metadata/{key}": metadata[key] for key in metadata}}
    texts["/files"] = "\n".join(_SIGNS.sub(" ", file.path) for file in reading.contents.files)
    own = {RULES.lower(), EXAMPLES, NOT_EXAMPLES, reading.path.name.lower()}
    left = _SCANNED
    for name, octets in reading.contents.texts.items():
        if name.lower() in own or name == EVALS:
            continue
        if (left := left - len(octets)) < 0:
            reading.mended.append(
                f"It holds more than {_SCANNED >> 20} MiB of text; the scanner did not read the rest."
            )
            break
        texts[f"/{name}"] = decoded(octets)[0]
    return tuple(finding for where, text in texts.items() for finding in scan_rules(text, where=where))
