"""Says in our words what is wrong with values that pydantic has refused.

Invariant: no text of pydantic itself, which speaks of types and inputs, reaches a person or a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from pydantic import ValidationError

from thresher.core.errors import InvalidInput

_MAX_ERRORS: Final = 1_000
_KINDS: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field",
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    **dict.fromkeys(("string_type", "string_sub_type", "string_unicode"), "must be a text"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "iterable_type"), "must be a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), "must be an object"),
    **dict.fromkeys(("path_type", "path_not_file", "path_not_directory"), "must be a path"),
    **dict.fromkeys(("uuid_parsing", "uuid_type"), "must be a UUID"),
    **dict.fromkeys(("url_parsing", "url_type", "url_scheme"), "must be an address"),
    **dict.fromkeys(
        ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"),
        "must be a date, such as 2026-03-01",
    ),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "datetime_object_invalid"),
        "must be a date and time, such as 2026-03-01T14:30:00Z",
    ),
    "string_pattern_mismatch": "does not have the form that is expected",
    "none_required": "must be null",
}
UNSUPPORTED: Final = "unsupported"
"""The type of a `PydanticCustomError` of ours, whose context holds a `message` for people."""
_WITH: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "greater_than_equal": lambda about: f"must be at least {about['ge']}",
    "less_than_equal": lambda about: f"must be at most {about['le']}",
    "greater_than": lambda about: f"must be more than {about['gt']}",
    "less_than": lambda about: f"must be less than {about['lt']}",
    "literal_error": lambda about: f"must be {about['expected']}",
    "enum": lambda about: f"must be {about['expected']}",
    "string_too_short": lambda about: f"must have at least {about['min_length']} characters",
    "string_too_long": lambda about: f"must have at most {about['max_length']} characters",
    "too_short": lambda about: f"must have at least {about['min_length']} entries",
    "too_long": lambda about: f"must have at most {about['max_length']} entries",
    "value_error": lambda about: str(about["error"]),
    UNSUPPORTED: lambda about: str(about["message"]),
}


def check_limit(limit: int, most: int) -> None:
    """Check how many rows somebody asks for; every kind has the same words for it.

    Raises:
        InvalidInput: It is not 1 to `most`.
    """
    if not 1 <= limit <= most:
        raise InvalidInput(f"limit is {limit}; it must be 1 to {most:,}.", hint="Ask for some at a time.")


def problem_of(entry: Mapping[str, Any]) -> str:
    """What is wrong with one value, as the end of a sentence that begins with its name.

    Args:
        entry: Of `ValidationError.errors()`.
    """
    kind, about = str(entry["type"]), cast("Mapping[str, Any]", entry.get("ctx") or {})
    if kind in _WITH and about:
        return _WITH[kind](about)
    return _KINDS.get(kind, "is not valid")


def first_problem(error: ValidationError) -> str:
    """The first wrong value of a record as the beginning of a sentence, without the value: `inputSchema is missing`.

    Of very many only their number is given: pydantic writes out all errors or none.
    """
    if (count := error.error_count()) > _MAX_ERRORS:
        return f"it is wrong in {count:,} places"
    entry = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(str(part) for part in entry['loc']) or 'it'} {problem_of(entry)}"


def problems_of(error: ValidationError) -> str:
    """Every wrong value of a record, `name: problem`, with semicolons between them."""
    return "; ".join(f"{'.'.join(str(part) for part in e['loc'])}: {problem_of(e)}" for e in error.errors())
