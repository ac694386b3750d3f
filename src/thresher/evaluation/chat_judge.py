"""Has a model judge answers by the criteria of OpenEvals: whether they rest on their passages, and whether they help.

OpenEvals is of the extra `judge` and imported when the first answer is judged.

Invariant: nothing is asked but the model that is given; what cannot be read of a judge is counted and judges nothing.
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
from thresher.evaluation.chat_service import Answered
from thresher.evaluation.metrics import mean
from thresher.services import Services

_Judge: TypeAlias = Callable[..., Awaitable[Any]]
_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Quality:
    """What a judge made of answers.

    Attributes:
        groundedness: Share of the answers with passages that say only what these say.
        helpfulness: Share of all answers that answer their question.
        judged: Verdicts.
        unjudged: Verdicts that could not be read.
    """

    groundedness: float | None
    helpfulness: float | None
    judged: int
    unjudged: int


async def open_judge(services: Services, caller: Caller, name: str) -> OpenModel:
    """A registered model that can judge.

    Raises:
        InvalidInput: There is no model at all.
        NotFound: There is none of this name.
        Conflict: It is disabled.
    """
    model = await services.models.open(caller, name, settings=ChatSettings.model_validate({}))
    if model is None:
        raise InvalidInput("There is no model to judge.", hint="Register one: thresher models add NAME.")
    return model


async def judge_answers(
    answers: Sequence[Answered], model: OpenModel, told: Callable[[int], None] = lambda _: None
) -> Quality:
    """Judge answers one after another.

    Args:
        answers: With their questions and passages.
        model: Judges.
        told: How many are done.

    Raises:
        ConfigurationError: OpenEvals is not installed.
        ModelError: The model does not answer.
    """
    grounded, helpful = await asyncio.to_thread(_judges, model)
    verdicts: dict[str, list[bool | None]] = {"grounded": [], "helpful": []}
    with untraced():
        for number, one in enumerate(answers):
            told(number)
            verdicts["helpful"].append(await _verdict(helpful, inputs=one.question, outputs=one.answer))
            if one.passages:
                context = "\n\n".join(one.passages)
                verdicts["grounded"].append(await _verdict(grounded, context=context, outputs=one.answer))
    every = [verdict for given in verdicts.values() for verdict in given]
    return Quality(
        groundedness=_share(verdicts["grounded"]),
        helpfulness=_share(verdicts["helpful"]),
        judged=sum(verdict is not None for verdict in every),
        unjudged=sum(verdict is None for verdict in every),
    )


def _judges(model: OpenModel) -> tuple[_Judge, _Judge]:
    """Judges of groundedness and of helpfulness."""
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
    """The model in the form in which the library takes one; any model can be asked for JSON in words."""

    async def create(*, messages: Sequence[dict[str, Any]], response_format: dict[str, Any], **_: Any) -> Any:
        schema = dumps(response_format["json_schema"]["schema"])
        wish = {"role": "user", "content": f"Answer with one JSON object alone, of this JSON schema:\n{schema}"}
        said = (await model.complete([*messages, wish], temperature=0.0, seconds=_SECONDS)).text
        text = said[said.find("{") : said.rfind("}") + 1]
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=text))])

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
