"""The bodies of requests and answers of models and settings.

Invariant: as for every body: what `/v1/openapi.json` says is what is taken and sent; a key is taken and never sent.
"""

from __future__ import annotations

import datetime as dt

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from thresher.agent import ChatSettings, SettingSource
from thresher.verbs import RequestBody


class ModelRequest(RequestBody):
    """A chat model to be registered."""

    name: str = Field(description="What it is called from now on.")
    url: str = Field(description="The service's address, such as `http://127.0.0.1:11434/v1`.")
    model: str = Field(description="The service's name for it, such as `qwen3:8b`.")
    key: SecretStr | None = Field(None, description="Sent as a bearer token; kept sealed, and never shown.")
    replace: bool = Field(False, description="Whether it may take the place of another one of this name.")


class ModelChange(RequestBody):
    """What is changed of a model."""

    enabled: bool = Field(description="Whether conversations may use it.")


class ModelResponse(BaseModel):
    """A chat model."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    url: str = Field(description="The service's address, without its query.")
    model: str = Field(description="The service's name for it.")
    keyed: bool = Field(description="Whether a key is kept for it.")
    enabled: bool = Field(description="Whether conversations may use it.")
    owner: str | None = Field(description="The user whose alone it is; null: everybody's.")
    configured: bool = Field(description="Whether it is that of THRESHER_LLM_URL, which stays.")
    chosen: bool = Field(description="Whether it answers where none is named.")
    created_at: dt.datetime | None = Field(description="When it was registered.")


class ModelsResponse(BaseModel):
    """The chat models that you see."""

    models: list[ModelResponse]


class CheckedResponse(BaseModel):
    """What came of asking a model something harmless."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    ok: bool = Field(description="Whether it answered.")
    ms: int = Field(description="Until the whole answer was there, or the failure.")
    says: str = Field(description="Its words; other people's text.")
    model: str = Field(description="As the service names the one that answered.")
    problem: str = Field(description="Why it did not.")


class SettingsResponse(BaseModel):
    """What holds in conversations."""

    model_config = ConfigDict(from_attributes=True)

    settings: ChatSettings
    sources: dict[str, SettingSource] = Field(
        description="Where each value comes from: `default`, `owner` (for all of your threads) or `thread`."
    )
