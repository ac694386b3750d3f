"""Imports modules of components, each by itself, and collects what they register.

FastMCP's file-system provider finds what decorators have marked; that provider itself does not accept modules with
`register`, and only logs failures.

Invariant: whatever a module does, except ending the process, the others are loaded, and its report says what it did.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from fastmcp import FastMCP
from fastmcp.prompts import Prompt
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.providers.filesystem_discovery import extract_components, import_module_from_file
from fastmcp.tools import Tool

from thresher.components.auth import Auth
from thresher.components.proxies import naming
from thresher.components.report import FileReport
from thresher.components.thread import ConversationMiddleware
from thresher.core import mask_text, shortened

LOAD_SECONDS = 10.0
"""The time limit of one module, for import and `register` together."""
_THREAD = "thresher component"
_PROBLEM_CHARACTERS = 400


@dataclass(slots=True)
class Loaded:
    """What has been loaded so far.

    Attributes:
        server: Serves it.
        servers: The servers that modules of `proxies/` have named, with their configurations.
        files: One report for each module.
        taken: The module of each name of a tool, prompt or resource.
    """

    server: FastMCP[Any] = field(default_factory=lambda: FastMCP("components", middleware=[ConversationMiddleware()]))
    servers: dict[str, Any] = field(default_factory=dict[str, Any])
    files: list[FileReport] = field(default_factory=list[FileReport])
    taken: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])


async def load_served(loaded: Loaded, root: Path, name: str, auth: Auth, seconds: float = LOAD_SECONDS) -> bool:
    """Load a module of tools, prompts and resources: all of it, or nothing.

    Args:
        loaded: What it is added to.
        root: The folder of components.
        name: The module, relative to it.
        auth: An argument of its `register`.
        seconds: The time limit.

    Returns:
        Whether it still runs after the time limit: only the end of the process ends it.
    """
    part: FastMCP[Any] = FastMCP(name)
    try:
        async with asyncio.timeout(seconds):
            module = await _apart(lambda: _imported(root, name))
            for component in extract_components(module):
                _add(part, component)
            await _register(module, part, auth)
            report, clashes = await _described(part, name, loaded.taken)
    except TimeoutError:
        loaded.files.append(FileReport(name, problem=f"It was not loaded within {seconds:g} s."))
        return _runs_on()
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - an error of a module only affects itself
        _note(loaded, root, name, error)
    else:
        if not clashes:
            loaded.server.mount(part)
            loaded.taken |= {(kind, one): name for kind in _NAMES for one in getattr(report, kind)}
        loaded.files.append(FileReport(name, problem=clashes) if clashes else report)
    return False


async def load_proxies(loaded: Loaded, root: Path, name: str, auth: Auth, seconds: float = LOAD_SECONDS) -> bool:
    """Load a module of `proxies/`: the servers that it adds with `add_server`, all or none. See `load_served`."""
    with naming(loaded.servers) as named:
        try:
            async with asyncio.timeout(seconds):
                module = await _apart(lambda: _imported(root, name))
                await _register(module, FastMCP(name), auth)
        except TimeoutError:
            loaded.files.append(FileReport(name, problem=f"It was not loaded within {seconds:g} s."))
            return _runs_on()
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - an error of a module only affects itself
            _note(loaded, root, name, error)
        else:
            mine = tuple(one for one in named if one not in loaded.servers)
            problem = "" if mine else "It does not call add_server."
            loaded.servers = named
            loaded.files.append(FileReport(name, servers=mine, problem=problem))
    return False


_NAMES = ("tools", "prompts", "resources")


def _imported(root: Path, name: str) -> ModuleType:
    path = root / name
    if path.stem in sys.stdlib_module_names:
        importlib.import_module(path.stem)  # a `calendar.py` here must not replace the standard `calendar` for all
    return import_module_from_file(path, provider_root=root)


def _add(part: FastMCP[Any], component: object) -> None:
    match component:
        case Tool():
            part.add_tool(component)
        case Prompt():
            part.add_prompt(component)
        case ResourceTemplate():
            part.add_template(component)
        case Resource():
            part.add_resource(component)
        case _:
            raise TypeError(f"{type(component).__name__} is not a component")


async def _register(module: ModuleType, part: FastMCP[Any], auth: Auth) -> None:
    """Call the module's `register(mcp)` or `register(mcp, auth)`, if it has one; it may be asynchronous."""
    register = vars(module).get("register")
    if not callable(register):
        return
    parameters = [
        one
        for one in inspect.signature(register).parameters.values()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    arguments = (part, auth) if len(parameters) > 1 else (part,)
    if inspect.iscoroutinefunction(register):
        await register(*arguments)
        return
    answer = await _apart(lambda: register(*arguments))
    if inspect.isawaitable(answer):
        await answer


async def _described(part: FastMCP[Any], name: str, taken: Mapping[tuple[str, str], str]) -> tuple[FileReport, str]:
    """Return the report of a module, and the names that other modules already have."""
    tools = tuple(tool.name for tool in await part.list_tools(run_middleware=False))
    prompts = tuple(prompt.name for prompt in await part.list_prompts(run_middleware=False))
    resources = [str(resource.uri) for resource in await part.list_resources(run_middleware=False)]
    resources += [each.uri_template for each in await part.list_resource_templates(run_middleware=False)]
    report = FileReport(name, tools, prompts, tuple(resources))
    clashes = [
        f"'{one}' is in {taken[kind, one]} already."
        for kind in _NAMES
        for one in getattr(report, kind)
        if (kind, one) in taken
    ]
    if clashes:
        return report, " ".join(["It is left out:", *clashes, "Rename it here or there."])
    empty = not (tools or prompts or resources)
    return replace(report, problem="It registers nothing." if empty else ""), ""


def _runs_on() -> bool:
    return any(thread.name == _THREAD for thread in threading.enumerate())


async def _apart(work: Callable[[], Any]) -> Any:
    """Run a function in a separate thread, which does not keep the process from ending if it hangs."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_result((result, error))

    def run() -> None:
        result, failure = None, None
        try:
            result = context.run(work)
        except BaseException as error:  # noqa: BLE001 - SystemExit too: it is the module's, not ours
            failure = error
        loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name=_THREAD, daemon=True).start()
    result, failure = await done
    if failure is not None:
        raise failure
    return result


def _note(loaded: Loaded, root: Path, name: str, error: BaseException) -> None:
    """Report a module that failed; its traceback goes to standard error."""
    traceback.print_exception(error)
    loaded.files.append(FileReport(name, problem=f"{_error_text(error)}{_error_location(root, error)}"))


def _error_text(error: BaseException) -> str:
    """Return an error in one line: the one that FastMCP wraps, if any."""
    cause = _cause(error)
    if isinstance(cause, SystemExit):
        return "It called sys.exit."
    try:
        whole = str(cause.msg if isinstance(cause, SyntaxError) else cause)  # its own text ends with the location
        text = shortened(" ".join(mask_text(whole).split()), _PROBLEM_CHARACTERS)
    except Exception:  # noqa: BLE001 - an error without a readable message
        text = ""
    return f"{type(cause).__name__}: {text}" if text else f"{type(cause).__name__}."


def _cause(error: BaseException) -> BaseException:
    return error.__cause__ if isinstance(error, ImportError) and error.__cause__ is not None else error


def _error_location(root: Path, error: BaseException) -> str:
    """Return where in the folder an error arose."""
    cause = _cause(error)
    frames = traceback.extract_tb(cause.__traceback__)
    places = [f"{Path(one.filename).name}, line {one.lineno}" for one in frames if one.filename.startswith(f"{root}/")]
    if isinstance(cause, SyntaxError) and cause.filename and cause.filename.startswith(f"{root}/"):
        places.append(f"{Path(cause.filename).name}, line {cause.lineno}")
    return f" ({places[-1]})" if places else ""
