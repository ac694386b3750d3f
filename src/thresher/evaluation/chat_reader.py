"""Reads scripted conversations: what is said turn by turn, and which calls a sensible model makes for it.

Invariant: a wrong line is named with its number, before anything is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from thresher.core import InvalidInput
from thresher.evaluation.lines import read_objects, wrong

HINT: Final = (
    'Lines are {"name"?, "settings"?, "turns": [{"user": text, "calls"?: [step, ...], "says"?: text}, ...]}; a step is '
    'a tool\'s name, {"tool", "arguments"}, or a list of these that are called at once.'
)
_TURN: Final = frozenset({"user", "calls", "says"})
_CONVERSATION: Final = frozenset({"name", "settings", "turns"})


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call that a sensible model makes. `arguments` None: what the tool and the message suggest."""

    tool: str
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """One message of the person.

    Attributes:
        user: What is said.
        steps: Calls that are made for it, one after another; those of one step at once. None: the script does not say.
        says: The answer of the deterministic model; empty: one of its own.
    """

    user: str
    steps: tuple[tuple[ScriptedCall, ...], ...] | None = None
    says: str = ""

    @property
    def tools(self) -> frozenset[str]:
        """Names of what is called."""
        return frozenset(call.tool for step in self.steps or () for call in step)


@dataclass(frozen=True, slots=True)
class Script:
    """A conversation.

    Attributes:
        name: What its figures stand under.
        turns: What is said, in order.
        settings: Of the conversation, as `thresher settings` names them.
    """

    name: str
    turns: tuple[ScriptedTurn, ...]
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


def read_scripts(path: Path) -> list[Script]:
    """Read conversations.

    Raises:
        InvalidInput: The file cannot be read, or a line is wrong.
    """
    scripts = [_script(path, number, fields) for number, fields in read_objects(path, HINT)]
    if not scripts:
        raise InvalidInput(f"{path} holds no conversations.", hint=HINT)
    names = [script.name for script in scripts]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidInput(f"{path} has two conversations '{twice}'.", hint="Give each a name of its own.")
    return scripts


def _script(path: Path, number: int, fields: Mapping[str, Any]) -> Script:
    if odd := sorted(fields.keys() - _CONVERSATION):
        raise wrong(path, number, f'"{odd[0]}" is no field of a conversation', HINT)
    name, settings, turns = fields.get("name", f"line {number}"), fields.get("settings", {}), fields.get("turns")
    if not isinstance(name, str) or not name.strip():
        raise wrong(path, number, '"name" must be text', HINT)
    if not isinstance(settings, Mapping):
        raise wrong(path, number, '"settings" must be an object', HINT)
    if not isinstance(turns, list) or not turns:
        raise wrong(path, number, '"turns" must be a list with at least one turn', HINT)
    read = tuple(_turn(path, number, turn) for turn in cast("list[Any]", turns))
    return Script(name.strip(), read, cast("Mapping[str, Any]", settings))


def _turn(path: Path, number: int, turn: object) -> ScriptedTurn:
    if not isinstance(turn, Mapping):
        raise wrong(path, number, "a turn must be an object", HINT)
    fields = cast("Mapping[str, Any]", turn)
    if odd := sorted(fields.keys() - _TURN):
        raise wrong(path, number, f'"{odd[0]}" is no field of a turn', HINT)
    user, says, calls = fields.get("user"), fields.get("says", ""), fields.get("calls")
    if not isinstance(user, str) or not user.strip():
        raise wrong(path, number, '"user" must be text', HINT)
    if not isinstance(says, str):
        raise wrong(path, number, '"says" must be text', HINT)
    if calls is None:
        return ScriptedTurn(user, None, says)
    if not isinstance(calls, list):
        raise wrong(path, number, '"calls" must be a list', HINT)
    return ScriptedTurn(user, tuple(_step(path, number, step) for step in cast("list[Any]", calls)), says)


def _step(path: Path, number: int, step: object) -> tuple[ScriptedCall, ...]:
    calls = cast("Sequence[object]", step if isinstance(step, list) else [step])
    if not calls:
        raise wrong(path, number, "a step has at least one call", HINT)
    return tuple(_call(path, number, call) for call in calls)


def _call(path: Path, number: int, call: object) -> ScriptedCall:
    if isinstance(call, str) and call.strip():
        return ScriptedCall(call)
    if isinstance(call, Mapping):
        fields = cast("Mapping[str, Any]", call)
        tool, arguments = fields.get("tool"), fields.get("arguments")
        if isinstance(tool, str) and tool and isinstance(arguments, Mapping) and fields.keys() <= {"tool", "arguments"}:
            return ScriptedCall(tool, cast("Mapping[str, Any]", arguments))
    raise wrong(path, number, 'a call is a name, or {"tool": name, "arguments": object}', HINT)
