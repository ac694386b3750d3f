"""The page on Servoy's files names what is written."""

from __future__ import annotations

from pathlib import Path

from tests.servoy.test_relations import FULL
from tests.servoy.test_value_lists import METHOD, RELATED, TABLE
from thresher.servoy import VALUE_TYPES, relation_value, value_list_value
from thresher.servoy.documents import LARGEST
from thresher.servoy.names import LONGEST_NAME
from thresher.servoy.parser import DEEPEST
from thresher.servoy.properties import ENCAPSULATIONS, IGNORE_CASE, JOIN_TYPES, OPERATORS, OR_NULL, REMOVE_WHEN_NULL

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "servoy-files.md").read_text()


def test_every_property_that_is_written_stands_on_the_page() -> None:
    """Of relations, of their items, of value lists of every kind."""
    written = {*relation_value(FULL), "foreignColumnName", "primaryDataProviderID", "operator", "lazyLoading"}
    written |= {name for one in (TABLE, RELATED, METHOD) for name in value_list_value(one)}

    assert sorted(name for name in written - {"typeid", "uuid", "dataProviderID2"} if f"`{name}" not in PAGE) == []


def test_numbers_on_the_page_are_those_that_are_written() -> None:
    """Operators in their order, modifiers, types, joins, bounds."""
    assert "| " + " | ".join(f"`{operator}`" for operator in OPERATORS) + " |" in PAGE
    assert all(
        f"{number} {more}`{name}`" in PAGE
        for number, more, name in (
            (OR_NULL, "more for ", "or_null"),
            (IGNORE_CASE, "for ", "ignore_case"),
            (REMOVE_WHEN_NULL, "for ", "remove_when_null"),
        )
    )
    assert ", ".join(f"{number} `{word}`" for word, number in VALUE_TYPES.items()) in PAGE
    assert all(
        f"{number} `{word}`" in PAGE for words in (JOIN_TYPES, ENCAPSULATIONS) for number, word in enumerate(words)
    )
    assert f"{DEEPEST} levels or {LARGEST // 2**20} MB" in PAGE
    assert f"{LONGEST_NAME} characters" in PAGE
