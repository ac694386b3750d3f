"""Documents over a real port: repositories, answers, problems."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.api.serving import Served, assert_problem, served
from tests.support import Databases
from thresher.core import Settings
from thresher.embedding import count_tokens
from thresher.knowledge.documents import origin_of

LEAVE = "# Leave\n\nEverybody has thirty days of holiday.\n\n## Parents\n\nParents have twelve weeks of paid leave.\n"
RULES = "# Rules\n\n" + "".join(
    f"## Rule {number}\n\nTrains of class {number} may be booked.\n\n" for number in range(80)
)


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of documents."""
    folder = tmp_path_factory.mktemp("handbook")
    (folder / "leave.md").write_text(LEAVE, encoding="utf-8")
    (folder / "rules.md").write_text(RULES, encoding="utf-8")
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    return folder


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path, handbook: Path) -> AsyncIterator[Served]:
    """The product with one repository, shared by all tests of this module; nothing is indexed in the background."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    settings = Settings(
        data_dir=folder, allow_root=True, database_url=SecretStr(databases.url(name)), home_packs="off", workers=0
    )
    async with served(settings) as product:
        services = product.app.services
        await services.documents.index_here(services.caller, "handbook", origin_of(str(handbook)))
        yield product
    await databases.drop(name)


async def post(product: Served, verb: str, **body: Any) -> Any:
    """The answer's body."""
    answer = await product.web.post(f"/v1/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_repository_is_shown_with_counts_and_what_was_not_read(product: Served, handbook: Path) -> None:
    """In the list and by itself."""
    listed = (await product.web.get("/v1/repositories")).json()["repositories"]
    shown = (await product.web.get("/v1/repositories/handbook")).json()
    skipped = (await product.web.get("/v1/repositories/handbook/skipped")).json()["files"]

    assert listed[0] == shown
    assert (shown["documents"], shown["state"], shown["skipped"]) == (2, "ready", {"binary": 1})
    assert shown["origin"]["location"] == str(handbook.resolve())
    assert [(file["path"], file["reason"]) for file in skipped] == [("logo.png", "binary")]


async def test_an_answer_keeps_its_budget_and_says_where_it_stands(product: Served) -> None:
    """Whole where it fits; else the passages that answer, with a map of the rest."""
    whole = await post(product, "retrieve_document", query="paid leave of parents", repository="handbook")
    part = await post(product, "retrieve_document", query="trains of class 7", repository="handbook", budget=300)

    assert (whole["document"], whole["was_compressed"], whole["found"]) == ("leave.md", False, True)
    assert part["token_count"] == count_tokens(part["content"]) <= 300
    assert part["was_compressed"]
    assert part["left_out"]
    assert part["cursor"]
    assert {source["path"] for source in part["sources"]} == {"rules.md"}


async def test_passages_and_pages_come_with_their_places(product: Served) -> None:
    """Verbatim, with lines that can be read again."""
    found = await post(product, "search_documents", query="twelve weeks", limit=1)
    place = found["passages"][0]["part"]
    lines = f"{place['first_line']}-{place['last_line']}"
    page = await post(product, "read_document", repository="handbook", path=place["path"], lines=lines)

    assert "Parents have twelve weeks of paid leave." in found["passages"][0]["text"]
    assert page["content"].strip() == found["passages"][0]["text"].strip()
    assert page["total_lines"] == LEAVE.count("\n")


async def test_several_documents_are_answered_from_at_once(product: Served) -> None:
    """Within one budget, each with the reason for its choice."""
    found = await post(product, "retrieve_documents", query="paid leave of parents and trains of class 7", budget=300)
    one = await post(product, "retrieve_documents", query="trains", repositories=["handbook"], documents=["rules.md"])
    wrong = await product.web.post("/v1/retrieve_documents", json={"query": "leave", "documents": ["leaf.md"]})

    assert found["token_count"] == count_tokens(found["content"]) <= 300
    assert {document["document"] for document in found["documents"]} == {"leave.md", "rules.md"}
    assert all(document["why"] and document["sources"][0]["why"] for document in found["documents"])
    assert [(document["document"], document["why"]) for document in one["documents"]] == [("rules.md", "asked for")]
    assert_problem(wrong, 404, "not_found")


async def test_a_search_says_what_it_has_searched(product: Served) -> None:
    """The repositories that it chose, each with the reason; of each, what it is about and whose vectors it has."""
    chosen = await post(product, "search_documents", query="twelve weeks of leave for parents")
    asked = await post(product, "search_documents", query="twelve weeks", repository="handbook")
    shown = (await product.web.get("/v1/repositories/handbook")).json()

    assert [one["name"] for one in chosen["repositories"]] == ["handbook"]
    assert chosen["repositories"][0]["why"].startswith("fits best")
    assert (chosen["left_out"], chosen["left_out_count"]) == ([], 0)
    assert asked["repositories"] == [{"name": "handbook", "why": "asked for", "score": None}]
    assert shown["description"]
    assert shown["embedding_model"].startswith("thresher-small")


async def test_a_guide_is_written_by_hand_and_made_again(product: Served) -> None:
    """Null gives the one of the structure back."""
    written = (await product.web.post("/v1/repositories/handbook/guide", json={"text": "Ours."})).json()
    made = (await product.web.post("/v1/repositories/handbook/guide", json={"text": None})).json()
    empty = await product.web.post("/v1/repositories/handbook/guide", json={"text": " "})

    assert (written["guide"], written["guide_by"]) == ("Ours.", "person")
    assert made["guide_by"] == "structure"
    assert_problem(empty, 422, "invalid_input")


async def test_indexing_begins_a_job_and_removal_ends_it(product: Served, tmp_path: Path) -> None:
    """Whoever asks is not kept waiting; what is gone is gone."""
    (tmp_path / "a.md").write_text("# A\n\nText.\n", encoding="utf-8")
    body = {"name": "notes", "source": str(tmp_path)}
    begun = await product.web.post("/v1/repositories", json=body)
    again = await product.web.post("/v1/repositories/notes/refresh")
    other = await product.web.post("/v1/repositories", json={**body, "source": str(tmp_path / "a.md")})
    job = await product.web.get(f"/v1/jobs/{begun.json()['job']}")
    removed = await product.web.delete("/v1/repositories/notes")
    gone = await product.web.get("/v1/repositories/notes")

    assert (begun.status_code, again.status_code, removed.status_code) == (202, 202, 204)
    assert begun.json()["state"] == "waiting"
    assert job.json()["task"] == "documents.index"
    assert_problem(other, 409, "conflict")
    assert_problem(gone, 404, "not_found")


@pytest.mark.parametrize(
    ("verb", "body", "status", "kind"),
    [
        ("retrieve_document", {"query": " ", "repository": "handbook"}, 422, "invalid_input"),
        ("retrieve_document", {"query": "leave", "repository": "handbook", "budget": 0}, 422, "invalid_input"),
        ("retrieve_document", {"query": "leave", "repository": "handbook", "budget": "many"}, 422, "invalid_input"),
        ("retrieve_document", {"query": "leave", "repository": "handbook", "cursor": "1"}, 422, "invalid_cursor"),
        ("retrieve_document", {"query": "leave", "repository": "handbook", "search_type": "x"}, 422, "invalid_input"),
        ("retrieve_document", {"query": "leave", "repository": "hanbook"}, 404, "not_found"),
        ("search_documents", {"query": "leave", "repository": "hanbook"}, 404, "not_found"),
        ("search_documents", {"query": "leave", "limit": 51}, 422, "invalid_input"),
        ("read_document", {"repository": "handbook", "path": "../leave.md"}, 404, "not_found"),
        ("read_document", {"repository": "handbook", "path": "leave.md", "lines": "9-2"}, 422, "invalid_input"),
        ("repositories", {"name": "a b", "source": "/tmp"}, 422, "invalid_input"),
        ("repositories", {"name": "a", "source": "here"}, 422, "invalid_input"),
        ("repositories", {"name": "a", "source": "/nowhere/at/all"}, 404, "not_found"),
        ("repositories", {"name": "a", "source": "https://u:p@example.com/r.git"}, 422, "invalid_input"),
    ],
)
async def test_wrong_requests_are_problems(
    product: Served, verb: str, body: dict[str, Any], status: int, kind: str
) -> None:
    """With what to do about it."""
    answer = await product.web.post(f"/v1/{verb}", json=body)

    assert assert_problem(answer, status, kind)["hint"]


async def test_a_key_indexes_only_what_was_named_for_it(
    databases: Databases, settings: Settings, handbook: Path, tmp_path: Path
) -> None:
    """And learns nothing of what else lies on the machine; another tenant's repositories are not there for it."""
    settings.data_dir.mkdir(parents=True)
    name = await databases.create()
    more = {"database_url": SecretStr(databases.url(name)), "index_sources": (str(handbook),), "workers": 0}
    async with served(settings.model_copy(update=more)) as product:
        services = product.app.services
        await services.documents.index_here(services.caller, "mine", origin_of(str(handbook)))
        _, header = await product.key("acme", "ann")
        asked = {"allowed": handbook, "elsewhere": tmp_path, "nowhere": tmp_path / "nothing"}
        answers = {
            name: await product.web.post("/v1/repositories", json={"name": name, "source": str(source)}, headers=header)
            for name, source in asked.items()
        }
        listed = (await product.web.get("/v1/repositories", headers=header)).json()["repositories"]
    await databases.drop(name)

    assert answers["allowed"].status_code == 202
    assert_problem(answers["elsewhere"], 403, "not_allowed")
    assert_problem(answers["nowhere"], 403, "not_allowed")
    assert [(one["name"], one["owner"]) for one in listed] == [("allowed", "ann")]


@pytest.mark.parametrize("field", ["include", "exclude"])
async def test_half_a_surrogate_in_a_pattern_is_replaced(keyless: Served, tmp_path: Path, field: str) -> None:
    """It is kept in the database, which holds UTF-8."""
    body = f'{{"name": "halved", "source": "{tmp_path}", "{field}": ["a\\ud800"]}}'

    answer = await keyless.web.post(
        "/v1/repositories", content=body.encode(), headers={"content-type": "application/json"}
    )

    assert answer.status_code < 500, answer.text


class TestWebhook:
    """A signed call without a key has a repository indexed again, once."""

    @staticmethod
    async def call(
        product: Served, made: dict[str, str], at: float, body: bytes = b'{"ref":"main"}', **other: str
    ) -> Any:
        """Call a webhook; `secret`, `path` and `signed` replace what is right."""
        secret, time = other.get("secret", made["secret"]), f"{at:.3f}"
        signed = other.get("signed", "").encode() or body
        signature = hmac.new(secret.encode(), f"{time}.".encode() + signed, hashlib.sha256).hexdigest()
        headers = {"x-thresher-timestamp": time, "x-thresher-signature": f"sha256={signature}"}
        # a proxy's mark: without a key nothing else comes in
        headers["x-forwarded-for"] = "192.0.2.1"
        return await product.web.post(other.get("path", made["path"]), content=body, headers=headers)

    async def test_a_signed_call_is_accepted_once(self, product: Served) -> None:
        """The same call again is refused, and one with another body, time, secret or webhook. Nothing is told."""
        made = (await product.web.post("/v1/repositories/handbook/webhook")).json()
        now = time.time()
        accepted = await self.call(product, made, now)
        later = await self.call(product, made, now + 1)
        refused = [
            await self.call(product, made, now + 1),
            await self.call(product, made, now),
            await self.call(product, made, now + 2, signed="another body"),
            await self.call(product, made, now + 2, secret="0" * 64),
            await self.call(product, made, now - 3600),
            await self.call(product, made, now + 3600),
            await self.call(product, made, now + 2, path=made["path"].replace("handbook", "other")),
            await self.call(product, made, now + 2, path=made["path"].partition("?")[0]),
            await self.call(product, made, now + 2, path=made["path"] + "9"),
        ]

        assert (accepted.status_code, later.status_code) == (202, 202)
        assert set(accepted.json()) == {"name", "job"}
        assert accepted.json()["name"] == "handbook"
        for answer in refused:
            assert_problem(answer, 401, "access_denied")
        assert len({answer.json()["detail"] for answer in refused}) == 1

    async def test_a_webhook_that_was_replaced_or_removed_is_refused(self, product: Served) -> None:
        """At once; without a signature the path needs a key as ever."""
        first = (await product.web.post("/v1/repositories/handbook/webhook")).json()
        second = (await product.web.post("/v1/repositories/handbook/webhook")).json()
        old = await self.call(product, first, time.time())
        new = await self.call(product, second, time.time())
        removed = await product.web.delete("/v1/repositories/handbook/webhook")
        gone = await self.call(product, second, time.time() + 1)
        bare = await product.web.post(second["path"], headers={"x-forwarded-for": "192.0.2.1"})

        assert (old.status_code, new.status_code, removed.status_code) == (401, 202, 204)
        assert (gone.status_code, bare.status_code) == (401, 401)

    async def test_a_source_that_is_allowed_no_more_is_not_read(
        self, databases: Databases, settings: Settings, handbook: Path
    ) -> None:
        """A caller with a key chose it while the settings named it; the call is signed rightly all the same."""
        settings.data_dir.mkdir(parents=True)
        name = await databases.create()
        more = {"database_url": SecretStr(databases.url(name)), "index_sources": (str(handbook),), "workers": 0}
        allowed = settings.model_copy(update=more)
        async with served(allowed) as product:
            _, header = await product.key("acme", "ann")
            body = {"name": "mine", "source": str(handbook)}
            await product.web.post("/v1/repositories", json=body, headers=header)
            made = (await product.web.post("/v1/repositories/mine/webhook", headers=header)).json()
            before = await self.call(product, made, time.time())
        async with served(allowed.model_copy(update={"index_sources": ()})) as product:
            after = await self.call(product, made, time.time())
        await databases.drop(name)

        assert before.status_code == 202
        assert_problem(after, 403, "not_allowed")


async def test_files_are_uploaded_replaced_and_removed(product: Served) -> None:
    """As text or base64, larger than other bodies may be; what is refused says why."""
    path = "/v1/repositories/sent/files"
    text = await product.web.post(path, json={"path": "a/leave.md", "content": LEAVE})
    large = "# Large\n\n" + "A line of text that says little.\n" * 160_000
    encoded = base64.b64encode(large.encode()).decode()
    sent = await product.web.post(path, json={"path": "large.md", "content": encoded, "encoding": "base64"})
    wrong = await product.web.post(path, json={"path": "../a.md", "content": LEAVE})
    odd = await product.web.post(path, json={"path": "a.md", "content": "%", "encoding": "base64"})
    gone = await product.web.delete(path, params={"path": "a/"})

    assert len(encoded) > 4 * 1024 * 1024
    assert (text.status_code, sent.status_code) == (202, 202)
    assert (text.json()["stored"], gone.json()["removed"]) == (["a/leave.md"], ["a/leave.md"])
    assert_problem(wrong, 422, "invalid_input")
    assert_problem(odd, 422, "invalid_input")
    assert (await product.web.delete("/v1/repositories/sent")).status_code == 204
