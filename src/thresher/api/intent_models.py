"""The bodies of requests and answers about intents.

Invariant: as for every body: what `/v1/openapi.json` says is what is taken and sent.
"""

from __future__ import annotations

import datetime as dt
from typing import Literal

from pydantic import BaseModel, Field

from thresher.verbs import RequestBody

Share = float | None


class ExplainRequest(RequestBody):
    """A message, and what else the router goes by."""

    message: str = Field(description="The person's words.")
    history: list[str] = Field([], description="The person's turns before, oldest first.")
    queries: list[str] = Field([], description="What the calling model wants to do, one task each.")
    files: list[str] = Field([], description="Paths that the message is about.")


class Intent(BaseModel):
    """An intent in use."""

    name: str
    description: str = Field(description="What it is for.")
    origin: str = Field(description="Where its pack was found.")
    lines: int = Field(description="Training lines; without any it applies by file, always, or never.")
    negatives: int = Field(description="Near-miss lines.")
    fitted: float | None = Field(description="The fitted threshold; null where it has no lines, or no fit stands yet.")
    by_hand: float | None = Field(description="The threshold that a person set; null where none is.")
    threshold: float | None = Field(description="The one that holds.")


class IntentsResponse(BaseModel):
    """The intents in use, by name."""

    intents: list[Intent]


class Score(BaseModel):
    """What the router says of one intent."""

    intent: str
    score: float = Field(ge=0, le=1, description="Probability that the message, or its best part, asks for it.")
    threshold: float = Field(description="The least score that matches.")
    margin: float = Field(description="How far above its threshold the score lies; negative below it.")
    similarity: float = Field(description="Fitted similarity to the intent's lines; 0 without an encoder.")
    best_line: str = Field(description="The nearest training line; may be empty.")
    keywords: list[str] = Field(description="Names of its domain that the message holds.")
    clause: int = Field(description="Which of `clauses` fits best; 0 is the whole message.")
    matched: bool = Field(description="Whether its rules apply.")
    why: str = Field(description="`line`, `keyword`, `history`, `file`, `always`, or `negated`.")


class DecisionResponse(BaseModel):
    """Which rules a message needs, and why."""

    scores: list[Score] = Field(description="The intents that matched, then all others, each group best first.")
    pass_through: bool = Field(description="No intent fits.")
    clauses: list[str] = Field(description="The texts that were judged: the whole message first, then its tasks.")
    confidence: float = Field(ge=0, le=1, description="Probability that the decision is right.")
    margin: float = Field(description="Score of the best intent minus that of the next.")
    clarify: str = Field(description="A question for the person where two intents are too close; else empty.")
    degraded: str = Field(description="Why the answer is weaker than it could be; empty when it is not.")
    basis: Literal["head", "prototype", "words"] = Field(description="What it rests on.")
    cached: bool = Field(description="Whether it was decided before.")
    embedding_ms: float
    duration_ms: float
    trace_id: str = Field(description="What the log calls this request.")


class IntentCount(BaseModel):
    """How often an intent matched."""

    intent: str
    count: int
    mean_score: float


class UnsureMessage(BaseModel):
    """A message whose decisions were of low confidence."""

    message_hash: str = Field(description="Equal for equal messages of one tenant.")
    message: str | None = Field(description="Its text, where THRESHER_LOG_TEXT is on.")
    count: int
    confidence: float = Field(description="The least.")
    intents: list[str] = Field(description="The best intents of the last time, matched or not.")


class SignalCount(BaseModel):
    """How often calls spoke against decisions."""

    kind: str = Field(
        description="`other`: a tool of another pack was called next; `missed`: the message had passed through;"
        " `unread`: the session had not been given the pack's rules, and got them in place of the call."
    )
    decided: list[str] = Field(description="The intents that had been decided.")
    pack: str = Field(description="The called tool's pack.")
    count: int


class StatisticsResponse(BaseModel):
    """The figures of a period; a share or time is null where there was nothing to count."""

    since: dt.datetime = Field(description="The beginning of the period, which ends now.")
    decisions: int = Field(description="Messages that were routed.")
    pass_through_rate: Share = Field(description="Those that no intent fitted.")
    unsure_share: Share = Field(description="Those decided with low confidence.")
    clarified_share: Share = Field(description="Those for which a question was suggested.")
    degraded_share: Share = Field(description="Those decided with less than the whole router.")
    cached_share: Share = Field(description="Those that had been decided before.")
    several_share: Share = Field(description="Those that needed the rules of more than one intent.")
    bases: dict[str, int] = Field(description="How many rested on `head`, `prototype` or `words`.")
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    embedding_p50_ms: float | None
    intents: list[IntentCount] = Field(description="The commonest first.")
    unused: list[str] = Field(description="Intents in use that nothing matched.")
    unsure: list[UnsureMessage] = Field(description="Messages of low confidence, the commonest first.")
    wrong_tool_rate: Share = Field(description="Decisions after which a tool of another pack was called next.")
    signals: list[SignalCount] = Field(description="The commonest first.")
    lost_rows: int = Field(description="Log rows that the running process had to give up.")
