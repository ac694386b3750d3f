"""Arguments that the tools of relations and of value lists have in common.

Invariant: an argument means the same in every tool; None is what was not said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from thresher.knowledge.solutions import Scope
from thresher.servoy import Encapsulation, Operator

READS = {"readOnlyHint": True, "openWorldHint": False}
WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
SETS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
REMOVES = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}

Solution = Annotated[str, Field(description="Solution or module that holds it; the active one unless given")]
Agreed = Annotated[bool, Field(description="A person has agreed to a change outside of the active solution")]
Forced = Annotated[bool, Field(description="A person wants it although places still name it")]
Workspace = Annotated[str, Field(description="The one in use unless given")]
Visible = Annotated[
    Encapsulation | None, Field(description="Everywhere, not in scripts, or only in its module; public unless given")
]
Deprecated = Annotated[str | None, Field(description="Why; empty: it is not")]
Comment = Annotated[str | None, Field(description="Empty: none")]
Scopes = Annotated[Scope, Field(description="The active solution; with the modules it uses; the whole workspace")]
Limit = Annotated[int, Field(ge=1, le=1_000)]
Cursor = Annotated[str, Field(description="Of the last answer: what it left out")]


class Pair(TypedDict):
    """Two columns that are compared."""

    primary: Annotated[
        str, Field(description="Column, calculation, scopes.NAME.variable, globals.variable or LITERAL:value")
    ]
    foreign: Annotated[str, Field(description="Column of the foreign data source")]
    operator: NotRequired[Operator]
    or_null: NotRequired[Annotated[bool, Field(description="Rows without a value too")]]
    ignore_case: NotRequired[bool]
    remove_when_null: NotRequired[Annotated[bool, Field(description="Left out while the left side has no value")]]


class Value(TypedDict):
    """A line of a custom value list; in short `shown|stored`."""

    display: Annotated[str, Field(description="What is shown")]
    real: NotRequired[Annotated[str | None, Field(description="What is stored; the same unless given")]]


AddEmpty = Annotated[Literal["always", "never"] | None, Field(description="An empty entry first; never unless given")]


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call that were said; a yes goes its own way."""
    return {name: value for name, value in arguments.items() if value is not None and name != "confirm"}
