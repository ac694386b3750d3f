"""How to connect MCP clients: the texts that the demo prints, with this installation's command.

Invariant: the configurations are those of docs/howto/connect-clients.md.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClientSetup:
    """How one client is connected.

    Attributes:
        name: The client.
        how: What the user does with the text.
        text: A command or a file's content, in one line.
    """

    name: str
    how: str
    text: str


def clients(command: str) -> tuple[ClientSetup, ...]:
    """The clients that the demo names.

    Args:
        command: The `thresher` program: a full path, or its name where it is on the PATH.
    """
    entry = {"command": command, "args": ["stdio"]}
    code = json.dumps({"name": "thresher", **entry})
    return (
        ClientSetup("Claude Code", "run", f"claude mcp add --scope user thresher -- {shlex.quote(command)} stdio"),
        ClientSetup("Cursor", "put into ~/.cursor/mcp.json", json.dumps({"mcpServers": {"thresher": entry}})),
        ClientSetup("VS Code", "run", f"code --add-mcp {shlex.quote(code)}"),
    )


def own_command(executable: str) -> str:
    """The `thresher` program beside a Python interpreter; only its name if there is none."""
    for name in ("thresher", "thresher.exe"):
        if (path := Path(executable).with_name(name)).exists():
            return str(path)
    return "thresher"
