"""Connections that a file names are there while it names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.knowledge_databases.conftest import url
from thresher.core import Caller, Conflict, InvalidInput, NotAllowed
from thresher.knowledge.databases import ConfiguredConnection, DatabaseService, read_configured

FILE = """
databases:
  shop:
    url: postgresql://reader:${SHOP_PASSWORD}@db.example.test/${SHOP_NAME:-shop}
    description: Orders
    samples: false
    allow_functions: [shop.net_price]
  lone: sqlite:////data/lone.db
  whole: ${WHOLE_URL}
"""
VARIABLES = {"SHOP_PASSWORD": "p@ss:w/rd", "WHOLE_URL": "postgresql://a:b@c/d"}


def test_a_file_is_read_with_its_variables(tmp_path: Path) -> None:
    """Values are quoted as a part of a URL, and taken as they are for a whole one."""
    file = tmp_path / "databases.yaml"
    file.write_text(FILE)

    good, wrong = read_configured(file, VARIABLES)

    assert wrong == {}
    assert [(one.name, one.url, one.samples) for one in good] == [
        ("shop", "postgresql://reader:p%40ss%3Aw%2Frd@db.example.test/shop", False),
        ("lone", "sqlite:////data/lone.db", True),
        ("whole", "postgresql://a:b@c/d", True),
    ]
    assert good[0].allow_functions == ("shop.net_price",)
    assert "p%40ss" not in repr(good)


def test_a_wrong_entry_stops_no_other(tmp_path: Path) -> None:
    """Its reason is reported, without its content."""
    file = tmp_path / "databases.json"
    file.write_text('{"databases": {"a": {"url": "sqlite:///x"}, "b": {}, "c": 3, "d": {"url": "${NOT_SET}"},'
                    ' "e": {"url": "sqlite:///x", "pasword": "s3cret"}}}')  # fmt: skip

    good, wrong = read_configured(file, {})

    assert [one.name for one in good] == ["a"]
    assert sorted(wrong) == ["b", "c", "d", "e"]
    assert "NOT_SET" in wrong["d"]
    assert "s3cret" not in repr(wrong)


@pytest.mark.parametrize("text", ["", "[]", "databases: 3", "{", "databases: {a: [s3cret", "\0"])
def test_what_is_no_such_file_is_an_error(tmp_path: Path, text: str) -> None:
    """That does not quote it, for a password may stand there."""
    file = tmp_path / "databases.yaml"
    file.write_text(text)

    with pytest.raises(InvalidInput) as error:
        read_configured(file, {})

    assert "s3cret" not in str(error.value)


async def test_connections_come_and_go_with_the_file(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """Connections that users added are kept, and those of the file cannot be removed by hand."""
    await service.add_connection(caller, "own", url(shop))

    wrong = await service.configure(
        caller, [ConfiguredConnection("shop", url(shop)), ConfiguredConnection("bad", "nonsense")]
    )
    first = [one.name for one in await service.list_connections(caller)]
    with pytest.raises(NotAllowed):
        await service.remove_connection(caller, "shop")
    with pytest.raises((NotAllowed, Conflict)):
        await service.add_connection(caller, "shop", url(shop), replace=True)
    await service.configure(caller, [])

    assert list(wrong) == ["bad"]
    assert first == ["own", "shop"]
    assert [one.name for one in await service.list_connections(caller)] == ["own"]


async def test_an_unchanged_file_keeps_what_is_known(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """A restart reads no schema again."""
    wanted = [ConfiguredConnection("shop", url(shop), description="Orders")]
    await service.configure(caller, wanted)
    await service.refresh_schema(caller, "shop")
    before = await service.connection(caller, "shop")

    await service.configure(caller, wanted)

    after = await service.connection(caller, "shop")
    assert (after.id, after.state, after.schema_at) == (before.id, "ready", before.schema_at)
