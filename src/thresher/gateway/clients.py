"""How to connect MCP clients: the texts that the demo prints and the console shows, with this installation's command.

Invariant: the configurations are those of docs/howto/connect-clients.md.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ClientSetup:
    """How one client is connected.

    Attributes:
        name: The client.
        how: What the user does with the text.
        text: A command or a file's content.
    """

    name: str
    how: str
    text: str


_CURSOR = "~/.cursor/mcp.json"
_CODEX = "~/.codex/config.toml"
_DESKTOP = "claude_desktop_config.json"
_NO_VARIABLES: Mapping[str, str] = {}


def clients(
    command: str, variables: Mapping[str, str] = _NO_VARIABLES, *, indent: int | None = None
) -> tuple[ClientSetup, ...]:
    """How clients start Thresher themselves.

    Args:
        command: The `thresher` program: a full path, or its name where it is on the PATH.
        variables: What its environment must have, such as another data folder.
        indent: Of files' contents; None puts each on one line.
    """
    entry: dict[str, Any] = {"command": command, "args": ["stdio"]} | ({"env": dict(variables)} if variables else {})
    code = json.dumps({"name": "thresher", **entry})
    pairs = [f"{name}={value}" for name, value in variables.items()]
    environment = " ".join(f"--env {shlex.quote(pair)}" for pair in pairs)
    program = f"-- {shlex.quote(command)} stdio"
    whole = json.dumps({"mcpServers": {"thresher": entry}}, indent=indent)
    return (
        ClientSetup("Claude Code", "run", _words("claude mcp add", environment, "--scope user thresher", program)),
        ClientSetup("Claude Desktop", f"put into {_DESKTOP}", whole),
        ClientSetup("Cursor", f"put into {_CURSOR}", whole),
        ClientSetup("VS Code", "run", f"code --add-mcp {shlex.quote(code)}"),
        ClientSetup("Codex", "run", _words("codex mcp add thresher", environment, program)),
    )


def clients_over_http(address: str, header: str = "") -> tuple[ClientSetup, ...]:
    """How clients reach a Thresher that runs, over HTTP.

    Args:
        address: The URL of its MCP endpoint.
        header: The value of `Authorization`, with a place for the key; empty if no key is needed.
    """
    entry: dict[str, Any] = {"type": "http", "url": address} | (
        {"headers": {"Authorization": header}} if header else {}
    )
    named = {name: value for name, value in entry.items() if name != "type"}
    claude = f"--header {shlex.quote(f'Authorization: {header}')}" if header else ""
    codex = ["[mcp_servers.thresher]", f"url = {json.dumps(address)}"]
    if header:
        codex.append(f"http_headers = {{ Authorization = {json.dumps(header)} }}")
    code = json.dumps({"servers": {"thresher": entry}}, indent=2)
    return (
        ClientSetup(
            "Claude Code", "run", _words("claude mcp add --scope user --transport http thresher", address, claude)
        ),
        ClientSetup("Cursor", f"put into {_CURSOR}", json.dumps({"mcpServers": {"thresher": named}}, indent=2)),
        ClientSetup("VS Code", "put into .vscode/mcp.json", code),
        ClientSetup("Codex", f"put into {_CODEX}", "\n".join(codex)),
    )


def _words(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def own_command(executable: str = sys.executable) -> str:
    """The `thresher` program beside a Python interpreter; only its name if there is none."""
    for name in ("thresher", "thresher.exe"):
        if (path := Path(executable).with_name(name)).exists():
            return str(path)
    return "thresher"
