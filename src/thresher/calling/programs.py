"""`run_code` and `run_code_write`: programs of a model whose functions are the caller's tools.

Each call that a program makes goes through the same door as one of a client. A tool that only reads runs. Before one
that may change something the run ends, with the call shown; `run_code_write` runs exactly that call and goes on. To go
on, the program is run again from its start, with the answers that it has had: nothing is called twice.

Invariant: a decision holds for one call of one run, and is used once. A change that was made stands in the answer,
however the run ends.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from thresher.calling.records import RULES_META, Call, Client, Result
from thresher.core import JSON, Caller, InvalidInput, NotFound, ThresherError, dumps
from thresher.knowledge.tools import Resolved, ToolService, compact
from thresher.programs import (
    Function,
    Outcome,
    Sandbox,
    Start,
    Stop,
    clock_stopped,
    names_in,
    parameters,
    python_name,
    unwrapped,
)
from thresher.results import KeptResult, Results

OWN: Final = ("find_tools", "describe_tools")
"""Those of our own tools that a program can call."""
_TOOL: Final = "run_code"
_RUN: Final = "application/x-thresher-run"
"""The media type of a run that is kept."""
_MOST_KEPT = 8_000_000
"""Characters of answers that a run may have had to go on later."""
_SHOWN = 12
"""Calls that an answer names."""

type_run = Callable[[Caller, Call, Client, bool], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a call has answered: a value, or an error's text."""

    value: Any = None
    error: str = ""


@dataclass
class _Progress:
    """A run that can be repeated.

    Attributes:
        code: The program.
        start: What it sees of when it runs.
        answers: The calls that were answered, in order: name, arguments, answer.
        changes: The calls among them that may have changed something.
        pending: The call before which it stopped: name and arguments.
        approved: The one call that a person has allowed.
    """

    code: str
    start: Start
    answers: list[tuple[str, JSON, _Answer]] = field(default_factory=list[Any])
    changes: list[tuple[str, JSON]] = field(default_factory=list[Any])
    pending: tuple[str, JSON] | None = None
    approved: str = ""

    def written(self) -> str:
        """The run as JSON."""
        return dumps(
            {
                "code": self.code,
                "moment": self.start.moment.isoformat(),
                "seed": self.start.seed,
                "answers": [[name, given, one.value, one.error] for name, given, one in self.answers],
                "changes": self.changes,
                "pending": self.pending,
            }
        )

    @classmethod
    def read(cls, content: str) -> _Progress:
        """The inverse of `written`."""
        given = json.loads(content)
        return cls(
            given["code"],
            Start(datetime.fromisoformat(given["moment"]), given["seed"]),
            [(name, arguments, _Answer(value, error)) for name, arguments, value, error in given["answers"]],
            [(name, arguments) for name, arguments in given["changes"]],
            (given["pending"][0], given["pending"][1]),
        )


class Programs:
    """Runs programs. One per process.

    Args:
        sandbox: Runs their code.
        tools: Knows the tools.
        call: Runs one tool: for a caller, with a client, by `call_tool` or else by `call_tool_write`.
        results: Keeps runs that wait, and delivers what they come to.
    """

    def __init__(self, sandbox: Sandbox, tools: ToolService, call: type_run, results: Results) -> None:
        self._sandbox = sandbox
        self._tools = tools
        self._call = call
        self._results = results

    async def run(self, caller: Caller, client: Client, code: str) -> Result:
        """Run a program until it ends, or wants to change something.

        Args:
            caller: For whom.
            client: Who can be asked during its calls.
            code: The program.

        Raises:
            InvalidInput: The program is empty or too long.
            ConfigurationError: The interpreter is not installed.
            UpstreamError: Too many run at once.
        """
        if not code.strip():
            raise InvalidInput("There is no code.", hint="Write Python that awaits tools by name.")
        return await self._go(caller, client, _Progress(code, Start.now()))

    async def go_on(self, caller: Caller, client: Client, run: str, name: str, arguments: JSON) -> Result:
        """Run the call before which a run has stopped, and go on.

        Args:
            caller: For whom.
            client: Who can be asked.
            run: The run's name, as the answer gave it.
            name: The tool of that call.
            arguments: Its arguments.

        Raises:
            NotFound: There is no such run: it is over, too old, or was continued already.
            InvalidInput: It stopped before another call.
        """
        progress = await self._waiting(caller, run)
        if progress is not None:
            pending = cast("tuple[str, JSON]", progress.pending)
            if _key(name, arguments) != _key(*pending):
                raise InvalidInput(
                    f"The run stopped before {_shown(*pending)}, and another call was sent.",
                    hint="Send exactly that call, or run other code.",
                )
        if progress is None or not await self._results.take(caller, run):
            raise NotFound(
                f"No run '{run}' waits.",
                hint="Start it again with run_code; a run goes on once, and waits as long as results are kept.",
            )
        progress.approved, progress.pending = _key(name, arguments), None
        return await self._go(caller, client, progress)

    async def close(self) -> None:
        """End the runs."""
        await self._sandbox.close()

    async def _go(self, caller: Caller, client: Client, progress: _Progress) -> Result:
        calls = _Calls(self._tools, self._call, caller, client, progress)
        functions = await calls.functions()
        try:
            try:
                outcome = await self._sandbox.run(progress.code, functions, progress.start)
            finally:
                await calls.finish()
        except Stop as stop:
            return await self._stopped(caller, progress, stop)
        return _finished(outcome, progress)

    async def _waiting(self, caller: Caller, run: str) -> _Progress | None:
        with suppress(NotFound):
            kept = await self._results.kept(caller, run)
            if (kept.tool, kept.mime) == (_TOOL, _RUN):  # a server chooses the type alone
                return _Progress.read(kept.text)
        return None

    async def _stopped(self, caller: Caller, progress: _Progress, stop: Stop) -> Result:
        done = _done(progress)
        if progress.pending is None:
            return Result.of(f"{stop}{done}", is_error=True)
        name, arguments = progress.pending
        content = progress.written()
        if len(content) > _MOST_KEPT:
            return Result.of(
                f"Stopped before {_shown(name, arguments)}, which may change something. It was not run, and the run "
                f"holds too much to go on later: make this call with call_tool_write.{done}",
                is_error=True,
            )
        run = await self._results.keep(caller, KeptResult(_TOOL, content, _RUN))
        to_go_on = compact({"run": run, "name": name, "arguments": arguments})
        return Result.of(
            f"Stopped before {name}, which may change something. It was not run. To run it and go on, call "
            f"run_code_write with {to_go_on}{done}",
            meta={"thresher/run": run},
        )


class _Calls:
    """The functions of one run.

    Args:
        tools: Knows the tools.
        call: Runs one.
        caller: For whom.
        client: Who can be asked.
        progress: What the run has had, and where this notes what it has.
    """

    def __init__(self, tools: ToolService, call: type_run, caller: Caller, client: Client, progress: _Progress) -> None:
        self._tools = tools
        self._call = call
        self._caller = caller
        self._client = client
        self._progress = progress
        self._had: dict[str, deque[_Answer]] = {}
        for name, arguments, answer in progress.answers:
            self._had.setdefault(_key(name, arguments), deque()).append(answer)
        self._changing: set[asyncio.Task[Any]] = set()
        self._asking = asyncio.Lock()

    async def functions(self) -> dict[str, Function]:
        """The functions whose names the code may hold, by name."""
        words = names_in(self._progress.code)
        named = {python_name(name): name for name in await self._tools.named_in(self._caller, words)}
        found = {word: self._tool(name) for word, name in named.items() if word in words}
        return {**found, **{name: self._own(name) for name in OWN}, "call_tool": self._any()}

    async def finish(self) -> None:
        """Wait for a change that is under way: a run that ends does not undo it, and its answer is noted."""
        if self._changing:
            await asyncio.wait(self._changing)

    def _any(self) -> Function:
        async def call_tool(name: str, arguments: Mapping[str, Any] | None = None) -> Any:
            return await self._answer(name, dict(arguments or {}))

        return call_tool

    def _own(self, name: str) -> Function:
        async def own(*args: Any, **kwargs: Any) -> Any:
            first = {"find_tools": "message", "describe_tools": "names"}[name]
            if args:
                kwargs = {first: args[0], **kwargs}
            return await self._answer(name, kwargs)

        return own

    def _tool(self, name: str) -> Function:
        async def tool(*args: Any, **kwargs: Any) -> Any:
            schema = (await self._tools.resolve(self._caller, name)).tool.input_schema
            names = parameters(schema)
            if len(args) > len(names):
                raise TypeError(f"{python_name(name)}() takes {len(names)} arguments, {len(args)} were given")
            own = {python_name(one): one for one in names}
            given = {own.get(key, key): value for key, value in kwargs.items()}
            return await self._answer(name, {**dict(zip(names, args, strict=False)), **given})

        return tool

    async def _answer(self, name: str, arguments: JSON) -> Any:
        """What a call has answered before, or answers now.

        Raises:
            Stop: It may change something, or cannot be made inside a program.
            RuntimeError: It failed; the program may catch that.
        """
        key = _key(name, arguments)
        if earlier := self._had.get(key):
            answer = earlier.popleft()
        else:
            answer = await self._made(key, name, arguments)
        if answer.error:
            raise RuntimeError(answer.error)
        return answer.value

    async def _made(self, key: str, name: str, arguments: JSON) -> _Answer:
        progress = self._progress
        try:
            resolved = None if name in OWN else await self._tools.resolve(self._caller, name)
            reads = resolved is None or resolved.read_only
            changes = not reads and not await self._is_agreed(name, resolved)
            if changes and key != progress.approved and not await self._is_confirmed(name, arguments):
                progress.pending = progress.pending or (name, arguments)
                raise Stop
            call = Call(name, arguments, budget=0, shown=True)
            work = asyncio.ensure_future(self._call(self._caller, call, self._client, reads))
            if changes:
                progress.approved = "" if key == progress.approved else progress.approved
                change = asyncio.ensure_future(self._changed(name, arguments, resolved, work))
                self._changing.add(change)
                return await asyncio.shield(change)
            try:
                result = await work
            except asyncio.CancelledError:
                work.cancel()
                raise
            answer = _answer_of(name, resolved, result)
        except ThresherError as error:
            answer = _Answer(error=f"{name}: {error}")
        progress.answers.append((name, arguments, answer))
        return answer

    async def _is_confirmed(self, name: str, arguments: JSON) -> bool:
        """Whether the person behind the client allows a call; False if nobody can be asked.

        Raises:
            Stop: The person does not.
        """
        async with self._asking:  # one question at a time; the run's clock stops meanwhile
            with clock_stopped():
                answer = await self._client.confirm(
                    f"A program wants to run {_shown(name, arguments)}. It may change something. Run it?"
                )
        if answer is False:
            raise Stop(f"{_shown(name, arguments)} was not allowed, and was not run.")
        return answer is True

    async def _is_agreed(self, name: str, resolved: Resolved | None) -> bool:
        """Whether a tool only reads by the claim of its server, and a person has agreed to its calls."""
        if resolved is None or not resolved.claims:
            return False
        claim = (await self._tools.consents.claims(self._caller, [name])).get(name)
        return claim is not None and claim.agreed

    async def _changed(
        self, name: str, arguments: JSON, resolved: Resolved | None, work: asyncio.Task[Result]
    ) -> _Answer:
        """Await a change, and note it with its answer, even if the run has ended meanwhile."""
        try:
            answer = _answer_of(name, resolved, await work)
        except ThresherError as error:
            answer = _Answer(error=f"{name}: {error}")
        self._progress.answers.append((name, arguments, answer))
        self._progress.changes.append((name, arguments))
        return answer


def _answer_of(name: str, resolved: Resolved | None, result: Result) -> _Answer:
    """What a program gets of a result: its structured content, else its text, as data where it is JSON.

    Raises:
        Stop: It is a question, or holds the rules of a pack.
    """
    if RULES_META in result.meta:
        raise Stop(f"The program was stopped. {result.text}\n\nThen run the code again.")
    if result.asks:
        raise Stop(f"'{name}' asks its user something, which a program cannot pass on: call it with call_tool.")
    if result.is_error:
        return _Answer(error=result.text or f"{name} failed")
    return _Answer(data_of(result, resolved.tool.output_schema if resolved is not None else None))


def data_of(result: Result, schema: JSON | None) -> Any:
    """What a result holds: its structured content, else its text, as data where that is JSON, else its blocks.

    Args:
        result: The result of a call.
        schema: The tool's output schema.
    """
    if "structuredContent" in result.answer:
        value: Any = result.answer["structuredContent"]
        wrapped = schema is not None and unwrapped(schema) is not schema and isinstance(value, Mapping)
        return cast("JSON", value).get("result") if wrapped else cast("Any", value)
    if any(block.get("type") != "text" for block in result.content):
        return list(result.content)
    text = result.text
    if text[:1] in ("{", "[", '"') or text in ("true", "false", "null"):
        with suppress(ValueError):
            return json.loads(text)
    return text


def _finished(outcome: Outcome, progress: _Progress) -> Result:
    value = outcome.value
    shown = "" if value is None else value if isinstance(value, str) else compact(value)
    if outcome.error:
        shown = f"{outcome.error}{_done(progress)}"
    elif not shown and not outcome.printed:
        shown = f"The program ended and returned nothing: end it with an expression, or print.{_done(progress)}"
    printed = (
        outcome.printed
        if not shown or outcome.printed.endswith("\n") or not outcome.printed
        else (f"{outcome.printed}\n")
    )
    return Result.of(f"{printed}{shown}", is_error=bool(outcome.error))


def _done(progress: _Progress) -> str:
    """The changes that were made, which a reader must know of if the run has not come to its end."""
    if not progress.changes:
        return ""
    made = "; ".join(_shown(name, arguments) for name, arguments in progress.changes[:_SHOWN])
    more = f"; and {len(progress.changes) - _SHOWN} more" if len(progress.changes) > _SHOWN else ""
    return f"\nAlready run in it: {made}{more}."


def _key(name: str, arguments: JSON) -> str:
    return json.dumps([name, arguments], sort_keys=True, ensure_ascii=False)


def _shown(name: str, arguments: JSON) -> str:
    return f"{name}({compact(arguments)})"
