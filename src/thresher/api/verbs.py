"""Serves verbs over HTTP: a table of routes, and everything else from the verbs' declarations.

A parameter in a path stands for the verb's next parameter, unless its route says otherwise. The others are in the
query of a GET or DELETE, and in the body of other requests.

Invariant: answers are the verbs' records, and validation is theirs; nothing is declared here a second time.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from inspect import Parameter as Argument
from inspect import Signature
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Depends, Header, Path, Query, Response
from pydantic import TypeAdapter
from typing_extensions import TypedDict

import thresher.core
from thresher.api.door import BEARER, RequestCaller
from thresher.api.errors import PROBLEMS, problem_response, status_of_type
from thresher.services import Services
from thresher.verbs import Kind, Parameter, Request, Verb, arguments_model, values_of

_IN_PATH: Final = re.compile(r"\{(\w+)(?::path)?\}")
_WITHOUT_BODY: Final = ("GET", "DELETE")
_Agent = Annotated[str, Header(alias="User-Agent", include_in_schema=False)]


@dataclass(frozen=True, slots=True)
class Route:
    """Where a verb is served.

    Attributes:
        verb: The verb's name.
        method: The HTTP method.
        path: The path, its parameters in braces; `{name:path}` may contain slashes.
        status: The status of the answer; 204 has no content.
        in_path: The verb's parameters that those in the path stand for; by default the first ones.
        key: The name of a list in the answer, if it is not the verb's.
        body: The verb's parameter that is the whole body; the others are then in the query.
        exact: Whether unknown names in the query are refused.
        needs_body: Whether a body is required although each of its fields may be omitted.
        view: Builds the answer from the verb's record; by default the record is the answer.
        answer: The type that `view` returns, for the description.
        name: The name of the operation, if it is not the verb's.
    """

    verb: str
    method: str
    path: str
    status: HTTPStatus = HTTPStatus.OK
    in_path: tuple[str, ...] = ()
    key: str = ""
    body: str = ""
    exact: bool = False
    needs_body: bool = False
    view: Callable[[Request, Any], Awaitable[Any]] | None = None
    answer: Any = None
    name: str = ""


def default_routes(kind: Kind) -> Sequence[Route]:
    """`POST /v1/VERB` for each verb of a kind."""
    return tuple(Route(verb.name, "POST", f"/v1/{verb.name}") for verb in kind)


def verbs_router(services: Services, kind: Kind, routes: Sequence[Route]) -> APIRouter:
    """Return the routes of a kind.

    Args:
        services: What the verbs work with.
        kind: Their declarations.
        routes: Where each is served.
    """
    router = APIRouter(tags=[kind.name], responses=PROBLEMS, dependencies=[Depends(BEARER)])
    for route in routes:
        verb, empty = kind[route.verb], route.status == HTTPStatus.NO_CONTENT
        router.add_api_route(
            route.path,
            _endpoint(services, verb, route),
            methods=[route.method],
            status_code=route.status,
            response_model=None if empty else route.answer or _answer_type(verb, route.key or verb.key),
            responses=_problems(verb),
            summary=verb.summary,
            description=verb.summary,
            name=route.name or verb.name,
        )
    return router


def _endpoint(services: Services, verb: Verb, route: Route) -> Callable[..., Coroutine[Any, Any, Response]]:
    in_path = dict(zip(_IN_PATH.findall(route.path), route.in_path or verb.parameters, strict=False))
    others = [one for name, one in verb.parameters.items() if name not in in_path.values()]
    key = route.key or verb.key

    @cache
    def adapter() -> TypeAdapter[Any]:
        """Built at the first answer and not at the start: few of the routes are used."""
        return TypeAdapter(Any if route.view else _answer_type(verb, key))

    async def endpoint(*, caller: Any, agent: str, body: Any = None, **values: Any) -> Response:
        arguments = values if body is None else values | values_of(verb, body)
        request = Request(services, caller, client=agent)
        answer = await verb.run(request, arguments)
        if route.status == HTTPStatus.NO_CONTENT:
            return Response(status_code=route.status)
        answer = await route.view(request, answer) if route.view else {key: answer} if key else answer
        return Response(adapter().dump_json(answer, by_alias=True), route.status, media_type="application/json")

    arguments = [
        Argument("caller", Argument.KEYWORD_ONLY, annotation=RequestCaller),
        Argument("agent", Argument.KEYWORD_ONLY, annotation=_Agent, default=""),
        *(_in_path(alias, verb.parameters[name]) for alias, name in in_path.items()),
    ]
    if route.exact:
        query = Annotated[arguments_model(verb, *in_path.values()), Query()]
        arguments.append(Argument("body", Argument.KEYWORD_ONLY, annotation=query))
    elif route.method in _WITHOUT_BODY or route.body:
        arguments += [
            _in_query(one, narrows=verb.destroys) if one.name != route.body else _whole_body(one) for one in others
        ]
    elif others:
        model = arguments_model(verb, *in_path.values())
        needed = route.needs_body or any(one.required for one in others)
        default = Argument.empty if needed else None
        annotation = model if default is Argument.empty else model | None
        arguments.append(Argument("body", Argument.KEYWORD_ONLY, annotation=annotation, default=default))
    endpoint.__signature__ = Signature(arguments)  # pyright: ignore[reportFunctionMemberAccess] - what FastAPI reads
    return endpoint


def _in_path(alias: str, parameter: Parameter) -> Argument:
    place = Path(alias=alias, description=parameter.description or None)
    return Argument(parameter.name, Argument.KEYWORD_ONLY, annotation=Annotated[parameter.annotation, place])


def _whole_body(parameter: Parameter) -> Argument:
    annotation = Annotated[parameter.annotation, Body(description=parameter.description or None)]
    return Argument(parameter.name, Argument.KEYWORD_ONLY, annotation=annotation)


def _in_query(parameter: Parameter, *, narrows: bool) -> Argument:
    """A parameter of the query; one that narrows what is removed must not be empty, which would mean all."""
    place = Query(min_length=1 if narrows else None, description=parameter.description or None)
    return Argument(
        parameter.name,
        Argument.KEYWORD_ONLY,
        annotation=Annotated[parameter.annotation, place],
        default=Argument.empty if parameter.required else parameter.default,
    )


def _answer_type(verb: Verb, key: str) -> Any:
    """The type of an answer: the verb's record, or an object that holds it under a key."""
    if not key:
        return verb.record
    name = "".join(part.capitalize() for part in (*verb.name.split("_"), "response"))
    made: Any = TypedDict  # its type checker's form allows no fields that are named by a value
    answer = made(name, {key: verb.record})
    answer.__doc__ = f"The answer of `{verb.name}`."
    return answer


def _problems(verb: Verb) -> dict[int | str, dict[str, Any]]:
    """The problems that a verb may answer with, by status."""
    texts: dict[int, list[str]] = {}
    for name, text in verb.errors.items():
        texts.setdefault(status_of_type(getattr(thresher.core, name)), []).append(text)
    return {status: problem_response(" ".join(found)) for status, found in sorted(texts.items())}
