"""How a verb is declared: an asynchronous function whose signature and docstring are the declaration.

    TOYS = Kind("toys", "thresher.knowledge.toys")

    @TOYS.verb("read")
    async def find_toy(request: Request, name: Annotated[str, Doc("Part of its name")], limit: Limit = 10) -> Toys:
        '''Toys by name.'''
        return await request.services.toys.find(request.caller, name, limit=limit)

The first parameter is the request; each other one is a parameter of the verb: its type, bounds (`annotated_types`),
description (`Doc`) and default. The first line of the docstring is the sentence that models and people read, and its
section on what it raises lists the errors. The returned record is named by its annotation alone, and looked up in the
kind's package when a face asks for it.

Invariant: declaring imports nothing heavy, and calls nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_type_hints

from typing_extensions import Doc

if TYPE_CHECKING:
    from thresher.core import Caller
    from thresher.llm import Chat
    from thresher.services import Services

Access: TypeAlias = Literal["read", "call", "write", "admin"]
"""Who may: `read` looks, `call` runs tools of others, `write` changes what the caller owns, `admin` configures."""
Function: TypeAlias = Callable[..., Awaitable[Any]]
REQUIRED: Final = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Request:
    """What a verb works with besides its arguments.

    Attributes:
        services: The running product.
        caller: The tenant and user it works for.
        client: Name and version of the caller's client; empty if unknown.
        thread: The caller's conversation or session; empty if unknown.
        chat: The model of the caller's own client; None if it offers none.
        longest: Most characters of a text that a face can do without, such as a patch.
    """

    services: Services
    caller: Caller
    client: str = ""
    thread: str = ""
    chat: Chat | None = None
    longest: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a verb.

    Attributes:
        name: As every face spells it.
        annotation: Its type with bounds, as in the signature.
        description: One phrase.
        default: `REQUIRED` if there is none.
    """

    name: str
    annotation: Any
    description: str
    default: Any

    @property
    def required(self) -> bool:
        """Whether a caller must give it."""
        return self.default is REQUIRED


@dataclass(frozen=True, eq=False)
class Verb:
    """One thing that can be done.

    Attributes:
        kind: The kind that it belongs to.
        access: Who may use it.
        function: Does it: (request, **arguments) -> record.
        key: What a list or text that it returns is called, where a face answers with an object; empty for a record.
        destroys: Whether something is gone afterwards.
    """

    kind: Kind
    access: Access
    function: Function
    key: str = ""
    destroys: bool = False

    @property
    def name(self) -> str:
        """The same on every face."""
        return self.function.__name__

    @cached_property
    def summary(self) -> str:
        """One sentence."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @cached_property
    def errors(self) -> Mapping[str, str]:
        """Names of error classes in `thresher.core`, each with when it is raised."""
        _, _, raised = (inspect.getdoc(self.function) or "").partition("Raises:\n")
        entries = (line.strip().partition(": ") for line in raised.splitlines() if line.strip())
        return {name: text for name, _, text in entries}

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """By name, in order."""
        signature = inspect.signature(self.function)
        _, *names = signature.parameters
        annotations = {name: self.function.__annotations__[name] for name in names}
        hints = get_type_hints(
            SimpleNamespace(__annotations__=annotations), vars(inspect.getmodule(self.function)), include_extras=True
        )
        return {
            name: Parameter(name, hints[name], _description(hints[name]), signature.parameters[name].default)
            for name in names
        }

    @cached_property
    def record(self) -> Any:
        """The type of what it returns. Imports the kind's package."""
        module = vars(inspect.getmodule(self.function)) | vars(import_module(self.kind.package))
        returned = SimpleNamespace(__annotations__={"return": self.function.__annotations__["return"]})
        return get_type_hints(returned, module)["return"]

    async def run(self, request: Request, arguments: Mapping[str, Any]) -> Any:
        """Do it.

        Args:
            request: For whom, and with what.
            arguments: By name; a face has checked them.
        """
        return await self.function(request, **arguments)


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """The verbs of one kind of knowledge.

    Attributes:
        name: Of the kind.
        package: Where its records are.
    """

    name: str
    package: str
    _verbs: dict[str, Verb] = field(default_factory=dict[str, Verb])

    def verb(self, access: Access, *, key: str = "", destroys: bool = False) -> Callable[[Function], Verb]:
        """Declare a function to be a verb of this kind; see `Verb`."""

        def declare(function: Function) -> Verb:
            declared = self._verbs[function.__name__] = Verb(self, access, function, key, destroys)
            return declared

        return declare

    def __getitem__(self, name: str) -> Verb:
        return self._verbs[name]

    def __iter__(self) -> Iterator[Verb]:
        return iter(self._verbs.values())


def _description(annotation: Any) -> str:
    """The last `Doc` of an annotation; the last, so that one in a signature says more than its alias."""
    found = [entry.documentation for entry in getattr(annotation, "__metadata__", ()) if isinstance(entry, Doc)]
    return found[-1] if found else ""
