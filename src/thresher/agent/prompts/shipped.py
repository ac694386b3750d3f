"""The prompts as they are shipped: what each is for, and its text, a file of this folder.

Invariant: a file is exactly what a model reads, but for its variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from thresher.agent.prompts.filling import names_in
from thresher.agent.prompts.records import Prompt

_ABOUT: Final = {
    "basic": ("Without tools", "What the model is told at first where no tool is offered."),
    "tools": ("With tools", "What the model is told at first where tools are offered."),
    "context": ("Documents", "Puts the passages that were found for a message at the end of the prompt."),
    "table_selection": ("Tables of a database", "Asks which tables are needed to answer a question with SQL."),
    "grade": ("Relevance of passages", "Asks, yes or no, which passages help to answer a question."),
    "rephrase": ("Question on its own", "Asks for a question that can be understood without the conversation."),
}


def _read(names: Iterable[str]) -> Mapping[str, Prompt]:
    folder, prompts = files("thresher.agent.prompts"), dict[str, Prompt]()
    for name in names:
        text = folder.joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
        title, description = _ABOUT[name]
        prompts[name] = Prompt(name, title, description, text, variables=names_in(text))
    return MappingProxyType(prompts)


SHIPPED: Final = _read(_ABOUT)
"""All prompts by name, in the order in which people see them."""
