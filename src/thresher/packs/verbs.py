"""Makes tools of packs out of verbs: the verb's declaration, and how its answer reads for a model.

Invariant: name, sentence, parameters and bounds are the declaration's; a pack only adds the text. What a person must
confirm is not done without, and a person who has declined is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from inspect import Parameter as Argument
from inspect import Signature, signature
from typing import Annotated, Any

from fastmcp.tools import FunctionTool, ToolResult
from mcp_types import ToolAnnotations
from pydantic import Field

from thresher.core import Unconfirmed
from thresher.packs.request import current
from thresher.packs.results import result
from thresher.verbs import Parameter, Request, Verb

_LONGEST = 60_000
"""The most characters of a patch in an answer to a model; a longer one is for a program or a person."""
Adjust = Callable[[dict[str, Any]], dict[str, Any]]


def tool_of(
    verb: Verb,
    text: Callable[..., str | ToolResult],
    *,
    without: Sequence[str] = (),
    instead: Sequence[Parameter] = (),
    adjust: Adjust = lambda arguments: arguments,
    name: str = "",
    summary: str = "",
    hints: ToolAnnotations | None = None,
) -> FunctionTool:
    """Return a verb as a tool.

    Args:
        verb: The verb.
        text: Returns what a model reads of an answer, or the whole result. Its further parameters are arguments of the
            call, by name.
        without: Parameters that a model does not decide.
        instead: Parameters with other bounds or another default for a model.
        adjust: Changes the arguments before the verb runs, for example the budget that the text needs.
        name: The tool's name, where a verb is several tools; the verb's by default.
        summary: What it does in a sentence, likewise.
        hints: Whether it reads or writes, likewise.
    """
    read = [one for one in [*signature(text).parameters][1:] if one in verb.parameters]

    async def run(**arguments: Any) -> ToolResult:
        request = current()
        request = replace(request, thread=request.caller.client, longest=_LONGEST, reader="model")
        answer = await _confirmed(verb, request, adjust(arguments))
        shown = text(answer, **{one: arguments[one] for one in read})
        return shown if isinstance(shown, ToolResult) else result({verb.key: answer} if verb.key else answer, shown)

    run.__name__, run.__doc__ = name or verb.name, summary or verb.summary
    changed = {one.name: one for one in instead}
    offered = [changed.get(key, one) for key, one in verb.parameters.items() if key not in without]
    run.__signature__ = Signature([_argument(one) for one in offered], return_annotation=ToolResult)  # pyright: ignore[reportFunctionMemberAccess] - what FastMCP reads
    run.__annotations__ = {one.name: _annotation(one) for one in offered} | {"return": ToolResult}
    return FunctionTool.from_function(
        run, annotations=hints or _hints(verb), tags={"admin"} if verb.access == "admin" else set[str]()
    )


async def _confirmed(verb: Verb, request: Request, arguments: dict[str, Any]) -> Any:
    """Run a verb; if it must be confirmed and the call does not do so, ask the person behind the client.

    Raises:
        Unconfirmed: The person cannot be asked, or declined; nothing was changed.
    """
    try:
        return await verb.run(request, arguments)
    except Unconfirmed as refusal:
        if arguments["confirm"]:
            raise
        question = refusal.message
    match await request.confirm(f"{question} Do it?"):
        case True:
            return await verb.run(request, {**arguments, "confirm": True})
        case False:
            hint = "Nothing was changed. Leave it, unless the person asks for it again."
            raise Unconfirmed(f"The person was asked and did not agree. {question}", hint=hint)
        case None:
            hint = "Ask the person; if they agree, make the same call with confirm: true."
            raise Unconfirmed(question, hint=hint)


def _argument(parameter: Parameter) -> Argument:
    default = Argument.empty if parameter.required else parameter.default
    return Argument(parameter.name, Argument.KEYWORD_ONLY, annotation=_annotation(parameter), default=default)


def _annotation(parameter: Parameter) -> Any:
    return Annotated[parameter.annotation, Field(description=parameter.description or None)]


def _hints(verb: Verb) -> ToolAnnotations:
    if verb.access == "read":
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=verb.destroys,
        idempotent_hint=verb.idempotent or None,
        open_world_hint=verb.kind.remote and not (verb.destroys or verb.idempotent),
    )
