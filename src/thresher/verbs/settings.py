"""The verbs of conversations' settings, and of the chat models that answer in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typing_extensions import Doc

from thresher.verbs.declaration import Kind, Request

if TYPE_CHECKING:
    from thresher.agent import Model, ModelCheck, SettingsView

SETTINGS = Kind("settings", "thresher.agent")

Name: TypeAlias = Annotated[str, Doc("The model's name")]
Thread: TypeAlias = Annotated[str | None, Doc("The id of a thread, for it alone; all of the caller's by default")]


@SETTINGS.verb("read")
async def show_settings(request: Request, thread: Thread = None) -> SettingsView:
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
    thread: Thread = None,
) -> SettingsView:
    """Choose for the caller's conversations, or for one, from the next message on.

    Raises:
        InvalidInput: A field or its value is not valid, or the thread's id is not.
        NotFound: There is no such thread, model or connection.
    """
    return await request.services.chat_settings.put(request.caller, changes, thread)


@SETTINGS.verb("read", key="models")
async def list_models(request: Request) -> tuple[Model, ...]:
    """The chat models: that of THRESHER_LLM_URL, the caller's own ones, the tenant's."""
    return await request.services.models.list(request.caller)


@SETTINGS.verb("read")
async def show_model(request: Request, name: Name) -> Model:
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
    request: Request, name: Name, enabled: Annotated[bool, Doc("Whether conversations may use it")]
) -> Model:
    """Let conversations use a model, or not.

    Raises:
        NotFound: There is no such model.
        NotAllowed: It is not the caller's own.
    """
    change = request.services.models.enable if enabled else request.services.models.disable
    return await change(request.caller, name)


@SETTINGS.verb("admin", key="removed", destroys=True)
async def remove_model(request: Request, name: Name) -> str:
    """Forget a model and its key.

    Raises:
        NotFound: There is no such model.
        NotAllowed: It is not the caller's own.
    """
    await request.services.models.remove(request.caller, name)
    return name


@SETTINGS.verb("read")
async def check_model(request: Request, name: Name) -> ModelCheck:
    """Ask a model something harmless, also while it is disabled; how long it took, and what it says.

    Raises:
        NotFound: There is no such model.
    """
    return await request.services.models.check(request.caller, name)
