"""`thresher chat` and `thresher threads` against a real daemon, with a model's service behind it."""

from __future__ import annotations

import io
import json
import os
import secrets
import signal
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.cli.conftest import Command
from tests.daemon.home import Home, opened
from tests.fakes.chat_answers import Said
from tests.fakes.chat_server import ChatServer, text_of
from tests.support import Databases

COUNT = Said(calls=(("sql_query", {"connection": "shop", "sql": "SELECT count(*) AS n FROM orders"}),))


def obedient(body: dict[str, Any]) -> str | Said:
    """A model that repeats what it is asked to say and what it finds, and counts orders when asked how many."""
    twice = any(text_of(message).startswith("Count orders twice") for message in body["messages"])
    if twice and sum(message["role"] == "tool" for message in body["messages"]) < 2:
        return COUNT
    for message in reversed(body["messages"]):
        text = text_of(message)
        if message["role"] == "tool":
            return f"Found: {' '.join(text.split())}"
        if message["role"] == "user" and text.startswith("say "):
            return text.removeprefix("say ")
        if message["role"] == "user" and text.startswith("How many orders"):
            return COUNT
    return "I was told nothing."


@pytest.fixture(scope="module")
def llm() -> Iterator[ChatServer]:
    """The model's service."""
    server = ChatServer(obedient)
    yield server
    server.stop()


@pytest.fixture(scope="module")
async def home(open_folder: Path, databases: Databases, llm: ChatServer) -> AsyncIterator[Home]:
    """A home with a model."""
    name = await databases.create()
    urls = {
        "THRESHER_DATABASE_URL": databases.url(name),
        "THRESHER_MIGRATION_URL": databases.url(name, "thresher_owner"),
        "THRESHER_LLM_URL": llm.url,
        "THRESHER_LLM_MODEL": "obedient",
    }
    with opened(open_folder / secrets.token_hex(4), **urls) as home:
        yield home
    await databases.drop(name)


class Terminal(io.StringIO):
    """Standard input with a person before it, who types these lines."""

    def isatty(self) -> bool:
        """A person is there."""
        return True


class Impatient(io.StringIO):
    """Standard output, before which something happens as soon as a word was shown."""

    def __init__(self, happens: Callable[[], None]) -> None:
        super().__init__()
        self._happens = happens

    def write(self, text: str) -> int:
        """Show a text."""
        written = super().write(text)
        if "Hello" in text:
            self._happens()
        return written


@pytest.fixture
def shop(command: Command, tmp_path: Path) -> Iterator[None]:
    """A database, whose every use waits for a person."""
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript("CREATE TABLE orders (id integer); INSERT INTO orders VALUES (1), (2), (3);")
    connection.close()
    assert command("db", "add", "shop", "--url", f"sqlite:///{path}").code == 0
    assert command("settings", "set", "approval=all").code == 0
    yield
    command("settings", "reset", "approval")
    command("db", "remove", "shop")


def test_a_message_is_answered_and_the_conversation_goes_on(command: Command, llm: ChatServer) -> None:
    """The answer is on standard output; how to continue is on standard error."""
    first = command("chat", "say Hello Ada.")
    thread = first.err.split("--thread ")[1].split(")")[0]
    second = command("chat", "say Again.", "--thread", thread, "--json").json

    assert (first.code, first.out) == (0, "Hello Ada.\n")
    assert (second["text"], second["thread"], second["finish"]) == ("Again.", thread, "stop")
    assert [text_of(one) for one in llm.requests[-1]["messages"] if text_of(one).startswith("say ")] == [
        "say Hello Ada.",
        "say Again.",
    ]


def test_lines_are_answered_one_by_one(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one conversation, a blank line between answers; blank ones that are said are passed over."""
    monkeypatch.setattr("sys.stdin", io.StringIO("say one\n\nsay two\n"))
    ended = command("chat")
    thread = ended.err.rsplit("--thread ", 1)[1].split(")")[0]

    assert ended.out == "one\n\ntwo\n"
    assert [one["text"] for one in command("threads", "show", thread, "--json").json["messages"]] == [
        "say one",
        "one",
        "say two",
        "two",
    ]


def objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text, in order."""
    read = list[dict[str, Any]]()
    while text := text.strip():
        one, end = json.JSONDecoder().raw_decode(text)
        read.append(one)
        text = text[end:]
    return read


def test_every_line_is_answered_for_programs_too(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object each, as soon as it is answered."""
    monkeypatch.setattr("sys.stdin", io.StringIO("say one\nsay two\n"))
    ended = command("chat", "--json")

    answers = objects(ended.out)
    assert ended.code == 0
    assert [one["text"] for one in answers] == ["one", "two"]
    assert answers[0]["thread"] == answers[1]["thread"]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["people", "programs"])
def test_lines_end_at_a_call_that_waits(
    command: Command, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """The next line would decline it: the call and its thread are named, and it can still be approved."""
    monkeypatch.setattr("sys.stdin", io.StringIO("say one\nHow many orders are there?\nsay three\n"))
    ended = command("chat", *options)
    thread = (
        objects(ended.out)[-1]["thread"] if options else ended.err.rsplit("--thread ", 1)[1].split(")")[0].split()[0]
    )
    (call,) = command("threads", "show", thread, "--json").json["approvals"]
    approved = command("chat", "--thread", thread, "--approve", call["id"])

    assert ended.code == 4
    assert call["id"] in ended.out
    assert "three" not in ended.out
    assert "were not sent" in ended.err
    assert "Found:" in approved.out


@pytest.mark.usefixtures("shop")
def test_a_message_beside_a_decision_does_not_decline_what_waits_next(command: Command, llm: ChatServer) -> None:
    """A second call of the same turn waits, and the message is left for later."""
    first = command("chat", "Count orders twice", "--json").json
    decided = command("chat", "say more", "--thread", first["thread"], "--approve", first["approvals"][0]["id"])
    shown = command("threads", "show", first["thread"], "--json").json

    assert decided.code == 4
    assert [one["tool"] for one in shown["approvals"]] == ["sql_query"]
    assert "say more" not in [one["text"] for one in shown["messages"]]


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["people", "programs"])
def test_a_turn_that_failed_decides_how_the_lines_end(
    command: Command, llm: ChatServer, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """Although the last line was answered."""
    llm.script.append("half")
    monkeypatch.setattr("sys.stdin", io.StringIO("say one and so on and on\nsay two\n"))
    ended = command("chat", *options)

    assert ended.code == 1, ended.err
    assert "two" in ended.out


def test_what_a_terminal_would_obey_is_written_out(command: Command) -> None:
    """A model's words are other people's."""
    assert command("chat", "say \x1b[2Jgone").out == "<U+001B>[2Jgone\n"


@pytest.mark.usefixtures("shop")
def test_a_person_is_asked_before_a_call(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With yes the call is made, and the answer continues."""
    monkeypatch.setattr("sys.stdin", Terminal("How many orders are there?\ny\n"))
    ended = command("chat")

    assert ended.code == 0, ended.err
    assert ended.out.count("waits for your approval: sql_query") == 1
    assert "Waits for your approval" not in ended.out
    assert "SELECT count(*) AS n FROM orders" in ended.out
    assert "Found:" in ended.out
    assert "3" in ended.out.rsplit("Found:", 1)[1]


@pytest.mark.usefixtures("shop")
def test_a_person_changes_what_a_call_is_made_with(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Input that is not a JSON object is asked for again."""
    other = '{"connection": "shop", "sql": "SELECT 70 + 7 AS n"}'
    monkeypatch.setattr("sys.stdin", Terminal(f"How many orders are there?\ne\nnonsense\n[]\n{other}\n"))
    ended = command("chat")

    assert "77" in ended.out.rsplit("Found:", 1)[1]
    assert "not valid JSON" in ended.err


@pytest.mark.usefixtures("shop")
def test_an_empty_line_in_place_of_arguments_goes_back(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the question, which is answered otherwise then."""
    monkeypatch.setattr("sys.stdin", Terminal("How many orders are there?\ne\n\ny\n"))
    ended = command("chat")

    assert ended.code == 0, ended.err
    assert ended.err.count("Make this call?") == 2
    assert "Found:" in ended.out


@pytest.mark.usefixtures("shop")
def test_who_is_asked_and_leaves_is_told_how_to_go_on(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call still waits."""
    monkeypatch.setattr("sys.stdin", Terminal("How many orders are there?\n"))
    ended = command("chat")
    thread = ended.err.split("(continue with: --thread ")[1].split(" ")[0]

    assert ended.code == 130
    assert ended.err.endswith(f"(continue with: --thread {thread} --approve ID, or --decline ID)\n")
    assert command("threads", "show", thread, "--json").json["approvals"]


def test_a_turn_that_is_broken_off_ends_its_line_and_names_its_thread(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends the program too."""
    monkeypatch.setattr("sys.stdout", shown := Impatient(lambda: signal.raise_signal(signal.SIGINT)))
    ended = command("chat", "say Hello Ada, and so on.")
    monkeypatch.undo()

    assert ended.code == 130
    assert shown.getvalue().startswith("Hello")
    assert shown.getvalue().endswith("\n")
    assert ended.err.startswith("(continue with: --thread ")


def test_an_error_in_the_midst_of_an_answer_begins_on_a_new_line(
    command: Command, home: Home, llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the conversation is named, since what was said till then is kept."""
    pid = command("status", "--json").json["pid"]
    llm.tokens_per_second = 2.0
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", shown := Impatient(lambda: os.kill(pid, signal.SIGKILL)))
        ended = command("chat", "say Hello Ada, and so on and on and on.")
    llm.tokens_per_second = 0.0

    assert ended.code == 9
    assert shown.getvalue().endswith("\n")
    assert ended.err.startswith("(continue with: --thread ")
    assert "thresher: " in ended.err


@pytest.mark.usefixtures("shop")
def test_a_call_waits_if_no_user_can_be_asked(command: Command) -> None:
    """Until it is decided by its id; the thread shows it until then."""
    asked = command("chat", "How many orders are there?", "--json")
    (waiting,) = asked.json["approvals"]
    thread = asked.json["thread"]
    shown = command("threads", "show", thread)
    declined = command("chat", "--thread", thread, "--decline", waiting["id"])
    again = command("chat", "--thread", thread, "--approve", waiting["id"])

    assert asked.code == 4
    assert waiting["tool"] == "sql_query"
    assert "waits for your approval: sql_query" in shown.out
    assert declined.code == 0, declined.err
    assert "Found: Declined" in declined.out
    assert again.code == 4
    assert "Nothing waits" in again.err


def test_states_say_what_they_follow(command: Command) -> None:
    """The user sees where to fork; an unknown state is answered with how to list them."""
    thread = command("chat", "say Hello.", "--json").json["thread"]
    command("chat", f"say Bye. {'x' * 80}", "--thread", thread)
    shown = command("threads", "show", thread, "--states", "50").out
    lines = [one for one in shown.splitlines() if one.startswith("state ")]
    forks = [command("threads", "fork", thread, "--at", one.split()[1], "--json").json["id"] for one in lines]
    kept = [command("threads", "show", fork, "--json").json["messages"] for fork in forks]
    refused = [command("threads", "fork", thread, "--at", at) for at in ("nope", str(uuid4()))]

    assert "after: say Bye. xxx" in lines[0]
    assert lines[0].endswith("...")
    for line, messages in zip(lines, kept, strict=True):
        last = next((one["text"] for one in reversed(messages) if one["kind"] == "user"), "")
        assert line.partition("after: ")[2].removesuffix("...") == last[:37]
    assert [one.code for one in refused] == [2, 3]
    assert all(f"thresher threads show {thread} --states" in one.err for one in refused)


def test_threads_are_listed_renamed_forked_and_deleted(command: Command) -> None:
    """For people and for programs."""
    thread = command("chat", "say Hello.", "--json").json["thread"]
    renamed = command("threads", "rename", thread, "Greetings")
    states = command("threads", "show", thread, "--states", "5", "--json").json["states"]
    fork = command("threads", "fork", thread, "--at", states[-1]["id"], "--title", "Otherwise", "--json").json
    listed = command("threads", "list", "--limit", "2")
    paged = command("threads", "list", "--limit", "1")
    deleted = command("threads", "delete", thread)
    gone = command("threads", "show", thread)

    assert "Greetings" in renamed.out
    assert (fork["forked_from"], fork["title"]) == (thread, "Otherwise")
    assert "Greetings" in listed.out
    assert "Otherwise" in listed.out
    assert "--cursor" in paged.err
    assert f"Deleted thread {thread}." in deleted.out
    assert gone.code == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("chat", " "), 2),
        (("chat", "say x", "--thread", "mine"), 2),
        (("chat", "--approve", "call_1"), 2),
        (("chat", "--decline", "call_1"), 2),
        (("chat", "--thread", str(uuid4()), "--approve", "call_1", "--decline", "call_1"), 2),
        (("chat", "say x", "--model", "nobody"), 3),
        (("threads", "show", "mine"), 2),
        (("threads", "delete", str(uuid4())), 3),
        (("threads", "list", "--cursor", "!"), 2),
    ],
    ids=[
        "blank",
        "no id",
        "approved nowhere",
        "declined nowhere",
        "both ways",
        "no model",
        "shown",
        "deleted",
        "cursor",
    ],
)
def test_wrong_arguments_are_refused_with_the_exit_code_for_it(
    command: Command, arguments: tuple[str, ...], code: int
) -> None:
    """In one line with a hint."""
    ended = command(*arguments)

    assert (ended.code, ended.out) == (code, "")
    assert ended.err


def test_decisions_without_a_thread_say_what_is_missing(command: Command) -> None:
    """In a sentence."""
    assert "name the thread of the call with --thread" in " ".join(command("chat", "--approve", "call_1").err.split())


def test_a_model_that_fails_is_told_and_ends_with_its_code(command: Command, llm: ChatServer) -> None:
    """As an error that names its trace in the log, if nothing was said before it."""
    llm.mode = "400"
    ended = command("chat", "say x")
    llm.mode = "good"

    assert (ended.code, ended.out) == (11, "")
    assert "refused: HTTP 400" in ended.err
    assert "(trace " in ended.err
