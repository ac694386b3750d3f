"""Calls as code: they say what the description says, and nothing in it is executed."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from thresher.openapi import Description, Operation, auth_of, call_of, read_description, samples_of

HOSTILE = [
    "'; touch owned; '",
    '"; touch owned; "',
    "$(touch owned)",
    "`touch owned`",
    "a\n-o owned",
    "-oowned",
    "@/etc/hostname",
    "x\\",
    "'\"\\'; import os; os.system('touch owned') #",
    "{os.system('touch owned')}",
    "\u202eevil\x1b[2J",
    "```\ntouch owned\n```",
]


def described(
    operation: Mapping[str, Any], path: str = "/things/{id}", method: str = "post", **more: Any
) -> Description:
    """A description with one operation."""
    whole = {
        "openapi": "3.1.0",
        "info": {},
        "servers": [{"url": "https://api.example.org/v1"}],
        "paths": {path: {method: operation}},
        **more,
    }
    return read_description(json.dumps(whole).encode())


def coded(description: Description, **more: Any) -> Mapping[str, str]:
    """The samples of the first operation."""
    return samples_of(call_of(description, description.operations[0], prefix="shop", **more))


def arguments_of(command: str, folder: Path) -> list[str]:
    """Return the arguments that a shell passes to curl for a command."""
    folder.mkdir(exist_ok=True)
    script = f"curl() {{ for one; do printf '%s\\0' \"$one\"; done; }}\n{command}\n"
    told = {
        "SHOP_TOKEN": "t0ken",
        "SHOP_KEY": "k3y",
        "SHOP_USER": "ann",
        "SHOP_PASSWORD": "pw",
        "PATH": os.environ["PATH"],
    }
    done = subprocess.run(["sh", "-c", script], cwd=folder, env=told, capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


def keywords_of(code: str) -> dict[str, ast.expr]:
    """Return the keyword arguments of the only `httpx.request` call in a script without other statements of note."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    names = {ast.unparse(call.func) for call in calls}
    assert names <= {"httpx.request", "response.raise_for_status", "print", "open", "json.load", "open().read"} | {
        name for name in names if name.startswith("open(") and name.endswith(".read")
    }
    (request,) = [call for call in calls if ast.unparse(call.func) == "httpx.request"]
    return {cast("str", one.arg): one.value for one in request.keywords} | {"url": request.args[1]}


def test_a_call_carries_what_must_be_given(tmp_path: Path) -> None:
    """The path is filled in, optional parts are omitted, the body is the example, the key is a variable."""
    operation: dict[str, Any] = {
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}, "example": "a/b c"},
            {"name": "dry", "in": "query", "required": True, "schema": {"type": "boolean"}},
            {"name": "page", "in": "query", "schema": {"type": "integer"}},
            {"name": "X-Team", "in": "header", "required": True, "schema": {"type": "string"}, "example": "blue"},
        ],
        "requestBody": {
            "content": {"application/json": {"schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
        },
        "responses": {"200": {"description": "", "content": {"application/json": {}}}},
        "security": [{"key": []}],
    }
    schemes = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}
    samples = coded(described(operation, components=schemes))

    assert arguments_of(samples["curl"], tmp_path) == [
        *("-X", "POST", "--url", "https://api.example.org/v1/things/a%2Fb%20c?dry=true"),
        *("-H", "X-Key: k3y", "-H", "Accept: application/json", "-H", "X-Team: blue"),
        *("-H", "Content-Type: application/json", "--data-raw", '{\n  "n": 1\n}'),
    ]
    keywords = keywords_of(samples["python"])
    assert ast.literal_eval(keywords["url"]) == "https://api.example.org/v1/things/a%2Fb%20c"
    assert ast.literal_eval(keywords["json"]) == {"n": 1}
    assert ast.literal_eval(keywords["params"]) == {"dry": "true"}
    assert "os.environ['SHOP_KEY']" in ast.unparse(keywords["headers"])


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_that_a_description_says_runs(text: str, tmp_path: Path) -> None:
    """Not in a shell, not in Python, not as a curl option, wherever it is."""
    named: list[dict[str, Any]] = [
        {"name": text, "in": place, "required": True, "example": text, "schema": {}}
        for place in ("query", "header", "cookie")
    ]
    operation: dict[str, Any] = {
        "parameters": [*named, {"name": "id", "in": "path", "required": True, "example": text, "schema": {}}],
        "requestBody": {"content": {"application/json": {"example": {text: [text]}}}},
        "responses": {"200": {"description": "", "content": {text: {}}}},
        "security": [{text: [text]}],
    }
    schemes = {"securitySchemes": {text: {"type": "apiKey", "in": "query", "name": text}}}
    servers = [{"url": f"https://x/{text}"}]
    description = described(operation, f"/t/{{id}}/{text}", components=schemes, servers=servers)

    samples = coded(description, base_url=text)
    arguments = arguments_of(samples["curl"], tmp_path / "here")
    keywords = keywords_of(samples["python"])

    assert list((tmp_path / "here").iterdir()) == []
    options = [one for before, one in zip(["", *arguments], arguments, strict=False) if not before.startswith("-")]
    assert set(options) <= {"-X", "--url", "--globoff", "-H", "-b", "--data-raw"}
    assert json.loads(arguments[-1]) == {text: [text]}
    assert ast.literal_eval(keywords["json"]) == {text: [text]}
    assert isinstance(ast.literal_eval(keywords["url"]), str)
    assert not any(sign in code for code in samples.values() for sign in "\u202e\x1b")


@pytest.mark.parametrize(
    ("media", "schema", "expected"),
    [
        ("application/x-www-form-urlencoded", {"properties": {"a": {"example": "x&y"}}}, ["--data-raw", "a=x%26y"]),
        ("multipart/form-data", {"properties": {"a": {"example": "<f"}}}, ["--form-string", "a=<f"]),
        (
            "multipart/form-data",
            {"properties": {"f": {"type": "string", "format": "binary"}}},
            ["-F", "f=@example.bin"],
        ),
        ("text/csv", {"type": "string"}, ["-H", "Content-Type: text/csv", "--data-binary", "@example.bin"]),
    ],
    ids=["form", "fields", "file", "raw"],
)
def test_bodies_are_sent_in_their_form(media: str, schema: Any, expected: list[str], tmp_path: Path) -> None:
    """Forms by field, files by a placeholder, other bodies from a file."""
    samples = coded(described({"requestBody": {"content": {media: {"schema": schema}}}}, "/a"))

    assert arguments_of(samples["curl"], tmp_path)[-len(expected) :] == expected
    assert keywords_of(samples["python"])


def test_a_large_body_is_read_from_a_file() -> None:
    """The samples stay short."""
    content = {"application/json": {"example": {"text": "x" * 5_000}}}
    samples = coded(described({"requestBody": {"content": content}}, "/a"))

    assert "--data @request.json" in samples["curl"]
    assert len(samples["curl"]) + len(samples["python"]) < 1_000


def operation_with(security: Any, schemes: Any = None) -> tuple[Description, Operation]:
    """An operation with these security requirements."""
    operation: dict[str, Any] = {} if security is None else {"security": security}
    description = described(operation, "/a", components={"securitySchemes": schemes or {}})
    return description, description.operations[0]


WAYS: list[tuple[Any, Any, str]] = [
    (None, {}, "The description does not say how a caller proves who it is."),
    ([], {}, "No sign-in is needed."),
    ([{"s": []}], {"type": "http", "scheme": "bearer"}, "a bearer token in the header Authorization"),
    ([{"s": []}], {"type": "http", "scheme": "basic"}, "user and password (HTTP basic)"),
    ([{"s": []}], {"type": "apiKey", "in": "query", "name": "k"}, "an API key in the query parameter k"),
    (
        [{"s": ["read", "write"]}],
        {"type": "oauth2", "flows": {}},
        "an OAuth 2 access token (s) in the header Authorization with scope read, write",
    ),
    ([{"gone": []}], {}, "gone (which the description does not explain)"),
]
"""Requirements, schemes, and both in words."""


@pytest.mark.parametrize(("security", "scheme", "words"), WAYS)
def test_sign_in_is_told_in_words(security: Any, scheme: Any, words: str) -> None:
    """What to send and where; nothing if nothing is declared."""
    description, operation = operation_with(security, {"s": scheme} if scheme else {})

    assert auth_of(description, operation) == (words,)


def test_a_relative_address_is_put_behind_the_one_that_is_known() -> None:
    """The provider's, else a placeholder."""
    description = described({}, "/a", "get", servers=[{"url": "/api/v3"}])

    assert "https://acme.example/api/v3/a" in coded(description, base_url="https://acme.example/")["curl"]
    assert "https://api.example.com/api/v3/a" in coded(description)["curl"]
