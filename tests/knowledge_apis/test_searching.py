"""Searching operations, through the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.knowledge_apis.conftest import described, write
from thresher.core import Caller, InvalidCursor, InvalidInput, NotFound
from thresher.knowledge.apis import ApiService

TRACKER = {
    "GET /issues": "List issues",
    "POST /issues": "Create an issue",
    "GET /issues/{id}": "Get an issue",
    "DELETE /issues/{id}": "Delete an issue",
    "POST /issues/{id}/watchers": "Add a watcher to an issue",
    "GET /issues/{id}/watchers": "List watchers of an issue",
    "DELETE /issues/{id}/watchers": "Remove a watcher from an issue",
    "GET /search/film": "Search films by title",
    "GET /film/{film_id}/images": "Get the images of a film",
}

FARM = {"GET /animals": "List animals", "POST /animals": "Add an animal", "POST /feedings": "Record a feeding"}


@pytest.fixture
async def tracker(service: ApiService, caller: Caller, tmp_path: Path) -> ApiService:
    """A service with a small tracker, found by words and by meaning."""
    await service.add(caller, "tracker", [str(write(tmp_path / "tracker.json", described(TRACKER)))], aliases=["tt"])
    await service.index_here(caller, "tracker")
    return service


async def test_a_question_finds_the_operation_that_does_it(tracker: ApiService, caller: Caller) -> None:
    """Other words for a thing and an action lead to it, with a probability and a reason."""
    found = await tracker.search(caller, "How do I follow a ticket?")

    assert f"{found.endpoints[0].method} {found.endpoints[0].path}" == "POST /issues/{id}/watchers"
    assert found.mode == "search"
    assert 0 < found.endpoints[0].relevance <= 1
    assert found.endpoints[0].why.source in ("hybrid", "semantic", "lexical")


async def test_the_verb_decides_between_operations_on_one_thing(tracker: ApiService, caller: Caller) -> None:
    """The same thing, another verb, another operation."""
    wanted = {
        "create an issue": "POST /issues",
        "get rid of an issue": "DELETE /issues/{id}",
        "which issues are there": "GET /issues",
        "stop watching an issue": "DELETE /issues/{id}/watchers",
    }

    for query, key in wanted.items():
        first = (await tracker.search(caller, query)).endpoints[0]
        assert f"{first.method} {first.path}" == key, query


async def test_the_number_of_things_decides_between_operations(
    service: ApiService, caller: Caller, tmp_path: Path
) -> None:
    """One thing, all of one place, and all of every place are three operations on one kind of thing."""
    described_pods = {
        "GET /namespaces/{namespace}/pods": "List pods",
        "GET /namespaces/{namespace}/pods/{name}": "Read a pod",
        "GET /pods": "List pods",
    }
    await service.add(caller, "cluster", [str(write(tmp_path / "cluster.json", described(described_pods)))])
    await service.index_here(caller, "cluster")
    wanted = {
        "show me everything about the pod web-1": "/namespaces/{namespace}/pods/{name}",
        "which pods are there in my namespace": "/namespaces/{namespace}/pods",
        "pods anywhere in the cluster": "/pods",
    }

    for query, path in wanted.items():
        assert (await service.search(caller, query)).endpoints[0].path == path, query


async def test_the_finder_of_a_named_thing_comes_with_the_operation_that_needs_its_id(
    tracker: ApiService, caller: Caller
) -> None:
    """A film in quotation marks must be found before its images can be."""
    found = await tracker.search(caller, 'pictures of the film "Modern Times"')

    assert {one.path for one in found.endpoints[:2]} == {"/film/{film_id}/images", "/search/film"}


async def test_methods_and_tags_are_hard_filters_when_given_or_typed(tracker: ApiService, caller: Caller) -> None:
    """A method in capitals counts as given; in lower-case letters it is a verb."""
    given = await tracker.search(caller, "issue", methods=["delete"])
    typed = await tracker.search(caller, "DELETE issue")

    assert {one.method for one in given.endpoints} == {one.method for one in typed.endpoints} == {"DELETE"}
    assert {one.method for one in (await tracker.search(caller, "delete issue")).endpoints} > {"DELETE"}
    assert {one.path for one in (await tracker.search(caller, "search films", tags=["search"])).endpoints} == {
        "/search/film"
    }


async def test_a_cursor_belongs_to_its_question(tracker: ApiService, caller: Caller) -> None:
    """The cursor of another query, and an invalid one, are refused."""
    cursor = (await tracker.search(caller, "issue", limit=1)).cursor

    for text, wrong in (("issue", f"1{cursor}"), ("issue", "nonsense"), ("issues", cursor)):
        with pytest.raises(InvalidCursor):
            await tracker.search(caller, text, limit=1, cursor=wrong)


async def test_pages_follow_each_other_without_gaps(tracker: ApiService, caller: Caller) -> None:
    """All pages together hold every operation of the answer once, in one order."""
    whole = [one.id for one in (await tracker.search(caller, "issue", limit=50)).endpoints]
    paged: list[str] = []
    cursor = ""
    while True:
        page = await tracker.search(caller, "issue", limit=2, cursor=cursor)
        paged += [one.id for one in page.endpoints]
        if not (cursor := page.cursor):
            break

    assert paged == whole


async def test_a_tag_is_counted_once_whatever_its_case(service: ApiService, caller: Caller, tmp_path: Path) -> None:
    """It is shown in the description's own spelling and counts as many operations as the tag lists."""
    document = described({"GET /orders/{id}": "Get an order", "GET /orders": "List orders"})
    document["paths"]["/orders"]["get"]["tags"] = ["Orders"]
    await service.add(caller, "shop", [str(write(tmp_path / "shop.json", document))])
    tags = (await service.search(caller, "", providers=["shop"])).tags
    listed = (await service.search(caller, "", providers=["shop"], tags=["orders"])).endpoints

    assert [(tag.tag, tag.operations) for tag in tags] == [("Orders", len(listed))]


async def test_an_empty_query_lists(tracker: ApiService, caller: Caller) -> None:
    """An empty query and "list tracker tags" show tags; a tag shows its operations; "list issues" searches."""
    empty = await tracker.search(caller, "", providers=["tt"])
    said = await tracker.search(caller, "list tracker tags", limit=2)
    of_tag = await tracker.search(caller, "", tags=["film"])

    assert [tag.tag for tag in empty.tags] == ["issues", "search", "film"]
    assert said.mode == "browse"
    assert (len(said.tags), said.total) == (2, 3)
    assert (await tracker.search(caller, "list tracker tags", limit=2, cursor=said.cursor)).tags == empty.tags[2:]
    assert [one.path for one in of_tag.endpoints] == ["/film/{film_id}/images"]
    assert (await tracker.search(caller, "list issues")).mode == "search"


async def test_the_operations_of_a_named_api_are_listed_by_tag(tracker: ApiService, caller: Caller) -> None:
    """Method and path, tag by tag, page by page, without gaps."""
    first = await tracker.search(caller, "list tracker apis", limit=2)
    pages = [first]
    while pages[-1].cursor:
        pages.append(await tracker.search(caller, "list tracker apis", limit=2, cursor=pages[-1].cursor))
    listed = [one for page in pages for one in page.endpoints]
    groups = [next(iter(one.tags), one.path.split("/")[1]) for one in listed]

    assert (first.mode, len(first.endpoints), first.total) == ("browse", 2, len(listed))
    assert groups == sorted(groups, key=["issues", "search", "film"].index)
    assert all(one.method and one.path for one in listed)


async def test_several_tasks_of_one_query_are_searched_apart(tracker: ApiService, caller: Caller) -> None:
    """Each has its operation among the first, and the answer names the tasks."""
    found = await tracker.search(caller, "Create an issue for the crash and find images of a film")

    assert len(found.clauses) == 3
    assert {"/film/{film_id}/images"} < {one.path for one in found.endpoints[:3]}


async def test_a_path_or_an_id_is_found_as_it_is_typed(tracker: ApiService, caller: Caller) -> None:
    """A pasted path means that operation."""
    found = await tracker.search(caller, "/film/{film_id}/images")

    assert found.endpoints[0].path == "/film/{film_id}/images"


@pytest.mark.parametrize(
    "query", ["?!", "\0", "x" * 5_000, "get", "🙂", "list apis of nothing", "DELETE", "SELECT * FROM x"]
)
async def test_any_text_has_an_answer(tracker: ApiService, caller: Caller, query: str) -> None:
    """Nothing in a query is syntax, and no text is refused."""
    found = await tracker.search(caller, query)

    assert found.mode in ("search", "browse")


async def test_invalid_queries_are_refused(tracker: ApiService, caller: Caller) -> None:
    """Each error says what to do."""
    with pytest.raises(NotFound):
        await tracker.search(caller, "issue", providers=["trucker"])
    with pytest.raises(InvalidInput):
        await tracker.search(caller, "issue", methods=["FETCH"])
    with pytest.raises(NotFound):
        await tracker.search(caller, "issue", tags=["isue"])
    with pytest.raises(InvalidInput):
        await tracker.search(caller, "issue", limit=0)
    with pytest.raises(InvalidInput):
        await tracker.search(caller, "film", cursor=(await tracker.search(caller, "issue", limit=1)).cursor)


async def test_a_provider_that_is_switched_off_is_absent_at_once(tracker: ApiService, caller: Caller) -> None:
    """It is neither found nor listed, and naming it says why."""
    await tracker.set_active(caller, "tracker", active=False)

    assert not (await tracker.search(caller, "issue")).endpoints
    assert not (await tracker.search(caller, "")).tags
    with pytest.raises(NotFound):
        await tracker.search(caller, "issue", providers=["tracker"])


async def test_the_best_are_reranked_on_demand(tracker: ApiService, caller: Caller) -> None:
    """The answer says so, and holds the same operations."""
    plain = await tracker.search(caller, "watchers")
    read = await tracker.search(caller, "watchers", rerank=True)

    assert read.reranked
    assert {one.id for one in read.endpoints} == {one.id for one in plain.endpoints}


async def test_each_task_is_about_the_api_that_it_names(tracker: ApiService, caller: Caller, tmp_path: Path) -> None:
    """The first operation of each task is one of its own API, and as likely as if the task had come alone."""
    await tracker.add(caller, "farm", [str(write(tmp_path / "farm.json", described(FARM)))])
    await tracker.index_here(caller, "farm")

    both = await tracker.search(caller, "create an issue in tracker and record a feeding in farm")
    first = await tracker.search(caller, "create an issue in tracker")
    second = await tracker.search(caller, "record a feeding in farm")

    assert [one.path for one in both.endpoints[:2]] == ["/issues", "/feedings"]
    assert both.endpoints[0].relevance == pytest.approx(first.endpoints[0].relevance, abs=0.01)
    assert both.endpoints[1].relevance == pytest.approx(second.endpoints[0].relevance, abs=0.01)
