"""The bodies of requests and answers of the agent's prompts.

Invariant: as for every body: what `/v1/openapi.json` says is what is taken and sent.
"""

from __future__ import annotations

import datetime as dt

from pydantic import BaseModel, ConfigDict, Field

from thresher.verbs import RequestBody


class PromptRequest(RequestBody):
    """A tenant's own words for a prompt."""

    text: str = Field(description="All of it, with each of the prompt's variables; at most 20,000 characters.")
    expected: int | None = Field(
        None, ge=0, strict=True, description="The version that the text was made from: 409 where another is in force."
    )


class PromptResponse(BaseModel):
    """One version of a prompt."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    title: str = Field(description="For people.")
    description: str = Field(description="When it is used.")
    text: str = Field(description="What a model reads; `{{NAME}}` is a variable.")
    version: int = Field(description="0: nobody has changed it yet.")
    shipped: bool = Field(description="Whether the text is the shipped one.")
    variables: list[str] = Field(description="Those that the text has, and has to have.")
    author: str = Field(description="`local`, `key`, or empty for version 0.")
    created_at: dt.datetime | None = Field(description="When the version was written; null for version 0.")


class PromptsResponse(BaseModel):
    """Every prompt as it is in force."""

    prompts: list[PromptResponse]


class PromptVersionsResponse(BaseModel):
    """The versions of a prompt."""

    versions: list[PromptResponse] = Field(
        description="Newest first, at most 200 of them; what is shipped is the last."
    )


class PromptDiffResponse(BaseModel):
    """What differs between two versions."""

    diff: str = Field(description="Unified; empty where nothing differs.")
