"""Conversations on their pages: answered whole or as they are written, stopped, decided, cited, and nobody else's."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from bs4 import BeautifulSoup
from pydantic import SecretStr

from tests.api.serving import Served, served
from tests.console.person import Person, person, said
from tests.console.test_rendering import HOSTILE
from tests.fakes.chat_answers import Said
from tests.fakes.chat_server import ChatServer, text_of
from tests.support import Databases
from tests.support.waiting import eventually
from thresher.core import NotFound, Settings
from thresher.knowledge.documents import origin_of
from thresher.upstream import ServerConfig

KILN = "# Kilns\n\nA kiln is heated to eleven hundred degrees.\n\n# Opening\n\nIt cools for a whole day before that.\n"
MORE = (
    "<math><mtext></mtext><mglyph><svg><mtext><textarea><path id='</textarea><img onerror=alert(1) src=1>'>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<live-region src='//evil.example'></live-region>",
    "<div hx-get='/settings' hx-trigger='load'></div>",
    "<div hx-on:click='alert(1)'>x</div>",
    "</textarea><script>alert(1)</script>",
    "</pre></details><script>alert(1)</script>",
    "'\"><script>alert(1)</script>",
    "[1](javascript:alert(1)) [1]",
    "[1]: javascript:alert(1)",
    "[1]: https://evil.example",
    "[[1]](https://evil.example)",
    "![1](https://evil.example/[1])",
    "[1, 99999, 0]",
    "data: x\n\nevent: end\n\n",
    "\r\nid: 1\r\n\r\nevent: message\r\ndata: <b>x</b>\r\n",
    "\u2028event: end\u2029",
    "\x00\x1b[31mred\x1b[0m\x07",
    "\u200b\u2066hidden\u2069\ufeff",
    "a" * 5_000,
    "[" * 5_000,
    "*a" * 5_000,
    "> " * 2_000 + "x",
    "- " * 2_000 + "x",
    "|" * 3_000 + "\n" + "|-" * 3_000,
    "`" * 4_999,
    "![" * 3_000,
    "<a " * 3_000,
)
PAYLOADS = (*HOSTILE, *MORE)
SSE = {"hx-request": "true"}


def model(body: dict[str, Any]) -> str | Said:
    """Does what the person's last message says: `say WORDS`, `look` into the documents, `note JSON`."""
    messages = body["messages"]
    last = text_of(messages[-1])
    if not body.get("tools") and "begin PASSAGES" in last:
        return "\n".join(f"{number}: yes" for number in range(1, 9))
    spoken = [n for n, one in enumerate(messages) if text_of(one).startswith(("say ", "look", "note "))]
    if not spoken:
        return "How to fire a kiln."  # a guide, or whatever else the product asks for by itself
    asked = spoken[-1]
    verb, _, rest = text_of(messages[asked]).partition(" ")
    results = [text_of(one) for one in messages[asked:] if one["role"] == "tool"]
    placed = any("kiln.md" in text_of(one) for one in messages[asked + 1 :])
    if verb == "say":
        return rest
    if results or placed:
        return f"So it is [1]. {' '.join(results)}"
    name, given = (
        ("search_documents", {"query": "how hot is a kiln"}) if verb == "look" else ("add_note", json.loads(rest))
    )
    named = [tool["function"]["name"] for tool in body.get("tools", ()) if name in tool["function"]["name"]]
    return Said("I look.", tuple((one, given) for one in named[:1]))


@pytest.fixture(scope="module")
def llm() -> Iterator[ChatServer]:
    """The model's service."""
    server = ChatServer(model)
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _as_new(llm: ChatServer) -> None:
    """Each test finds the service well."""
    llm.script.clear()
    llm.mode = "good"
    llm.release.clear()
    llm.reached.clear()
    llm.gone.clear()
    llm.requests.clear()


@pytest.fixture(scope="module")
async def product(
    databases: Databases, open_folder: Path, llm: ChatServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    """A product with a model, a handbook and a server of notes."""
    folder, name, files = open_folder / secrets.token_hex(4), await databases.create(), tmp_path_factory.mktemp("files")
    folder.mkdir()
    (files / "handbook").mkdir()
    (files / "handbook" / "kiln.md").write_text(KILN, encoding="utf-8")
    notes = Path(__file__).parent.parent / "fakes" / "notes_server.py"
    config = ServerConfig("notes", "stdio", command=sys.executable, args=(str(notes), str(files / "notes.jsonl")))
    settings = Settings(
        data_dir=folder,
        allow_root=True,
        database_url=SecretStr(databases.url(name)),
        llm_url=llm.url,
        llm_model="fake",
        home_packs="off",
        workers=0,
    )
    async with served(settings) as product:
        services = product.app.services
        await services.tools.add_server(services.caller, config)
        await services.tools.refresh(services.caller, "notes")
        await services.documents.index_here(services.caller, "handbook", origin_of(str(files / "handbook")))
        yield product
    await databases.drop(name)


async def begin(who: Person, message: str, **form: Any) -> str:
    """Begin a conversation and wait for its answer; returns its path."""
    await who.see("/chat")
    answer = await who.send("/chat", message=message, thread=str(uuid4()), **form)
    assert answer.status_code == 303, said(answer.text)
    path = answer.headers["location"].partition("#")[0]
    await who.see(path)
    return path


async def post(who: Person, path: str, **form: Any) -> httpx.Response:
    """Send a form as a page with scripts does: its answer is a part, and comes at once."""
    token = re.search(r'name="csrf" value="([^"]+)"', who.last)
    assert token is not None
    return await who.web.post(path, data=form, headers={**SSE, "x-csrf-token": token[1]})


def region(part: str) -> tuple[str, str]:
    """Where the stream of a part is, and what the part has seen of it."""
    found = BeautifulSoup(part, "html.parser").find("live-region")
    assert found is not None, part
    return str(found["src"]), str(found["last"])


async def events(who: Person, path: str, seen: str = "") -> AsyncIterator[tuple[str, str, str]]:
    """The events of a stream: name, id, data."""
    headers = {"last-event-id": seen} if seen else {}
    async with who.web.stream("GET", path, headers=headers) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        found = {"event": "", "id": "", "data": ""}
        async for line in stream.aiter_lines():
            if line:
                name, _, value = line.partition(": ")
                found[name] = f"{found[name]}\n{value}" if name == "data" and found[name] else value
            elif found["event"]:
                yield found["event"], found["id"], found["data"]
                found = {"event": "", "id": "", "data": ""}


def written(piece: str) -> str:
    """The words that a part of a page has so far."""
    page = BeautifulSoup(piece, "html.parser")
    return (page.select_one("[data-append]") or page).get_text()


async def first_words(who: Person, path: str) -> tuple[str, str]:
    """Follow a stream until it has words, and leave it; returns what was seen, and the words."""
    async for _, seen, data in events(who, path):
        if words := written(data).strip():
            return seen, words
    raise AssertionError("The stream has ended without words.")


async def start_writing(who: Person, llm: ChatServer, message: str) -> tuple[str, str]:
    """Begin an answer that stops after its first word; returns the conversation's path and its part."""
    path = await begin(who, "say hello")
    llm.mode = "trickle"
    part = await post(who, path, message=message)
    await eventually(llm.reached.is_set)
    return path, part.text


async def test_an_answer_comes_whole_without_script(owner: Person) -> None:
    """The form waits; the page then has the answer as Markdown, and what the prompt consisted of."""
    path = await begin(owner, "say **bold** and `code`")

    page = BeautifulSoup(owner.last, "html.parser")
    assert page.select_one(".said strong").get_text() == "bold"  # type: ignore[union-attr]
    meter = page.select_one(".meter")
    assert meter is not None
    assert "tokens in the prompt" in meter.get_text()
    assert "With all definitions, as usual" in meter.get_text()
    assert re.search(r"<title>say \*\*bold\*\* and", owner.last)
    assert UUID(path.removeprefix("/chat/"))


async def test_a_page_gets_words_while_they_are_written_and_the_answer_at_the_end(
    owner: Person, llm: ChatServer
) -> None:
    """What was appended is the answer's text; the last piece has it as Markdown, with the meter."""
    _, part = await start_writing(owner, llm, "say one *two* three")
    source, _ = region(part)
    heard: list[tuple[str, str, str]] = []

    async for event in events(owner, source):
        heard.append(event)
        llm.release.set()

    assert [name for name, _, _ in heard][-2:] == ["message", "end"]
    text = written(heard[0][2]) + "".join(written(data) for name, _, data in heard if name == "append")
    assert "one *two* three".startswith(text)
    assert "<em>two</em>" in heard[-2][2]
    assert "meter" in heard[-2][2]


async def test_a_lost_connection_goes_on_where_it_was(owner: Person, llm: ChatServer) -> None:
    """With what it has seen, a stream sends the rest only; the same with the query of a tab that was hidden."""
    _, part = await start_writing(owner, llm, "say one two three")
    source, _ = region(part)
    seen, first = await first_words(owner, source)
    llm.release.set()

    rest = [event async for event in events(owner, f"{source}&last-event-id={seen}")]

    assert first == "one"
    assert rest[0][0] != "message" or "one two three" in written(rest[0][2])
    assert rest[-1][0] == "end"
    again = [event async for event in events(owner, source, seen)]
    assert [name for name, _, _ in again] == ["message", "end"]


async def test_a_message_is_answered_when_its_browser_is_closed(owner: Person, llm: ChatServer) -> None:
    """Nobody follows the turn; a page that is opened later has its answer."""
    path, _ = await start_writing(owner, llm, "say it goes on")
    assert "Load the page again" in said(await owner.see(path))
    llm.release.set()

    async for name, _, _ in events(owner, f"{path}/events?turn=1"):
        assert name in ("message", "append", "end")

    assert "it goes on" in BeautifulSoup(await owner.see(path), "html.parser").select(".said")[-1].get_text()


async def test_an_answer_is_stopped_and_asked_for_again(owner: Person, llm: ChatServer) -> None:
    """The words so far stay and are marked; the model's service loses its client; another try is answered."""
    path, part = await start_writing(owner, llm, "say one two three")
    source, _ = region(part)
    await first_words(owner, source)

    await owner.do(f"{path}/stop")

    await eventually(llm.gone.is_set)
    stopped = said(await owner.see(path))
    assert "one" in stopped
    assert "interrupted" in stopped
    assert "Ask again" in stopped
    llm.mode = "good"
    page = await owner.do(path, message="say one two three", turns="2")
    assert BeautifulSoup(page, "html.parser").select(".said")[-1].get_text().strip() == "one two three"
    assert "Ask again" not in said(page)


@pytest.mark.parametrize(
    ("mode", "why"), [("429:0", "busy"), ("500", "HTTP 500"), ("404:x", "fake"), ("drop", ""), ("half", "")]
)
async def test_a_page_says_why_no_model_answered(owner: Person, llm: ChatServer, mode: str, why: str) -> None:
    """The message stays, with the reason and a way to try again, whichever process is asked."""
    path = await begin(owner, "say hello")
    llm.mode = mode

    page = await owner.do(path, message="say it", turns="1")

    assert "no answer" in said(page) or "interrupted" in said(page) or "I could not answer" in said(page)
    assert why in said(page)


async def test_a_message_that_is_sent_twice_is_answered_once(owner: Person, llm: ChatServer) -> None:
    """While it is answered, and after: a second form of the same page adds nothing."""
    await owner.see("/chat")
    thread = str(uuid4())
    llm.mode = "slow"
    first = await post(owner, "/chat", message="say once", thread=thread)
    second = await post(owner, "/chat", message="say once", thread=thread)
    llm.release.set()
    third = await owner.do(f"/chat/{thread}", message="say once", turns="0")

    assert first.headers["hx-redirect"] == second.headers["hx-redirect"] == f"/chat/{thread}#end"
    assert len(BeautifulSoup(third, "html.parser").select(".asked")) == 1


async def test_another_message_waits_until_the_answer_is_there(owner: Person, llm: ChatServer) -> None:
    """It is refused with a reason, and its text is in the field again."""
    path, _ = await start_writing(owner, llm, "say one two")

    part = await post(owner, path, message="say <i>three</i>", turns="2")
    page = await owner.send(path, message="say <i>three</i>", turns="2")

    llm.release.set()
    assert part.headers["hx-retarget"] == "#composer"
    for text in (part.text, page.text):
        assert "is being answered" in said(text)
        field = BeautifulSoup(text, "html.parser").select_one("textarea")
        assert field is not None
        assert field.get_text() == "say <i>three</i>"
    async for _ in events(owner, f"{path}/events"):
        pass


async def test_a_call_waits_for_approval_and_runs_with_changed_arguments(owner: Person) -> None:
    """The page shows the call with its arguments; what a person makes of them is what is called."""
    path = await begin(owner, 'note {"title": "<b>Kiln</b>", "text": "Fire it."}')
    waits = BeautifulSoup(owner.last, "html.parser").select_one(".approval")
    assert waits is not None
    field = waits.select_one("textarea")
    assert field is not None
    assert json.loads(field.get_text()) == {"title": "<b>Kiln</b>", "text": "Fire it."}

    broken = await owner.send(f"{path}/decisions", all="approve", **{str(field["name"]): "{no"})
    part = await post(owner, f"{path}/decisions", all="approve", **{str(field["name"]): "[]"})
    edited = {str(field["name"]): '{"title": "Changed", "text": "x"}'}
    page = await owner.do(f"{path}/decisions", all="approve", **edited)

    assert broken.status_code == 422
    assert "nothing was run" in said(broken.text)
    assert "{no" in broken.text
    assert "not a JSON object" in said(part.text)
    assert BeautifulSoup(part.text, "html.parser").select_one(".turn .approval") is not None
    assert "The person changed the arguments" in said(page)
    assert "Changed" in said(page)
    again = await owner.send(f"{path}/decisions", all="approve")
    assert "Nothing waits" in said(again.text)


async def test_a_call_is_declined_with_a_reason(owner: Person, llm: ChatServer) -> None:
    """The model reads the reason, and nothing is run."""
    path = await begin(owner, 'note {"title": "No", "text": "x"}')
    field = BeautifulSoup(owner.last, "html.parser").select_one(".approval input[id^=reason]")
    assert field is not None

    undecided = await owner.send(f"{path}/decisions")
    part = await post(owner, f"{path}/decisions", all="decline", **{str(field["name"]): "not on a Monday"})
    async for _ in events(owner, f"{path}/events"):
        pass

    assert "Not every call is decided" in said(undecided.text)
    assert "live-region" in part.text or "not on a Monday" in part.text
    page = said(await owner.see(path))
    assert "declined" in page
    assert "not on a Monday" in text_of(next(one for one in llm.requests[-1]["messages"] if one["role"] == "tool"))


async def test_a_citation_opens_its_passage_at_its_lines(owner: Person, product: Served) -> None:
    """The lines are those of the document, marked; when it is gone, those that the model was given."""
    path = await begin(owner, "look how hot a kiln is")
    link = BeautifulSoup(owner.last, "html.parser").select_one(".said a.cite")
    assert link is not None
    assert str(link["href"]) == f"{path}/passages/0/1"

    page = BeautifulSoup(await owner.see(str(link["href"])), "html.parser")
    part = await owner.web.get(str(link["href"]), headers=SSE)

    assert any("eleven hundred" in line.get_text() for line in page.select(".lines .cited"))
    assert page.select_one(".lines li")["value"] == "1"  # type: ignore[index]
    assert "<html" not in part.text
    await owner.see(f"{path}/passages/0/99", 404)
    await owner.see(f"{path}/passages/9/1", 404)
    await owner.see(f"{path}/passages/{'9' * 5_000}/x", 404)
    services = product.app.services
    await services.documents.remove_repository(services.caller, "handbook")
    assert "as the model was given it" in said(await owner.see(str(link["href"])))


@pytest.mark.parametrize("text", PAYLOADS, ids=range(len(PAYLOADS)))
async def test_hostile_text_does_nothing(owner: Person, text: str) -> None:
    """As message, answer, streamed words and title: no element, attribute or event that is not ours."""
    path = await begin(owner, f"say {text}")
    page = await owner.see(path)
    heard = [event async for event in events(owner, f"{path}/events")]

    assert [name for name, _, _ in heard] == ["message", "end"]
    for piece in (page, heard[0][2]):
        found = BeautifulSoup(piece, "html.parser")
        assert not found.select("iframe, style, meta[http-equiv], base, video, math, input[autofocus]")
        assert not found.select("img:not([src^='/static/'])")
        assert all(str(one.get("src", "")).startswith("/static/") for one in found.select("script"))
        for element in found.find_all():
            assert not [name for name in element.attrs if name.startswith(("on", "hx-on")) or name == "style"]
            assert not str(element.get("hx-get", "")).strip()
        for link in found.select(".said a:not(.cite)"):
            assert str(link["href"]).startswith(("https://", "http://"))
            assert "nofollow" in link["rel"]


async def test_conversations_are_their_users_alone(owner: Person, product: Served) -> None:
    """Another user of the same tenant, and another tenant, find nothing of them on any page."""
    path = await begin(owner, "say a secret of mine")
    thread = path.removeprefix("/chat/")
    _, ann = await product.key("local", "ann", "ann")
    _, bob = await product.key("elsewhere", None, "bob")

    for shown in (ann, bob):
        async with person(product) as other:
            await other.sign_in(shown["authorization"].removeprefix("Bearer "))
            assert "secret" not in await other.see("/chat")
            for page in (path, f"{path}/settings", f"{path}/passages/0/1"):
                assert "secret" not in await other.see(page, 404)
            await other.see("/chat")
            for change in ("", "/decisions", "/stop", "/rename", "/settings", "/fork", "/delete"):
                answer = await other.send(f"{path}{change}", message="say x", title="y", confirm="untitled")
                assert answer.status_code == 404, change
            heard = [event async for event in events(other, f"{path}/events")]
            assert "secret" not in str(heard)
            taken = await other.send("/chat", message="say x", thread=thread)
            assert taken.status_code == (422 if shown is ann else 303)  # an id belongs to its tenant
            assert "secret" not in taken.text
            own = await begin(other, "say mine")
            await owner.see(own, 404)
            await other.see(f"{own}/settings")
            await other.do(f"{own}/rename", title="Mine")
            await other.do(f"{own}/settings", top_k="3")
            await other.do(f"{own}/fork", turn="0")
            await other.do(f"{own}/delete", confirm="Mine")

    assert "a secret of mine" in await owner.see(path)


async def test_conversations_are_found_renamed_and_deleted(owner: Person) -> None:
    """By words of the title; the title is asked before anything is removed."""
    path = await begin(owner, "say something of zebras")

    await owner.see(f"{path}/settings")
    renamed = await owner.do(f"{path}/rename", title="Striped <b>horses</b>")
    assert "Striped <b>horses</b>" in said(renamed)
    assert (await owner.send(f"{path}/rename", title=" ")).status_code == 422
    assert path in await owner.see("/chat?q=striped")
    assert path not in await owner.see("/chat?q=zebras")
    refused = await owner.send(f"{path}/delete", confirm="striped")
    assert refused.status_code == 422
    assert "Nothing was removed" in said(refused.text)
    gone = await owner.do(f"{path}/delete", confirm="Striped <b>horses</b>")
    assert "is gone" in said(gone)
    await owner.see(path, 404)


async def test_a_conversation_is_forked_at_a_turn_and_at_a_state(owner: Person) -> None:
    """The fork has what stood there by then, and goes on by itself."""
    path = await begin(owner, "say first")
    await owner.do(path, message="say second", turns="1")

    early = await owner.do(f"{path}/fork", turn="0")
    whole = await owner.do(f"{path}/fork", turn="1")
    settings = BeautifulSoup(await owner.see(f"{path}/settings"), "html.parser")
    state = settings.select("input[name=at]")[-1]["value"]
    first = await owner.do(f"{path}/fork", at=str(state))

    asked = [[one.get_text() for one in BeautifulSoup(page, "html.parser").select(".asked")] for page in (early, whole)]
    assert asked == [["say first"], ["say first", "say second"]]
    assert "(fork)" in said(early)
    assert "say second" not in said(first)
    for turn in ("7", "-1", "x", "9" * 5_000):
        missing = await owner.send(f"{path}/fork", turn=turn)
        assert missing.status_code == 404, turn[:10]


async def test_settings_hold_for_one_conversation(owner: Person, product: Served) -> None:
    """A choice is kept, shown and taken back; a wrong value is refused with the others as they were."""
    path = await begin(owner, "say hello", approval="none", documents="no")
    thread = UUID(path.removeprefix("/chat/"))
    settings, caller = product.app.services.chat_settings, product.app.services.caller
    chosen = (await settings.get(caller, thread)).settings
    assert (chosen.approval, chosen.documents) == ("none", False)

    await owner.see(f"{path}/settings")
    await owner.do(f"{path}/settings", approval="", documents="", top_k="3", temperature="0.5")
    chosen = (await settings.get(caller, thread)).settings
    wrong = await owner.send(f"{path}/settings", top_k="900")

    assert (chosen.approval, chosen.documents, chosen.top_k, chosen.temperature) == ("writes", True, 3, 0.5)
    assert wrong.status_code == 422
    assert "900" in wrong.text
    assert (await settings.get(caller)).settings.top_k == 8


async def test_a_very_long_answer_is_shown(owner: Person) -> None:
    """As it is written where it is too long to be read as Markdown."""
    path = await begin(owner, f"say {'**word** ' * 30_000}")

    page = BeautifulSoup(await owner.see(path), "html.parser")

    assert len(page.select(".said")[-1].get_text()) > 200_000


@pytest.mark.parametrize("text", ["", "   ", "\n"])
async def test_an_empty_message_is_refused(owner: Person, text: str) -> None:
    """With a reason, on the first page and in a conversation."""
    path = await begin(owner, "say hello")

    answers = [await owner.send("/chat", message=text), await owner.send(path, message=text, turns="1")]
    part = await post(owner, path, message=text, turns="1")

    assert [one.status_code for one in answers] == [422, 422]
    assert all("empty" in said(one.text) for one in (*answers, part))


@pytest.mark.parametrize("path", ["/chat/x", "/chat/x/events", f"/chat/{UUID(int=1)}", f"/chat/{UUID(int=1)}/settings"])
async def test_an_unknown_conversation_is_not_found(owner: Person, path: str) -> None:
    """With a page that leads on."""
    assert "There is no" in said(await owner.see(path, 404))


async def test_without_a_model_the_assistant_answers(databases: Databases, open_folder: Path) -> None:
    """The page says so, and where a model is added."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    url = SecretStr(databases.url(name))
    settings = Settings(data_dir=folder, allow_root=True, database_url=url, home_packs="off", workers=0)
    async with served(settings) as product, person(product) as owner:
        first = await owner.see("/chat")
        path = await begin(owner, "What is installed here?")

        page = BeautifulSoup(owner.last, "html.parser")
        assert "No model is connected" in said(first)
        assert page.select_one('main a[href="/settings/models"]') is not None
        assert page.select_one(".said") is not None
        assert "Ask again" not in page.get_text()
        services = product.app.services
        remembered = await services.assistant.sessions.open(services.caller, path.removeprefix("/chat/"))
        assert [turn.query for turn in remembered.turns] == ["What is installed here?"]
        await owner.see(f"{path}/settings")
        await owner.do(f"{path}/delete", confirm="What is installed here?")
        with pytest.raises(NotFound):
            await services.assistant.sessions.open(services.caller, path.removeprefix("/chat/"))
    await databases.drop(name)


async def test_a_turn_ends_with_its_key(product: Served, llm: ChatServer) -> None:
    """What was begun with a key that is revoked goes on no longer than the key."""
    tenant, shown = await product.key("local", "carol", "carol")
    async with person(product) as carol:
        await carol.sign_in(shown["authorization"].removeprefix("Bearer "))
        await start_writing(carol, llm, "say one two three")

        await product.app.services.keys.revoke(tenant, "carol")

        await eventually(llm.gone.is_set)


async def test_a_stream_ends_with_its_session(product: Served, llm: ChatServer) -> None:
    """A page that was left open reads no further word after its person has signed out; the answer goes on."""
    _, shown = await product.key("local", "dora", "dora")
    async with person(product) as dora:
        await dora.sign_in(shown["authorization"].removeprefix("Bearer "))
        _, part = await start_writing(dora, llm, "say one two three")
        heard = list[str]()
        async with asyncio.timeout(20):
            async for name, _, data in events(dora, region(part)[0]):
                if not heard:
                    await dora.send("/sign-out")
                heard.append(f"{name} {data}")

        assert heard[-1].startswith("end")
        assert not llm.gone.is_set()
        llm.release.set()
