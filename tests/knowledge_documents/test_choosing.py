"""The choice of the repositories that a question is about, and its explanation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update

from tests.knowledge_documents.conftest import machines
from tests.support import without_tenant_conditions
from thresher.core import Caller, InvalidInput, NotFound, Tenant
from thresher.knowledge.documents import KIND, PASSAGES, DocumentService, Passages, origin_of
from thresher.knowledge.documents.answers.repository_choice import DESCRIBED, MARGIN, name_mention
from thresher.knowledge.documents.models import CHUNK_BITS
from thresher.services import Services
from thresher.store import Database
from thresher.store.tables import collection, document, item_vector

GARDEN = "# Garden\n\nRoses are cut in March, above an outward bud.\n\nHedges are trimmed after the birds have left.\n"
KITCHEN = "# Kitchen\n\nBread rises for two hours near the oven.\n\nA soup of lentils is salted at the end.\n"
WORKSHOP = "# Workshop\n\nThe lathe is oiled every week.\n\nSharpen a chisel at twenty-five degrees.\n"
TEXTS = {"garden": GARDEN, "kitchen": KITCHEN, "workshop": WORKSHOP}


async def index(documents: DocumentService, caller: Caller, folder: Path, texts: dict[str, str]) -> None:
    """Index texts, each as a repository of one document."""
    for name, text in texts.items():
        place = folder / name
        place.mkdir()
        (place / "page.md").write_text(text, encoding="utf-8")
        await documents.index_here(caller, name, origin_of(str(place)))


@pytest.fixture
async def house(documents: DocumentService, caller: Caller, tmp_path: Path) -> DocumentService:
    """The service with three repositories that have nothing in common."""
    await index(documents, caller, tmp_path, TEXTS)
    return documents


async def without_vectors(services: Services, caller: Caller, name: str) -> None:
    """Remove a repository's vectors, as if it were not embedded yet."""
    repository = await services.documents.repository(caller, name)
    theirs = select(document.c.id).where(document.c.repository_id == repository.id)
    ours = (item_vector.c.id // 2**CHUNK_BITS).in_(theirs)
    async with services.database.transaction(caller.tenant) as connection:
        await connection.execute(delete(item_vector).where(item_vector.c.kind == KIND, ours))
        await connection.execute(update(collection).where(collection.c.kind == KIND).values(version=10_000))


def searched(found: Passages) -> list[str]:
    """Names of the searched repositories."""
    return [one.name for one in found.repositories]


def reasons(found: Passages) -> dict[str, str]:
    """Why each repository was searched or left out."""
    return {one.name: one.why for one in (*found.repositories, *found.left_out)}


@pytest.mark.parametrize(
    ("question", "name"),
    [("when are roses cut", "garden"), ("how long does dough rise", "kitchen"), ("oil for the lathe", "workshop")],
    ids=["garden", "kitchen", "workshop"],
)
async def test_the_repository_that_answers_is_chosen(
    house: DocumentService, caller: Caller, question: str, name: str
) -> None:
    """The passages are its own; the repositories left out are named with the reason."""
    found = await house.search_documents(caller, question)

    assert searched(found) == [name]
    assert {one.repository for one in found.passages} == {name}
    assert found.repositories[0].why.startswith("fits best")
    assert {one.name for one in found.left_out} == set(TEXTS) - {name}
    assert found.left_out_count == 2
    assert all(one.why in ("fits less", "nothing in it fits") for one in found.left_out)


async def test_nothing_fits_and_the_answer_says_so(house: DocumentService, caller: Caller) -> None:
    """No repository is searched for lack of a better one."""
    found = await house.search_documents(caller, "what is the capital of Mongolia")

    assert found.passages == ()
    assert found.repositories == ()
    assert found.left_out_count == 3
    assert found.hint.startswith("Nothing in any repository fits.")


async def test_a_repository_that_is_called_one_is_the_only_one(house: DocumentService, caller: Caller) -> None:
    """Even if another repository fits better; if nothing in it fits, the answer says so."""
    bread = await house.search_documents(caller, "in the repository garden: how long does bread rise near the oven")
    roses = await house.search_documents(caller, "what does the garden repository say about roses")

    assert (searched(bread), searched(roses)) == (["garden"], ["garden"])
    assert not {one.repository for one in bread.passages} - {"garden"}
    assert roses.passages[0].text.strip().startswith("# Garden")
    assert reasons(roses) == {
        "garden": "named in the question",
        "kitchen": "the question names another",
        "workshop": "the question names another",
    }


async def test_a_repository_named_in_passing_is_searched_too(house: DocumentService, caller: Caller) -> None:
    """The word may mean the thing itself: what fits better is still found."""
    found = await house.search_documents(caller, "does bread rise in the garden")

    assert searched(found) == ["garden", "kitchen"]
    assert found.passages[0].repository == "kitchen"
    assert reasons(found)["garden"].startswith("named in the question")


async def test_a_requested_repository_is_not_chosen(house: DocumentService, caller: Caller) -> None:
    """It was requested; no others are named, and a wrong name is an error as before."""
    found = await house.search_documents(caller, "when are roses cut", "garden")

    assert [(one.name, one.why) for one in found.repositories] == [("garden", "asked for")]
    assert (found.left_out, found.left_out_count) == ((), 0)
    with pytest.raises(NotFound, match="gardn"):
        await house.search_documents(caller, "roses", "gardn")


async def test_scores_are_those_of_all_repositories_together(
    documents: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """Two that fit equally are both searched, and their passages are in one order."""
    twin = GARDEN.replace("March", "April")
    await index(documents, caller, tmp_path, TEXTS | {"allotment": twin})

    found = await documents.search_documents(caller, "when are roses cut")

    assert set(searched(found)) == {"garden", "allotment"}
    assert {one.repository for one in found.passages} == {"garden", "allotment"}
    scores = [one.score for one in found.passages]
    assert scores == sorted(scores, reverse=True)


async def test_a_description_decides_between_equals(documents: DocumentService, caller: Caller, tmp_path: Path) -> None:
    """A person describes each; the texts are the same."""
    await index(documents, caller, tmp_path, {"first": GARDEN, "second": GARDEN})
    await documents.set_guide(caller, "first", "Rules of the public park in Zurich.")
    await documents.set_guide(caller, "second", "Rules of the public park in Basel.")

    basel = await documents.search_documents(caller, "when are roses cut in Basel")
    zurich = await documents.search_documents(caller, "when are roses cut in Zurich")

    assert (searched(basel)[0], searched(zurich)[0]) == ("second", "first")
    assert "described by: basel" in reasons(basel)["second"]
    assert DESCRIBED < MARGIN


async def test_eight_passages_are_returned_from_all_repositories_together(
    documents: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """By default; the cursor continues, and every passage comes once."""
    await index(documents, caller, tmp_path, {"one": machines(30), "two": machines(30).replace("oiled", "greased")})
    question = "which machine is stopped when the bell rings"

    pages = [await documents.search_documents(caller, question)]
    while pages[-1].cursor and len(pages) < 4:
        pages.append(await documents.search_documents(caller, question, cursor=pages[-1].cursor))
    places = [(one.repository, one.part.start) for page in pages for one in page.passages]

    assert PASSAGES == 8
    assert [len(page.passages) for page in pages] == [8] * 4
    assert len(set(places)) == 32
    assert {tuple(searched(page)) for page in pages} == {tuple(searched(pages[0]))}
    with pytest.raises(InvalidInput):
        await documents.search_documents(caller, question, limit=51)


async def test_an_empty_repository_is_left_out_and_named(
    house: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """A folder without documents answers nothing and blocks nothing; if it is named, the answer says so."""
    (tmp_path / "attic").mkdir()
    await house.index_here(caller, "attic", origin_of(str(tmp_path / "attic")))

    found = await house.search_documents(caller, "when are roses cut")
    named = await house.search_documents(caller, "roses in the repository attic")

    assert searched(found) == ["garden"]
    assert reasons(found)["attic"].startswith("nothing of it is indexed")
    assert named.passages == ()
    assert named.hint.startswith("Nothing of 'attic' is indexed yet")


async def test_a_repository_waiting_to_be_indexed_delays_nothing(
    house: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """The others answer at once, and the answer shows its state."""
    (tmp_path / "cellar").mkdir()
    (tmp_path / "cellar" / "wine.md").write_text("# Wine\n\nRoses are not cut here.\n")
    await house.index(caller, "cellar", origin_of(str(tmp_path / "cellar")))

    async with asyncio.timeout(5):
        found = await house.search_documents(caller, "when are roses cut")

    assert searched(found) == ["garden"]
    assert reasons(found)["cellar"].startswith("nothing of it is indexed; ")


async def test_one_without_vectors_is_chosen_by_its_words(
    house: DocumentService, services: Services, caller: Caller
) -> None:
    """While others are embedded; the answer says that the search was weaker."""
    await without_vectors(services, caller, "garden")

    found = await house.search_documents(caller, "roses are cut above an outward bud")
    other = await house.search_documents(caller, "how long does bread rise near the oven")

    assert searched(found)[0] == "garden"
    assert "by words alone" in reasons(found)["garden"]
    assert found.passages[0].repository == "garden"
    assert found.degraded
    assert searched(other) == ["kitchen"]


async def test_a_large_repository_does_not_hide_a_small_one(
    documents: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """5,000 chunks beside four: each question finds its answer."""
    await index(documents, caller, tmp_path, {"garden": GARDEN, "kitchen": KITCHEN})
    kinds = [" ".join(f"Pump {kind} of line {kind + part} runs dry." for part in range(9)) for kind in range(50)]
    large = tmp_path / "pumps"
    large.mkdir()
    (large / "pumps.md").write_text("\n\n".join(kinds * 110), encoding="utf-8")  # equal texts are embedded once
    await documents.index_here(caller, "pumps", origin_of(str(large)))

    small = await documents.search_documents(caller, "roses are cut above an outward bud")
    big = await documents.search_documents(caller, "which line does pump 23 run dry on")

    assert (await documents.repository(caller, "pumps")).chunks > 5_000
    assert searched(small) == ["garden"]
    assert searched(big) == ["pumps"]
    assert "Pump 23 " in big.passages[0].text


async def test_fifty_repositories_are_named_in_brief(
    documents: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """The nearest left-out repositories are named, the others counted."""
    towns = [f"town-{number}" for number in range(50)]
    await index(documents, caller, tmp_path, {name: f"# {name}\n\nThe mayor of {name} is elected.\n" for name in towns})

    found = await documents.search_documents(caller, "who elects the mayor of town-17")

    assert searched(found)[0] == "town-17"
    assert found.passages[0].repository == "town-17"
    assert len(found.left_out) <= 10
    assert len(found.repositories) + found.left_out_count == 50
    assert len(found.passages) <= 8


async def test_a_code_is_searched_everywhere(documents: DocumentService, caller: Caller, tmp_path: Path) -> None:
    """If only words decide, all repositories that contain them are searched; with meaning too, the nearest five."""
    names = [f"log-{number}" for number in range(8)]
    await index(documents, caller, tmp_path, {name: f"# {name}\n\nThe error E4012 stopped {name}.\n" for name in names})

    words = await documents.search_documents(caller, '"E4012"', search_type="text")
    both = await documents.search_documents(caller, "the error E4012")

    assert set(searched(words)) == {one.repository for one in words.passages} == set(names)
    assert len(both.repositories) == 5


async def test_tenants_and_users_do_not_learn_of_each_others_repositories(
    house: DocumentService, caller: Caller, other_tenant: Tenant, database: Database, tmp_path: Path
) -> None:
    """Neither among the chosen nor among the left-out ones, even if they are named."""
    stranger, ann, ben = Caller(other_tenant), Caller(caller.tenant, "ann"), Caller(caller.tenant, "ben")
    (tmp_path / "diary.md").write_text("# Diary\n\nRoses were cut on Sunday.\n", encoding="utf-8")
    await house.index_here(ann, "diary", origin_of(str(tmp_path / "diary.md")))

    async with without_tenant_conditions(database) as rewritten:
        theirs = await house.search_documents(stranger, "roses in the repository garden")
        bens = await house.search_documents(ben, "roses in the repository diary")
        anns = await house.search_documents(ann, "roses in the repository diary")

    assert rewritten.statements
    assert (theirs.repositories, theirs.left_out, theirs.passages) == ((), (), ())
    assert "diary" not in reasons(bens)
    assert searched(anns) == ["diary"]


@pytest.mark.parametrize(
    ("query", "name", "expected"),
    [
        ("what is in the repository handbook?", "handbook", "calls"),
        ("look into repo `handbook`", "handbook", "calls"),
        ("the Handbook repository on leave", "handbook", "calls"),
        ("repository named staff handbook", "staff-handbook", "calls"),
        ("what does the handbook say", "handbook", "holds"),
        ("the staff handbook on leave", "staff_handbook", "holds"),
        ("in staff-handbook.", "staff-handbook", "holds"),
        ("handbooks of all kinds", "handbook", ""),
        ("the my-handbook file", "handbook", ""),
        ("handbook.md", "handbook", ""),
        ("repositories of all kinds", "handbook", ""),
    ],
)
def test_a_name_counts_as_a_whole_word(query: str, name: str, expected: str) -> None:
    """Any separator may stand between its words; as a part of another word it is no mention."""
    assert name_mention(query, name) == expected


async def test_repositories_are_listed_with_description_and_model(
    house: DocumentService, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """The description of each, and the model of its vectors; none if nothing is embedded."""
    await house.set_guide(caller, "garden", "# Garden\n\n**How** we keep the park.\n\n## Map\n")
    (tmp_path / "attic").mkdir()
    await house.index_here(caller, "attic", origin_of(str(tmp_path / "attic")))

    listed = {one.name: one for one in await house.list_repositories(caller)}

    assert listed["garden"].description == "How** we keep the park."
    assert listed["workshop"].description == "page.md: Workshop (22 tokens)"
    assert listed["garden"].embedding_model == services.encoder.model.id
    assert listed["attic"].embedding_model == ""
