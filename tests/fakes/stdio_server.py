"""A fake MCP server over stdio in the standard library: speaks 2025-11-25, and misbehaves as its first argument says.

Usage: stdio_server.py MODE [KEY=VALUE ...]

Options: `starts=FILE` appends a line per start (its process id); `heard=FILE` appends every message it receives;
`once=FILE` misbehaves only while FILE does not exist, and creates it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

MODE = sys.argv[1] if len(sys.argv) > 1 else "good"
OPTIONS = dict(option.split("=", 1) for option in sys.argv[2:])
LOCK = threading.Lock()
LISTED = 0
CANCELLED: dict[object, threading.Event] = {}
ASKED: dict[object, object] = {}


def note(option: str, text: str) -> None:
    if path := OPTIONS.get(option):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def misbehaves() -> bool:
    path = OPTIONS.get("once")
    if path is None:
        return True
    if Path(path).exists():
        return False
    Path(path).touch()
    return True


def send(message: dict) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def tool(name: str, **more: object) -> dict:
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, **more}


TOOLS = [
    tool("echo", title="Echo", annotations={"readOnlyHint": True}),
    tool("rich"),
    tool("sleep"),
    tool("fail"),
    tool("env"),
    tool("count", outputSchema={"type": "object", "required": ["never"]}),
]


def listing(params: dict) -> dict:
    global LISTED
    LISTED += 1
    if MODE == "pages":
        at = int(params.get("cursor") or 0)
        page = {"tools": [tool(f"tool{at}"), tool("echo")]}
        return page | ({"nextCursor": str(at + 1)} if at < 4 else {})
    if MODE == "circle":
        return {"tools": [tool("a")], "nextCursor": "again"}
    if MODE == "endless":
        at = int(params.get("cursor") or 0)
        return {"tools": [], "nextCursor": str(at + 1)}
    if MODE == "empty_second" and LISTED > 1:
        return {"tools": []}
    if MODE == "invalid":
        return {"tools": [{"name": "broken"}]}
    if MODE == "many":
        return {"tools": [tool(f"t{number}") for number in range(20_001)]}
    return {"tools": TOOLS}


def sleep(identity: object, params: dict) -> bool:
    """Report progress, then sleep; false when cancelled."""
    cancelled = CANCELLED.setdefault(identity, threading.Event())
    if token := params.get("_meta", {}).get("progressToken"):
        for at in (1, 2):
            progress = {"progressToken": token, "progress": at, "total": 2, "message": f"step {at}"}
            send({"method": "notifications/progress", "params": progress})
    if cancelled.wait(params["arguments"].get("seconds", 0)):
        note("heard", "stopped sleeping")
        return False
    return True


def text_of(name: str, arguments: dict) -> str:
    if name == "huge":
        return "x" * arguments["bytes"]
    return json.dumps(dict(os.environ) if name == "env" else arguments)


def call(identity: object, params: dict) -> None:
    name = params["name"]
    if name == "crash":
        os._exit(3)
    if name == "ask":
        ASKED[f"q{identity}"] = identity
        question = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        send({"id": f"q{identity}", "method": "elicitation/create", "params": question})
        return
    if name == "unknown":
        error = {"code": -32602, "message": f"Unknown tool: {name} {os.environ.get('SECRET', '')}"}
        send({"id": identity, "error": error})
        return
    if name == "sleep" and not sleep(identity, params):
        return
    content: list = [{"type": "text", "text": text_of(name, params.get("arguments", {}))}]
    result: dict = {"content": content, "isError": name == "fail"}
    if name == "rich":
        content.append({"type": "image", "data": "AAAA", "mimeType": "image/png"})
        content.append({"type": "resource", "resource": {"uri": "file:///a", "text": "body", "_meta": {"k": 1}}})
        content.append({"type": "resource_link", "uri": "file:///b", "name": "b"})
        result |= {"structuredContent": {"answer": 42}, "_meta": {"trace": "t"}}
    send({"id": identity, "result": result})


def initialize(identity: object) -> None:
    if MODE == "refuse":
        send({"id": identity, "error": {"code": -32603, "message": f"no licence {os.environ.get('SECRET', '')}"}})
        return
    if MODE == "slow":
        time.sleep(float(OPTIONS.get("seconds", "1")))
    if MODE == "hang":
        threading.Event().wait()
    if MODE == "crash_in_handshake":
        sys.stderr.write(f"fatal: no configuration, key {os.environ.get('SECRET', '')}\n")
        sys.stderr.flush()
        os._exit(4)
    send(
        {
            "id": identity,
            "result": {
                "protocolVersion": "1999-01-01" if MODE == "ancient" else "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1.2.3"},
                "instructions": "Use it well.",
            },
        }
    )


def handle(message: dict) -> None:
    note("heard", json.dumps(message))
    method, identity, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        initialize(identity)
    elif method == "tools/list":
        send({"id": identity, "result": listing(params)})
    elif method == "tools/call":
        threading.Thread(target=call, args=(identity, params), daemon=True).start()
    elif method == "notifications/cancelled":
        CANCELLED.setdefault(params["requestId"], threading.Event()).set()
    elif identity in ASKED:
        answer = json.dumps(message.get("error", message.get("result")))
        send({"id": ASKED.pop(identity), "result": {"content": [{"type": "text", "text": answer}]}})
    elif identity is not None and method:
        send({"id": identity, "error": {"code": -32601, "message": "Method not found"}})


def main() -> None:
    note("starts", str(os.getpid()))
    if MODE == "crash_at_start" and misbehaves():
        sys.stderr.write("Traceback: cannot find the database\n")
        sys.exit(2)
    if MODE == "rubbish":
        print("Welcome to the fake server!\n\n{not json", flush=True)
        sys.stdout.write(json.dumps({"hello": 1}) + "\n")
        sys.stdout.flush()
    if MODE == "flood":
        while True:
            os.write(1, b"all work and no play\n" * 100)
    if MODE == "chatty":
        threading.Thread(target=lambda: [os.write(2, b"chat " * 20 + b"\n") for _ in iter(int, 1)], daemon=True).start()
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MODE in ("parent", "stubborn"):
        # A grandchild that outlives its parent unless somebody kills the group.
        code = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        command = [sys.executable, "-c", code if MODE == "stubborn" else "import time; time.sleep(600)"]
        note("starts", str(subprocess.Popen(command).pid))
    for line in sys.stdin:
        handle(json.loads(line))
    if MODE == "stubborn":
        time.sleep(600)


if __name__ == "__main__":
    main()
