"""Reads and writes the catalogue file: gzip JSON with its vendors and their tools.

Invariant: the same catalogue gives the same JSON text, and what was written reads back equal.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from thresher.core import InvalidInput, Tool, dumps

SHIPPED = Path(__file__).with_name("tools.json.gz")
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Vendor:
    """Where one server's tools come from.

    Attributes:
        server: The server's name in the catalogue.
        maker: Who wrote the description.
        title: The vendor's title of the API.
        description: What the API is, in the vendor's words.
        version: The version of the vendor's description.
        origin: The address of the description.
        licence: The licence that the description names.
        licence_url: That licence's address.
    """

    server: str
    maker: str
    title: str
    description: str
    version: str
    origin: str
    licence: str
    licence_url: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Tool definitions of several vendors.

    Attributes:
        package: The package, with its version, that held the descriptions.
        vendors: One record a server, by name.
        tools: All definitions, by server and name.
    """

    package: str
    vendors: tuple[Vendor, ...]
    tools: tuple[Tool, ...]


def write_catalogue(catalogue: Catalogue, path: Path) -> None:
    """Write the file; the archive has no time stamp, so that it depends on its content only."""
    document = {
        "format": FORMAT,
        "package": catalogue.package,
        "servers": catalogue.vendors,
        "tools": [_tool_document(tool) for tool in catalogue.tools],
    }
    path.write_bytes(gzip.compress(dumps(document).encode(), compresslevel=9, mtime=0))


def _tool_document(tool: Tool) -> Mapping[str, Any]:
    document = {
        "server": tool.server,
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }
    return {**document, "annotations": tool.annotations} if tool.annotations else document


def read_catalogue(path: Path = SHIPPED) -> Catalogue:
    """Read a catalogue file.

    Raises:
        InvalidInput: The file is missing, damaged, or of another format.
    """
    try:
        document = json.loads(gzip.decompress(path.read_bytes()))
        if document["format"] != FORMAT:
            raise InvalidInput(f"{path.name} has format {document['format']}, not {FORMAT}.", hint="Build it again.")
        return Catalogue(
            package=document["package"],
            vendors=tuple(Vendor(**vendor) for vendor in document["servers"]),
            tools=_tools(document["tools"]),
        )
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"The catalogue {path} cannot be read: {type(error).__name__}.",
            hint="Build it again: python -m thresher.demo.catalogue build FILE",
        ) from error


def _tools(documents: Sequence[Any]) -> tuple[Tool, ...]:
    return tuple(
        Tool(
            server=document["server"],
            name=document["name"],
            description=document["description"],
            input_schema=document["inputSchema"],
            annotations=cast("Mapping[str, Any]", document.get("annotations", {})),
        )
        for document in documents
    )
