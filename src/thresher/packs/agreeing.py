"""Gets a person's yes to what must not be done without one.

Invariant: nothing is done that nobody agreed to, and who was asked and did not say yes is not asked again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from thresher.core import Unconfirmed
from thresher.packs.request import current

R = TypeVar("R")


async def agreed(work: Callable[[bool], Awaitable[R]], confirm: bool) -> R:
    """Do something; where it needs a yes that was not given, ask the person behind the client for it.

    Args:
        work: Does it, and is told whether somebody agreed; it changes nothing before it raises `Unconfirmed`.
        confirm: Whether somebody has agreed already.

    Raises:
        Unconfirmed: The person cannot be asked, or did not agree; nothing was changed.
    """
    try:
        return await work(confirm)
    except Unconfirmed as asked:
        if confirm:
            raise
        question = asked
    match await current().confirm(f"{question.message} Do it?"):
        case True:
            return await work(True)
        case False:
            hint = "Nothing was changed. Leave it, unless the person asks for it again."
            raise Unconfirmed(f"The person was asked and did not agree. {question.message}", hint=hint)
        case None:
            hint = "Ask the person; if they agree, make the same call with confirm: true."
            raise Unconfirmed(question.message, hint=hint)
