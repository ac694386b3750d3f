"""Fits the answer of a call into a token budget: this is the one place where it is cut.

Invariant: pure; an answer within the budget is untouched, and of another one it is said how much is left out.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

from thresher.embedding import count_tokens
from thresher.knowledge.apis.calls.models import ApiReply
from thresher.knowledge.apis.explanation import cut_to

_CHARACTERS = 40
"""No token of an answer is longer: a text with more characters for each token of the budget is not counted."""


def fit(reply: ApiReply, budget: int) -> ApiReply:
    """Return a reply whose body takes no more tokens than the budget.

    Args:
        reply: The reply.
        budget: Most tokens of the body; 0 for all of it.
    """
    if budget <= 0 or reply.body is None:
        return reply
    text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body, ensure_ascii=False)
    if len(text) <= _CHARACTERS * budget and count_tokens(text) <= budget:
        return reply
    if reply.encoding == "base64":
        size = len(base64.b64decode(reply.body)) if isinstance(reply.body, str) else len(text)
        return _cut(reply, None, f"{size:,} bytes of {reply.media or 'data'} are not shown", budget)
    kept = cut_to(text[: _CHARACTERS * budget], budget)
    what = "characters of JSON, as text" if reply.encoding == "json" else "characters"
    return _cut(replace(reply, encoding="text"), kept, f"the first {len(kept):,} of {len(text):,} {what}", budget)


def _cut(reply: ApiReply, body: Any, said: str, budget: int) -> ApiReply:
    before = f"{reply.left_out} " if reply.left_out else ""
    left_out = f"{before}Cut to {budget:,} tokens: {said}. Ask for less, or with a larger budget."
    return replace(reply, body=body, left_out=left_out, encoding="" if body is None else reply.encoding)
