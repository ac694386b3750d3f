"""Options that the commands of relations and of value lists share.

Invariant: the words are those of `thresher.servoy`, which imports more than `--help` should wait for.
"""

from __future__ import annotations

from typing import Annotated, Literal

import typer

JoinType = Literal["inner", "left outer", "right outer", "full"]
Encapsulation = Literal["public", "hidden", "module"]
ValueType = Literal["text", "integer", "number", "datetime"]

Scoped = Annotated[
    Literal["current", "modules", "all"],
    typer.Option("--scope", "-s", help="The active solution; it and its modules; all of the workspace."),
]
Limit = Annotated[int | None, typer.Option("--limit", "-n", help="Objects at most; 100 unless told.")]
Cursor = Annotated[str | None, typer.Option(help="Of the last answer: the next ones.")]
Encapsulated = Annotated[
    Encapsulation | None, typer.Option("--encapsulation", help="Who may use it; everybody unless told.")
]
Deprecated = Annotated[str | None, typer.Option(help="Why it shall not be used any more; '' takes it away.")]
Comment = Annotated[str | None, typer.Option(help="'' takes it away.")]
Solution = Annotated[
    str | None, typer.Option("--solution", help="Solution or module that holds it; the active one unless told.")
]
Confirm = Annotated[bool, typer.Option("--confirm", "-y", help="Also where it is not of the active solution.")]
Force = Annotated[bool, typer.Option("--force", help="Also where something names it, and will go on doing so.")]
