"""A fake MCP server that runs whatever SQL it is given on a SQLite file, as so many do.

Usage: sql_server.py; DATABASE_URL names the file (`sqlite:///PATH`). It says on stderr where it connects, and
its errors name that address.
"""

import json
import os
import sqlite3
import sys

ADDRESS = os.environ.get("DATABASE_URL", "")
SQL = {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]}
MANY = {"type": "object", "properties": {"batch": {"type": "array", "items": {"type": "object"}}}}
TOOLS = [
    {"name": "query", "description": "Runs a query.", "inputSchema": SQL, "annotations": {"readOnlyHint": True}},
    {"name": "execute", "description": "Executes SQL.", "inputSchema": SQL},
    {"name": "batch", "description": "Runs many.", "inputSchema": MANY},
    {"name": "where", "description": "Says where.", "inputSchema": {"type": "object", "properties": {}}},
    {"name": "hang", "description": "Never answers.", "inputSchema": SQL},
    {"name": "die", "description": "Ends the server.", "inputSchema": SQL},
]


def run(statement: str) -> list:
    with sqlite3.connect(ADDRESS.removeprefix("sqlite:///"), isolation_level=None) as connection:
        return connection.execute(statement).fetchall()


def call(name: str, arguments: dict) -> dict:
    if name == "die":
        os._exit(1)
    if name == "where":
        return {"content": [{"type": "text", "text": ADDRESS}]}
    given = [arguments["sql"]] if "sql" in arguments else [one["sql"] for one in arguments["batch"]]
    try:
        text, wrong = json.dumps([run(one) for one in given]), False
    except sqlite3.Error as error:
        text, wrong = f"{error} at {ADDRESS}", True
    return {"content": [{"type": "text", "text": text}], "isError": wrong}


def answer(method: str, params: dict) -> dict:
    if method == "initialize":
        info = {"name": "sql", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    if method == "ping":
        return {}
    raise ValueError(method)


sys.stderr.write(f"connecting to {ADDRESS}\n")
sys.stderr.flush()
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or message.get("params", {}).get("name") == "hang":
        continue
    reply: dict = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = answer(message["method"], message.get("params", {}))
    except ValueError as error:
        reply["error"] = {"code": -32601, "message": f"no {error}"}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
