"""Reads the `mcpServers` file that Claude Desktop, Cursor and VS Code share.

Invariant: a broken entry does not affect the others, and nothing is dropped or emptied without a problem that names it.
A missing or empty variable is an error, never an empty text, unless it has a default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from thresher.core import JSON, InvalidInput, is_host
from thresher.upstream.config import GuardedSql, OAuthClient, ServerConfig, read_oauth, read_sql, valid_name

_REFERENCE = re.compile(r"\$\{(?:(?P<space>\w+):(?!-))?(?P<name>[A-Za-z_][\w.-]*?)(?::-(?P<default>[^}]*))?\}")


class Unresolved(Exception):
    """A reference has no value.

    Attributes:
        reference: The reference in the text, without its default.
        reason: What is missing.
        hint: What to do.
    """

    def __init__(self, reference: str, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reference = reference
        self.reason = reason
        self.hint = hint


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace every reference by its value, once (values are not expanded again).

    Raises:
        Unresolved: A variable is missing or empty and has no default, or is of a kind that only an editor can fill in.
    """
    return _REFERENCE.sub(lambda found: _value(found, variables), text)


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    space, name, default = found["space"], found["name"], found["default"]
    if space is None and name == "userHome":
        name = "HOME" if variables.get("HOME") else "USERPROFILE"
    if space == "connection":
        return found[0]
    if space not in (None, "env"):
        raise Unresolved(
            f"${{{space}:{name}}}",
            "only the editor that this file was written for can fill it in.",
            "Put the value into an environment variable and write ${env:NAME} in its place.",
        )
    if value := variables.get(name):
        return value
    if default is not None:
        return default
    state = "empty" if name in variables else "not set"
    raise Unresolved(
        f"${{{name}}}",
        f"the environment variable {name} is {state}.",
        f"Set {name} where Thresher starts, or give a default: ${{{name}:-value}}.",
    )


MAX_DOCUMENT = 5_000_000
"""Maximum characters; a real file has a few thousand."""
_NOISE = re.compile(r'(?P<text>"(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.S)
_TRAILING_COMMA = re.compile(r'(?P<text>"(?:\\.|[^"\\\n])*")|,(?=\s*[}\]])', re.S)
Transport: TypeAlias = Literal["stdio", "http", "sse"]
_TYPES: Mapping[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}


@dataclass(frozen=True, slots=True)
class ServerProblem:
    """Why one entry of a file is not used.

    Attributes:
        server: The entry's name; empty if the problem concerns the whole file.
        message: What is wrong, without secrets.
        hint: What to do about it.
    """

    server: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        where = f"Server '{self.server}': " if self.server else ""
        return f"{where}{self.message} {self.hint}".strip()


class ServerFile(list[ServerConfig]):
    """The valid entries of a file, in order; `problems` lists what is wrong with the others."""

    def __init__(self, servers: Sequence[ServerConfig] = (), problems: Sequence[ServerProblem] = ()) -> None:
        super().__init__(servers)
        self.problems = tuple(problems)


class _BrokenEntry(Exception):
    """One entry cannot be used."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def parse_servers(document: JSON | str, variables: Mapping[str, str]) -> ServerFile:
    """Read server definitions.

    Args:
        document: The file's text (JSON; comments and trailing commas are tolerated) or its decoded object:
            `{"mcpServers": {...}}`, VS Code's `{"servers": {...}, "inputs": [...]}` or `{"mcp": {"servers": {...}}}`.
        variables: For `${NAME}`, `${env:NAME}` and `${NAME:-default}`.

    Returns:
        The usable servers, disabled ones included, and the problems of the others.

    Raises:
        InvalidInput: The document is not such a file; the message names line and column.
    """
    root = _decode(document) if isinstance(document, str) else document
    entries = _entries(root)
    servers: list[ServerConfig] = []
    problems: list[ServerProblem] = _input_problems(root)
    for name, entry in entries.items():
        try:
            servers.append(_server(name, entry, variables))
        except _BrokenEntry as broken:
            problems.append(ServerProblem(name, broken.message, broken.hint))
    return ServerFile(servers, problems)


def _decode(text: str) -> JSON:
    if len(text) > MAX_DOCUMENT:
        raise InvalidInput(f"The server file has {len(text):,} characters; {MAX_DOCUMENT:,} are allowed.")
    cleaned = _blank(_TRAILING_COMMA, _blank(_NOISE, text.removeprefix("\ufeff")))
    try:
        root = json.loads(cleaned)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"The server file is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}.",
            hint='It should look like {"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}.',
        ) from None
    except RecursionError:
        raise InvalidInput("The server file is nested too deeply.") from None
    return cast("JSON", root)


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Replace what is not JSON by spaces, so that line and column in errors stay correct."""
    return pattern.sub(lambda found: found["text"] or re.sub(r"[^\n]", " ", found[0]), text)


def _entries(root: object) -> dict[str, object]:
    if isinstance(root, Mapping):
        document = cast("Mapping[str, Any]", root)
        mcp: object = document.get("mcp")
        nested = cast("Mapping[str, Any]", mcp).get("servers") if isinstance(mcp, Mapping) else None
        for found in (document.get("mcpServers"), document.get("servers"), nested):
            if isinstance(found, Mapping):
                return {str(name): entry for name, entry in cast("Mapping[Any, object]", found).items()}
    raise InvalidInput(
        "The server file has no object 'mcpServers' (or 'servers').",
        hint='It should look like {"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}.',
    )


def _input_problems(root: JSON) -> list[ServerProblem]:
    inputs = root.get("inputs")
    if not isinstance(inputs, list) or not inputs:
        return []
    names = [
        str(cast("Mapping[str, Any]", item).get("id", "?"))
        for item in cast("list[object]", inputs)
        if isinstance(item, Mapping)
    ]
    return [
        ServerProblem(
            "",
            f"The file asks the user for values (inputs: {', '.join(names)}), which only VS Code can do.",
            "Put them into environment variables and write ${env:NAME} in their place.",
        )
    ]


def _server(name: str, entry: object, variables: Mapping[str, str]) -> ServerConfig:
    _check_name(name)
    if not isinstance(entry, Mapping):
        raise _BrokenEntry("its entry is not an object.", 'Give it a "command" or a "url".')
    fields = _Fields(cast("Mapping[str, Any]", entry), variables)
    common: dict[str, Any] = {
        "name": name,
        "enabled": not fields.flag("disabled", default=False) and fields.flag("enabled", default=True),
        "description": fields.text("description"),
        "prefix": fields.flag("prefix", default=True),
        "sql": fields.sql(),
    }
    transport = fields.transport()
    if transport == "stdio":
        return ServerConfig(
            **common,
            transport="stdio",
            command=fields.command(),
            args=fields.texts("args"),
            env=fields.mapping("env"),
            cwd=fields.text("cwd"),
        )
    return ServerConfig(**common, transport=transport, url=fields.url(), headers=fields.headers(), oauth=fields.oauth())


def checked_server(config: ServerConfig) -> ServerConfig:
    """Apply the checks for an entry of a file to a definition that was given as fields.

    Raises:
        InvalidInput: A field cannot be used.
    """
    try:
        _check_name(config.name)
        if config.transport == "stdio":
            _checked_command(config.command)
        else:
            _checked_url(config.url)
            _checked_headers(config.headers)
    except _BrokenEntry as broken:
        raise InvalidInput(f"Server '{config.name}': {broken.message}", hint=broken.hint) from None
    return config


def _check_name(name: str) -> None:
    if not valid_name(name):
        raise _BrokenEntry(
            "its name may hold only letters, digits, '_', '.' and '-', at most 64.",
            f"Rename it, for example to '{_suggested(name)}'.",
        )


def _checked_command(command: object) -> str:
    if not isinstance(command, str):
        raise _BrokenEntry("its 'command' must be a text.", "Write the program's name, and its arguments in 'args'.")
    if not command.strip():
        raise _BrokenEntry("its 'command' is empty.", "Write the program's name.")
    return command.strip()


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        valid = False
    if not valid or re.search(r"\s", url):
        raise _BrokenEntry("its 'url' is not an http or https address.", "Write https://HOST/PATH.")
    return url


def _checked_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or re.search(r"[\r\n]", value):
            raise _BrokenEntry(f"the header {name!r} is not a valid HTTP header.")


def _suggested(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-._")[:64] or "my-server"


class _Fields:
    """Reads the fields of one entry, checks them, and fills in variables."""

    def __init__(self, entry: Mapping[str, Any], variables: Mapping[str, str]) -> None:
        self._entry = entry
        self._variables = variables

    def transport(self) -> Transport:
        if "envFile" in self._entry:
            raise _BrokenEntry("'envFile' is not supported.", "Copy its lines into 'env'.")
        if "command" in self._entry and "url" in self._entry:
            raise _BrokenEntry("it has both 'command' and 'url'.", "Keep one of them.")
        if not self._entry.keys() & {"command", "url"}:
            raise _BrokenEntry("it has neither 'command' nor 'url'.", "Give it one of them.")
        kind: object = self._entry.get("type", self._entry.get("transport"))
        if kind is None:
            return "stdio" if "command" in self._entry else "http"
        transport = _TYPES.get(str(kind))
        if transport is None or (transport == "stdio") != ("command" in self._entry):
            raise _BrokenEntry(
                f"its type {str(kind)!r} does not fit.", "Use 'stdio' with a command, 'http' or 'sse' with a url."
            )
        return transport

    def flag(self, name: str, *, default: bool) -> bool:
        value: object = self._entry.get(name, default)
        if not isinstance(value, bool):
            raise _BrokenEntry(f"'{name}' must be true or false.")
        return value

    def text(self, name: str) -> str:
        value: object = self._entry.get(name)
        return "" if value is None else self._expanded(value, f"'{name}'")

    def texts(self, name: str) -> tuple[str, ...]:
        value: object = self._entry.get(name, [])
        if not isinstance(value, list | tuple):
            raise _BrokenEntry(f"'{name}' must be a list of texts.")
        items = cast("Sequence[object]", value)
        return tuple(self._expanded(item, f"'{name}[{at}]'") for at, item in enumerate(items))

    def mapping(self, name: str) -> dict[str, str]:
        value: object = self._entry.get(name, {})
        if not isinstance(value, Mapping):
            raise _BrokenEntry(f"'{name}' must be an object of texts.")
        entries = cast("Mapping[Any, object]", value)
        return {str(key): self._expanded(item, f"'{name}.{key}'") for key, item in entries.items()}

    def headers(self) -> dict[str, str]:
        headers = self.mapping("headers")
        _checked_headers(headers)
        return headers

    def oauth(self) -> OAuthClient | None:
        entry: object = self._entry.get("oauth", self._entry.get("auth"))
        if isinstance(entry, Mapping):
            given = cast("Mapping[str, object]", entry)
            entry = {
                name: self._expanded(value, f"'oauth.{name}'") if isinstance(value, str) else value
                for name, value in given.items()
            }
        try:
            return read_oauth(entry)
        except InvalidInput as error:
            raise _BrokenEntry(error.message, error.hint) from None

    def sql(self) -> GuardedSql | None:
        try:
            return read_sql(self._entry.get("sql"))
        except InvalidInput as error:
            raise _BrokenEntry(error.message, error.hint) from None

    def command(self) -> str:
        _checked_command(self._entry.get("command"))
        return _checked_command(self.text("command"))

    def url(self) -> str:
        return _checked_url(self.text("url").strip())

    def _expanded(self, value: object, where: str) -> str:
        if isinstance(value, bool):
            value = str(value).lower()
        if isinstance(value, int | float):
            value = str(value)
        if not isinstance(value, str):
            raise _BrokenEntry(f"{where} must be a text.")
        if "\0" in value:
            raise _BrokenEntry(f"{where} holds a NUL character.")
        try:
            return expand(value, self._variables)
        except Unresolved as missing:
            raise _BrokenEntry(f"{where} needs {missing.reference}: {missing.reason}", missing.hint) from None
