"""A fake MCP server over stdio in the standard library: speaks 2025-11-25, and misbehaves as its first argument says.

Usage: stdio_server.py MODE [KEY=VALUE ...]

Options: `starts=FILE` appends a line per start (its process id); `heard=FILE` appends every message it receives;
`once=FILE` misbehaves only while FILE does not exist, and creates it.

`modern` speaks 2026-07-28 alone; `whole` has resources, prompts and completions too; `spoiled` fails to list these;
`ignorant` never answers a method that it does not know; `mute` answers nothing once it has listed its tools.
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
LISTENING: list[object] = []
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
QUESTIONS: dict = {
    "elicitation/create": {"message": "Your name?", "requestedSchema": FORM},
    "sampling/createMessage": {
        "maxTokens": 9,
        "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}],
    },
    "roots/list": {},
}
EVERYTHING = {
    "tools": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}
COMPLETE = {"resultType": "complete", "ttlMs": 5000, "cacheScope": "private"}


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
    if MODE == "crash_in_list":
        os._exit(5)
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
    if MODE == "partly_invalid":
        wrong = {"type": "object", "properties": {"a": {"type": "strang"}}}
        return {
            "tools": [TOOLS[0], {"name": "broken"}, tool("bad", inputSchema=wrong), 7, tool("list", inputSchema=[])]
        }
    if MODE == "large":
        properties = {f"p{number}": {"type": "string", "description": "A value."} for number in range(6_000)}
        return {"tools": [TOOLS[0], tool("two", inputSchema={"type": "object", "properties": properties})]}
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


def repeat(identity: object, field: str, value: object, times: int) -> None:
    """Answer with as many values in a field of the result."""
    many = [value] * times
    send({"id": identity, "result": {"content": [], field: many if field == "content" else {"values": many}}})


def call(identity: object, params: dict) -> None:
    name = params["name"]
    if name == "crash":
        os._exit(3)
    if name == "ask":
        ask(identity, params)
        return
    if name == "repeat":
        repeat(identity, **params["arguments"])
        return
    if name == "late":
        send({"id": identity, "result": {"content": []}})
        ASKED["late"] = None
        send({"id": "late", "method": "elicitation/create", "params": QUESTIONS["elicitation/create"]})
        return
    if name == "touch":
        touch(params.get("arguments", {}).get("uri"))
    if name == "log":
        send({"method": "notifications/message", "params": {"level": "info", "data": params["arguments"]["text"]}})
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


def ask(identity: object, params: dict) -> None:
    """Put a question to the client; its answer becomes the answer of the call."""
    method = params.get("arguments", {}).get("method", "elicitation/create")
    if MODE != "modern":
        ASKED[f"q{identity}"] = identity
        send({"id": f"q{identity}", "method": method, "params": QUESTIONS[method]})
    elif answers := params.get("inputResponses"):
        text = json.dumps({"answer": answers["q"], "state": params.get("requestState")})
        send({"id": identity, "result": {"content": [{"type": "text", "text": text}], "resultType": "complete"}})
    else:
        question = {"method": method, "params": QUESTIONS[method]}
        state = f"state of {params['arguments'].get('user')}"
        result = {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": state}
        send({"id": identity, "result": result})


def touch(uri: str | None) -> None:
    """Say that the lists have changed, and one resource."""
    stamps: list = [{"_meta": {"io.modelcontextprotocol/subscriptionId": one}} for one in LISTENING] or [{}]
    for stamp in stamps:
        for kind in ("tools", "resources", "prompts"):
            send({"method": f"notifications/{kind}/list_changed", "params": stamp})
        if uri:
            send({"method": "notifications/resources/updated", "params": {"uri": uri, **stamp}})


def modern(identity: object, method: str, params: dict) -> bool:
    """The requests of 2026-07-28; false for those that both revisions have."""
    if method == "server/discover":
        meta = {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1.2.3"}}
        found = {"supportedVersions": ["2026-07-28"], "capabilities": EVERYTHING, **COMPLETE, "_meta": meta}
        send({"id": identity, "result": found})
    elif method == "initialize":
        error = {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": ["2026-07-28"]}}
        send({"id": identity, "error": error})
    elif method == "subscriptions/listen":
        LISTENING.append(identity)
        stamp = {"io.modelcontextprotocol/subscriptionId": identity}
        acknowledged = {"notifications": params["notifications"], "_meta": stamp}
        send({"method": "notifications/subscriptions/acknowledged", "params": acknowledged})
    elif method == "tools/list":
        send({"id": identity, "result": {**listing(params), **COMPLETE}})
    elif method == "notifications/cancelled" and params.get("requestId") in LISTENING:
        LISTENING.remove(params["requestId"])
    else:
        return False
    return True


def other(method: str, params: dict) -> dict | None:
    """What a server with more than tools answers; None for a method that it does not have."""
    if MODE == "spoiled" and method.startswith(("resources/", "prompts/")):
        raise ValueError("the disk is full")
    match method:
        case "resources/list":
            return {"resources": [{"uri": "memo://one", "name": "one"}, {"uri": "memo://two"}]}
        case "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": "memo://{name}", "name": "any"}]}
        case "prompts/list":
            return {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "text": "body"}], **(COMPLETE if MODE == "modern" else {})}
        case "prompts/get":
            text = f"Greet {params.get('arguments', {}).get('who')}."
            return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
        case "completion/complete":
            return {"completion": {"values": [params["argument"]["value"] + "e"]}}
        case "resources/subscribe" | "resources/unsubscribe" | "ping":
            return {}
    return None


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
                "capabilities": EVERYTHING if MODE in ("whole", "spoiled") else {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1.2.3"},
                "instructions": "Use it well.",
            },
        }
    )


def handle(message: dict) -> None:
    note("heard", json.dumps(message))
    method, identity, params = message.get("method"), message.get("id"), message.get("params", {})
    if MODE == "modern" and method and modern(identity, method, params):
        return
    if MODE == "mute" and LISTED:
        return
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
        if (call_id := ASKED.pop(identity)) is not None:
            send({"id": call_id, "result": {"content": [{"type": "text", "text": answer}]}})
    elif identity is not None and method:
        rest(identity, method, params)


def rest(identity: object, method: str, params: dict) -> None:
    """What only some modes have."""
    try:
        result = other(method, params) if MODE in ("whole", "spoiled", "modern") or method == "ping" else None
    except ValueError as failure:
        send({"id": identity, "error": {"code": -32603, "message": str(failure)}})
        return
    if result is not None:
        send({"id": identity, "result": result})
    elif MODE != "ignorant":
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
