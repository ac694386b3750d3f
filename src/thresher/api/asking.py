"""What the routes of every kind share: who asks, and the problems that any of them may answer with.

Invariant: the caller is the one that the door has checked.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from thresher.api.door import CALLER
from thresher.api.errors import MEDIA_TYPE
from thresher.core import Caller


def problem(text: str) -> dict[str, Any]:
    """How a route's description says that it may answer with a problem document.

    Not as a `model`: FastAPI would build a validator for each status of each route, more than half of the time that the
    API takes to make, for answers that it neither makes nor checks.

    Args:
        text: When it does.
    """
    return {"description": text, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    401: problem("A key is needed, or nobody knows this one."),
    403: problem("The Origin, or the caller, may not do this."),
    404: problem("A named tool or server does not exist."),
    413: problem("The body is too large."),
    421: problem("The Host is not this server's."),
    422: problem("The body does not fit."),
    500: problem("Something went wrong inside."),
    503: problem("The database does not answer."),
}

BEARER = HTTPBearer(auto_error=False, description="A key: `thresher keys add NAME`.")
"""Says in the description what the door demands; it checks nothing itself."""


def _caller(request: Request) -> Caller:
    return request.scope[CALLER]


Asking = Annotated[Caller, Depends(_caller)]
