"""The verbs of the agent's prompts: the shipped texts, and a tenant's own ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from annotated_types import Ge
from typing_extensions import Doc

from thresher.verbs.declaration import Kind, Request

if TYPE_CHECKING:
    from thresher.agent import AgentPrompt

PROMPTS = Kind("prompts", "thresher.agent", remote=False)

Name: TypeAlias = Annotated[str, Doc("The prompt's name")]


@PROMPTS.verb("read", key="prompts")
async def list_prompts(request: Request) -> tuple[AgentPrompt, ...]:
    """The prompts as they are in force: when each is used, and whether its text is the shipped one."""
    return await request.services.prompts.list(request.caller)


@PROMPTS.verb("read")
async def show_prompt(
    request: Request,
    name: Name,
    version: Annotated[int | None, Doc("The one in force by default; 0 is the shipped one")] = None,
) -> AgentPrompt:
    """A prompt as it is in force, or once was.

    Raises:
        NotFound: There is no such prompt, or no such version of it.
    """
    return await request.services.prompts.get(request.caller, name, version)


@PROMPTS.verb("write", idempotent=True)
async def set_prompt(
    request: Request,
    name: Name,
    text: Annotated[str, Doc("All of it, with each of the prompt's variables; at most 20,000 characters")],
    expected: Annotated[
        Annotated[int, Ge(0)] | None, Doc("The version that the text was made from; fails if another is in force")
    ] = None,
) -> AgentPrompt:
    """Give a prompt the tenant's own text, from the next message on.

    Raises:
        NotFound: There is no such prompt.
        InvalidInput: The text is empty, too long, or has other variables.
        NotAllowed: The caller is a user.
        Conflict: Another version is in force by now.
    """
    return await request.services.prompts.put(request.caller, name, text, expected=expected)


@PROMPTS.verb("write", idempotent=True)
async def reset_prompt(request: Request, name: Name) -> AgentPrompt:
    """Go back to the shipped text; the tenant's own stays as a version.

    Raises:
        NotFound: There is no such prompt.
        NotAllowed: The caller is a user.
        Conflict: Others keep changing it at the same time.
    """
    return await request.services.prompts.reset(request.caller, name)


@PROMPTS.verb("read", key="versions")
async def list_prompt_versions(request: Request, name: Name) -> tuple[AgentPrompt, ...]:
    """The versions of a prompt, newest first, at most 200 of them; the shipped one is the last.

    Raises:
        NotFound: There is no such prompt.
    """
    return await request.services.prompts.versions(request.caller, name)


@PROMPTS.verb("read", key="diff")
async def diff_prompt(
    request: Request,
    name: Name,
    old: Annotated[int, Doc("A version; the shipped one by default")] = 0,
    new: Annotated[int | None, Doc("A version; the one in force by default")] = None,
) -> str:
    """What differs between two versions, as a unified diff; empty if nothing does.

    Raises:
        NotFound: There is no such prompt, or no such version of it.
    """
    return await request.services.prompts.diff(request.caller, name, old, new)
