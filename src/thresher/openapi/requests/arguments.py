"""Checks the arguments of a call against an operation's description, before anything is sent.

Arguments are one object: each parameter under its name, the request body under `body`. Where two parameters have one
name, or one is called `body` beside a body, they are `query.NAME`, `path.NAME` and so on.

Invariant: pure; nothing is dropped silently, and every problem is named with its argument.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import from_json

from thresher.core import InvalidInput, argument_meant, did_you_mean, nearest, shortened
from thresher.openapi.calls import sent_content
from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json, MediaType, Operation, Parameter
from thresher.openapi.requests.bodies import (
    check_file,
    file_fields,
    is_form,
    is_json,
    is_whole_file,
    plain_media,
    without_files,
)
from thresher.openapi.requests.styles import scalar
from thresher.openapi.schema_checks import SchemaCheck
from thresher.openapi.schemas import mapped

BODY: Final = "body"
_PLACE: Final = re.compile(r"\{([^{}]+)\}")
_SLASH: Final = re.compile(r"[/\\]")
_FREE: Final = frozenset({"accept", "content-type", "authorization"})
"""Headers that OpenAPI does not let a description define: never required of a caller."""
_OURS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive"}
    | {"authorization", "proxy-authorization", "proxy-connection", "expect"}
    | {"x-http-method-override", "x-http-method", "x-method-override"}
)
"""Headers that are never taken from arguments: they frame the message, carry credentials, or change the method."""
_PROBLEMS: Final = 8
_REASON: Final = 300
_MOST_OCTETS: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class CheckedArguments:
    """The arguments of a call.

    Attributes:
        values: Each parameter with its value.
        content: How the body is sent; None without a body.
        body: The body; None without one.
        notes: What could not be checked.
    """

    values: tuple[tuple[Parameter, Json], ...]
    content: MediaType | None = None
    body: Json = None
    notes: tuple[str, ...] = ()


def argument_names(operation: Operation) -> Mapping[str, Parameter]:
    """Return the parameters of an operation by the names that arguments have.

    A place in the path that no parameter describes is a parameter, too: any text.
    """
    described = {one.name for one in operation.parameters if one.place == "path"}
    places = dict.fromkeys(_PLACE.findall(operation.path))
    text: Mapping[str, Json] = {"type": "string"}
    plain = [Parameter(name, "path", required=True, schema=text) for name in places if name not in described]
    parameters = (*operation.parameters, *plain)
    counted = Counter(one.name for one in parameters)
    taken = {name for name, count in counted.items() if count > 1} | ({BODY} if operation.body else set[str]())
    return {f"{one.place}.{one.name}" if one.name in taken else one.name: one for one in parameters}


def check_arguments(
    description: Description,
    operation: Operation,
    arguments: Mapping[str, Json],
    *,
    signed: Collection[tuple[str, str]] = (),
    media: str = "",
) -> CheckedArguments:
    """Return arguments as the description wants them.

    A text stands for the number, truth value, list or object that it is the JSON of where only that fits; a value
    stands for a list of one. A required parameter that is left out takes the default of its schema.

    Args:
        description: Resolves references.
        operation: The operation.
        arguments: By name; the body as `body`.
        signed: Place and name, in lower case, of parameters that carry stored credentials.
        media: Media type of the body; by default the first that suits.

    Raises:
        InvalidInput: Arguments are missing, unknown or not valid; the message names all of them.
    """
    _check_size(arguments)
    checking = _Checking(description, operation, signed)
    checking.take(arguments)
    checking.take_body(media)
    if checking.problems:
        shown = "; ".join(checking.problems[:_PROBLEMS])
        more = f"; and {len(checking.problems) - _PROBLEMS} more" if len(checking.problems) > _PROBLEMS else ""
        raise InvalidInput(f"{operation.key} was not called: {shown}{more}.", hint=_signature(operation))
    return CheckedArguments(tuple(checking.values), checking.content, checking.body, tuple(checking.notes))


def _check_size(arguments: Mapping[str, Json]) -> None:
    try:
        encoded = json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
        from_json(encoded)  # refuses what is nested so deeply that the validator would refuse it
    except (ValueError, TypeError, RecursionError):
        raise InvalidInput(
            "The arguments are not JSON.",
            hint="They hold a number or character that JSON cannot hold, or are too deep.",
        ) from None
    if len(encoded) > _MOST_OCTETS:
        raise InvalidInput(f"The arguments are larger than {_MOST_OCTETS >> 20} MiB.", hint="Send less in one call.")


class _Checking:
    def __init__(self, description: Description, operation: Operation, signed: Collection[tuple[str, str]]) -> None:
        self._description = description
        self._operation = operation
        self._signed = signed
        self._given: dict[str, Json] = {}
        self.values: list[tuple[Parameter, Json]] = []
        self.content: MediaType | None = None
        self.body: Json = None
        self.problems: list[str] = []
        self.notes: list[str] = []

    def take(self, arguments: Mapping[str, Json]) -> None:
        """Check the parameters."""
        names = argument_names(self._operation)
        known = {**names, **({BODY: None} if self._operation.body else {})}
        for key, value in arguments.items():
            few = len(self.problems) < _PROBLEMS  # the others are only counted: looking for what is meant takes time
            name = argument_meant(key, known) if few else key
            if name not in known:
                self.problems.append(self._unknown(key, known) if few else key)
            elif name in self._given:
                self.problems.append(f"{name} is given twice")
            else:
                self._given[name] = value
        for name, parameter in names.items():
            self._take_one(name, parameter)

    def _unknown(self, key: str, known: Collection[str]) -> str:
        shown = shortened(key, 100)
        if self._operation.body and key in _body_names(self._description, self._operation):
            return f"{shown} belongs into body"
        if key == BODY:
            return "it takes no body"
        near = did_you_mean(nearest(key[:100], known))
        meant = f" ({near.rstrip('.')})" if near else ""
        return f"it has no argument '{shown}'{meant}"

    def _take_one(self, name: str, parameter: Parameter) -> None:
        header = parameter.name.lower() if parameter.place == "header" else ""
        signed = (parameter.place, parameter.name.lower()) in self._signed
        value = self._given.get(name)
        if (header in _OURS or signed) and value is not None:
            self.problems.append(
                f"{name} cannot be given: {'stored credentials fill it' if signed else 'it is not for callers to set'}"
            )
            return
        if header in _OURS or signed:
            return
        if value is None and parameter.required and header not in _FREE:
            value = mapped(self._description.follow(parameter.schema)).get("default")
        if value is None and not (name in self._given and self._allows_null(parameter)):
            if parameter.required and header not in _FREE:
                self.problems.append(f"{name} is required")
            return
        self._check(name, parameter, value)

    def _allows_null(self, parameter: Parameter) -> bool:
        return parameter.required and SchemaCheck(self._description, parameter.schema, "request").fits(None)

    def _check(self, name: str, parameter: Parameter, value: Json) -> None:
        check = SchemaCheck(self._description, parameter.schema, "request", strict=True)
        fitting = _fitting(check, value)
        self._report(name, check, fitting)
        if problem := _unsendable(parameter, fitting):
            self.problems.append(f"{name} {problem}")
        self.values.append((parameter, fitting))

    def _report(self, name: str, check: SchemaCheck, value: Json) -> None:
        if not check.checks(value):
            self.notes.append(f"{name} was not checked: its schema cannot be used, or takes too much work.")
        for path, reason in check.problems(value):
            where = ".".join([name, *(str(step) for step in path)])
            self.problems.append(f"{where}: {shortened(reason, _REASON)}")

    def take_body(self, media: str) -> None:
        """Check the body."""
        body = self._operation.body
        if body is None:
            return
        value = self._given.get(BODY)
        if value is None and not (BODY in self._given and body.required):
            if body.required:
                self.problems.append("body is required")
            return
        self.content = content = _content(self._operation, media)
        self.body = value
        try:
            if is_whole_file(self._description, content):
                check_file(value)
                return
            files = file_fields(self._description, content)
            shown = without_files(value, files)
        except InvalidInput as error:
            self.problems.append(f"{error.message.rstrip('.')} ({error.hint.rstrip('.')})")
            return
        if is_form(content.media) and not isinstance(value, dict):
            self.problems.append("body: a form is an object of its fields")
        elif content.schema is not None:
            self._check_body(content.schema, content.media, shown, has_files=bool(files))

    def _check_body(self, schema: Json, media: str, shown: Json, *, has_files: bool) -> None:
        """Check a body; a text that is neither JSON nor a plain text, such as XML, is not checked."""
        check = SchemaCheck(self._description, schema, "request", strict=True)
        if isinstance(shown, str) and not is_json(media) and not (check.fits("") or check.fits("text")):
            return
        fitting = shown if has_files else _fitting(check, shown)
        self.body = self.body if has_files else fitting
        self._report(BODY, check, fitting)


def _body_names(description: Description, operation: Operation) -> Collection[str]:
    content = sent_content(operation.body)
    return () if content is None else mapped(mapped(description.follow(content.schema)).get("properties")).keys()


def _content(operation: Operation, media: str) -> MediaType:
    """Return the content that is sent.

    Raises:
        InvalidInput: The operation does not take this media type.
    """
    body = operation.body
    contents = () if body is None else body.contents
    if not media:
        return sent_content(body) or MediaType("application/json")
    if found := next((one for one in contents if plain_media(one.media) == plain_media(media)), None):
        return found
    known = ", ".join(one.media for one in contents) or "application/json"
    raise InvalidInput(f"{operation.key} takes no body of type '{media[:100]}'.", hint=f"It takes {known}.")


def _fitting(check: SchemaCheck, given: Json) -> Json:
    """Return the value, or what stands for it, if that alone is valid, or of the right type at least."""
    value: Any = given
    if check.fits(value):
        return value
    forms: list[Json] = []
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            forms.append(json.loads(value, parse_constant=str))
    elif isinstance(value, bool | int | float):
        forms.append(scalar(value))
    if not isinstance(value, list | dict):
        forms += [[one] for one in (value, *forms)]
    if found := [one for one in forms if check.fits(one)]:
        return found[0]
    typed: list[Json] = [one for one in forms if not check.mistypes(one)] if forms and check.mistypes(value) else []
    return next(iter(typed), given)


def _unsendable(parameter: Parameter, value: Json) -> str:
    """Return why a value cannot be sent in its place; empty if it can."""
    texts = list(_texts(value))
    if parameter.place == "path" and (value in ("", [], {}) or any(map(_climbs, texts))):
        return "cannot be empty, or have '.' or '..' between slashes, in a path"
    if parameter.place == "header" and not all(map(_fits_header, texts)):
        return "holds characters that a header cannot hold, or a space at its start or end"
    return ""


def _climbs(text: str) -> bool:
    """Return whether a text leads elsewhere in a path, also for servers that read `%2F` as a slash."""
    return not text or not {".", ".."}.isdisjoint(_SLASH.split(text))


def _fits_header(text: str) -> bool:
    return text.isprintable() and text.isascii() and text == text.strip()


def _texts(value: Json) -> Sequence[str]:
    """Return the texts of a value, whatever it is."""
    if isinstance(value, dict):
        return [*map(str, mapped(value)), *(text for one in mapped(value).values() for text in _texts(one))]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]  # pyright: ignore[reportUnknownVariableType] - JSON
    return [scalar(value)]


def _signature(operation: Operation) -> str:
    """Return what an operation takes, in one line."""
    taken = [
        f"{name}{'' if one.required else '?'} ({one.place})"
        for name, one in argument_names(operation).items()
        if not (one.place == "header" and one.name.lower() in _OURS)
    ]
    if operation.body is not None:
        media = ", ".join(one.media for one in operation.body.contents[:3])
        taken.append(f"body{'' if operation.body.required else '?'} ({media})")
    return f"It takes {', '.join(taken) or 'no arguments'}; get_api_endpoint shows their schemas."
