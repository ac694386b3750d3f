"""A patch in one of its forms, as long as it may be.

Invariant: pure; what is left out is said, with the way to it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from thresher.knowledge.apis.models import Improvements

PatchForm: TypeAlias = Literal["none", "overlay", "diff"]
PATCH_CHARACTERS: Final = 1_000_000
"""Of a patch in an answer over a network: a diff of a file that is one line long holds the file twice."""


def in_form(answer: Improvements, form: PatchForm, most: int = PATCH_CHARACTERS) -> Improvements:
    """The answer with its patch in one form, or without that form where it is too long.

    Args:
        answer: With a patch, or without.
        form: `overlay` or `diff`; `none` takes the patch away.
        most: Characters of the form.
    """
    if answer.patch is None or form == "none":
        return replace(answer, patch=None)
    if form == "diff":
        one = replace(answer.patch, overlay={})
        length = len(one.diff)
    else:
        one = replace(answer.patch, diff="")
        length = len(json.dumps(one.overlay))
    if length <= most:
        return replace(answer, patch=one)
    what = f"the {form} of {len(one.edits):,} edits ({length:,} characters)"
    left = f"{what}: ask for one operation, or: thresher apis improve {answer.provider} --patch {form}"
    return replace(answer, patch=replace(one, diff="", overlay={}), left_out=(*answer.left_out, left))
