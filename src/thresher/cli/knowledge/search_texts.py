"""`thresher tools words`, `rewrites`, `categories` and `questions`: what is said of tools beside their definitions.

Invariant: text from servers and owners is never markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.command_table import new_group
from thresher.cli.commands import add_command
from thresher.cli.views import Row
from thresher.verbs import TOOLS


def words_of(answer: Row) -> RenderableType:
    """The words of one tool, one a line."""
    head = Text(answer["name"], style="bold")
    if not answer["there"]:
        head.append("  not there now", style="yellow")
    return Group(head, *(Text(f"  {one}") for one in answer["words"] or ("no words",)))


def words_list(answer: Sequence[Row]) -> RenderableType:
    """The words by tool."""
    if not answer:
        return Text("No words. To add some: thresher tools words add NAME WORDS...")
    return Group(*map(words_of, answer))


def rewrite(answer: Row) -> RenderableType:
    """One description, and whether it is used."""
    head = Text(answer["name"], style="bold")
    if not answer["holds"]:
        reason = "its definition has changed" if answer["there"] else "the tool is not there now"
        head.append(f"  not used: {reason}", style="yellow")
    return Group(head, Text(f"  {' '.join(answer['description'].split())}"))


def rewrite_list(answer: Sequence[Row]) -> RenderableType:
    """The descriptions by tool."""
    if not answer:
        return Text("No rewrites. For proposals: thresher tools improve SERVER; to use one: tools rewrites apply NAME.")
    return Group(*map(rewrite, answer))


def removed(answer: Row) -> RenderableType:
    """The tool whose rewrite was removed."""
    return Text(f"{answer['removed']} is searched by its server's description again.")


def question_list(answer: Sequence[Row]) -> RenderableType:
    """The questions by tool, with the model that wrote them."""
    if not answer:
        return Text("No questions. A chat model writes some where THRESHER_TOOL_QUESTIONS is on.")
    lines: list[Text] = []
    for one in answer:
        lines.append(Text(one["name"], style="bold").append(f"  {one['model']}", "not bold dim"))
        if not one["holds"]:
            lines[-1].append("  not used now", style="not bold yellow")
        lines += [Text(f"  {question}") for question in one["questions"]]
    return Group(*lines)


def category(answer: Row) -> RenderableType:
    """One category: its name, how many tools of which servers, and the tools."""
    chosen = f", {answer['chosen']:,} chosen by you" if answer["chosen"] else ""
    head = Text(answer["name"], style="bold")
    tools = f"{len(answer['tools']):,} tool{'' if len(answer['tools']) == 1 else 's'}"
    head.append(f"  {tools} of {', '.join(answer['servers'])}{chosen}", "dim")
    more = len(answer["tools"]) - _TOOLS_SHOWN
    shown = ", ".join(answer["tools"][:_TOOLS_SHOWN]) + (f" and {more:,} more (--json has all)" if more > 0 else "")
    return Group(head, Text(f"  {shown}"))


def category_list(answer: Sequence[Row]) -> RenderableType:
    """The categories, the largest first."""
    if not answer:
        return Text("No categories. To derive some: thresher tools categories derive")
    return Group(*map(category, answer))


def category_removed(answer: Row) -> RenderableType:
    """The category that was removed."""
    return Text(f"The category '{answer['removed']}' is removed.")


_TOOLS_SHOWN = 12
_LISTED = "NAME: A tool, as `tools list` names it; all by default"
_NAMED = "NAME: A tool, as `tools list` names it; SERVER/TOOL if it is gone"

words = new_group()
add_command(
    words,
    "add",
    TOOLS["add_tool_words"],
    words_of,
    arguments={"name": "NAME: A tool, as `tools list` names it", "words": "WORDS: Words, phrases or messages"},
)
add_command(words, "list", TOOLS["list_tool_words"], words_list, arguments={"name": _LISTED})
add_command(
    words,
    "remove",
    TOOLS["remove_tool_words"],
    words_of,
    arguments={"name": _NAMED, "words": "WORDS: Only these; all by default"},
)

questions = new_group()
add_command(questions, "list", TOOLS["list_tool_questions"], question_list, arguments={"name": _LISTED})
add_command(
    questions,
    "remove",
    TOOLS["remove_tool_questions"],
    question_list,
    arguments={"name": _NAMED, "questions": "QUESTIONS: Only these; all by default"},
)

rewrites = new_group()
add_command(
    rewrites,
    "apply",
    TOOLS["apply_tool_rewrite"],
    rewrite,
    arguments={"name": "NAME: A tool, as `tools list` names it"},
    flags={"description": "-d: Your own description; by default that of `tools improve`"},
)
add_command(rewrites, "list", TOOLS["list_tool_rewrites"], rewrite_list, arguments={"name": _LISTED})
add_command(rewrites, "remove", TOOLS["remove_tool_rewrite"], removed, arguments={"name": _NAMED})

_CATEGORY = "CATEGORY: A category, as `tools categories list` names it"

categories = new_group()
add_command(categories, "list", TOOLS["list_tool_categories"], category_list)
add_command(
    categories,
    "derive",
    TOOLS["derive_tool_categories"],
    category_list,
    flags={"again": "--again: Also for tools that have a derived one"},
)
add_command(
    categories,
    "set",
    TOOLS["set_tool_category"],
    category,
    arguments={
        "category": "CATEGORY: A category, a new one or one that exists",
        "tools": "TOOLS: Tools, as `tools list` names them",
    },
)
add_command(
    categories,
    "rename",
    TOOLS["rename_tool_category"],
    category,
    arguments={"category": _CATEGORY, "to": "TO: The new name"},
)
add_command(categories, "remove", TOOLS["remove_tool_category"], category_removed, arguments={"category": _CATEGORY})
