"""What the routes of every kind share: who asks, and the problems that any of them may answer with.

Invariant: the caller is the one that the door has checked.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from thresher.api.door import CALLER
from thresher.api.models import Problem
from thresher.core import Caller

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in {
        401: "A key is needed, or nobody knows this one.",
        403: "The Origin, or the caller, may not do this.",
        404: "A named tool or server does not exist.",
        413: "The body is too large.",
        421: "The Host is not this server's.",
        422: "The body does not fit.",
        500: "Something went wrong inside.",
        503: "The database does not answer.",
    }.items()
}

BEARER = HTTPBearer(auto_error=False, description="A key: `thresher keys add NAME`.")
"""Says in the description what the door demands; it checks nothing itself."""


def _caller(request: Request) -> Caller:
    return request.scope[CALLER]


Asking = Annotated[Caller, Depends(_caller)]
