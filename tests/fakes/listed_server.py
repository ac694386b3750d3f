"""A fake MCP server over stdio whose tools are what a JSON file holds at the time of each listing.

Usage: listed_server.py TOOLS.json; while the file is missing, listing fails. Calls answer with their arguments; a tool
whose name begins with `fail` says that it failed.
"""

import json
import sys
from pathlib import Path

TOOLS = Path(sys.argv[1])
INSTRUCTIONS = "Keeps a list. More words."


def answer(method: str, params: dict) -> dict:
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "listed", "version": "1"},
            "instructions": INSTRUCTIONS,
        }
    if method == "tools/list":
        return {"tools": json.loads(TOOLS.read_text(encoding="utf-8"))}
    if method == "tools/call":
        arguments = params.get("arguments", {})
        return {
            "content": [{"type": "text", "text": json.dumps(arguments)}],
            "structuredContent": {"arguments": arguments},
            "isError": params["name"].startswith("fail"),
        }
    if method == "ping":
        return {}
    raise ValueError(method)


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply: dict = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = answer(message["method"], message.get("params", {}))
    except (ValueError, OSError) as error:
        reply["error"] = {"code": -32601, "message": f"no {error}"}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
