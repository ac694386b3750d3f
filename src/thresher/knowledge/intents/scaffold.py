"""Writes the folder of a new pack: every section with one line that says what belongs into it.

Invariant: writes only where nothing is; the guiding lines are comments, so that lint still calls the sections empty.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from thresher.core import Conflict, InvalidInput
from thresher.knowledge.intents.naming import is_name, name_of
from thresher.knowledge.intents.placing import place_folder
from thresher.knowledge.intents.reader import CODE, EVALS, EXAMPLES, NOT_EXAMPLES, RULES
from thresher.knowledge.intents.sections import SECTIONS

_EXAMPLES: Final = """\
# Messages that this pack is for, one a line, as people write them; blank lines and lines that begin with # are skipped.
# A hundred is a good number: short and long, polite and terse, misspelt, in the words of the trade, for everything
# that the pack covers. Do not fill in templates: ten ways of saying it teach more than one way with ten names.
"""
_NOT_EXAMPLES: Final = """\
# Near misses: messages that sound like this pack and are not for it, one a line.
"""
_CODE: Final = '''\
"""Tools of this pack. They run inside Thresher's process once a person has trusted the pack."""

from fastmcp.tools import tool


@tool(annotations={"readOnlyHint": True})
async def hello(name: str) -> str:
    """Greet a person. Replace this by a first tool of your own.

    Args:
        name: Whom to greet.
    """
    return f"Hello, {name}."
'''


def new_pack(name: str, parent: Path, *, description: str = "", code: bool = False) -> Path:
    """Write a folder with all files of a pack.

    Args:
        name: The pack's name, and its folder's.
        parent: The folder to put it into; made where it does not exist.
        description: What the pack is for, and when to use it; lint asks for one where it is empty.
        code: Whether it gets a `tools.py`.

    Returns:
        The new folder.

    Raises:
        InvalidInput: The name is no name of a pack, or the folder cannot be written.
        Conflict: Something is there already.
    """
    if not is_name(name):
        raise InvalidInput(
            f"'{name}' cannot be the name of a pack: 1 to 64 of a-z, 0-9 and single hyphens.",
            hint=f"Take '{name_of(name)}', for example.",
        )
    folder = parent / name
    if folder.exists() or folder.is_symlink():
        raise Conflict(f"{folder} exists already.", hint="Take another name, or another folder: --dir DIR.")
    place_folder(folder, _files(name, description, code=code))
    return folder


def _files(name: str, description: str, *, code: bool) -> dict[str, bytes]:
    files = {
        RULES: scaffold(name, description),
        EXAMPLES: _EXAMPLES,
        NOT_EXAMPLES: _NOT_EXAMPLES,
        EVALS: "[]\n",
    }
    if code:
        files[CODE] = _CODE
    return {path: text.encode() for path, text in files.items()}


def scaffold(name: str, description: str) -> str:
    """The `SKILL.md` of a new pack.

    Args:
        name: The pack's name.
        description: May be empty.
    """
    head = [
        "---",
        f"name: {name}",
        f"description: {json.dumps(' '.join(description.split()), ensure_ascii=False)}",
        "metadata:",
        '  servers: ""  # servers whose tools belong to it, by their names in Thresher',
        '  keywords: ""  # names of things in its domain, separated by commas',
        '  variables: "true"',
        '  off_topic: ""  # the sentence that declines what is unrelated',
        "---",
        "",
        f"# {name.replace('-', ' ').capitalize()}",
    ]
    body = [f"\n## {section.title}\n\n<!-- {section.guide} -->" for section in SECTIONS]
    return "\n".join([*head, *body]) + "\n"
