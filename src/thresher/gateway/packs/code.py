"""Loads the `tools.py` of a pack: functions that FastMCP's `@tool` has marked become tools that can be run.

Invariant: exactly the bytes that were hashed, and thereby trusted, are run; nothing is read from a bytecode cache or
put on the module search path, and a failure only affects its own pack or function.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, cast

from fastmcp.decorators import get_fastmcp_meta
from fastmcp.tools import FunctionTool
from fastmcp.tools.function_tool import ToolMeta

from thresher.calling import ADMIN, server_of
from thresher.context import Condition, Provider, Situation
from thresher.core import Tool, UpstreamError, event, mask_text, shortened
from thresher.gateway.packs.threads import Threads
from thresher.knowledge.intents import Pack, file_of
from thresher.knowledge.tools import LocalServer

logger = logging.getLogger("thresher.gateway")

MOST_TOOLS = 200
"""The most tools of one pack; further ones are left out, which is reported."""

_PROBLEM_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Code:
    """A pack's loaded `tools.py`.

    Attributes:
        tools: The tools that can be run, by name.
        definitions: The same as models see them.
        timeouts: The time limits in seconds of single tools.
        variables: Functions that return the values of its rules' own variables, by name.
        condition: Decides whether the pack is available; None: always.
        listed: Names of tools that are in `tools/list` while the pack is available.
        prefix: Whether the pack's name prefixes the names of its tools.
        aliases: Other names by which its tools can be called, each with the tool's name; they are not listed.
        problems: What could not be loaded, one sentence each.
        module: The module's name, while it is in use.
    """

    tools: Mapping[str, FunctionTool] = field(default_factory=dict[str, FunctionTool])
    definitions: tuple[Tool, ...] = ()
    timeouts: Mapping[str, float] = field(default_factory=dict[str, float])
    variables: Mapping[str, Provider] = field(default_factory=dict[str, Provider])
    condition: Condition | None = None
    listed: frozenset[str] = frozenset()
    prefix: bool = True
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: tuple[str, ...] = ()
    module: str = ""

    def servers(self, pack: Pack, *, admin: bool) -> Iterator[LocalServer]:
        """Yield its tools as servers of the catalogue: one for all users and, if requested, one for administration."""
        apart = {name for name, tool in self.tools.items() if ADMIN in tool.tags}
        ours = tuple(one for one in self.definitions if one.name not in apart)
        others = tuple(one for one in self.definitions if one.name in apart)
        if ours:
            yield LocalServer(server_of(pack), ours, pack.description, self.prefix, self.aliases)
        if others and admin:
            yield LocalServer(server_of(pack, ADMIN), others, pack.description, self.prefix, self.aliases)

    def unload(self) -> None:
        """Unload the module; running calls continue."""
        sys.modules.pop(self.module, None)


def load(pack: Pack, threads: Threads) -> Code:
    """Run a pack's `tools.py` and collect its tools. Blocks for as long as that module takes.

    Args:
        pack: A trusted pack with code.
        threads: Run its blocking functions.

    Raises:
        ThresherError: The code is gone, or is not what was hashed.
        BaseException: What the module raises, `SystemExit` included.
    """
    source = file_of(pack, path_of(pack))
    name = f"thresher_pack_{pack.name.replace('-', '_')}_{pack.digest[:16]}"
    module = ModuleType(name)
    module.__file__ = str(pack.code)
    sys.modules[name] = module  # dataclasses and type hints look themselves up there
    try:
        exec(compile(source, str(pack.code), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - trusted code
        return replace(_code(module, pack, threads), module=name)
    except BaseException:
        sys.modules.pop(name, None)
        raise


def path_of(pack: Pack) -> str:
    """Return the path of a pack's code inside its folder; empty if it has none."""
    return "" if pack.code is None else pack.code.relative_to(pack.path).as_posix()


def _code(module: ModuleType, pack: Pack, threads: Threads) -> Code:
    tools: dict[str, FunctionTool] = {}
    timeouts: dict[str, float] = {}
    problems: list[str] = []
    for name, made in _marked(module):
        try:
            tool = _tool(made, threads)
        except Exception as error:  # noqa: BLE001 - an invalid function does not affect the others
            problems.append(f"'{name}' is not a valid tool: {error_text(error)}")
            continue
        if tool is None:
            continue
        if tool.name in tools or len(tools) == MOST_TOOLS:
            why = f"more than {MOST_TOOLS} tools" if tool.name not in tools else f"two tools '{tool.name}'"
            problems.append(f"'{name}' is left out: the pack has {why}.")
            continue
        tools[tool.name] = tool.model_copy(update={"timeout": None})
        if tool.timeout is not None:
            timeouts[tool.name] = tool.timeout
    return Code(
        tools,
        tuple(_definition(tool, server_of(pack)) for tool in tools.values()),
        timeouts,
        variables=_variables(module, threads),
        condition=_condition(module, threads),
        listed=_names(vars(module).get("LISTED")),
        prefix=vars(module).get("PREFIX") is not False,
        aliases=_aliases(vars(module).get("ALIASES")),
        problems=tuple(problems),
    )


def _variables(module: ModuleType, threads: Threads) -> dict[str, Provider]:
    """Return the module's `VARIABLES`: names, each with a function that returns its value in a situation."""
    value = vars(module).get("VARIABLES")
    entries = cast("Mapping[object, object]", value) if isinstance(value, Mapping) else dict[object, object]()
    return {
        str(name): _provider(cast("Callable[[Situation], Any]", function), threads)
        for name, function in entries.items()
        if callable(function)
    }


def _provider(function: Callable[[Situation], Any], threads: Threads) -> Provider:
    asynchronous = function if inspect.iscoroutinefunction(function) else _threaded(function, threads)

    async def value(situation: Situation) -> str | None:
        try:
            found = await asynchronous(situation)
        except (SystemExit, KeyboardInterrupt) as error:
            raise UpstreamError(f"A variable of a pack has no value: {error_text(error)}") from error
        return None if found is None else str(found)

    return value


def _condition(module: ModuleType, threads: Threads) -> Condition | None:
    """Return the module's `READY`: a function that returns whether the pack is available in a situation."""
    ready = vars(module).get("READY")
    if not callable(ready):
        return None
    asynchronous = ready if inspect.iscoroutinefunction(ready) else _threaded(ready, threads)

    async def holds(situation: Situation) -> bool:
        try:
            return bool(await asynchronous(situation))
        except (SystemExit, KeyboardInterrupt) as error:
            raise UpstreamError(f"A pack does not return whether it is available: {error_text(error)}") from error

    return holds


def _names(value: object) -> frozenset[str]:
    """Return the names in a list; none if it is not a list."""
    names = cast("Iterable[object]", value) if isinstance(value, list | tuple | set | frozenset) else ()
    return frozenset(name for name in names if isinstance(name, str))


def _aliases(value: object) -> dict[str, str]:
    """Return the other names in a mapping; none if it is not a mapping."""
    entries = cast("Mapping[object, object]", value) if isinstance(value, Mapping) else dict[object, object]()
    return {alias: name for alias, name in entries.items() if isinstance(alias, str) and isinstance(name, str)}


def _marked(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield what FastMCP's decorators have marked, in the order of the source."""
    seen: set[int] = set()
    for name, made in list(vars(module).items()):
        is_tool = isinstance(made, FunctionTool) or isinstance(get_fastmcp_meta(made), ToolMeta)
        if is_tool and not name.startswith("_") and id(made) not in seen:
            seen.add(id(made))
            yield name, made


def _tool(made: Any, threads: Threads) -> FunctionTool | None:
    """Return a tool whose function never blocks the event loop; None if its author has disabled it.

    Raises:
        ValueError: It is not a valid tool.
    """
    if isinstance(made, FunctionTool):
        tool = made
    else:
        meta = cast("ToolMeta", get_fastmcp_meta(made))
        if not meta.enabled:
            return None
        # We enforce the time limit; no function runs on the loop's own thread.
        tool = FunctionTool.from_function(made, metadata=replace(meta, task=None, timeout=None, run_in_thread=True))
        tool = tool.model_copy(update={"timeout": meta.timeout})
    if tool.auth is not None:
        raise ValueError("it has an `auth` check, which only a FastMCP server runs")
    if inspect.iscoroutinefunction(tool.fn) or inspect.isasyncgenfunction(tool.fn):
        return tool
    return tool.model_copy(update={"fn": _threaded(tool.fn, threads)})


def _threaded(function: Callable[..., Any], threads: Threads) -> Callable[..., Any]:
    """Return a blocking function as an asynchronous one with the same signature."""

    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        return await threads.run(lambda: _whole(function(*args, **kwargs)))

    vars(run)["__signature__"] = inspect.signature(function)
    return run


def _whole(result: Any) -> Any:
    """Return a result that can be read without blocking: a generator's values as a list."""
    return list(cast("Iterator[Any]", result)) if inspect.isgenerator(result) else result


def _definition(tool: FunctionTool, server: str) -> Tool:
    listed = tool.to_mcp_tool()
    annotations = listed.annotations
    return Tool(
        server=server,
        name=listed.name,
        title=listed.title or "",
        description=listed.description or "",
        input_schema=dict(listed.input_schema),
        output_schema=None if listed.output_schema is None else dict(listed.output_schema),
        annotations={} if annotations is None else annotations.model_dump(by_alias=True, exclude_none=True),
    )


def error_text(error: BaseException) -> str:
    """Return an error of a pack's code in one line, without its traceback, which is in the log."""
    if isinstance(error, SystemExit):
        return "it called sys.exit."
    try:
        whole = str(error.msg if isinstance(error, SyntaxError) else error)  # its own text ends with the location
        text = shortened(" ".join(mask_text(whole).split()), _PROBLEM_CHARACTERS)
    except Exception:  # noqa: BLE001 - an error without a readable message
        text = ""
    return f"{type(error).__name__}: {text}" if text else f"{type(error).__name__}."


def error_location(error: BaseException, pack: Pack) -> str:
    """Return where in a pack's code an error arose: ` (tools.py, line 3)`; empty if it did not."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(pack.code)]
    if isinstance(error, SyntaxError) and error.filename == str(pack.code):
        lines.append(error.lineno)
    return f" (tools.py, line {lines[-1]})" if lines else ""


def report(pack: Pack, problem: str) -> None:
    """Log what could not be loaded."""
    event(logger, "pack_code", level=logging.WARNING, pack=pack.name, path=str(pack.path), problem=problem)
