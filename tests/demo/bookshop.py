"""An OpenAPI description of our own, small, with every form that the converter meets."""

from __future__ import annotations

import json
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

from thresher.demo.catalogue import Source

SOURCE = Source("bookshop", "The bookshop", "bookshop.example", ("Books", "Orders"), omit=("trace",))


def bookshop() -> dict[str, Any]:
    """A fresh copy of the description."""
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Bookshop API",
            "version": "7",
            "description": "# Start\n\nSells [books](https://shop.example). Second sentence.",
            "license": {"name": "Apache 2.0", "url": "https://licence.example"},
            "x-origin": [{"url": "https://shop.example/openapi.json"}],
        },
        "paths": {
            "/books": {
                "parameters": [{"$ref": "#/components/parameters/trace"}],
                "get": {
                    "operationId": "books/list",
                    "tags": ["Books"],
                    "summary": "List books",
                    "description": "Lists the <b>books</b> on sale.",
                    "parameters": [
                        {
                            "name": "genre",
                            "in": "query",
                            "description": "Kind.",
                            "schema": {"$ref": "#/components/schemas/Genre"},
                        },
                        {"name": "X-Header", "in": "header", "schema": {"type": "string"}},
                    ],
                },
            },
            "/books/{id}": {
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "delete": {
                    "operationId": "DeleteBook",
                    "tags": ["Books"],
                    "summary": "DeleteBook",
                    "description": "Deletes it.",
                },
                "get": {"operationId": "getBook", "tags": ["Books"], "summary": "Old", "deprecated": True},
            },
            "/orders": {
                "post": {
                    "tags": ["Orders"],
                    "summary": "Place an order",
                    "requestBody": {
                        "required": True,
                        "content": {
                            "text/plain": {"schema": {"type": "string"}},
                            "application/json": {"schema": {"$ref": "#/components/schemas/Order"}},
                        },
                    },
                }
            },
            "/orders/{id}/notes": {
                "put": {
                    "operationId": "setNotes",
                    "tags": ["Orders"],
                    "summary": "Set notes",
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": {"type": "array", "items": {"type": "string"}}}},
                    },
                }
            },
            "/staff": {"get": {"operationId": "staff", "tags": ["Staff"], "summary": "List staff"}},
        },
        "components": {
            "parameters": {"trace": {"name": "trace", "in": "query", "schema": {"type": "boolean"}}},
            "schemas": {
                "Genre": {"type": "string", "enum": ["novel", "poetry", None]},
                "Base": {
                    "type": "object",
                    "properties": {"number": {"type": "string", "readOnly": True}, "gift": {"type": "boolean"}},
                },
                "Order": {
                    "allOf": [
                        {"$ref": "#/components/schemas/Base"},
                        {
                            "required": ["lines"],
                            "properties": {
                                "lines": {"type": "array", "items": {"$ref": "#/components/schemas/Line"}},
                                "to": {"oneOf": [{"type": "null"}, {"type": "string", "maxLength": 9}]},
                            },
                        },
                    ]
                },
                "Line": {
                    "type": "object",
                    "properties": {"book": {"type": ["integer", "null"]}, "of": {"$ref": "#/components/schemas/Line"}},
                },
            },
        },
    }


def archive(folder: Path, descriptions: dict[str, Any]) -> Path:
    """Pack descriptions as the package's archive has them."""
    path = folder / "package.tgz"
    with tarfile.open(path, "w:gz") as file:
        for name, description in descriptions.items():
            content = description if isinstance(description, bytes) else json.dumps(description).encode()
            entry = tarfile.TarInfo(f"package/api/{name}.json")
            entry.size = len(content)
            file.addfile(entry, BytesIO(content))
    return path
