"""Reads one folder or file into a pack: our own, any Agent Skill, a Cursor rule, a Copilot instruction.

Invariant: liberal with what is sloppy, and says what was mended; strict only where there is danger or nothing to use.
The text of a pack is data: nothing in it is run, and nothing outside its folder is read. A broken evaluation query is
left out and counted; a value of the wrong kind counts as not given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from thresher.core import InvalidInput
from thresher.knowledge.intents.encodings import decoded
from thresher.knowledge.intents.folders import LINES_BYTES, Contents, digest_of, read_file, read_folder
from thresher.knowledge.intents.frontmatter import split
from thresher.knowledge.intents.globs import globs_of
from thresher.knowledge.intents.models import EvalQuery, Form, Origin, Pack, PackProblem
from thresher.knowledge.intents.naming import is_name, name_of
from thresher.knowledge.intents.phrases import lines_of
from thresher.knowledge.intents.yaml_subset import Value
from thresher.scanner import Finding, scan_rules

_MOST: Final = 2_000
_LONGEST: Final = 1_000


def queries_of(text: str) -> tuple[tuple[EvalQuery, ...], str]:
    """The distinct queries of a file's text, and what was left out (the end of a sentence; empty where nothing was)."""
    try:
        entries: Any = json.loads(text)
    except (ValueError, RecursionError):
        return (), "it is no JSON and was left out."
    if isinstance(entries, dict):
        entries = next(iter(value for value in cast("dict[str, Any]", entries).values() if _is_list(value)), None)
    listed = cast("list[Any]", entries) if _is_list(entries) else list[Any]()
    queries = dict.fromkeys(query for entry in listed[:_MOST] if (query := _query(entry)) is not None)
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
    return EvalQuery(text, should) if 0 < len(text) <= _LONGEST else None


LONGEST_VALUE: Final = 4_000


def text_of(fields: Mapping[str, Value], key: str) -> str:
    """The text of a key; a list's texts with blanks between them."""
    value = fields.get(key, "")
    if isinstance(value, list):
        return " ".join(part for part in value if isinstance(part, str)).strip()
    return value.strip() if isinstance(value, str) else ""


def listed(value: Value) -> list[str]:
    """The texts of a list; a single text is a list of one."""
    if isinstance(value, str):
        return [value]
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []


def metadata_of(fields: Mapping[str, Value]) -> tuple[dict[str, str], list[str]]:
    """Keys and texts of `metadata`, and what was left out, one sentence each."""
    given = fields.get("metadata", "")
    if not isinstance(given, dict):
        return {}, ["Its metadata is no list of keys and values and was left out."] if given else []
    metadata: dict[str, str] = {}
    mended: list[str] = []
    for key, value in given.items():
        if isinstance(value, str):
            metadata[key] = value[:LONGEST_VALUE]
        elif isinstance(value, list) and all(isinstance(part, str) for part in value):
            metadata[key] = ", ".join(cast("list[str]", value))[:LONGEST_VALUE]
        else:
            mended.append(f"Its metadata '{name_of(key)}' is no text and was left out.")
    return metadata, mended


def tools_of(value: Value) -> tuple[str, ...]:
    """Tools by name; blanks and commas part them, but not inside brackets: `Bash(git add:*)` is one."""
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


Reading: TypeAlias = tuple[Pack, tuple[PackProblem, ...]]
"""A pack, and what had to be mended in reading it."""

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
"""Octets of the texts beside the rules that the scanner reads: a second or two of work."""
_ALL_FILES: Final = frozenset({"*", "**", "**/*"})
_GLOBS: Final = ("globs", "applyto", "paths")
_SIGNS: Final = re.compile(r"[-_/.]+")
_YES: Final = frozenset({"true", "yes", "on", "1"})


@dataclass(slots=True)
class _Reading:
    """A pack while it is read: what it is read from, and what had to be mended."""

    path: Path
    form: Form
    contents: Contents
    mended: list[str] = field(default_factory=list[str])

    def text(self, name: str) -> str:
        """A file's text; empty where there is none."""
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
        """The distinct lines of a file of training lines."""
        lines = [" ".join(line.split()) for line in self.text(name).split("\n")]
        kept = [line for line in lines if line and not line.startswith("#")]
        if cut := sum(len(line) > _LONGEST_LINE for line in kept):
            self.mended.append(f"{name}: {cut} lines of more than {_LONGEST_LINE:,} characters were left out.")
        distinct = dict.fromkeys(line for line in kept if len(line) <= _LONGEST_LINE)
        if len(distinct) > _MOST_LINES:
            self.mended.append(f"{name}: only the first {_MOST_LINES:,} of {len(distinct):,} lines are used.")
        return tuple(distinct)[:_MOST_LINES]


def read_pack(path: Path, origin: Origin, *, label: str = "", before: Reading | None = None) -> Reading:
    """Read a folder with a `SKILL.md`, an `.mdc` file or an `*.instructions.md` file.

    Args:
        path: The folder or file.
        origin: Where it was found.
        label: What a rule file is called where its own name does not tell enough, such as `backend/style`.
        before: What was read here last; it is given back where no octet has changed.

    Returns:
        The pack, and what had to be mended.

    Raises:
        InvalidInput: It cannot be used: unreadable, too large, or without any text.
    """
    path = path.resolve()
    reading = _Reading(path, *_opened(path))
    if before is not None and not reading.contents.refused and before[0].digest == digest_of(reading.contents.files):
        return before
    pack = _skill(reading, origin) if path.is_dir() else _rule_file(reading, origin, label or path.name)
    reading.mended += [f"{name} was left out: {why[0].lower()}{why[1:]}" for name, why in reading.contents.refused]
    return pack, tuple(PackProblem(path, mended, severity="warning") for mended in reading.mended)


def is_rule_file(name: str) -> bool:
    """Whether a file of this name is a rule of Cursor or Copilot."""
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


def _skill(reading: _Reading, origin: Origin) -> Pack:
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
        files=files,
        digest=digest_of(files),
        findings=_scanned(reading, matter.body, description, metadata),
    )


def _rule_file(reading: _Reading, origin: Origin, label: str) -> Pack:
    matter = split(reading.text(reading.path.name), quietly=True)
    reading.mended += matter.mended
    if not matter.body:
        raise InvalidInput("It holds no rules.", hint="Write them below the front matter.")
    stem = label.removesuffix(CURSOR).removesuffix(COPILOT)
    given = " ".join(text_of(matter.fields, "description").split())[:_KEPT_DESCRIPTION]
    examples, refused = lines_of(given)
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
        files=reading.contents.files,
        digest=digest_of(reading.contents.files),
        findings=_scanned(reading, matter.body, description, {}),
    )


def _rules_name(reading: _Reading) -> str:
    """The name of the file of rules: `SKILL.md`, or nearly."""
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


def _skill_name(reading: _Reading, fields: Mapping[str, Value]) -> str:
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


def _description(reading: _Reading, fields: Mapping[str, Value], body: str) -> str:
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


def _compatibility(reading: _Reading, fields: Mapping[str, Value]) -> str:
    text = text_of(fields, "compatibility")
    if len(text) > LONGEST_COMPATIBILITY:
        reading.mended.append(f"Its compatibility has more than {LONGEST_COMPATIBILITY} characters.")
    return text[:LONGEST_VALUE]


def _heading(body: str) -> str:
    """The first heading and the first paragraph of a text, for want of a description."""
    blocks = [" ".join(block.split()) for block in body[:20_000].split("\n\n") if block.strip()]
    words = [block.lstrip("# ") for block in blocks if not block.startswith(("```", "|", "<!--", "---"))]
    return ". ".join(words[:2])[:LONGEST_DESCRIPTION].strip()


def _evals(reading: _Reading) -> tuple[EvalQuery, ...]:
    text = reading.text(EVALS)
    queries, mended = queries_of(text) if text else ((), "")
    if mended:
        reading.mended.append(f"{EVALS}: {mended}")
    return queries


def _training(description: str, evals: tuple[EvalQuery, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lines and negatives of a skill that brings none: by its description and its evaluation queries."""
    positive, negative = lines_of(description)
    asked = [query.query for query in evals if query.should_trigger]
    not_asked = [query.query for query in evals if not query.should_trigger]
    return tuple(dict.fromkeys((*positive, *asked))), tuple(dict.fromkeys((*negative, *not_asked)))


def _scanned(reading: _Reading, rules: str, description: str, metadata: Mapping[str, str]) -> tuple[Finding, ...]:
    """What the scanner says of every text of the pack that may reach a model."""
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
