"""The training data keeps its rules: what is held out stays so, and every message stands for a tool that exists."""

from __future__ import annotations

import pytest

from training.messages import Message, defects, held_out, read_messages, read_no_tool, read_requests
from training.tools import catalogue_tools, invented_tools
from training.vendors import BLIND, TRAINING, VALIDATION


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    """Every message for a tool."""
    return read_messages()


def test_no_message_is_written_for_what_is_held_out(messages: list[Message]) -> None:
    """Neither by the list in the file nor by that of the blind vendors."""
    servers = {message.server.casefold() for message in messages}

    assert not servers & held_out()
    assert {vendor.server for vendor in BLIND} <= held_out()
    assert not {vendor.server for vendor in TRAINING} & held_out()
    assert not {tool.server for tool in invented_tools()} & held_out()


def test_every_message_stands_for_a_tool_that_exists(messages: list[Message]) -> None:
    """Vendors' operations come out of a package that tests do not have; their servers are known by name."""
    vendors = {vendor.server for vendor in TRAINING}
    known = {tool.key for tool in (*catalogue_tools(), *invented_tools())}
    known |= {message.tool for message in messages if message.server in vendors}
    known |= {tool for request in read_requests() for tool in request.tools if tool.partition("/")[0] in vendors}

    assert defects(known) == []


def test_messages_are_many_and_the_validation_servers_have_some(messages: list[Message]) -> None:
    """Each server that only validates is measured by messages of its own."""
    servers = {message.server for message in messages}

    assert len(messages) > 25_000
    assert len({message.tool for message in messages}) > 2_500
    assert servers.issuperset(VALIDATION)
    assert len(set(read_no_tool())) == len(read_no_tool())
