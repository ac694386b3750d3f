"""The verbs that tune the search for tools: what owners say of them, what use has taught, what was trained.

Their kind is that of tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from typing_extensions import Doc

from thresher.verbs.tools import TOOLS, Tenant, ToolName

if TYPE_CHECKING:
    from thresher.knowledge.tools import (
        LearningState,
        Replay,
        ToolCategory,
        ToolQuestions,
        ToolRewrite,
        ToolWords,
        TrainingResult,
        TrainingState,
    )
    from thresher.verbs.request import Request

__all__ = ["TOOLS"]

ListedName: TypeAlias = Annotated[str | None, Doc("Only this tool")]
CategoryName: TypeAlias = Annotated[str, Doc("The category's name")]


@TOOLS.verb("read")
async def learned_tools(request: Request, tenant: Tenant = None) -> LearningState:
    """What the ranking of tools has learned from their use, and whether it counts.

    Raises:
        NotAllowed: A tenant is named, and the caller is not the owner of the data folder.
    """
    return await request.services.tools.learning.state(await request.caller_in(tenant))


@TOOLS.verb("read")
async def replay_learning(request: Request, tenant: Tenant = None) -> Replay:
    """What learning from use would have changed, computed from the log.

    Raises:
        NotAllowed: A tenant is named, and the caller is not the owner of the data folder.
    """
    return await request.services.tools.learning.replay(await request.caller_in(tenant))


@TOOLS.verb("admin", idempotent=True)
async def set_learning(
    request: Request,
    mode: Annotated[Literal["off", "shadow", "on"], Doc("off: nothing is recorded; shadow: uses are; on: they count")],
    tenant: Tenant = None,
) -> LearningState:
    """Decide for a tenant whether tools that were used after like messages rank higher.

    Raises:
        NotAllowed: The caller is one of the tenant's users, or THRESHER_LEARNING is off.
    """
    return await request.services.tools.learning.decide(await request.caller_in(tenant), mode)


@TOOLS.verb("admin", key="removed", destroys=True, idempotent=True)
async def unlearn_tools(
    request: Request,
    names: Annotated[list[str] | None, Doc("Of these tools; of all by default")] = None,
    tenant: Tenant = None,
) -> int:
    """Erase what was learned from use: the caller's own uses, or the whole tenant's; how many.

    Raises:
        InvalidInput: The list of names is empty.
        NotFound: No tool has this name.
        NotAllowed: A tenant is named, and the caller is not the owner of the data folder.
    """
    return await request.services.tools.learning.forget(await request.caller_in(tenant), names)


@TOOLS.verb("read")
async def show_training(request: Request, tenant: Tenant = None) -> TrainingState:
    """What was trained on a tenant's own messages, what that gained, and whether searches use it.

    Raises:
        NotAllowed: A tenant is named, and the caller is not the owner of the data folder.
    """
    return await request.services.tools.training.state(await request.caller_in(tenant))


@TOOLS.verb("admin", idempotent=True)
async def train_tools(
    request: Request,
    examples: Annotated[
        list[dict[str, Any]] | None,
        Doc(
            'Messages with the tools they need, {"query", "relevant": ["server/name", ...]}; by default the log of uses'
        ),
    ] = None,
    tenant: Tenant = None,
) -> TrainingResult:
    """Fit the vectors of tools to a tenant's own messages, and keep that if it gains on messages that were left out.

    Raises:
        Conflict: Uses were erased meanwhile.
        InvalidInput: An example is not valid, or none names a tool that is there.
        NotAllowed: The caller is one of the tenant's users, or names a tenant and is not the owner of the data folder.
    """

    def follow(done: int, total: int) -> None:
        request.progress({"stage": "Training", "done": done, "total": total})

    return await request.services.tools.training.train(await request.caller_in(tenant), examples, follow)


@TOOLS.verb("admin", key="removed", destroys=True, idempotent=True)
async def remove_training(request: Request, tenant: Tenant = None) -> bool:
    """Remove what was trained on a tenant's own messages; whether there was anything.

    Raises:
        NotAllowed: The caller is one of the tenant's users, or names a tenant and is not the owner of the data folder.
    """
    return await request.services.tools.training.remove(await request.caller_in(tenant))


@TOOLS.verb("admin", idempotent=True)
async def add_tool_words(
    request: Request, name: ToolName, words: Annotated[list[str], Doc("Words, phrases or example messages")]
) -> ToolWords:
    """Add words that the search counts like those of a tool's description; models do not read them.

    Raises:
        InvalidInput: There are none, too many, or one that is too long or has nothing to search for.
        NotFound: No tool has this name.
        NotAllowed: The server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.texts.add_words(request.caller, name, words)


@TOOLS.verb("read", key="tools")
async def list_tool_words(request: Request, name: ListedName = None) -> tuple[ToolWords, ...]:
    """The words that owners gave their tools, also those of tools that are gone.

    Raises:
        NotFound: No tool has this name.
    """
    return await request.services.tools.texts.words(request.caller, name)


@TOOLS.verb("admin", destroys=True)
async def remove_tool_words(
    request: Request, name: ToolName, words: Annotated[list[str] | None, Doc("Only these; all by default")] = None
) -> ToolWords:
    """Remove words of a tool.

    Raises:
        InvalidInput: The list of words is empty.
        NotFound: No tool has this name, or it does not have one of the words.
        NotAllowed: The server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.texts.remove_words(request.caller, name, words)


@TOOLS.verb("admin", idempotent=True)
async def apply_tool_rewrite(
    request: Request,
    name: ToolName,
    description: Annotated[str | None, Doc("The description; by default what the rules propose")] = None,
) -> ToolRewrite:
    """Search for a tool by another description until its definition changes; models read the server's own.

    Raises:
        InvalidInput: The description is too long or has nothing to search for.
        NotFound: No tool has this name.
        HeldBack: It waits for approval.
        NotAllowed: The server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.texts.apply_rewrite(request.caller, name, description)


@TOOLS.verb("read", key="tools")
async def list_tool_rewrites(request: Request, name: ListedName = None) -> tuple[ToolRewrite, ...]:
    """The descriptions that the search reads in place of servers' own, and whether each is in use.

    Raises:
        NotFound: No tool has this name.
    """
    return await request.services.tools.texts.rewrites(request.caller, name)


@TOOLS.verb("admin", key="removed", destroys=True)
async def remove_tool_rewrite(request: Request, name: ToolName) -> str:
    """Search for a tool by its server's description again.

    Raises:
        NotFound: No tool has this name, or it has no rewrite.
        NotAllowed: The server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.texts.remove_rewrite(request.caller, name)


@TOOLS.verb("read", key="tools")
async def list_tool_questions(request: Request, name: ListedName = None) -> tuple[ToolQuestions, ...]:
    """The questions that a chat model wrote for tools, whose words the search reads, and whether it does now.

    Raises:
        NotFound: No tool has this name.
    """
    return await request.services.tools.texts.questions(request.caller, name)


@TOOLS.verb("admin", key="tools", destroys=True)
async def remove_tool_questions(
    request: Request, name: ToolName, questions: Annotated[list[str] | None, Doc("Only these; all by default")] = None
) -> tuple[ToolQuestions, ...]:
    """Remove questions that a model wrote for a tool; none are written again until its definition changes.

    Raises:
        InvalidInput: The list of questions is empty.
        NotFound: No tool has this name, or it does not have one of the questions.
        NotAllowed: The server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.texts.remove_questions(request.caller, name, questions)


@TOOLS.verb("read", key="categories")
async def list_tool_categories(request: Request) -> tuple[ToolCategory, ...]:
    """The categories of all tools, the largest first."""
    return await request.services.tools.categories.categories(request.caller)


@TOOLS.verb("admin", key="categories", idempotent=True)
async def derive_tool_categories(
    request: Request, again: Annotated[bool, Doc("Also for tools that have a derived one")] = False
) -> tuple[ToolCategory, ...]:
    """Give tools without a category one: a near one, or a new one that is named by their words."""
    return await request.services.tools.categories.derive(request.caller, again=again)


@TOOLS.verb("admin", idempotent=True)
async def set_tool_category(
    request: Request, category: CategoryName, tools: Annotated[list[str], Doc("The tools, by name")]
) -> ToolCategory:
    """Put tools into a category, a new one or one that exists; no derivation moves them.

    Raises:
        InvalidInput: The name is too long or has no word, or no tool is named.
        NotFound: No tool has one of the names.
        NotAllowed: A server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.categories.choose(request.caller, category, tools)


@TOOLS.verb("admin")
async def rename_tool_category(
    request: Request, category: CategoryName, to: Annotated[str, Doc("The new name")]
) -> ToolCategory:
    """Give a category another name; no derivation moves its tools any more.

    Raises:
        InvalidInput: The new name is too long or has no word.
        NotFound: There is no such category.
        NotAllowed: A server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.categories.rename(request.caller, category, to)


@TOOLS.verb("admin", key="removed", destroys=True)
async def remove_tool_category(request: Request, category: CategoryName) -> str:
    """Remove a category; its tools have none until some are derived again.

    Raises:
        NotFound: There is no such category.
        NotAllowed: A server belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.tools.categories.remove(request.caller, category)
