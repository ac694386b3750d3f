"""Makes the catalogue out of a package of OpenAPI descriptions.

Invariant: the result depends on the package's bytes and the list of sources only.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from thresher.core import JSON, ConfigurationError, InvalidInput, Tool
from thresher.demo.catalogue.openapi import Shape, VendorOperation, operations, plain_text, shorten, to_tool
from thresher.demo.catalogue.shipped import Catalogue, Vendor
from thresher.demo.catalogue.sources import PACKAGE, SHA512, VERSION, Source

_PERMISSIVE = re.compile(r"\b(mit|apache|bsd|cc0|creative commons attribution|cc[- ]by)\b", re.IGNORECASE)
_RESTRICTED = re.compile(r"non-?commercial|no-?deriv|share-?alike|\b(nc|nd|sa)\b", re.IGNORECASE)


def fetch_package(folder: Path) -> Path:
    """Download the pinned package with npm into a folder and check its SHA-512.

    Raises:
        ConfigurationError: npm is missing, or fails.
        InvalidInput: The archive is not the pinned one.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise ConfigurationError(
            "npm was not found on the PATH.", hint="Install Node.js, or give the archive with --package."
        )
    done = subprocess.run(
        [npm, "pack", "--silent", f"{PACKAGE}@{VERSION}"], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ConfigurationError(f"npm could not fetch {PACKAGE}: {done.stderr.strip()[-300:]}", hint="Try it again.")
    archive = folder / done.stdout.split()[-1]
    if (found := hashlib.sha512(archive.read_bytes()).hexdigest()) != SHA512:
        raise InvalidInput(
            f"{archive.name} is not the pinned archive (SHA-512 {found[:12]}...).",
            hint="Do not use it; check the version in sources.py.",
        )
    return archive


def read_descriptions(package: Path, sources: Sequence[Source]) -> dict[str, JSON]:
    """Read the sources' descriptions out of the package's archive, or its unpacked folder, by their paths.

    Raises:
        InvalidInput: The package lacks a description, or one is not JSON.
    """
    wanted = {f"package/api/{source.path}.json": source.path for source in sources}
    found: dict[str, JSON] = {}
    try:
        for name, content in _members(package, wanted):
            found[wanted[name]] = json.loads(content)
    except (OSError, EOFError, ValueError, tarfile.TarError) as error:
        raise InvalidInput(f"{package} cannot be read: {error}.", hint=f"It must be {PACKAGE} {VERSION}.") from error
    if missing := sorted(set(wanted.values()) - found.keys()):
        raise InvalidInput(f"{package} lacks {', '.join(missing)}.", hint=f"It must be {PACKAGE} {VERSION}.")
    return found


def _members(package: Path, wanted: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    if package.is_dir():
        for name in wanted:
            if (path := package / name.removeprefix("package/")).is_file():
                yield name, path.read_bytes()
        return
    with tarfile.open(package) as archive:
        for member in archive:
            if member.name in wanted and (stream := archive.extractfile(member)) is not None:
                yield member.name, stream.read()


def make_catalogue(descriptions: Mapping[str, JSON], sources: Sequence[Source]) -> Catalogue:
    """Convert the chosen operations of every source.

    Raises:
        InvalidInput: A description names no permissive licence, or a source gives no tool.
    """
    vendors: list[Vendor] = []
    tools: list[Tool] = []
    for source in sorted(sources, key=lambda entry: entry.server):
        description = descriptions[source.path]
        vendors.append(vendor_of(source, description))
        tools += source_tools(source, description)
    return Catalogue(f"{PACKAGE} {VERSION}", tuple(vendors), tuple(tools))


def vendor_of(source: Source, description: JSON) -> Vendor:
    """Say where a source comes from, after a look at its licence."""
    info = cast("JSON", description.get("info") or {})
    licence = cast("Mapping[str, str]", info.get("license") or {})
    name, url = licence.get("name", ""), licence.get("url", "")
    if not _PERMISSIVE.search(name) or _RESTRICTED.search(f"{name} {url}"):
        raise InvalidInput(
            f"{source.path} names the licence {name or 'none'!r}, which does not permit changed copies.",
            hint="Take the source out of sources.py.",
        )
    title = plain_text(str(info.get("title", source.server)))
    origins = cast("Sequence[JSON]", info.get("x-origin") or ({},))
    return Vendor(
        server=source.server,
        maker=source.maker,
        title=title,
        description=shorten(plain_text(str(info.get("description") or "")), 200) or title,
        version=str(info.get("version", "")),
        origin=str(origins[-1].get("url", "")),
        licence=name,
        licence_url=url,
    )


def source_tools(source: Source, description: JSON) -> list[Tool]:
    """The tools of one source, by name; of operations with one name the one with the shorter path stays."""
    shape = Shape(cast("JSON", description.get("components") or {}), frozenset(source.omit))
    tools: dict[str, Tool] = {}
    for operation in chosen(source, description):
        tool = to_tool(source.server, operation, shape)
        if tool.description and tool.name:
            tools.setdefault(tool.name, tool)
    if not tools:
        raise InvalidInput(f"{source.path} gives no tool.", hint="Check the tags of the source in sources.py.")
    return [tools[name] for name in sorted(tools)]


def chosen(source: Source, description: JSON) -> list[VendorOperation]:
    """The operations of each group with the shortest paths: the most frequent actions, not their details."""
    groups: dict[str, list[VendorOperation]] = {}
    for operation in operations(description):
        group = next((tag for tag in operation.tags if tag in source.tags), None if source.tags else "")
        if group is not None and (not source.only or operation.id.startswith(source.only)):
            groups.setdefault(group, []).append(operation)
    picked = [
        operation for group in sorted(groups) for operation in sorted(groups[group], key=_plainness)[: source.most]
    ]
    return sorted(picked, key=_plainness)


def _plainness(operation: VendorOperation) -> tuple[int, str, str]:
    return operation.path.count("/"), operation.path, operation.method
