"""The kind of solutions, and the arguments that its verbs share.

Invariant: an argument means the same in every verb. The literals are those of `thresher.servoy` and of the solutions
kind, whose packages import more than a command's help needs.
"""

from __future__ import annotations

from types import ModuleType
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind

SOLUTIONS = Kind("solutions", "thresher.knowledge.solutions", remote=False, files=True)

Encapsulation: TypeAlias = Literal["public", "hidden", "module"]
Scope: TypeAlias = Annotated[
    Literal["current", "modules", "all"],
    Doc("The active solution; with the modules it uses; the whole workspace"),
]
Solution: TypeAlias = Annotated[str, Doc("Solution or module that holds it; the active one unless given")]
Confirmed: TypeAlias = Annotated[bool, Doc("A person has agreed to a change outside of the active solution")]
Forced: TypeAlias = Annotated[bool, Doc("A person wants it although places still name it")]
Workspace: TypeAlias = Annotated[str, Doc("The one in use unless given")]
Visible: TypeAlias = Annotated[
    Encapsulation | None, Doc("Everywhere, not in scripts, or only in its module; public unless given")
]
Deprecated: TypeAlias = Annotated[str | None, Doc("Why; empty: it is not")]
Comment: TypeAlias = Annotated[str | None, Doc("Empty: none")]
Limit: TypeAlias = Annotated[int, Ge(1), Le(1_000)]
Cursor: TypeAlias = Annotated[str, Doc("Of the last answer: what it left out")]


class FieldDoc(Doc):
    """The description of a field of an object that is an argument: JSON Schema shows it."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return handler(schema) | {"description": self.documentation}


def wishes() -> ModuleType:
    """Import what makes records of arguments."""
    from thresher.verbs.solutions import wishes as module  # noqa: PLC0415 - commands print their help without it

    return module
