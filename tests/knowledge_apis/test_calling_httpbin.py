"""Calls of every operation of httpbin, which others wrote and which describes itself by Swagger 2.0."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from httpbin import app  # pyright: ignore[reportMissingTypeStubs] - it has none
from werkzeug.serving import make_server

from tests.knowledge_apis.conftest import write
from thresher.core import Caller, InvalidInput
from thresher.knowledge.apis import ApiService, CallRequest, CredentialRequest, EndpointReference
from thresher.openapi import Operation, argument_names, read_description

VALUES: Mapping[str, Any] = {
    **{"n": 2, "offset": 0, "numbytes": 10, "delay": 0, "duration": 0.1, "code": 200, "codes": 200, "status_code": 302},
    **{"value": "SFRUUEJJTiBpcyBhd2Vzb21l", "anything": "x y", "etag": "tag", "url": "/get", "freeform": "a=b"},
    **{"user": "ann", "passwd": "geheim", "qop": "auth", "algorithm": "MD5", "stale_after": "never", "name": "toy"},
}
"""Values by name; the description has no examples."""
SPECIAL: Mapping[str, Mapping[str, Any]] = {"GET /cache/{value}": {"value": 5}}
STATUS: Mapping[str, int] = {
    "GET /basic-auth/{user}/{passwd}": 200,
    "GET /hidden-basic-auth/{user}/{passwd}": 200,
    "GET /bearer": 401,
    "GET /deny": 200,
}
"""What some answer with the stored user and password."""


class Httpbin:
    """The application on a free port, in a thread of its own."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._server = make_server("127.0.0.1", 0, self._counted, threaded=True)
        self.base = f"http://127.0.0.1:{self._server.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _counted(self, environ: dict[str, Any], start: Any) -> Any:
        self.seen.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
        return app(environ, start)

    def close(self) -> None:
        """Stop it."""
        self._server.shutdown()
        self._thread.join()


@pytest.fixture
def httpbin() -> Iterator[Httpbin]:
    """A running httpbin."""
    running = Httpbin()
    yield running
    running.close()


@pytest.fixture
def described() -> dict[str, Any]:
    """Its own description, as it serves it."""
    return app.test_client().get("/spec.json").get_json()


@pytest.fixture
async def allowed(
    httpbin: Httpbin, described: dict[str, Any], service: ApiService, caller: Caller, tmp_path: Path
) -> None:
    """It is indexed, its address on this machine is allowed, and a user is stored."""
    await service.add(caller, "httpbin", [str(write(tmp_path / "httpbin.json", described))])
    await service.access.allow_host(caller, "httpbin", httpbin.base, private=True)
    given = CredentialRequest("geheim", type="basic", user="ann")
    await service.access.set_credential(caller, "httpbin", given)


def arguments_of(operation: Operation) -> dict[str, Any]:
    """Arguments for everything that an operation takes."""
    special = SPECIAL.get(operation.key, {})
    given = {
        name: special.get(one.name, VALUES.get(one.name))
        for name, one in argument_names(operation).items()
        if one.place != "header"
    }
    return {**given, **({"body": {"url": "/get", "status_code": 302}} if operation.body else {})}


async def test_every_operation_of_httpbin_can_be_called(
    httpbin: Httpbin, allowed: None, described: dict[str, Any], service: ApiService, caller: Caller
) -> None:
    """Each reaches it, and answers with a status that its description has, or without a failure."""
    description = read_description(json.dumps(described).encode())
    answered: dict[str, int] = {}
    for operation in description.operations:
        reference = EndpointReference(provider="httpbin", method=operation.method, path=operation.path)
        reply = await service.call(caller, CallRequest(reference, arguments_of(operation), server=httpbin.base))
        answered[operation.key] = reply.status
    documented = {one.key: {each.status for each in one.responses} for one in description.operations}
    odd = {
        key: status
        for key, status in answered.items()
        if status != STATUS.get(key, status) or not (status < 400 or str(status) in documented[key])
    }

    assert len(answered) == len(description.operations) == 73  # Swagger 2.0 has no TRACE, of which there are five more
    assert odd == {}
    assert len(httpbin.seen) == 73


async def test_wrong_arguments_never_reach_httpbin(
    httpbin: Httpbin, allowed: None, described: dict[str, Any], service: ApiService, caller: Caller
) -> None:
    """An unknown argument of each operation, each required one left out, and each typed one of another type."""
    description = read_description(json.dumps(described).encode())
    tried = 0
    for operation in description.operations:
        right = arguments_of(operation)
        wrong = [{**right, "nothing_like_it": 1}]
        for name, one in argument_names(operation).items():
            if one.required and "default" not in one.schema:
                wrong.append({key: value for key, value in right.items() if key != name})
            if one.schema.get("type") in ("integer", "number"):
                wrong.append({**right, name: "many"})
        for arguments in wrong:
            tried += 1
            reference = EndpointReference(provider="httpbin", method=operation.method, path=operation.path)
            with pytest.raises(InvalidInput):
                await service.call(caller, CallRequest(reference, arguments, server=httpbin.base))

    assert httpbin.seen == []
    assert tried > 100
