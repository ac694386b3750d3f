"""An HTTP API with every way in which OpenAPI sends a value, written with FastAPI; it answers with what it understood.

Each style is read back here by rules of its own, so that what arrives is compared with what was given.
"""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, unquote, unquote_plus

import uvicorn
from fastapi import (
    APIRouter,
    Body,
    Cookie,
    Depends,
    FastAPI,
    File,
    Form,
    Header,
    HTTPException,
    Query,
    Request,
    UploadFile,
)
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from fastapi.security import APIKeyCookie, APIKeyHeader, APIKeyQuery, HTTPBasic, HTTPBasicCredentials, HTTPBearer
from pydantic import BaseModel, Field

KEY, TOKEN, CLIENT_SECRET = "key-5f2d9c", "token-8a1be4", "secret-77c0de"
LIST, OBJECT = ["blue", "black & white", "a,b"], {"R": "100", "G": "x y"}
PLAIN_LIST = ["blue", "black"]
"""Of the styles whose separator is sent encoded, so that it cannot be told from that of a value."""


class Toy(BaseModel):
    """What is stored."""

    id: Annotated[int, Field(json_schema_extra={"readOnly": True})] = 0
    name: Annotated[str, Field(min_length=2, max_length=20)]
    colour: Literal["red", "blue"] = "red"
    price: Annotated[float, Field(ge=0)] | None = None
    tags: list[str] = []


class Filter(BaseModel):
    """Query parameters in a model."""

    limit: Annotated[int, Field(ge=1, le=100)] = 10
    words: list[str] = []


def _parameter(name: str, place: str, kind: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "array", "items": {"type": "string"}} if kind == "list" else {"type": "object"}
    if kind == "object":
        schema["additionalProperties"] = {"type": "string"}
    return {"name": name, "in": place, "required": True, "schema": schema, **more}


def _from_pairs(texts: list[str]) -> dict[str, str]:
    return {unquote(texts[at]): unquote(texts[at + 1]) for at in range(0, len(texts), 2)}


def _from_equals(texts: list[str]) -> dict[str, str]:
    return {unquote(name): unquote(value) for name, value in (one.split("=") for one in texts)}


def _list(texts: list[str]) -> list[str]:
    return [unquote(one) for one in texts]


Reader = Callable[[str], Any]
PATHS: dict[tuple[str, bool, str], Reader] = {
    ("simple", False, "list"): lambda raw: _list(raw.split(",")),
    ("simple", True, "list"): lambda raw: _list(raw.split(",")),
    ("simple", False, "object"): lambda raw: _from_pairs(raw.split(",")),
    ("simple", True, "object"): lambda raw: _from_equals(raw.split(",")),
    ("label", False, "list"): lambda raw: _list(raw[1:].split(",")),
    ("label", True, "list"): lambda raw: _list(raw[1:].split(".")),
    ("label", False, "object"): lambda raw: _from_pairs(raw[1:].split(",")),
    ("label", True, "object"): lambda raw: _from_equals(raw[1:].split(".")),
    ("matrix", False, "list"): lambda raw: _list(raw.removeprefix(";value=").split(",")),
    ("matrix", True, "list"): lambda raw: [unquote(one.removeprefix("value=")) for one in raw[1:].split(";")],
    ("matrix", False, "object"): lambda raw: _from_pairs(raw.removeprefix(";value=").split(",")),
    ("matrix", True, "object"): lambda raw: _from_equals(raw[1:].split(";")),
}
"""How the last segment of a path is read, by style, explode and kind of value."""


def _only(raw: str) -> str:
    return raw.removeprefix("value=")


QUERIES: dict[tuple[str, bool, str], Reader] = {
    ("form", False, "list"): lambda raw: _list(_only(raw).split(",")),
    ("form", True, "list"): lambda raw: [value for _, value in parse_qsl(raw)],
    ("form", False, "object"): lambda raw: _from_pairs(_only(raw).split(",")),
    ("form", True, "object"): lambda raw: dict(parse_qsl(raw)),
    ("spaceDelimited", False, "list"): lambda raw: unquote(_only(raw)).split(" "),
    ("pipeDelimited", False, "list"): lambda raw: unquote(_only(raw)).split("|"),
    ("deepObject", True, "object"): lambda raw: {name[6:-1]: value for name, value in parse_qsl(raw)},
}
COOKIES: dict[tuple[str, bool, str], Reader] = {
    ("form", False, "list"): lambda raw: _list(_only(raw).split(",")),
    ("form", True, "list"): lambda raw: _list([_only(one) for one in raw.split("; ")]),
    ("form", False, "object"): lambda raw: _from_pairs(_only(raw).split(",")),
}
HEADERS: dict[tuple[str, bool, str], Reader] = {
    ("simple", False, "list"): lambda raw: raw.split(","),
    ("simple", True, "list"): lambda raw: raw.split(","),
    ("simple", True, "object"): lambda raw: dict(one.split("=") for one in raw.split(",")),
}


def styled_routes() -> APIRouter:
    """One operation for each style of each place."""
    router = APIRouter()

    def add(place: str, key: tuple[str, bool, str], read: Reader, raw: Callable[[Request], str], path: str) -> None:
        style, explode, kind = key
        name = "X-Value" if place == "header" else "value"

        async def answer(request: Request) -> Any:
            return {"value": read(raw(request))}

        parameter = _parameter(name, place, kind, style=style, explode=explode)
        route = f"/styles/{place}/{style}/{'explode' if explode else 'together'}/{kind}{path}"
        router.add_api_route(
            route,
            answer,
            name=f"{place}_{style}_{'explode' if explode else 'together'}_{kind}",
            openapi_extra={"parameters": [parameter]},
        )

    for key, read in PATHS.items():
        # The route has no converter: a value never makes a second segment.
        add("path", key, read, lambda request: request.scope["raw_path"].decode().rsplit("/", 1)[1], "/{value}")
    for key, read in QUERIES.items():
        add("query", key, read, lambda request: request.scope["query_string"].decode(), "")
    for key, read in COOKIES.items():
        add("cookie", key, read, lambda request: request.headers.get("cookie", ""), "")
    for key, read in HEADERS.items():
        add("header", key, read, lambda request: request.headers["x-value"], "")
    return router


app = FastAPI(title="Styled", version="1.0.0")
app.state.seen = []
app.include_router(styled_routes())


@app.middleware("http")
async def _count(request: Request, proceed: Any) -> Any:
    app.state.seen.append((request.method, request.url.path, str(request.url.query), dict(request.headers)))
    return await proceed(request)


async def _raw_query(request: Request) -> Any:
    return {"query": request.scope["query_string"].decode()}


_RESERVED = {"name": "value", "in": "query", "required": True, "allowReserved": True, "schema": {"type": "string"}}
_CONTENT = {
    "name": "value",
    "in": "query",
    "required": True,
    "content": {"application/json": {"schema": {"type": "object"}}},
}
app.add_api_route("/reserved", _raw_query, name="reserved", openapi_extra={"parameters": [_RESERVED]})
app.add_api_route("/content", _raw_query, name="content", openapi_extra={"parameters": [_CONTENT]})


@app.get("/toys")
async def list_toys(
    find: Annotated[Filter, Query()],
    active: bool = True,
    since: Annotated[str | None, Query(json_schema_extra={"format": "date"})] = None,
    page: Annotated[int, Query(ge=1)] = 1,
) -> dict[str, Any]:
    """List toys, three pages."""
    return {"items": [{"id": page, "limit": find.limit, "active": active}], "page": page, "total_pages": 3}


@app.post("/toys", status_code=201)
async def add_toy(toy: Toy) -> Toy:
    """Add a toy."""
    return toy.model_copy(update={"id": 1})


@app.put("/toys/{toy_id}")
async def replace_toy(toy_id: int, toy: Toy, trace: Annotated[str | None, Header(alias="X-Trace")] = None) -> Any:
    """Replace a toy."""
    return {"id": toy_id, "name": toy.name, "trace": trace}


@app.patch("/toys/{toy_id}")
async def change_toy(toy_id: int, changes: Annotated[dict[str, Any], Body()]) -> Any:
    """Change a toy."""
    return {"id": toy_id, **changes}


@app.delete("/toys/{toy_id}", status_code=204)
async def remove_toy(toy_id: int) -> None:
    """Remove a toy."""


@app.get("/session")
async def session(visit: Annotated[int, Cookie()], x_limits: Annotated[list[int], Header()]) -> Any:
    """Read a cookie and a header."""
    return {"visit": visit, "limits": x_limits}


@app.post("/form")
async def form(
    name: Annotated[str, Form()], words: Annotated[list[str], Form()], level: Annotated[int, Form()] = 1
) -> Any:
    """Take a form."""
    return {"name": name, "words": words, "level": level}


@app.post("/upload")
async def upload(
    picture: UploadFile,
    more: Annotated[list[UploadFile], File()],
    title: Annotated[str, Form()],
    note: UploadFile | None = None,
) -> Any:
    """Take files."""
    found = [picture, *more]
    return {
        "title": title,
        "note": note.filename if note else None,
        "files": [[one.filename, one.content_type, base64.b64encode(await one.read()).decode()] for one in found],
    }


_BYTES = {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
_TEXT = {"required": True, "content": {"text/plain": {"schema": {"type": "string", "maxLength": 20}}}}
_FORMS = {"application/json": {"schema": {"type": "object"}}, "application/xml": {"schema": {"type": "object"}}}


@app.post("/bytes", openapi_extra={"requestBody": _BYTES})
async def take_bytes(request: Request) -> Any:
    """Take bytes."""
    return {"type": request.headers["content-type"], "octets": base64.b64encode(await request.body()).decode()}


@app.post("/text", openapi_extra={"requestBody": _TEXT})
async def take_text(request: Request) -> Any:
    """Take text."""
    return {"type": request.headers["content-type"], "text": (await request.body()).decode()}


@app.post("/either", openapi_extra={"requestBody": {"content": _FORMS}})
async def take_either(request: Request) -> Any:
    """Take JSON or XML."""
    return {"type": request.headers["content-type"], "text": (await request.body()).decode()}


@app.get("/bytes/{count}", responses={200: {"content": {"application/octet-stream": {}}}}, response_class=Response)
async def give_bytes(count: int) -> Response:
    """Give bytes."""
    return Response(bytes(number % 256 for number in range(count)), media_type="application/octet-stream")


@app.get("/large/{count}")
async def large(count: int) -> Any:
    """Give much."""
    return [{"number": number, "text": "word " * 20} for number in range(count)]


@app.get("/linked")
async def linked(request: Request, cursor: str = "") -> Response:
    """Pages by a Link header."""
    number = int(cursor or 0)
    more = {"Link": f'</linked?cursor={number + 1}>; rel="next"'} if number < 2 else {}
    return Response(f"[{number}]", media_type="application/json", headers=more)


@app.get("/tokens")
async def tokens(page_token: str = "", page_size: int = 2) -> Any:
    """Pages by a token."""
    number = int(page_token or 0)
    return {"rows": [number] * page_size, "next_page_token": str(number + 1) if number < 3 else ""}


@app.get("/offsets")
async def offsets(offset: int = 0, limit: int = 2) -> Any:
    """Pages by an offset."""
    return list(range(5))[offset : offset + limit]


@app.get("/moved", status_code=307)
async def moved(to: str) -> RedirectResponse:
    """Redirect."""
    return RedirectResponse(to, 307)


@app.get("/failing", response_class=PlainTextResponse)
async def failing(times: int, status: int = 503) -> Response:
    """Fail some times, then answer."""
    before = sum(path == "/failing" for _, path, _, _ in app.state.seen)
    if before <= times:
        return PlainTextResponse("later", status, headers={"Retry-After": "0"})
    return PlainTextResponse(f"answered after {before}")


@app.get("/hanging")
async def hanging(seconds: float = 0) -> Any:
    """Answer late."""
    await asyncio.sleep(seconds)
    return {"late": seconds}


@app.post("/failing")
async def failing_write() -> Response:
    """Fail always."""
    return PlainTextResponse("later", 503, headers={"Retry-After": "0"})


@app.get("/header-key")
async def header_key(key: Annotated[str, Depends(APIKeyHeader(name="X-Api-Key", scheme_name="HeaderKey"))]) -> Any:
    """Need a key in a header."""
    return _admitted(key == KEY)


@app.get("/query-key")
async def query_key(key: Annotated[str, Depends(APIKeyQuery(name="api_key", scheme_name="QueryKey"))]) -> Any:
    """Need a key in the query."""
    return _admitted(key == KEY)


@app.get("/cookie-key")
async def cookie_key(key: Annotated[str, Depends(APIKeyCookie(name="api_key", scheme_name="CookieKey"))]) -> Any:
    """Need a key in a cookie."""
    return _admitted(key == KEY)


@app.get("/basic")
async def basic(user: Annotated[HTTPBasicCredentials, Depends(HTTPBasic(scheme_name="Basic"))]) -> Any:
    """Need a user and a password."""
    return _admitted((user.username, user.password) == ("ann", KEY))


@app.get("/bearer")
async def bearer(request: Request, _: Annotated[Any, Depends(HTTPBearer(scheme_name="Bearer"))]) -> Any:
    """Need a token; the answer repeats it."""
    return {
        **_admitted(request.headers["authorization"] == f"Bearer {TOKEN}"),
        "sent": request.headers["authorization"],
    }


@app.get("/oauth", openapi_extra={"security": [{"OAuth": ["toys"]}]})
async def oauth(request: Request) -> Any:
    """Need a token that is fetched."""
    return _admitted(request.headers.get("authorization", "") == f"Bearer {app.state.token}")


app.state.token = TOKEN


@app.post("/token", include_in_schema=False)
async def token(request: Request) -> Any:
    """Give a token for client credentials."""
    fields = dict(parse_qsl((await request.body()).decode()))
    scheme, _, pair = request.headers.get("authorization", "").partition(" ")
    client = unquote_plus(base64.b64decode(pair).decode()) if scheme == "Basic" else ""
    if client != f"us:{CLIENT_SECRET}" or fields != {"grant_type": "client_credentials", "scope": "toys"}:
        raise HTTPException(401)
    return {"access_token": app.state.token, "token_type": "bearer", "expires_in": 3600}


def _admitted(holds: bool) -> dict[str, Any]:
    if not holds:
        raise HTTPException(403)
    return {"admitted": True}


def description() -> dict[str, Any]:
    """The description, with a scheme that FastAPI does not write by itself."""
    whole = app.openapi()
    flow = {"clientCredentials": {"tokenUrl": "/token", "scopes": {"toys": "All"}}}
    whole["components"]["securitySchemes"]["OAuth"] = {"type": "oauth2", "flows": flow}
    return whole


@asynccontextmanager
async def serving(application: Any = app) -> AsyncGenerator[str]:
    """The address of the application on a free port of this machine."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # pyright: ignore[reportAttributeAccessIssue] - of older versions
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
