"""Example calls as code: a curl command, and Python with httpx.

Invariant: pure; everything from a description ends up inside quotes, as an argument that cannot be taken for an
option, and never as code. Credentials are read from environment variables.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Final, cast
from urllib.parse import urlencode

from thresher.openapi.calls import CallCredential, ExampleCall
from thresher.openapi.example_values import CONTENTS
from thresher.openapi.reader.characters import UNSEEN, visible
from thresher.openapi.records import Json

_LARGE: Final = 1_500
"""Longest body, in characters, that stands in the code; a longer one is read from a file."""
_FILE: Final = "request.json"
_UPLOAD: Final = "example.bin"
_WIDTH: Final = 80


def samples_of(call: ExampleCall) -> Mapping[str, str]:
    """Return a call as code: `curl` and `python`."""
    return {"curl": curl_of(call), "python": python_of(call)}


def curl_of(call: ExampleCall) -> str:
    """Return a command for a POSIX shell."""
    parts = ["curl", *_method(call), f"--url {_address(call)}", *_curl_headers(call), *_curl_body(call)]
    return " \\\n  ".join([" ".join(parts[: 2 + len(_method(call))]), *parts[2 + len(_method(call)) :]])


def _method(call: ExampleCall) -> list[str]:
    if call.method == "HEAD":
        return ["--head"]
    return [] if call.method == "GET" and not call.kind else [f"-X {_quoted(call.method)}"]


def _address(call: ExampleCall) -> str:
    query = urlencode(call.query)
    url = call.url + (f"?{query}" if query else "")
    keys = [one for one in call.credentials if one.way == "query"]
    written = _quoted(url)
    for number, one in enumerate(keys):
        mark = "&" if query or number else "?"
        written += _quoted(f"{mark}{urlencode({one.key: ''})}") + f'"${one.variables[0]}"'
    globs = " --globoff" if any(letter in url for letter in "[]{}") else ""
    return written + globs


def _curl_headers(call: ExampleCall) -> Iterator[str]:
    for credential in call.credentials:
        yield from _curl_credential(credential)
    for name, value in call.headers:
        yield f"-H {_quoted(f'{name}: {value}')}"
    if call.cookies:
        yield f"-b {_quoted('; '.join(f'{name}={value}' for name, value in call.cookies))}"
    if call.kind in {"json", "raw"}:
        yield f"-H {_quoted(f'Content-Type: {call.media}')}"


def _curl_credential(one: CallCredential) -> Iterator[str]:
    held = f"${one.variables[0]}"
    if one.way == "bearer":
        yield f'-H "Authorization: Bearer {held}"'
    elif one.way == "basic":
        yield f'-u "{held}:${one.variables[1]}"'
    elif one.way == "header":
        yield f'-H {_quoted(f"{one.key}: ")}"{held}"'
    elif one.way == "cookie":
        yield f'-b {_quoted(f"{one.key}=")}"{held}"'


def _curl_body(call: ExampleCall) -> Iterator[str]:
    """Yield the body as options that take a text literally, never as a file name."""
    if call.kind == "json":
        text = _json(call.body)
        yield f"--data @{_FILE}" if len(text) > _LARGE else f"--data-raw {_quoted(text)}"
    elif call.kind == "form":
        for name, value in _fields(call.body):
            yield f"--data-raw {_quoted(urlencode({name: value}))}"
    elif call.kind == "multipart":
        for name, value in _fields(call.body):
            is_file = _is_file(value)
            yield f"-F {_quoted(f'{name}=')}@{_UPLOAD}" if is_file else f"--form-string {_quoted(f'{name}={value}')}"
    elif call.kind == "raw":
        yield f"--data-binary @{_UPLOAD}"


def python_of(call: ExampleCall) -> str:
    """Return a script that uses httpx."""
    arguments = [
        repr(call.method),
        repr(call.url),
        *_argument("params", _params(call)),
        *_argument("headers", _headers(call)),
        *_argument("cookies", _cookies(call)),
        *_python_auth(call),
        *_python_body(call),
    ]
    called = "".join(f"    {argument},\n" for argument in arguments)
    end = "response.raise_for_status()\nprint(response.text)"
    return f"{_imports(call)}import httpx\n\nresponse = httpx.request(\n{called})\n{end}"


def _imports(call: ExampleCall) -> str:
    lines = ["import json\n" if _is_large(call) else "", "import os\n" if call.credentials else ""]
    return "".join(lines) + ("\n" if any(lines) else "")


def _argument(name: str, pairs: list[tuple[str, str]]) -> Iterator[str]:
    """Return a keyword argument that is a mapping; names are quoted, values are code already."""
    if pairs:
        yield f"{name}={_braced([f'{key!r}: {value}' for key, value in pairs], '{}', 1)}"


def _braced(parts: list[str], braces: str, level: int) -> str:
    """Join parts between braces, on one line if that is short."""
    line = ", ".join(parts)
    if len(line) <= _WIDTH and "\n" not in line:
        return f"{braces[0]}{line}{braces[1]}"
    inner = "".join(f"{'    ' * (level + 1)}{part},\n" for part in parts)
    return f"{braces[0]}\n{inner}{'    ' * level}{braces[1]}"


def _written(value: Json, level: int = 1) -> str:
    """Return a value as a Python literal."""
    if isinstance(value, dict):
        pairs = cast("dict[str, Json]", value).items()
        return _braced([f"{name!r}: {_written(one, level + 1)}" for name, one in pairs], "{}", level)
    if isinstance(value, list):
        return _braced([_written(one, level + 1) for one in cast("list[Json]", value)], "[]", level)
    return repr(value)


def _params(call: ExampleCall) -> list[tuple[str, str]]:
    keys = [one for one in call.credentials if one.way == "query"]
    return [(name, repr(value)) for name, value in call.query] + [(one.key, _variable_of(one)) for one in keys]


def _headers(call: ExampleCall) -> list[tuple[str, str]]:
    signed = [("Authorization", f'"Bearer " + {_variable_of(one)}') for one in call.credentials if one.way == "bearer"]
    signed += [(one.key, _variable_of(one)) for one in call.credentials if one.way == "header"]
    typed = [("Content-Type", repr(call.media))] if call.kind == "raw" or _is_other_json(call) else []
    return [*signed, *((name, repr(value)) for name, value in call.headers), *typed]


def _is_other_json(call: ExampleCall) -> bool:
    return call.kind == "json" and call.media != "application/json"


def _cookies(call: ExampleCall) -> list[tuple[str, str]]:
    signed = [(one.key, _variable_of(one)) for one in call.credentials if one.way == "cookie"]
    return [*signed, *((name, repr(value)) for name, value in call.cookies)]


def _python_auth(call: ExampleCall) -> Iterator[str]:
    for one in call.credentials:
        if one.way == "basic":
            yield f'auth=(os.environ["{one.variables[0]}"], os.environ["{one.variables[1]}"])'


def _variable_of(one: CallCredential) -> str:
    return f'os.environ["{one.variables[0]}"]'


def _python_body(call: ExampleCall) -> Iterator[str]:
    if call.kind == "json":
        yield f'json=json.load(open("{_FILE}"))' if _is_large(call) else f"json={_written(call.body)}"
    elif call.kind == "form":
        yield f"data={_written(dict(_fields(call.body)))}"
    elif call.kind == "multipart":
        fields = dict(_fields(call.body))
        texts = {name: value for name, value in fields.items() if not _is_file(value)}
        files = [(name, f'open("{_UPLOAD}", "rb")') for name, value in fields.items() if _is_file(value)]
        yield from (f"data={_written(texts)}",) if texts else ()
        yield from _argument("files", files)
    elif call.kind == "raw":
        yield f'content=open("{_UPLOAD}", "rb").read()'


def _is_large(call: ExampleCall) -> bool:
    return call.kind == "json" and len(_json(call.body)) > _LARGE


def _fields(body: Json) -> list[tuple[str, str]]:
    """Return the fields of a form; a body without fields is one file."""
    if not isinstance(body, dict):
        return [("file", CONTENTS)]
    pairs = cast("dict[str, Json]", body).items()
    return [(name, value if isinstance(value, str) else _json(value)) for name, value in pairs]


def _is_file(value: str) -> bool:
    return value == CONTENTS


def _json(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, (dict, list)) else None)
    return visible(text)


def _quoted(text: str) -> str:
    """Quote one shell argument and make invisible characters visible."""
    return shlex.quote(UNSEEN.sub("", text))
