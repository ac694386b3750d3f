"""The tools of the training data: the shipped catalogue, vendors' operations, and the invented ones.

Invariant: the definitions of vendors are computed from the pinned package and never stored here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from thresher.core import JSON, Tool
from thresher.demo.catalogue import (
    Shape,
    Source,
    VendorOperation,
    operations,
    read_catalogue,
    read_descriptions,
    to_tool,
)
from training.vendors import Vendor

FOLDER = Path(__file__).parent
INVENTED = FOLDER / "invented.jsonl"


def vendor_tools(package: Path, vendors: Sequence[Vendor]) -> dict[str, list[Tool]]:
    """The tools of each vendor, by server, out of the package's archive or its unpacked folder.

    Raises:
        InvalidInput: The package lacks a description.
    """
    descriptions = read_descriptions(package, [Source(vendor.server, "", vendor.path) for vendor in vendors])
    return {vendor.server: _tools(vendor, descriptions[vendor.path]) for vendor in vendors}


def catalogue_tools() -> list[Tool]:
    """The tools of the shipped catalogue."""
    return list(read_catalogue().tools)


def invented_tools() -> list[Tool]:
    """The invented tools of everyday, developer and office servers."""
    return [_invented(json.loads(line)) for line in INVENTED.read_text().splitlines()]


def _invented(entry: JSON) -> Tool:
    server, _, name = str(entry["tool"]).partition("/")
    properties = {str(parameter): {"type": "string"} for parameter in entry["params"]}
    schema = {"type": "object", "properties": properties}
    return Tool(server=server, name=name, description=str(entry["description"]), input_schema=schema)


def _tools(vendor: Vendor, description: JSON) -> list[Tool]:
    shape = Shape(description.get("components") or {}, frozenset())
    tools: dict[str, Tool] = {}
    for operation in _in_turn(operations(description)):
        tool = to_tool(vendor.server, operation, shape)
        if tool.name and len(tool.description) > 8 and len(tools) < vendor.most:
            tools.setdefault(tool.name, tool)
    return [tools[name] for name in sorted(tools)]


def _in_turn(found: Iterable[VendorOperation]) -> list[VendorOperation]:
    """Order operations so that each group gives its plainest one, then each its second, and so on."""
    groups: dict[str, list[VendorOperation]] = {}
    for operation in sorted(found, key=lambda each: (each.path.count("/"), each.path, each.method)):
        groups.setdefault(operation.tags[0] if operation.tags else operation.path.split("/")[1], []).append(operation)
    places = [(place, group, operation) for group, each in groups.items() for place, operation in enumerate(each)]
    return [operation for _, _, operation in sorted(places, key=lambda entry: entry[:2])]
