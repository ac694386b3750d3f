"""How a verb is declared: an asynchronous function whose signature and docstring are the declaration.

    TOYS = Kind("toys", "thresher.knowledge.toys")

    @TOYS.verb("read")
    async def find_toy(request: Request, name: Annotated[str, Doc("Part of its name")], limit: Limit = 10) -> Toys:
        '''Toys by name.'''
        return await request.services.toys.find(request.caller, name, limit=limit)

The first parameter is the request; each other one is a parameter of the verb: its type, bounds (`annotated_types`),
description (`Doc`) and default. Parameters that several verbs share, of which None means that the caller omits them,
are a `TypedDict`: `**properties: Unpack[ToyProperties]`. The first line of the docstring is the sentence that models
and people read, and its section `Raises` lists the errors. The returned record is only named by its annotation, and
looked up in the kind's package when a face needs it.

Invariant: declaring imports nothing heavy, and calls nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args, get_type_hints

from typing_extensions import Doc

if TYPE_CHECKING:
    from thresher.verbs.request import Request

Access: TypeAlias = Literal["read", "call", "write", "admin"]
"""Who may: `read` looks, `call` runs tools of others, `write` changes what the caller owns, `admin` configures."""
Function: TypeAlias = Callable[..., Awaitable[Any]]
REQUIRED: Final = inspect.Parameter.empty


def implementation(module: str) -> ModuleType:
    """Import a module of this package that runs verbs: declaring them does without what it imports."""
    return import_module(f"thresher.verbs.{module}")


class Exact:
    """Annotates a number that is neither written as text nor `true` or `false`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(source) | {"strict": True}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a verb.

    Attributes:
        name: The same on every face.
        annotation: Its type with bounds, as in the signature.
        default: `REQUIRED` if there is none.
    """

    name: str
    annotation: Any
    default: Any

    @property
    def description(self) -> str:
        """The last `Doc` of the annotation: one in a signature overrides that of an alias."""
        entries = getattr(self.annotation, "__metadata__", ())
        found = [entry.documentation for entry in entries if isinstance(entry, Doc)]
        return found[-1] if found else ""

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb.

    Attributes:
        kind: The kind that it belongs to.
        access: Who may use it.
        function: Runs it: (request, **arguments) -> record.
        key: The name of a returned list or text in an answer that is an object; empty for a record.
        destroys: Whether it removes something.
        idempotent: Whether a second call with the same arguments has no further effect.
    """

    kind: Kind
    access: Access
    function: Function
    key: str = ""
    destroys: bool = False
    idempotent: bool = False

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
        """By name, in order; parameters that verbs share come before keyword-only ones."""
        module = vars(inspect.getmodule(self.function))
        _, *written = inspect.signature(self.function).parameters.values()
        annotations = {one.name: self.function.__annotations__[one.name] for one in written}
        hints = get_type_hints(SimpleNamespace(__annotations__=annotations), module, include_extras=True)
        listed = [one for one in written if one.kind is one.POSITIONAL_OR_KEYWORD]
        found = [Parameter(one.name, hints[one.name], one.default) for one in listed]
        for one in written:
            if one.kind is one.VAR_KEYWORD:
                shared = get_type_hints(get_args(hints[one.name])[0], include_extras=True)
                found += [Parameter(name, annotation, None) for name, annotation in shared.items()]
        found += [Parameter(one.name, hints[one.name], one.default) for one in written if one.kind is one.KEYWORD_ONLY]
        return {one.name: one for one in found}

    @cached_property
    def record(self) -> Any:
        """The type that it returns. Imports the kind's package."""
        packages = ("thresher.core", self.kind.package, self.function.__module__)
        names = {name: value for package in packages for name, value in vars(import_module(package)).items()}
        returned = SimpleNamespace(__annotations__={"return": self.function.__annotations__["return"]})
        return get_type_hints(returned, names)["return"]

    async def run(self, request: Request, arguments: Mapping[str, Any]) -> Any:
        """Run the verb.

        Args:
            request: The caller, the services, and what the face can do.
            arguments: By name; a face has checked them.
        """
        return await self.function(request, **arguments)


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """The verbs of one kind of knowledge.

    Attributes:
        name: The kind's name.
        package: The package of its records.
        remote: Whether its verbs reach other machines, such as a database or a service.
        files: Whether its verbs write texts to files, which cannot contain lone surrogates.
        local: Whether only commands on this machine use its verbs.
    """

    name: str
    package: str
    remote: bool = True
    files: bool = False
    local: bool = False
    _verbs: dict[str, Verb] = field(default_factory=dict[str, Verb])

    def verb(
        self, access: Access, *, key: str = "", destroys: bool = False, idempotent: bool = False
    ) -> Callable[[Function], Verb]:
        """Declare a function as a verb of this kind; see `Verb`."""

        def declare(function: Function) -> Verb:
            declared = self._verbs[function.__name__] = Verb(self, access, function, key, destroys, idempotent)
            return declared

        return declare

    def imported(self, name: str) -> Any:
        """A function of the kind's package, which is imported when a verb is run."""
        return getattr(import_module(self.package), name)

    def __getitem__(self, name: str) -> Verb:
        return self._verbs[name]

    def __iter__(self) -> Iterator[Verb]:
        return iter(self._verbs.values())
