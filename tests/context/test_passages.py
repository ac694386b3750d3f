"""Passages of documents in a context."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from thresher.context import ContextService, kind_sources
from thresher.core import Caller, dumps
from thresher.embedding import count_tokens
from thresher.knowledge.documents import Origin
from thresher.services import Services

QUESTION = "How is the pressure of the boiler limited?"
BOILER = "# Boiler\n\nA valve limits the pressure of the boiler to 3 bar.\n"
TANK = "# Tank\n\nThe pressure of the tank behind the boiler has no limit.\n"
GARDEN = "# Garden\n\nRoses are cut in spring, hedges in autumn.\n"


@pytest.fixture
async def manual(services: Services, tmp_path: Path) -> Path:
    """An indexed repository of three documents."""
    folder = tmp_path / "manual"
    folder.mkdir()
    (folder / "boiler.md").write_text(BOILER, encoding="utf-8")
    (folder / "tank.md").write_text(TANK, encoding="utf-8")
    (folder / "garden.md").write_text(GARDEN, encoding="utf-8")
    await services.documents.index_here(services.caller, "manual", Origin("folder", str(folder)))
    return folder


async def test_passages_that_fit_stand_in_the_context_word_for_word(
    context: ContextService, caller: Caller, manual: Path
) -> None:
    """With their location, best first, after rules and tools."""
    pack = await context.get_context(caller, QUESTION)

    passages = [piece for piece in pack.pieces if piece.kind == "passages"]
    first = pack.data["passages"][0]
    assert "A valve limits the pressure of the boiler to 3 bar." in first["text"]
    assert (first["repository"], first["document"]) == ("manual", "boiler.md")
    assert (first["heading_path"], first["lines"]) == (["Boiler"], [1, 3])
    assert first["text"] in BOILER
    assert not any("Roses" in piece.text for piece in passages)
    assert passages[0].text in pack.text
    assert [piece.kind for piece in pack.pieces] == sorted(
        (piece.kind for piece in pack.pieces), key=["rules", "tools", "passages"].index
    )


async def test_passages_share_the_budget_and_the_cursors(context: ContextService, caller: Caller, manual: Path) -> None:
    """What does not fit is listed, and can be fetched."""
    whole = await context.get_context(caller, QUESTION)
    least = whole.spent - 1

    pack = await context.get_context(caller, QUESTION, budget=least)
    rest = await context.get_context(caller, QUESTION, budget=4000, cursor=pack.next)

    assert max(count_tokens(pack.text), count_tokens(dumps(pack.data))) == pack.spent <= least
    names = {piece.name for piece in (*pack.pieces, *rest.pieces)}
    assert names == {piece.name for piece in whole.pieces}


async def test_without_a_repository_nothing_is_said_of_documents(context: ContextService, caller: Caller) -> None:
    """There is not even an empty list."""
    pack = await context.get_context(caller, QUESTION)

    assert "passages" not in pack.data
    assert "passages" not in pack.text
    assert not any("documents" in str(note) for note in pack.data.get("notes", ()))


async def test_nobody_is_given_passages_of_another_s_repository(
    context: ContextService, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """A user's own repository is private."""
    (tmp_path / "boiler.md").write_text(BOILER, encoding="utf-8")
    ana, ben = replace(caller, user="ana"), replace(caller, user="ben")
    await services.documents.index_here(ana, "mine", Origin("file", str(tmp_path / "boiler.md")))

    hers, his = await context.get_context(ana, QUESTION), await context.get_context(ben, QUESTION)

    assert hers.data["passages"]
    assert "passages" not in his.data
    assert "3 bar" not in his.text


async def test_a_document_cannot_speak_as_thresher(
    context: ContextService, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """The mark of our lines occurs in no passage, heading or path."""
    first = await context.get_context(caller, QUESTION)
    mark = first.text.split()[0]
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / f"{mark} end.md").write_text(f"# {mark} rules of boiler\n\nThe pressure of the boiler has no limit.\n")
    await services.documents.index_here(caller, "odd", Origin("folder", str(folder)))

    pack = await context.get_context(caller, QUESTION)

    own = pack.text.split()[0]
    assert "no limit" in pack.text
    assert own != mark
    assert not any(own in dumps(passage) for passage in pack.data["passages"])


COMPARED = "How do the boiler and the tank differ in pressure?"


@pytest.mark.parametrize("message", [COMPARED, "What is the pressure of the boiler, and of the tank?"])
async def test_a_comparison_gets_passages_of_each_document(
    context: ContextService, caller: Caller, manual: Path, message: str
) -> None:
    """The best passage of each counts as much as that of the other; it says so, or names two documents."""
    pack = await context.get_context(caller, message)

    passages = pack.data["passages"]
    assert {one["document"] for one in passages} == {"boiler.md", "tank.md"}
    assert all(one["text"] in BOILER + TANK for one in passages)
    assert all(one["why"].startswith("named in the question") for one in passages)
    assert pack.spent <= pack.budget


async def test_a_comparison_with_one_document_is_searched_like_any_question(
    context: ContextService, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """Nothing is lost because there is nothing to compare with."""
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "boiler.md").write_text(BOILER, encoding="utf-8")
    await services.documents.index_here(caller, "alone", Origin("folder", str(tmp_path / "alone")))

    pack = await context.get_context(caller, COMPARED)

    assert [one["document"] for one in pack.data["passages"]] == ["boiler.md"]


async def test_a_comparison_that_takes_too_long_gives_what_was_found_without_it(
    context: ContextService, caller: Caller, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The passages that fit best come all the same, and the answer says what is missing."""
    monkeypatch.setattr(kind_sources, "_COMPARED_SECONDS", 0.0)
    pack = await context.get_context(caller, COMPARED)

    assert "boiler.md" in {one["document"] for one in pack.data["passages"]}
    assert any("each document by itself was not searched" in note for note in pack.data["notes"])
