"""The verbs of tools that are about learning: what use has taught, and what was trained on a tenant's own messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from typing_extensions import Doc

from thresher.verbs.tools import TOOLS, Tenant

if TYPE_CHECKING:
    from thresher.knowledge.tools import LearningState, Replay, TrainingResult, TrainingState
    from thresher.verbs.request import Request

__all__ = ["TOOLS"]


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
