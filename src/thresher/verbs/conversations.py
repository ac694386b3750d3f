"""The verbs of conversations: questions without a model, threads, settings, chat models and prompts."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind

if TYPE_CHECKING:
    from thresher.agent import AgentPrompt, AssistantAnswer, Model, ModelCheck, Points, SettingsView, Thread, ThreadPage
    from thresher.verbs.request import Request

ASSISTANT = Kind("assistant", "thresher.agent")
THREADS = Kind("threads", "thresher.agent", remote=False)
SETTINGS = Kind("settings", "thresher.agent")
PROMPTS = Kind("prompts", "thresher.agent", remote=False)

ThreadId: TypeAlias = Annotated[str, Doc("The thread's id")]
Title: TypeAlias = Annotated[str, Doc("One line, at most 200 characters")]
Cursor: TypeAlias = Annotated[str, Doc("Of an earlier page: what comes after it")]
Limit: TypeAlias = Annotated[int, Ge(1), Le(200), Doc("Most entries")]
ThreadSettings: TypeAlias = Annotated[
    dict[str, Any], Doc("What differs from the caller's settings, as `/v1/settings` has them; null takes a choice back")
]
Tenant: TypeAlias = Annotated[str | None, Doc("The tenant's name; the caller's own by default")]
ModelName: TypeAlias = Annotated[str, Doc("The model's name")]
SettingsThread: TypeAlias = Annotated[
    str | None, Doc("The id of a thread, for it alone; all of the caller's by default")
]
PromptName: TypeAlias = Annotated[str, Doc("The prompt's name")]
_NO_SETTINGS: dict[str, Any] = {}


@ASSISTANT.verb("call")
async def ask(
    request: Request,
    query: Annotated[str, Doc("The question, in any words; it may continue from the last ones of its conversation")],
    context: Annotated[str | None, Doc("What the conversation is about")] = None,
    session_id: Annotated[
        str | None, Doc("Identifies the conversation, as its last answer did; without one, a new one begins")
    ] = None,
) -> AssistantAnswer:
    """What is known about a question, over every kind that is installed, without a model.

    Raises:
        InvalidInput: The question is empty or too long.
        NotFound: There is no such conversation.
    """
    return await request.services.assistant.ask(
        request.caller, query, context=context or "", session_id=session_id or ""
    )


@THREADS.verb("read")
async def list_threads(
    request: Request,
    cursor: Cursor = "",
    limit: Limit = 50,
    query: Annotated[str, Doc("Words of the title: only these threads")] = "",
) -> ThreadPage:
    """The caller's threads, the ones used last first.

    Raises:
        InvalidInput: The limit is out of bounds.
        InvalidCursor: The cursor belongs to another list.
    """
    return await request.services.threads.list(request.caller, cursor=cursor, limit=limit, query=query)


@THREADS.verb("write")
async def create_thread(request: Request, title: Title = "", settings: ThreadSettings = _NO_SETTINGS) -> Thread:
    """Create a thread; an answer in a thread that does not exist creates it, too.

    Raises:
        InvalidInput: The title or a setting is not valid.
        NotFound: The settings name a model or connection that does not exist.
    """
    threads = request.services.threads
    async with AsyncExitStack() as undo:
        thread = await threads.create(request.caller, title)
        undo.push_async_callback(threads.delete, request.caller, thread.id)
        await request.services.chat_settings.put(request.caller, settings, thread.id)
        undo.pop_all()
    return await threads.get(request.caller, thread.id)


@THREADS.verb("read")
async def show_thread(request: Request, thread: ThreadId) -> Thread:
    """One thread; `/v1/chat/history` has its messages.

    Raises:
        InvalidInput: The id is not valid.
        NotFound: The caller has no such thread.
    """
    return await request.services.threads.get(request.caller, thread)


@THREADS.verb("write", idempotent=True)
async def change_thread(
    request: Request,
    thread: ThreadId,
    title: Annotated[str | None, Doc("One line, at most 200 characters; unchanged if omitted")] = None,
    settings: Annotated[dict[str, Any] | None, Doc("As of a new thread; the other settings are unchanged")] = None,
) -> Thread:
    """Change the title or settings of a thread.

    Raises:
        InvalidInput: The id, the title or a setting is not valid.
        NotFound: The caller has no such thread, or there is no such model or connection.
    """
    if settings is not None:
        await request.services.chat_settings.put(request.caller, settings, thread)
    if title is not None:
        await request.services.threads.rename(request.caller, thread, title)
    return await request.services.threads.get(request.caller, thread)


@THREADS.verb("write", idempotent=True)
async def rename_thread(request: Request, thread: ThreadId, title: Title) -> Thread:
    """Change the title of a thread.

    Raises:
        InvalidInput: The id or the title is not valid.
        NotFound: The caller has no such thread.
    """
    return await request.services.threads.rename(request.caller, thread, title)


@THREADS.verb("write", key="deleted", destroys=True)
async def delete_thread(request: Request, thread: ThreadId) -> str:
    """Remove a thread and all that is stored of it; its forks stay.

    Raises:
        InvalidInput: The id is not valid.
        NotFound: The caller has no such thread.
        Conflict: A turn of it is being answered.
    """
    await request.services.threads.delete(request.caller, thread)
    return thread


@THREADS.verb("write")
async def fork_thread(
    request: Request,
    thread: ThreadId,
    at: Annotated[str, Doc("The id of one of its states; the last one by default")] = "",
    title: Annotated[str | None, Doc("One line, at most 200 characters; that of the thread by default")] = None,
) -> Thread:
    """Create a thread that starts from a state of this one.

    Raises:
        InvalidInput: An id or the title is not valid.
        NotFound: The caller has no such thread, or it has no such state.
    """
    return await request.services.threads.fork(request.caller, thread, at=at, title=title)


@THREADS.verb("read")
async def list_states(request: Request, thread: ThreadId, cursor: Cursor = "", limit: Limit = 50) -> Points:
    """The states of a thread, newest first; it can be forked at each.

    Raises:
        InvalidInput: The id is not valid.
        InvalidCursor: The cursor belongs to another thread.
        NotFound: The caller has no such thread.
    """
    return await request.services.threads.history(request.caller, thread, cursor=cursor, limit=limit)


@SETTINGS.verb("read")
async def show_settings(request: Request, thread: SettingsThread = None) -> SettingsView:
    """What holds in the caller's conversations, or in one, and where each value comes from.

    Raises:
        InvalidInput: The thread's id is not valid.
        NotFound: There is no such thread.
    """
    return await request.services.chat_settings.get(request.caller, thread)


@SETTINGS.verb("write", idempotent=True)
async def set_settings(
    request: Request,
    changes: Annotated[dict[str, Any], Doc("Value by field of the settings; null takes a choice back")],
    thread: SettingsThread = None,
) -> SettingsView:
    """Choose for the caller's conversations, or for one, from the next message on.

    Raises:
        InvalidInput: A field or its value is not valid, or the thread's id is not.
        NotFound: There is no such thread, model or connection.
    """
    return await request.services.chat_settings.put(request.caller, changes, thread)


@SETTINGS.verb("read")
async def approval_floor(request: Request, tenant: Tenant = None) -> dict[str, str]:
    """The least approval that holds for all callers of a tenant.

    Raises:
        NotAllowed: A tenant is named, and the caller is not the owner of the data folder.
        NotFound: There is no such tenant.
    """
    caller = await request.caller_in(tenant)
    return {"tenant": caller.tenant.name, "floor": await request.services.chat_settings.floor(caller)}


@SETTINGS.verb("admin", idempotent=True)
async def set_approval_floor(
    request: Request, floor: Annotated[str, Doc("As `approval` of the settings")], tenant: Tenant = None
) -> dict[str, str]:
    """Set the least approval for all callers of a tenant.

    Raises:
        NotAllowed: The caller is not the owner of the data folder.
        InvalidInput: The floor is not valid.
        NotFound: There is no such tenant.
    """
    caller = replace(request.caller, tenant=await request.tenant(tenant), user=None)
    return {"tenant": caller.tenant.name, "floor": await request.services.chat_settings.set_floor(caller, floor)}


@SETTINGS.verb("read", key="models")
async def list_models(request: Request) -> tuple[Model, ...]:
    """The chat models: that of THRESHER_LLM_URL, the caller's own ones, the tenant's."""
    return await request.services.models.list(request.caller)


@SETTINGS.verb("read")
async def show_model(request: Request, name: ModelName) -> Model:
    """One chat model.

    Raises:
        NotFound: There is no such model.
    """
    return await request.services.models.get(request.caller, name)


@SETTINGS.verb("admin")
async def add_model(
    request: Request,
    name: Annotated[str, Doc("Letters, digits, hyphens, dots, underscores")],
    url: Annotated[str, Doc("The service's address, such as http://127.0.0.1:11434/v1")],
    model: Annotated[str, Doc("The service's name for it, such as qwen3:8b")],
    key: Annotated[str | None, Doc("Sent as a bearer token; kept encrypted, and never shown")] = None,
    replace: Annotated[bool, Doc("Give an existing name this model")] = False,
) -> Model:
    """Register a chat model; callers with a key only on hosts that the owner of the server named.

    Raises:
        InvalidInput: The name, the address, the model's name or the key is not valid.
        NotAllowed: The caller has a key, and the settings do not name the host.
        Conflict: The name is taken.
    """
    return await request.services.models.add(request.caller, name, url, model, key=key, replace=replace)


@SETTINGS.verb("admin", idempotent=True)
async def switch_model(
    request: Request, name: ModelName, enabled: Annotated[bool, Doc("Whether conversations may use it")]
) -> Model:
    """Let conversations use a model, or not.

    Raises:
        NotFound: There is no such model.
        NotAllowed: It is not the caller's own.
    """
    change = request.services.models.enable if enabled else request.services.models.disable
    return await change(request.caller, name)


@SETTINGS.verb("admin", key="removed", destroys=True)
async def remove_model(request: Request, name: ModelName) -> str:
    """Forget a model and its key.

    Raises:
        NotFound: There is no such model.
        NotAllowed: It is not the caller's own.
    """
    await request.services.models.remove(request.caller, name)
    return name


@SETTINGS.verb("read")
async def check_model(request: Request, name: ModelName) -> ModelCheck:
    """Ask a model something harmless, also while it is disabled; how long it took, and what it says.

    Raises:
        NotFound: There is no such model.
    """
    return await request.services.models.check(request.caller, name)


@PROMPTS.verb("read", key="prompts")
async def list_prompts(request: Request) -> tuple[AgentPrompt, ...]:
    """The prompts as they are in force: when each is used, and whether its text is the shipped one."""
    return await request.services.prompts.list(request.caller)


@PROMPTS.verb("read")
async def show_prompt(
    request: Request,
    name: PromptName,
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
    name: PromptName,
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
async def reset_prompt(request: Request, name: PromptName) -> AgentPrompt:
    """Go back to the shipped text; the tenant's own stays as a version.

    Raises:
        NotFound: There is no such prompt.
        NotAllowed: The caller is a user.
        Conflict: Others keep changing it at the same time.
    """
    return await request.services.prompts.reset(request.caller, name)


@PROMPTS.verb("read", key="versions")
async def list_prompt_versions(request: Request, name: PromptName) -> tuple[AgentPrompt, ...]:
    """The versions of a prompt, newest first, at most 200 of them; the shipped one is the last.

    Raises:
        NotFound: There is no such prompt.
    """
    return await request.services.prompts.versions(request.caller, name)


@PROMPTS.verb("read", key="diff")
async def diff_prompt(
    request: Request,
    name: PromptName,
    old: Annotated[int, Doc("A version; the shipped one by default")] = 0,
    new: Annotated[int | None, Doc("A version; the one in force by default")] = None,
) -> str:
    """What differs between two versions, as a unified diff; empty if nothing does.

    Raises:
        NotFound: There is no such prompt, or no such version of it.
    """
    return await request.services.prompts.diff(request.caller, name, old, new)
