"""Argument fit: the values of a message against the arguments of a tool."""

from __future__ import annotations

import json
import random
import secrets
import time

import pytest

from tests.search.encoders import WordEncoder
from thresher.core import Caller, Settings, Tenant
from thresher.search import Entry, SearchIndex, Slot
from thresher.search.lexical.arguments import (
    READ,
    ArgumentWeights,
    argument_fit,
    find_values,
    pack_arguments,
    unpack_arguments,
)
from thresher.search.lexical.terms import query_terms
from thresher.store import Database

CITY = Slot("city", "The city, such as Berlin.", "The city, such as Berlin.", "string", required=True)
MISSING = ArgumentWeights(missing=-1.0)


def missing(message: str, *slots: Slot) -> bool:
    """Whether a message lacks something that a tool with these arguments requires."""
    return (
        argument_fit(
            unpack_arguments(pack_arguments(slots, lambda _: 1.0)), find_values(message, query_terms(message)), MISSING
        )
        < 0
    )


def required(name: str, kind: str = "string", *values: str) -> Slot:
    """A required argument."""
    return Slot(name, type=kind, required=True, values=values)


@pytest.mark.parametrize(
    ("message", "slot"),
    [
        ("What is the square root of 144?", required("x", "integer")),
        ("Add seven and 3", required("a", "number")),
        ("Will it rain in Berlin?", CITY),
        ("play 'yellow submarine'", required("song")),
        ("Book it for March 3rd", required("departure_date")),
        ("what is on tomorrow", required("date")),
        ("in which year, 1999?", required("count", "integer")),
        ("fetch https://example.org/a", required("url")),
        ("mail bob@example.org", required("email")),
        ("sort [3, 1, 2]", required("items", "array")),
        ("show it in celsius please", required("unit", "string", "Celsius", "Fahrenheit")),
        ("turn it on", required("enabled", "boolean")),
        ("anything at all", required("query")),
        ("北京的天气", CITY),
    ],
)
def test_what_a_message_supplies_is_not_missing(message: str, slot: Slot) -> None:
    """Numbers in digits and words, names, quotations, dates, addresses, lists, fixed values; free text always."""
    assert not missing(message, slot)


@pytest.mark.parametrize(
    "slot",
    [
        required("x", "integer"),
        CITY,
        required("departure_date"),
        required("url"),
        required("items", "array"),
        required("point", "object"),
        required("unit", "string", "Celsius", "Fahrenheit"),
    ],
)
def test_what_a_message_leaves_out_is_missing(slot: Slot) -> None:
    """For every kind except free text and switches."""
    assert missing("please tell me more about this", slot)


def test_what_is_optional_is_never_missing() -> None:
    """Optional arguments are not required."""
    assert not missing("please tell me more", Slot("city"), Slot("count", type="integer"), Slot("unit", values=("a",)))


def test_two_numbers_are_not_three() -> None:
    """Each value serves one argument; a spare date may be a number, a spare number a name."""
    numbers = [required(name, "number") for name in "abc"]

    assert missing("with 2 and 3", *numbers)
    assert not missing("with 2, 3 and -4", *numbers)
    assert not missing("order 4711", required("order"))


def test_fewer_requirements_used_words_and_dates_that_fit_count() -> None:
    """Each figure changes the score in its own direction."""
    given = find_values("weather in Oslo on 2024-05-01", query_terms("weather in Oslo on 2024-05-01"))

    def figure(weights: ArgumentWeights, *slots: Slot) -> float:
        return argument_fit(unpack_arguments(pack_arguments(slots, lambda _: 1.0)), given, weights)

    assert figure(ArgumentWeights(required=-1.0), CITY) > figure(ArgumentWeights(required=-1.0), CITY, required("zip"))
    assert figure(ArgumentWeights(dated=1.0), Slot("date")) == 1.0
    assert figure(ArgumentWeights(dated=1.0), Slot("date", values=("x",))) == 0.0
    assert figure(ArgumentWeights(words=1.0), Slot("weather")) == 1.0
    assert figure(ArgumentWeights(words=1.0), Slot("sky", "the weather")) == pytest.approx(0.5)
    assert figure(ArgumentWeights(words=1.0), Slot("sky")) == 0.0


def test_an_item_without_arguments_is_left_alone() -> None:
    """Its score and rank do not change."""
    assert pack_arguments((), lambda _: 1.0) == ""
    assert argument_fit(unpack_arguments(""), find_values("x", ()), ArgumentWeights(-1, -1, 1, 1)) == 0.0


def test_a_huge_schema_is_packed_small() -> None:
    """Thousands of arguments, values and words are cut."""
    slot = Slot("n" * 500, "word " * 5000, "a " * 5000, "string", required=True, values=tuple(map(str, range(5000))))

    text = pack_arguments([slot] * 1000, lambda _: 1.0)

    assert len(text) < 20_000
    assert json.loads(text)
    assert unpack_arguments(text) is not None


@pytest.mark.parametrize(
    "text", ["A" * 10**6, "A " * 10**5, "[" * 10**6, "'" * 10**5, "1," * 10**5, "a@" * 10**5, "\n"]
)
def test_a_huge_message_is_looked_through_in_no_time(text: str) -> None:
    """Both ends are read, and no pattern backtracks."""
    started = time.thread_time()
    found = find_values(text, ())

    assert time.thread_time() - started < 0.5
    assert found.numbers <= READ


def test_random_messages_do_no_harm() -> None:
    """Any characters and any types are accepted."""
    chance = random.Random(3)
    alphabet = "aA1 .,'\"[]{}()@/:-%$\n\u00e9\u6f22\U0001f600"
    kinds = ["", "string", "integer", "array", "object", "boolean", "null", "what"]
    for _ in range(200):
        message = "".join(chance.choices(alphabet, k=60))
        slots = [Slot("".join(chance.choices(alphabet, k=6)), message, "", chance.choice(kinds), required=True)]

        assert missing(message, *slots) in (True, False)


@pytest.mark.parametrize("memory", [0, 64])
async def test_the_tool_whose_arguments_are_there_comes_first(
    database: Database, settings: Settings, tenant: Tenant, caller: Caller, memory: int
) -> None:
    """From the copy and from PostgreSQL; phrases of a calling model contain no values, and require none."""
    encoder = WordEncoder(f"bge-small-en-v1.5@{secrets.token_hex(4)}", salt="words")
    index = SearchIndex(database, encoder, settings.model_copy(update={"vector_memory_mb": memory}))
    text = {"text": "weather forecast"}
    coordinates = Entry(1, ("weather forecast",), fields=text, slots=(required("latitude", "number"),))
    city = Entry(2, ("weather forecast",), fields=text, slots=(CITY,))
    await index.put(tenant, "tool", [coordinates, city])
    await index.search(caller, "tool", ["warm up"], limit=1)
    await index.settle()

    result = await index.search(caller, "tool", ["weather forecast for Berlin"], limit=2, threshold=0.0)
    phrases = await index.search(caller, "tool", ["weather forecast"], limit=2, threshold=0.0, split=False)

    assert [hit.id for hit in result.hits] == [2, 1]
    assert [hit.id for hit in phrases.hits] == [1, 2]
    await index.close()


async def test_changed_arguments_are_written_again(index: SearchIndex, tenant: Tenant, caller: Caller) -> None:
    """Nothing is embedded for that."""
    await index.put(tenant, "tool", [Entry(1, ("weather",), slots=(CITY,))])

    counts = await index.put(tenant, "tool", [Entry(1, ("weather",), slots=(required("latitude", "number"),))])

    assert counts.embedded == 0
    assert (await index.search(caller, "tool", ["weather"], limit=1, threshold=0.0)).hits[0].id == 1
