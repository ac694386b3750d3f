"""The settings of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Approval: TypeAlias = Literal["writes", "destructive", "all", "none"]
STRICTNESS: Final[Mapping[Approval, int]] = {"none": 0, "destructive": 1, "writes": 2, "all": 3}
"""Each makes all those calls wait that the ones before it do, and more."""
SettingSource: TypeAlias = Literal["default", "owner", "thread", "floor"]
"""Whose choice a value is: nobody's, that of the threads' owner for all of them, that of one thread; or `floor`: the
least strict one that the owner of the installation allows, where a stricter choice was not made."""


class ChatSettings(BaseModel):
    """What holds in a conversation: of the thread, else of its owner, else these defaults.

    Tokens are o200k. `model` empty: the first one that the caller has and that is enabled.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field("", max_length=64, description="A registered model; empty: the default one.")
    temperature: float | None = Field(None, ge=0, le=2, description="None: the service's own.")
    max_tokens: int | None = Field(None, ge=1, le=200_000, description="Of one answer of the model.")
    history_tokens: int = Field(16_000, ge=500, le=1_000_000, description="Of former turns in a prompt, at most.")

    documents: bool = Field(True, description="Whether documents may be searched.")
    sql: bool = Field(True, description="Whether databases may be asked.")
    packs: bool = Field(True, description="Whether rules and tools of packs are given.")
    servers: bool = Field(True, description="Whether tools of other servers are offered.")
    connection: str = Field("", max_length=64, description="The database that is meant where none is named.")

    grading: bool = Field(True, description="Whether the model says which passages are relevant before they are used.")
    top_k: int = Field(8, ge=1, le=50, description="Passages of one search, over all repositories together.")
    document_tokens: int = Field(6_000, ge=200, le=100_000, description="Of passages in a prompt, at most.")
    tools: int = Field(8, ge=1, le=32, description="Tools that are found for a message and offered, at most.")
    result_tokens: int = Field(2_000, ge=100, le=50_000, description="A longer result is read page by page.")

    approval: Approval = Field(
        "writes",
        description="Which calls wait for a person: those that may write, that may destroy, all, none.",
    )
    recursion: int = Field(50, ge=4, le=500, description="Steps of one turn, at most.")
    model_seconds: float = Field(120.0, gt=0, le=3600, description="For one answer of the model.")
    first_seconds: float = Field(60.0, gt=0, le=3600, description="Until the model's answer begins.")
    tool_seconds: float = Field(120.0, gt=0, le=3600, description="For one call of a tool.")


@dataclass(frozen=True, slots=True)
class SettingsView:
    """What holds, and why.

    Attributes:
        settings: What holds.
        sources: Where each value comes from, by field.
    """

    settings: ChatSettings
    sources: Mapping[str, SettingSource]
