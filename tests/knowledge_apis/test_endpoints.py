"""Finding an endpoint by id, by path as written or as called, or by operationId; and what is logged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.knowledge_apis.conftest import SHOP, described, write
from thresher.core import Caller, InvalidInput, NotFound
from thresher.knowledge.apis import ApiService, cache
from thresher.knowledge.apis.heads import endpoint_id

READ = endpoint_id("shop", "v1", "GET", "/orders/{id}")


FOUND: list[tuple[dict[str, Any], str]] = [
    ({"endpoint_id": READ}, "GET /orders/{id}"),
    ({"provider": "shop", "method": "get", "path": "/orders/{id}"}, "GET /orders/{id}"),
    ({"provider": "store", "method": "GET", "path": "/orders/A-1"}, "GET /orders/{id}"),
    ({"path": "/orders/latest"}, "GET /orders/latest"),
    ({"path": "https://shop.example/api/orders/A%2F1?x=1#y"}, "GET /orders/{id}"),
    ({"path": "/orders/{order}/"}, "GET /orders/{id}"),
    ({"path": "/orders/7:restore", "version": "v2"}, "GET /orders/{id}:restore"),
    ({"path": "/v2/things/1/2"}, "GET /v2/things/{a}/{b}"),
    ({"provider": "shop", "operation_id": "PlaceOrder"}, "POST /orders"),
]
"""How an endpoint is named, and which one is found."""
REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({}, InvalidInput, "endpoint_id, or provider, method and path, or operation_id"),
    ({"endpoint_id": "op_000000000000"}, NotFound, "Search the APIs for ids"),
    ({"provider": "shopp", "path": "/orders"}, NotFound, "shop"),
    ({"provider": "shop", "version": "v9", "path": "/orders"}, NotFound, "v2, v1"),
    ({"provider": "shop", "path": "/order", "method": "POST"}, NotFound, "Did you mean 'POST /orders'"),
    ({"provider": "shop", "path": "/orders", "method": "DELETE"}, NotFound, "It has POST"),
    ({"operation_id": "nonsense"}, NotFound, "'nonsense'. Search the APIs"),
    ({"operation_id": "placeOrders"}, NotFound, "Did you mean 'placeOrder'"),
    ({"operation_id": "placeOrder"}, InvalidInput, "bills v1: POST /bills"),
    ({"endpoint_id": READ, "budget": 0}, InvalidInput, "1 to 100,000"),
]
"""How an endpoint is named, and the error."""


@pytest.fixture
async def filled(service: ApiService, caller: Caller, tmp_path: Path) -> ApiService:
    """The service with two versions of a shop, and another provider."""
    first = {
        "GET /orders/{id}": "Read an order",
        "GET /orders/latest": "Read the last",
        "POST /orders": "Place an order",
    }
    second = {"GET /orders/{id}:restore": "Restore an order", "GET /v2/things/{a}/{b}": "Read a thing"}
    one: Any = described(first, servers=[{"url": "https://shop.example/api"}])
    one["paths"]["/orders"]["post"]["operationId"] = "placeOrder"
    two: Any = described(second)
    other: Any = described({"POST /bills": "Place a bill"})
    other["paths"]["/bills"]["post"]["operationId"] = "placeOrder"
    await service.add(caller, "shop", [str(write(tmp_path / "one.json", one))], version="v1", aliases=["store"])
    await service.add(caller, "shop", [str(write(tmp_path / "two.json", two))], version="v2")
    await service.add(caller, "bills", [str(write(tmp_path / "other.json", other))], version="v1")
    return service


async def test_an_endpoint_is_found_by_any_of_its_names(filled: ApiService, caller: Caller) -> None:
    """Its id, its template, a path as called, a whole address, another name of a path parameter, its operationId."""
    answers = [await filled.endpoint(caller, **asked) for asked, _ in FOUND]

    assert [f"{answer.endpoint.method} {answer.endpoint.path}" for answer in answers] == [key for _, key in FOUND]
    assert answers[0].content.startswith("# GET /orders/{id}\n")


async def test_an_unknown_or_ambiguous_endpoint_is_refused_with_suggestions(filled: ApiService, caller: Caller) -> None:
    """The hint offers similar names, the known methods and versions, or all candidates."""
    for asked, error, words in REFUSED:
        with pytest.raises(error) as refused:
            await filled.endpoint(caller, **asked)

        assert words in str(refused.value)


async def test_a_provider_that_is_switched_off_explains_nothing(filled: ApiService, caller: Caller) -> None:
    """However its endpoint is named; switched on again, it answers."""
    await filled.set_active(caller, "shop", False)

    with pytest.raises(NotFound, match="switched off"):
        await filled.endpoint(caller, READ)
    with pytest.raises(NotFound, match="switched off"):
        await filled.endpoint(caller, provider="shop", path="/orders")
    with pytest.raises(NotFound, match="'shop' is switched off"):
        await filled.endpoint(caller, path="/orders/latest")
    with pytest.raises(NotFound, match="no operation"):
        await filled.endpoint(caller, path="/nowhere")
    assert (await filled.endpoint(caller, operation_id="placeOrder")).endpoint.provider == "bills"
    await filled.set_active(caller, "shop", True)
    assert (await filled.endpoint(caller, READ)).endpoint.id == READ


async def test_private_endpoints_are_hidden_from_others(service: ApiService, caller: Caller, shop: Path) -> None:
    """Not even by its id."""
    ann, bob = Caller(caller.tenant, "ann"), Caller(caller.tenant, "bob")
    await service.add(ann, "shop", [str(shop)], version="v1")

    assert (await service.endpoint(ann, READ)).endpoint.id == READ
    with pytest.raises(NotFound):
        await service.endpoint(bob, READ)


async def test_reads_and_failures_are_logged(filled: ApiService, caller: Caller) -> None:
    """Under the endpoint's name; an alias of the provider counts as the provider."""
    await filled.endpoint(caller, READ)
    with pytest.raises(NotFound):
        await filled.endpoint(caller, provider="shop", path="/nothing")
    await filled.settle()

    report = await filled.usage(caller, "store")

    assert [(one.endpoint, one.operation, one.count) for one in report.endpoints] == [(READ, "GET /orders/{id}", 1)]
    assert (report.provider, report.errors) == ("shop", {"not_found": 1})
    with pytest.raises(NotFound):
        await filled.usage(caller, "nobody")
    assert await filled.purge(caller, 0) == 2


async def test_an_operation_with_the_longest_path_is_explained(
    service: ApiService, caller: Caller, tmp_path: Path
) -> None:
    """What is listed can be read; what is too long to be stored is not listed."""
    paths = {"GET /" + "".join(chr(0x4E00 + n) for n in range(666)): "Longest", "GET /" + "{a}" * 5_000: "Too long"}
    await service.add(caller, "long", [str(write(tmp_path / "long.json", described(paths)))])

    answer = await service.endpoint(caller, provider="long", method="get", path=next(iter(paths))[4:])
    version = (await service.list_providers(caller))[0].versions[0]

    assert answer.endpoint.title == "Longest"
    assert (version.operations, version.problem_count) == (1, 1)


async def test_a_description_that_outgrows_the_cache_is_still_answered(
    service: ApiService, caller: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its oldest operations are not evicted while it is read again."""
    monkeypatch.setattr(cache, "_MOST_OPERATIONS", 2 * len(SHOP))
    grown = write(tmp_path / "grown.json", described(SHOP))
    other = write(tmp_path / "other.json", described(SHOP))
    for path in (grown, other):
        await service.add(caller, path.stem, [str(path)])
        await service.endpoint(caller, provider=path.stem, method="GET", path="/orders")
    write(grown, described({**SHOP, "GET /bills": "List bills"}))
    await service.sync(caller, "grown")

    answer = await service.endpoint(caller, provider="grown", method="GET", path="/bills")

    assert answer.endpoint.title == "List bills"
