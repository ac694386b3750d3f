"""Small descriptions for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from thresher.openapi import Description, read_description

SCHEMA = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}


def document(paths: Mapping[str, Any] | None = None, version: str = "3.0.3", **others: Any) -> dict[str, Any]:
    """Return an OpenAPI document with these paths and other top-level fields."""
    return {"openapi": version, "info": {"title": "Pets", "version": "1"}, "paths": paths or {}, **others}


def swagger(paths: Mapping[str, Any] | None = None, **others: Any) -> dict[str, Any]:
    """Return a Swagger document, likewise."""
    return {"swagger": "2.0", "info": {"title": "Pets", "version": "1"}, "paths": paths or {}, **others}


def described(content: Mapping[str, Any]) -> Description:
    """Read this document as JSON."""
    return read_description(json.dumps(content, indent=1).encode())


def from_yaml(text: str) -> Description:
    """Read a YAML text after the lines that every description needs."""
    return read_description(f"openapi: 3.0.3\ninfo: {{title: Pets, version: '1'}}\n{text}".encode())


def codes(description: Description) -> list[str]:
    """Return the codes of its problems, in the order of the text."""
    return [each.code for each in description.problems]
