"""Serves the files of packs: as resources under `skill://`, and through the Skills extension if a client supports it.

Invariant: read-only; exactly the bytes that were scanned and, if needed, trusted. A pack's code is not served: it only
runs here.
"""

from __future__ import annotations

import base64
import hashlib
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from cachetools import LRUCache
from fastmcp.skills import Skill, SkillFrontmatter, SkillResource
from mcp_types import BlobResourceContents, ReadResourceResult, Resource, ResourceTemplate, TextResourceContents
from pydantic import JsonValue, ValidationError

from thresher.core import Caller, NotFound, dumps
from thresher.knowledge.intents import Pack, Packs, file_of
from thresher.services import Services

SKILL_SCHEME = "skill://"
MAIN = "SKILL.md"

MOST_FILES = 512
MOST_BYTES = 16 * 1024 * 1024
"""A larger skill is not served through the extension (SEP-2640)."""

TEMPLATE = ResourceTemplate(
    name="pack files",
    title="Files of a pack",
    uri_template=f"{SKILL_SCHEME}{{name}}/{{+path}}",
    description="The files beside a pack's SKILL.md, which names them.",
)

_KEPT = 512


@dataclass(frozen=True, slots=True)
class _Served:
    """What is served of a pack: addresses with path, size and hash, and its entry of the extension, if it has one."""

    files: Mapping[str, SkillResource]
    paths: Mapping[str, str]
    entry: Skill | None


class Skills:
    """The files of all packs; one per process."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._made: LRUCache[tuple[str, str], _Served] = LRUCache(_KEPT)

    def resources(self, packs: Packs) -> list[Resource]:
        """Return one resource for each pack: its rules."""
        return [
            Resource(
                name=pack.name,
                uri=uri_of(pack),
                description=pack.description,
                mime_type="text/markdown",
                size=self._of(pack).files[uri_of(pack)].size,
            )
            for pack in packs.active
        ]

    def entries(self, packs: Packs) -> list[Skill]:
        """Return the packs as skills, in the order of their addresses."""
        made = (self._of(pack).entry for pack in packs.active)
        return sorted((entry for entry in made if entry is not None), key=lambda entry: entry.uri)

    def entry(self, packs: Packs, uri: str) -> Skill:
        """Return one pack as a skill, by the address of its rules.

        Raises:
            NotFound: There is no such skill.
        """
        found = next((pack for pack in packs.active if uri_of(pack) == uri), None)
        if found is None or (entry := self._of(found).entry) is None:
            raise NotFound(f"There is no skill '{uri}'.", hint="skills/list names them all.")
        return entry

    async def digest(self, caller: Caller, uri: str) -> str | None:
        """Return the hash of the file at an address; None if it is not a file of a pack that the caller sees."""
        packs = await self._services.intents.packs(caller)
        return None if (found := self._found(packs, uri)) is None else found[1].files[found[2]].digest

    async def read(self, caller: Caller, uri: str) -> ReadResourceResult | None:
        """Return a file of a pack, unchanged; None if there is none at the address.

        A client that reads a pack's `SKILL.md` has been given its rules.

        Raises:
            NotFound: It was just removed.
            Conflict: It has just changed.
        """
        packs = await self._services.intents.packs(caller)
        if (found := self._found(packs, uri)) is None:
            return None
        pack, served, own = found
        path = served.paths[own]
        octets = _octets(pack, path)
        if path == MAIN:
            self._services.intents.mark_given(caller, [pack.name])
        return ReadResourceResult(contents=[_contents(uri, path, octets)])

    def _found(self, packs: Packs, uri: str) -> tuple[Pack, _Served, str] | None:
        """Return the pack of an address, what is served of it, and the address in our spelling."""
        name, slash, path = uri.removeprefix(SKILL_SCHEME).partition("/")
        if not (uri.startswith(SKILL_SCHEME) and slash):
            return None
        pack = next((pack for pack in packs.active if pack.name == name), None)
        if pack is None or (own := uri_of(pack, unquote(path))) not in (served := self._of(pack)).files:
            return None
        return pack, served, own

    def _of(self, pack: Pack) -> _Served:
        key = (pack.name, pack.digest)
        if (made := self._made.get(key)) is None:
            made = self._made[key] = _served(pack)
        return made


def uri_of(pack: Pack, path: str = MAIN) -> str:
    """Return the address of one of a pack's files."""
    return f"{SKILL_SCHEME}{pack.name}/{quote(path, safe='/')}"


def _served(pack: Pack) -> _Served:
    shown = [file for file in pack.files if file.path != MAIN and is_served(pack, file.path)]
    files = {uri_of(pack, file.path): _resource(pack, file.path, file.size, file.sha256) for file in shown}
    paths = {uri_of(pack, file.path): file.path for file in shown}
    main = next((file for file in pack.files if file.path == MAIN), None)
    if main is None:
        written = _written(pack)
        first = _resource(pack, MAIN, len(written), hashlib.sha256(written).hexdigest())
    else:
        first = _resource(pack, MAIN, main.size, main.sha256)
    files = {first.uri: first, **files}
    return _Served(files, {first.uri: MAIN, **paths}, _entry(pack, list(files.values())))


def is_served(pack: Pack, path: str) -> bool:
    """Return whether clients may read a file: not the code of the pack's tools, hidden or compiled files."""
    if pack.form in ("cursor", "copilot"):
        return False  # SKILL.md is made from the file
    parts = PurePosixPath(path).parts
    hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
    return not hidden and path != "tools.py" and not path.endswith(".pyc")


def _resource(pack: Pack, path: str, size: int, sha256: str) -> SkillResource:
    return SkillResource(uri=uri_of(pack, path), digest=f"sha256:{sha256}", size=size)


def _entry(pack: Pack, files: Sequence[SkillResource]) -> Skill | None:
    if len(files) > MOST_FILES or sum(file.size for file in files) > MOST_BYTES:
        return None
    try:
        return Skill(uri=uri_of(pack), frontmatter=SkillFrontmatter(_front_matter(pack)), resources=list(files))
    except ValidationError:
        return None  # a name or description that the extension does not allow


def _front_matter(pack: Pack) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {"name": pack.name, "description": pack.description}
    if pack.license:
        fields["license"] = pack.license
    if pack.compatibility:
        fields["compatibility"] = pack.compatibility
    if pack.metadata:
        fields["metadata"] = dict(pack.metadata)
    if pack.allowed_tools:
        fields["allowed-tools"] = " ".join(pack.allowed_tools)
    return fields


def _written(pack: Pack) -> bytes:
    """Return a rule file of another form as a `SKILL.md`; JSON is valid YAML."""
    lines = [f"{name}: {dumps(value)}" for name, value in _front_matter(pack).items()]
    return "\n".join(["---", *lines, "---", "", pack.rules.strip(), ""]).encode()


def _octets(pack: Pack, path: str) -> bytes:
    if path == MAIN and all(file.path != MAIN for file in pack.files):
        return _written(pack)
    return file_of(pack, path)


def _contents(uri: str, path: str, octets: bytes) -> TextResourceContents | BlobResourceContents:
    guessed = "text/markdown" if path.endswith(".md") else mimetypes.guess_type(path)[0]
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        return TextResourceContents(uri=uri, mime_type=guessed or "text/plain", text=text)
    blob = base64.b64encode(octets).decode("ascii")
    return BlobResourceContents(uri=uri, mime_type=guessed or "application/octet-stream", blob=blob)
