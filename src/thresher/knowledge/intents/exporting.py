"""Exports packs as Agent Skills folders.

Invariant: each folder is valid by the specification (agentskills.io): front matter of known fields only, the name that
of the folder, lengths kept. A folder that was not exported, or was changed since, is never overwritten unasked, and
then nothing is written at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from thresher.core import Conflict, InvalidInput
from thresher.knowledge.intents.encodings import decoded
from thresher.knowledge.intents.files import file_of
from thresher.knowledge.intents.folders import digest_of, opened, read_folder
from thresher.knowledge.intents.frontmatter import split
from thresher.knowledge.intents.models import Pack, PackFile
from thresher.knowledge.intents.naming import is_name
from thresher.knowledge.intents.placing import place_file, place_folder
from thresher.knowledge.intents.reader import LONGEST_COMPATIBILITY, LONGEST_DESCRIPTION, RULES

LEDGER: Final = ".thresher-export.json"
"""Beside the folders: what was exported, by folder, with its digest; so that a changed folder shows."""
_FIELDS: Final = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did.

    Attributes:
        written: Folders that are new or brought up to date.
        unchanged: Folders that held exactly this already, a pack's own folder among them.
        left: Packs without rules, which make no skill.
    """

    written: tuple[Path, ...]
    unchanged: tuple[Path, ...]
    left: tuple[str, ...] = ()


def export_skills(packs: Sequence[Pack], target: Path, *, force: bool = False) -> Exported:
    """Write each pack as a skill.

    Args:
        packs: Packs of different names.
        target: The folder of skills; made where it does not exist.
        force: Overwrite folders that were not exported, or were changed since.

    Raises:
        Conflict: There are such folders, and nothing was written; or a pack has changed since it was read.
        InvalidInput: A file cannot be written.
    """
    whole = [pack for pack in packs if pack.rules.strip()]
    left = tuple(pack.name for pack in packs if not pack.rules.strip())
    ledger = _ledger(target)
    wanted = {pack.name: skill_files(pack) for pack in whole}
    digests = {name: _digest(files) for name, files in wanted.items()}
    present = {name: _present(target / name) for name in wanted}
    stale = [name for name in wanted if present[name] != digests[name]]
    foreign = [name for name in stale if present[name] is not None and present[name] != ledger.get(name)]
    if foreign and not force:
        raise Conflict(
            f"Not exported by Thresher, or changed since: {', '.join(str(target / name) for name in foreign)}. "
            "Nothing was written.",
            hint="Move them away, or overwrite them: --force.",
        )
    for name in stale:
        place_folder(target / name, wanted[name])
    if whole and ledger != (merged := {**ledger, **digests}):
        place_file(target / LEDGER, (json.dumps(merged, indent=2, sort_keys=True) + "\n").encode())
    unchanged = tuple(target / name for name in wanted if name not in stale)
    return Exported(tuple(target / name for name in stale), unchanged, left)


def skill_files(pack: Pack) -> dict[str, bytes]:
    """The files of a pack's skill, by path; its own `SKILL.md` where that is valid as it stands.

    Raises:
        NotFound: A file has gone.
        Conflict: A file has changed since the pack was read.
    """
    if pack.path.is_file():
        return {RULES: skill_text(pack).encode()}
    files = {file.path: file_of(pack, file.path) for file in pack.files}
    written = next((name for name in files if name.lower() == RULES.lower()), RULES)
    own = files.pop(written)
    valid = written == RULES and is_valid(own, pack.name)
    return {RULES: own if valid else skill_text(pack, _further(own)).encode(), **files}


def is_valid(octets: bytes, folder: str) -> bool:
    """Whether a `SKILL.md` is valid by the specification.

    Args:
        octets: The file.
        folder: The name of its folder.
    """
    text, mended = decoded(octets)
    if mended or not text.startswith("---\n"):
        return False
    matter = split(text)
    fields = matter.fields
    texts = all(isinstance(value, str) for key, value in fields.items() if key != "metadata")
    if matter.mended or not texts or not _FIELDS.issuperset(fields) or "" in fields.values():
        return False
    metadata = fields.get("metadata", {})
    return (
        fields.get("name") == folder
        and is_name(folder)
        and 0 < len(str(fields.get("description", ""))) <= LONGEST_DESCRIPTION
        and len(str(fields.get("compatibility", ""))) <= LONGEST_COMPATIBILITY
        and isinstance(metadata, dict)
        and all(isinstance(value, str) for value in metadata.values())
    )


def skill_text(pack: Pack, further: Mapping[str, str] | None = None) -> str:
    """A valid `SKILL.md`; texts that are too long are cut at a word.

    Args:
        pack: The pack.
        further: Fields of foreign front matter, which go into the metadata.
    """
    metadata = {**(further or {}), **pack.metadata}
    if pack.globs:
        metadata["globs"] = ", ".join(pack.globs)
    fields = {
        "name": pack.name,
        "description": _fitting(pack.description or pack.name, LONGEST_DESCRIPTION),
        "license": pack.license,
        "compatibility": _fitting(pack.compatibility, LONGEST_COMPATIBILITY),
        "allowed-tools": " ".join(pack.allowed_tools),
    }
    lines = [f"{key}: {_scalar(value)}" for key, value in fields.items() if value]
    if metadata:
        lines += ["metadata:", *(f"  {_scalar(key)}: {_scalar(value)}" for key, value in sorted(metadata.items()))]
    return "\n".join(["---", *lines, "---", "", pack.rules.strip(), ""])


def _further(octets: bytes) -> dict[str, str]:
    """Fields that the specification does not know, as far as they are text."""
    fields = split(decoded(octets)[0]).fields
    return {key: value for key, value in fields.items() if key not in _FIELDS and isinstance(value, str) and value}


def _scalar(text: str) -> str:
    """A YAML scalar: JSON's strings are YAML's double-quoted ones, but for characters that YAML wants escaped."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _fitting(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rsplit(' ', 1)[0]}…"


def _digest(files: Mapping[str, bytes]) -> str:
    entries = (PackFile(path, len(octets), hashlib.sha256(octets).hexdigest()) for path, octets in files.items())
    return digest_of(tuple(sorted(entries, key=lambda file: file.path)))


def _present(folder: Path) -> str | None:
    """Digest of what is at a place; empty where it cannot be told, None where nothing is."""
    if not folder.exists() and not folder.is_symlink():
        return None
    try:
        contents = read_folder(folder.resolve())
    except (InvalidInput, OSError, RuntimeError):
        return ""
    return "" if contents.refused else digest_of(contents.files)


def _ledger(target: Path) -> dict[str, str]:
    try:
        with opened(target / LEDGER) as stream:
            entries: Any = json.load(stream)
    except (OSError, ValueError, InvalidInput, RecursionError):
        return {}
    if not isinstance(entries, dict):
        return {}
    return {key: value for key, value in cast("dict[str, Any]", entries).items() if isinstance(value, str)}
