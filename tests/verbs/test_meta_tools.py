"""The meta-tools take parameters of declared verbs: `calling` stands below the declarations and cannot read them."""

from __future__ import annotations

from typing import Any

import pytest

from thresher.calling import meta_tools
from thresher.context import DEFAULT_BUDGET, LARGEST_BUDGET
from thresher.core import Settings
from thresher.knowledge.tools import LIMIT_CAP
from thresher.verbs import CONTEXT, TOOLS, Verb, arguments_model

VERBS = {verb.name: verb for kind in (CONTEXT, TOOLS) for verb in kind}
META = {tool.name: tool for tool in meta_tools(Settings())}
SAME = ("process_prompt", "get_context", "find_tools", "describe_tools")


def forms(verb: Verb, name: str) -> list[dict[str, Any]]:
    """The JSON Schemas that an argument of a verb may have."""
    found = arguments_model(verb).model_json_schema()["properties"][name]
    return [one | found for one in found.get("anyOf", [{}])]


@pytest.mark.parametrize("name", SAME)
def test_a_meta_tool_takes_the_parameters_of_its_verb(name: str) -> None:
    """With the same types, bounds and requirements."""
    schema = META[name].input_schema

    for parameter, meta in schema["properties"].items():
        declared = next(one for one in forms(VERBS[name], parameter) if one["type"] == meta["type"])
        assert {key: declared.get(key) for key in ("items", "minimum", "maximum") if key in meta} == {
            key: meta[key] for key in ("items", "minimum", "maximum") if key in meta
        }
    assert set(schema.get("required", ())) == {one.name for one in VERBS[name].parameters.values() if one.required}


def test_the_bounds_are_those_of_the_services() -> None:
    """Declarations do not import them."""
    (limit,) = (one for one in forms(VERBS["find_tools"], "limit") if one["type"] == "integer")
    (budget,) = forms(VERBS["get_context"], "budget")

    assert limit["maximum"] == LIMIT_CAP
    assert (budget["default"], budget["maximum"]) == (DEFAULT_BUDGET, LARGEST_BUDGET)
