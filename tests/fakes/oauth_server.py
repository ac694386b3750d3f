"""A fake authorization server and, beside it, an MCP server that wants its tokens; in the standard library.

Usage: oauth_server.py [KEY=VALUE ...]; prints its port. Options, which `POST /control` changes while it runs:
`user=NAME` who signs in next, `seconds=N` lifetime of access tokens, `rotate=yes|no` new refresh token at each refresh
(a used one then ends the sign-in), `refresh=yes|no` whether there are refresh tokens at all, `token=well|drop|500|html|
github|NAME` how the token endpoint answers (NAME: that OAuth error), `secret=VALUE` of the registered client `known`,
`methods=LIST` of ways to prove it, `metadata=well|none|foreign`, `open=no|yes` whether MCP needs no token,
`scope=WORDS` that a call needs, `delay=SECONDS` of the token endpoint, `deny=yes` refuses the person, `documents=yes`
takes published client documents.
`POST /expire` ends all access tokens, `POST /revoke_all` all sign-ins. `GET /seen` tells what happened.
"""

import base64
import hashlib
import json
import secrets
import sys
import threading
import time
import uuid
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

OPTIONS = {
    "user": "ada",
    "seconds": "3600",
    "rotate": "yes",
    "refresh": "yes",
    "token": "well",
    "secret": "known-client-secret",
    "methods": "none,client_secret_post,client_secret_basic",
    "metadata": "well",
    "open": "no",
    "scope": "",
    "delay": "0",
    "deny": "no",
    "documents": "no",
} | dict(option.split("=", 1) for option in sys.argv[1:])
LOCK = threading.Lock()
SEEN: Counter[str] = Counter()
ISSUED: list[str] = []
CLIENTS: dict[str, dict] = {}
CODES: dict[str, dict] = {}
ACCESS: dict[str, dict] = {}
REFRESH: dict[str, dict] = {}
SESSIONS: dict[str, str] = {}


def issue(user: str, family: str, scope: str, *, refresh: bool) -> dict:
    access = f"access-{secrets.token_urlsafe(24)}"
    ISSUED.append(access)
    seconds = float(OPTIONS["seconds"])
    ACCESS[access] = {"user": user, "family": family, "scope": scope, "until": time.time() + seconds}
    answer = {"access_token": access, "token_type": "bearer", "scope": scope}
    if OPTIONS["seconds"] != "-1":
        answer["expires_in"] = int(seconds)
    else:
        ACCESS[access]["until"] = time.time() + 3600
    if refresh and OPTIONS["refresh"] == "yes":
        token = f"refresh-{secrets.token_urlsafe(24)}"
        ISSUED.append(token)
        REFRESH[token] = {"user": user, "family": family, "scope": scope, "used": False}
        answer["refresh_token"] = token
    return answer


def end_family(family: str) -> None:
    for held in (ACCESS, REFRESH):
        for token in [token for token, entry in held.items() if entry["family"] == family]:
            del held[token]


class Refused(Exception):
    def __init__(self, error: str, description: str = "") -> None:
        super().__init__(error)
        self.answer = {"error": error, "error_description": description}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args: object) -> None:
        pass

    @property
    def base(self) -> str:
        return f"http://{self.headers['Host']}"

    def answer(self, status: int, body: object = None, headers: dict | None = None) -> None:
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json" if not isinstance(body, str) else "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def drop(self) -> None:
        self.connection.shutdown(2)
        self.close_connection = True

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/seen":
            self.answer(200, {"counts": dict(SEEN), "issued": ISSUED, "clients": CLIENTS})
        elif path == "/authorize":
            self.authorize()
        elif path.startswith("/.well-known/") and OPTIONS["metadata"] != "none":
            self.metadata(path)
        else:
            self.answer(405 if path == "/mcp" else 404)

    def metadata(self, path: str) -> None:
        SEEN["discoveries"] += 1
        if path == "/.well-known/oauth-protected-resource/mcp":
            servers = [self.base + "/" if OPTIONS["metadata"] == "well" else "http://auth.example.invalid/"]
            self.answer(200, {"resource": f"{self.base}/mcp", "authorization_servers": servers})
        elif path == "/.well-known/oauth-authorization-server":
            self.answer(
                200,
                {
                    "issuer": f"{self.base}/",
                    "authorization_endpoint": f"{self.base}/authorize",
                    "token_endpoint": f"{self.base}/oauth/token",
                    "registration_endpoint": f"{self.base}/register",
                    "revocation_endpoint": f"{self.base}/revoke",
                    "client_id_metadata_document_supported": OPTIONS["documents"] == "yes",
                    "scopes_supported": ["read", "write"],
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": OPTIONS["methods"].split(","),
                    "authorization_response_iss_parameter_supported": True,
                },
            )
        else:
            self.answer(404)

    def authorize(self) -> None:
        SEEN["authorizations"] += 1
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        client = CLIENTS.get(query["client_id"])
        known = (
            query["client_id"] == "known"
            or query["client_id"].startswith("https://")
            or (client and query["redirect_uri"] in client["redirect_uris"])
        )
        if not known or query.get("code_challenge_method") != "S256" or query["response_type"] != "code":
            self.answer(400, "<h1>No such client</h1>")
            return
        back = {"state": query["state"], "iss": f"{self.base}/"}
        if OPTIONS["deny"] == "yes":
            back |= {"error": "access_denied", "error_description": "The person said no"}
        else:
            code = f"code-{secrets.token_urlsafe(24)}"
            ISSUED.append(code)
            CODES[code] = query | {"user": OPTIONS["user"]}
            back |= {"code": code}
        self.answer(302, headers={"Location": f"{query['redirect_uri']}?{urlencode(back)}"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = urlsplit(self.path).path
        if path == "/mcp":
            self.protocol(json.loads(body))
        elif path == "/oauth/token":
            self.token({name: values[0] for name, values in parse_qs(body.decode()).items()})
        elif path == "/register":
            self.register(json.loads(body))
        elif path == "/revoke":
            self.revoke(parse_qs(body.decode())["token"][0])
        elif path == "/control":
            OPTIONS.update(json.loads(body))
            self.answer(200, {})
        elif path == "/expire":
            ACCESS.clear()
            self.answer(200, {})
        elif path == "/revoke_all":
            ACCESS.clear()
            REFRESH.clear()
            self.answer(200, {})
        else:
            self.answer(404)

    def register(self, wanted: dict) -> None:
        SEEN["registrations"] += 1
        client = {"client_id": f"client-{uuid.uuid4().hex}", "redirect_uris": wanted["redirect_uris"]}
        if OPTIONS["methods"] != "none":
            client["client_secret"] = f"secret-{secrets.token_urlsafe(24)}"
            ISSUED.append(client["client_secret"])
            client["token_endpoint_auth_method"] = OPTIONS["methods"].split(",")[-1]
        CLIENTS[client["client_id"]] = client
        self.answer(201, wanted | client)

    def revoke(self, token: str) -> None:
        SEEN["revocations"] += 1
        entry = REFRESH.get(token) or ACCESS.get(token)
        if entry:
            end_family(entry["family"])
        self.answer(200)

    def token(self, form: dict) -> None:
        SEEN[f"token {form['grant_type']}"] += 1
        time.sleep(float(OPTIONS["delay"]))
        mode = OPTIONS["token"]
        if mode == "drop":
            self.drop()
        elif mode == "500":
            self.answer(500, "<h1>Bad day</h1>")
        elif mode == "html":
            self.answer(200, f"<h1>{form.get('refresh_token', '')}</h1>")
        elif mode == "github":
            self.answer(200, {"error": "bad_refresh_token", "error_description": "It is over."})
        elif mode != "well":
            secret = form.get("refresh_token", "")
            self.answer(400, {"error": mode, "error_description": f"{mode} with {secret}"})
        else:
            try:
                with LOCK:
                    answer = self.granted(form)
            except Refused as refused:
                self.answer(400, refused.answer)
            else:
                self.answer(200, answer)

    def client(self, form: dict) -> str:
        """The client that proves to be one; by header or form."""
        name, secret, method = form.get("client_id", ""), form.get("client_secret", ""), "client_secret_post"
        if (header := self.headers.get("Authorization", "")).startswith("Basic "):
            name, _, secret = base64.b64decode(header[6:]).decode().partition(":")
            method = "client_secret_basic"
        if not secret:
            method = "none"
        expected = OPTIONS["secret"] if name == "known" else CLIENTS.get(name, {}).get("client_secret", "")
        if method not in OPTIONS["methods"].split(",") or secret != expected:
            raise Refused("invalid_client", f"{method} is not good")
        return name

    def granted(self, form: dict) -> dict:
        client = self.client(form)
        if form["grant_type"] == "authorization_code":
            code = CODES.pop(form["code"], None)
            challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode()
            if not code or code["code_challenge"] != challenge.rstrip("=") or code["client_id"] != client:
                raise Refused("invalid_grant", "no such code")
            if code["redirect_uri"] != form["redirect_uri"] or form.get("resource") != f"{self.base}/mcp":
                raise Refused("invalid_target")
            return issue(code["user"], uuid.uuid4().hex, code.get("scope", ""), refresh=True)
        if form["grant_type"] == "client_credentials":
            return issue(f"machine {client}", uuid.uuid4().hex, form.get("scope", ""), refresh=False)
        entry = REFRESH.get(form["refresh_token"])
        if entry is None:
            raise Refused("invalid_grant", f"the token {form['refresh_token']} is over")
        if entry["used"]:
            SEEN["reuses"] += 1
            end_family(entry["family"])
            raise Refused("invalid_grant", "used twice")
        entry["used"] = OPTIONS["rotate"] == "yes"
        return issue(entry["user"], entry["family"], entry["scope"], refresh=OPTIONS["rotate"] == "yes")

    def protocol(self, message: dict) -> None:
        SEEN["messages"] += 1
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        entry = ACCESS.get(token)
        if OPTIONS["open"] == "no" and (entry is None or entry["until"] < time.time()):
            SEEN["refusals"] += 1
            where = f"{self.base}/.well-known/oauth-protected-resource/mcp"
            scope = ', scope="read"' if OPTIONS["metadata"] != "none" else ""
            self.answer(
                401, {"error": "invalid_token"}, {"WWW-Authenticate": f'Bearer resource_metadata="{where}"{scope}'}
            )
        elif entry and OPTIONS["scope"] and OPTIONS["scope"] not in entry["scope"].split():
            wanted = f'Bearer error="insufficient_scope", scope="{OPTIONS["scope"]}"'
            self.answer(403, {"error": "insufficient_scope"}, {"WWW-Authenticate": wanted})
        else:
            self.method(message, entry["user"] if entry else "nobody")

    def method(self, message: dict, user: str) -> None:
        method, identity = message.get("method"), message.get("id")
        headers: dict[str, str] = {}
        if method == "initialize":
            result: dict = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            }
            headers["Mcp-Session-Id"] = session = uuid.uuid4().hex
            SESSIONS[session] = user
        elif method == "tools/list":
            result = {
                "tools": [{"name": "whoami", "description": "Say who is signed in.", "inputSchema": {"type": "object"}}]
            }
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": user}]}
        elif method == "ping":
            result = {}
        elif identity is None:
            self.answer(202)
            return
        else:
            error = {"code": -32601, "message": "Method not found"}
            self.answer(400, {"jsonrpc": "2.0", "id": identity, "error": error})
            return
        self.answer(200, {"jsonrpc": "2.0", "id": identity, "result": result}, headers)

    def do_DELETE(self) -> None:
        self.answer(200)


class Server(ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(OPTIONS.get("port", "0"))), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
