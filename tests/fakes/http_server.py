"""A fake MCP server over streamable HTTP in the standard library: 2025-11-25 with sessions, misbehaving on demand.

Usage: http_server.py [KEY=VALUE ...]; prints its port. Options: `port=N`, `heard=FILE` appends each message and its
headers, `mode=good|sse|unauthorized|html|typescript|modern|clinging|older|moved`. `older` speaks HTTP+SSE at /mcp,
`moved` redirects everything to /elsewhere (or `to=ADDRESS`).

`POST /forget` makes it forget its sessions; `POST /quit` ends the process without an answer.
"""

import json
import os
import queue
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

OPTIONS = dict(option.split("=", 1) for option in sys.argv[1:])
MODE = OPTIONS.get("mode", "good")
SESSIONS: set[str] = set()
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
ANSWERS: dict[str, queue.Queue] = {}
"""Of the client, by the question's id."""
STREAMS: dict[str, queue.Queue] = {}
"""What the open streams of HTTP+SSE shall say, by session; None ends one."""
HELD: dict[str, list[str]] = {}
"""What a stream that was ended early has still to say, by its last event id."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args: object) -> None:
        pass

    def answer(
        self, status: int, body: object = None, headers: dict | None = None, kind: str = "application/json"
    ) -> None:
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin_events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, data: object, kind: str = "message", identity: str = "") -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write(f"{f'id: {identity}{chr(10)}' if identity else ''}event: {kind}\ndata: {text}\n\n".encode())
        self.wfile.flush()

    def do_GET(self) -> None:
        if (last := self.headers.get("last-event-id")) in HELD:
            self.begin_events()
            for number, text in enumerate(HELD.pop(last)):
                self.event(text, identity=f"{last}-{number}")
        elif MODE == "older" and self.path == "/mcp":
            self.older_stream()
        else:
            self.answer(405)

    def older_stream(self) -> None:
        """The stream of HTTP+SSE, until the server is told to forget it."""
        session = uuid.uuid4().hex
        waiting = STREAMS[session] = queue.Queue()
        self.begin_events()
        endpoint = f"/messages?session={session}" if not OPTIONS.get("endpoint") else OPTIONS["endpoint"]
        self.event(endpoint, "endpoint")
        while (message := waiting.get()) is not None:
            self.event(message)

    def do_DELETE(self) -> None:
        if MODE == "clinging":
            time.sleep(600)
        SESSIONS.discard(self.headers.get("mcp-session-id", ""))
        self.answer(200)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/quit":
            os._exit(0)
        if self.path == "/forget":
            SESSIONS.clear()
            for stream in STREAMS.values():
                stream.put(None)
            self.answer(200)
            return
        if MODE == "moved" and self.path != "/elsewhere":
            self.answer(307, None, {"Location": OPTIONS.get("to", "/elsewhere")})
            return
        message = json.loads(body)
        if path := OPTIONS.get("heard"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"message": message, "headers": dict(self.headers)}) + "\n")
        self.protocol(message)

    def protocol(self, message: dict) -> None:
        identity = message.get("id")
        if MODE == "unauthorized":
            self.answer(401, {"error": "invalid_token"})
        elif MODE == "html":
            self.answer(200, "<html>Hello</html>", kind="text/html")
        elif MODE == "modern":
            self.modern(message)
        elif MODE == "older":
            self.older(message)
        elif message.get("method") == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            self.answer(400, {"jsonrpc": "2.0", "id": identity, "error": error})
        elif message.get("method") == "initialize":
            self.initialize(identity)
        elif self.headers.get("mcp-session-id") not in SESSIONS:
            if MODE == "typescript":
                error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
                self.answer(400, {"jsonrpc": "2.0", "id": None, "error": error})
            else:
                self.answer(404, "Session not found", kind="text/plain")
        else:
            self.within_session(message)

    def initialize(self, identity: object) -> None:
        session = uuid.uuid4().hex
        SESSIONS.add(session)
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "fake", "version": "3"},
        }
        self.answer(200, {"jsonrpc": "2.0", "id": identity, "result": result}, {"Mcp-Session-Id": session})

    def within_session(self, message: dict) -> None:
        method, identity = message.get("method"), message.get("id")
        if method is None:
            ANSWERS[str(identity)].put(message)
            self.answer(202)
        elif identity is None:
            self.answer(202)
        elif method == "tools/list":
            self.result(identity, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
        elif method == "ping":
            self.result(identity, {})
        else:
            self.call(identity, message["params"])

    def older(self, message: dict) -> None:
        """HTTP+SSE (2024-11-05): answers come over the stream."""
        method, identity = message.get("method"), message.get("id")
        if "session=" not in self.path:
            self.answer(405)
        elif self.path.partition("session=")[2] not in STREAMS:
            self.answer(404)
        elif identity is None:
            self.answer(202)
        elif method == "initialize":
            info = {"serverInfo": {"name": "fake", "version": "0"}, "capabilities": {"tools": {}}}
            self.result(identity, {"protocolVersion": "2024-11-05", **info})
        elif method == "tools/list":
            self.result(identity, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
        else:
            self.call(identity, message["params"])

    def modern(self, message: dict) -> None:
        """The revision 2026-07-28: no session, and an argument that must travel as a header too."""
        method, identity, params = message.get("method"), message.get("id"), message.get("params", {})
        complete = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
        if method == "server/discover":
            self.result(identity, {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **complete})
        elif method == "tools/list":
            region = {"type": "string", "x-mcp-header": "Region"}
            schema = {"type": "object", "properties": {"region": region}}
            self.result(identity, {"tools": [{"name": "where", "inputSchema": schema}], **complete})
        elif params["name"] == "ask" and "inputResponses" in params:
            text = json.dumps({"answer": params["inputResponses"]["q"], "state": params.get("requestState")})
            self.result(identity, {"resultType": "complete", "content": [{"type": "text", "text": text}]})
        elif params["name"] == "ask":
            question = {"method": "elicitation/create", "params": {"message": "Name?", "requestedSchema": FORM}}
            state = f"state of {params['arguments'].get('user')}"
            asks = {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": state}
            self.result(identity, asks)
        elif params["name"] == "list":
            self.result(identity, {"resultType": "complete", "structuredContent": [1, 2]})
        elif self.headers.get("Mcp-Param-Region") is None:
            error = {"code": -32020, "message": "Mcp-Param-Region is missing"}
            self.answer(400, {"jsonrpc": "2.0", "id": identity, "error": error})
        else:
            content = [{"type": "text", "text": self.headers["Mcp-Param-Region"]}]
            self.result(identity, {"resultType": "complete", "content": content})

    def ask(self, identity: object) -> None:
        """Ask the client over the stream of its own call; its answer comes as a request of its own."""
        question = uuid.uuid4().hex
        waiting = ANSWERS[question] = queue.Queue()
        self.begin_events()
        asks = {"message": "Name?", "requestedSchema": FORM}
        self.event({"jsonrpc": "2.0", "id": question, "method": "elicitation/create", "params": asks})
        answer = waiting.get()
        text = json.dumps(answer.get("error", answer.get("result")))
        self.event({"jsonrpc": "2.0", "id": identity, "result": {"content": [{"type": "text", "text": text}]}})

    def call(self, identity: object, params: dict) -> None:
        arguments = params.get("arguments", {})
        if params["name"] == "quit":
            os._exit(1)
        if params["name"] == "ask":
            self.ask(identity)
            return
        if params["name"] == "pause":
            self.pause(identity)
            return
        if params["name"] == "cut":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if MODE == "sse" else "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"jsonrpc"' if MODE != "sse" else b"event: message\n")
            self.wfile.flush()
            self.connection.shutdown(2)
            self.close_connection = True
            return
        if params["name"] == "drop":
            self.connection.shutdown(2)
            self.close_connection = True
            return
        if params["name"] == "error500":
            self.answer(500, "Traceback: boom", kind="text/plain")
            return
        time.sleep(arguments.get("seconds", 0))
        text = "x" * arguments["bytes"] if params["name"] == "huge" else json.dumps(arguments)
        self.result(identity, {"content": [{"type": "text", "text": text}]})

    def pause(self, identity: object) -> None:
        """End the stream before the answer, which the client fetches by the last event's id."""
        self.begin_events()
        result = {"content": [{"type": "text", "text": "resumed"}]}
        last = uuid.uuid4().hex
        HELD[last] = [json.dumps({"jsonrpc": "2.0", "id": identity, "result": result})]
        self.wfile.write(f"id: {last}\nretry: 10\ndata:\n\n".encode())
        self.wfile.flush()

    def result(self, identity: object, result: dict) -> None:
        message = {"jsonrpc": "2.0", "id": identity, "result": result}
        session = self.path.partition("session=")[2]
        if session in STREAMS:
            STREAMS[session].put(json.dumps(message))
            self.answer(202)
            return
        if MODE == "sse":
            self.answer(200, f"event: message\ndata: {json.dumps(message)}\n\n", kind="text/event-stream")
        else:
            self.answer(200, message)


def main() -> None:
    ThreadingHTTPServer.allow_reuse_address = True
    server = ThreadingHTTPServer(("127.0.0.1", int(OPTIONS.get("port", "0"))), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
