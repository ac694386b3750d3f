"""A model judges answers by the criteria of OpenEvals: whether their passages support them, and whether they help.

OpenEvals comes with the extra `judge`, and is imported when the first answer is judged.

Invariant: only the given model is called. A verdict that cannot be read is counted, and is not a judgement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

from thresher.agent import ChatSettings, OpenModel, untraced
from thresher.core import Caller, ConfigurationError, InvalidInput, dumps
from thresher.evaluation.chat import ChatAnswer
from thresher.evaluation.metrics import mean
from thresher.services import Services

_Judge: TypeAlias = Callable[..., Awaitable[Any]]

_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class AnswerQuality:
    """The verdicts of a judge.

    Attributes:
        groundedness: Share of the answers with passages that say only what the passages say.
        helpfulness: Share of all answers that answer their question.
        judged: Number of verdicts.
        unjudged: Number of verdicts that could not be read.
    """

    groundedness: float | None
    helpfulness: float | None
    judged: int
    unjudged: int


async def open_judge(services: Services, caller: Caller, name: str) -> OpenModel:
    """Open a registered model as a judge.

    Raises:
        InvalidInput: No model is registered.
        NotFound: No model has this name.
        Conflict: The model is disabled.
    """
    model = await services.models.open(caller, name, settings=ChatSettings.model_validate({}))
    if model is None:
        raise InvalidInput("There is no model to judge.", hint="Register one: thresher models add NAME.")
    return model


async def judge_answers(
    answers: Sequence[ChatAnswer], model: OpenModel, progress: Callable[[int], None] = lambda _: None
) -> AnswerQuality:
    """Judge answers one after the other.

    Args:
        answers: The answers, with their questions and passages.
        model: The judge.
        progress: Called with the number of answers judged.

    Raises:
        ConfigurationError: OpenEvals is not installed.
        ModelError: The model does not answer.
    """
    grounded, helpful = await asyncio.to_thread(_judges, model)
    verdicts: dict[str, list[bool | None]] = {"grounded": [], "helpful": []}
    with untraced():
        for number, one in enumerate(answers):
            progress(number)
            verdicts["helpful"].append(await _verdict(helpful, inputs=one.question, outputs=one.answer))
            if one.passages:
                context = "\n\n".join(one.passages)
                verdicts["grounded"].append(await _verdict(grounded, context=context, outputs=one.answer))
    every = [verdict for given in verdicts.values() for verdict in given]
    return AnswerQuality(
        groundedness=_share(verdicts["grounded"]),
        helpfulness=_share(verdicts["helpful"]),
        judged=sum(verdict is not None for verdict in every),
        unjudged=sum(verdict is None for verdict in every),
    )


def _judges(model: OpenModel) -> tuple[_Judge, _Judge]:
    """The judges of groundedness and helpfulness."""
    try:
        make = import_module("openevals.llm").create_async_llm_as_judge
        prompts = import_module("openevals.prompts")
    except ImportError:
        raise ConfigurationError(
            "Answers cannot be judged: OpenEvals is not installed.",
            hint="Install thresher with the extra that brings it: pip install 'thresher[judge]'.",
        ) from None
    client = _client(model)
    criteria = (prompts.RAG_GROUNDEDNESS_PROMPT, prompts.RAG_HELPFULNESS_PROMPT)
    grounded, helpful = (make(prompt=prompt, judge=client, model=model.name) for prompt in criteria)
    return grounded, helpful


async def _verdict(judge: _Judge, **asked: str) -> bool | None:
    try:
        return bool((await judge(**asked))["score"])
    except (ValueError, TypeError, KeyError):
        return None


def _share(verdicts: Sequence[bool | None]) -> float | None:
    return mean(float(verdict) for verdict in verdicts if verdict is not None)


def _client(model: OpenModel) -> Any:
    """The model as a client that the library accepts; JSON is requested in words, which any model supports."""

    async def create(*, messages: Sequence[dict[str, Any]], response_format: dict[str, Any], **_: Any) -> Any:
        schema = dumps(response_format["json_schema"]["schema"])
        wish = {"role": "user", "content": f"Answer with one JSON object alone, of this JSON schema:\n{schema}"}
        reply = (await model.complete([*messages, wish], temperature=0.0, seconds=_SECONDS)).text
        text = reply[reply.find("{") : reply.rfind("}") + 1]
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=text))])

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
