"""A toy kind: what a kind of knowledge costs that is on every face. Its records are here, as in a kind's package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.core import NotFound
from thresher.verbs import Kind, Request

_SHELF = ("ball", "drum", "kite", "train")


@dataclass(frozen=True, slots=True)
class Toys:
    """Some toys.

    Attributes:
        owner: Whose they are.
        names: In order.
        left_out: How many more there are.
    """

    owner: str
    names: tuple[str, ...]
    left_out: int = 0


TOYS = Kind("toys", "tests.verbs.toys")


@TOYS.verb("read")
async def find_toys(
    request: Request,
    name: Annotated[str, Doc("Part of its name")],
    limit: Annotated[int, Ge(1), Le(100), Doc("Most toys")] = 2,
) -> Toys:
    """Toys by name.

    Raises:
        NotFound: No toy has such a name.
    """
    found = tuple(toy for toy in _SHELF if name in toy)
    if not found:
        raise NotFound(f"There is no toy '{name}'.", hint="Ask for another one.")
    return Toys(request.caller.tenant.name, found[:limit], max(0, len(found) - limit))


@TOYS.verb("admin", key="given_away", destroys=True)
async def give_away(request: Request, names: Annotated[tuple[str, ...], Doc("Which")] = ()) -> tuple[str, ...]:
    """Give toys away."""
    return tuple(name for name in names if name in _SHELF)
