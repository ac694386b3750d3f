"""A fake MCP server over stdio in the standard library, whose behaviour is what the files of its folder say.

Usage: folder_server.py FOLDER. `tools.json` is listed at each listing, and while it is missing listing fails; while
`mute` exists no handshake is answered; `heard` gets a line for each message, `starts` the process id at each start.

Tools: `crash` ends the process, `huge` answers with 10 MB, `pid` with the process id, `wait` when `go` exists; every
other one answers with its arguments.
"""

import json
import os
import sys
import threading
from pathlib import Path

FOLDER = Path(sys.argv[-1])
LOCK = threading.Lock()
HUGE = 10_000_000


def note(name: str, text: str) -> None:
    with (FOLDER / name).open("a", encoding="utf-8") as file:
        file.write(text + "\n")


def send(message: dict) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def call(identity: object, params: dict) -> None:
    name = params["name"]
    if name == "crash":
        os._exit(3)
    pause = threading.Event()
    while name == "wait" and not (FOLDER / "go").exists():
        pause.wait(0.01)
    arguments = params.get("arguments") or {}
    texts = {"huge": "x" * HUGE, "pid": str(os.getpid())}
    text = texts.get(name, json.dumps(arguments, ensure_ascii=False))
    send({"id": identity, "result": {"content": [{"type": "text", "text": text}]}})


def listing(identity: object) -> None:
    try:
        tools = json.loads((FOLDER / "tools.json").read_text(encoding="utf-8"))
    except OSError:
        send({"id": identity, "error": {"code": -32603, "message": "the list is not to be had"}})
        return
    send({"id": identity, "result": {"tools": tools}})


def initialize(identity: object) -> None:
    if (FOLDER / "mute").exists():
        return
    result = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "child", "version": "1"},
    }
    send({"id": identity, "result": result})


def main() -> None:
    note("starts", str(os.getpid()))
    for line in sys.stdin:
        message = json.loads(line)
        method, identity = message.get("method", ""), message.get("id")
        note("heard", method)
        if method == "initialize":
            initialize(identity)
        elif method == "tools/list":
            listing(identity)
        elif method == "tools/call":
            threading.Thread(target=call, args=(identity, message["params"]), daemon=True).start()
        elif method == "ping":
            send({"id": identity, "result": {}})
        elif identity is not None and method:
            send({"id": identity, "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    main()
