"""Settings, errors, records, JSON and logging: the ground that every package stands on.

Invariant: imports nothing of ours.

Uses: nothing.
"""

from thresher.core.calling import acting_caller, acting_for, acting_or
from thresher.core.encoding import dumps, plain
from thresher.core.errors import (
    AccessDenied,
    ConfigurationError,
    Conflict,
    DaemonError,
    EncoderError,
    HeldBack,
    InvalidInput,
    ModelError,
    ModelTimeout,
    NotAllowed,
    NotFound,
    SchemaMismatch,
    SourceUnavailable,
    StoreError,
    StoreUnavailable,
    ThresherError,
    UnsafeRole,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
)
from thresher.core.log import Said, configure_logging, current_trace, event, mask, mask_text, new_trace, traced
from thresher.core.records import JSON, Arm, Caller, ContextPack, LeftOut, Piece, Rule, Scored, Tenant, Tool, Why
from thresher.core.settings import Settings, environment, load_settings
from thresher.core.wording import did_you_mean, first_sentence, nearest, shortened

__all__ = [
    "JSON",
    "AccessDenied",
    "Arm",
    "Caller",
    "ConfigurationError",
    "Conflict",
    "ContextPack",
    "DaemonError",
    "EncoderError",
    "HeldBack",
    "InvalidInput",
    "LeftOut",
    "ModelError",
    "ModelTimeout",
    "NotAllowed",
    "NotFound",
    "Piece",
    "Rule",
    "Said",
    "SchemaMismatch",
    "Scored",
    "Settings",
    "SourceUnavailable",
    "StoreError",
    "StoreUnavailable",
    "Tenant",
    "ThresherError",
    "Tool",
    "UnsafeRole",
    "UpstreamError",
    "UpstreamRefused",
    "UpstreamTimeout",
    "Why",
    "acting_caller",
    "acting_for",
    "acting_or",
    "configure_logging",
    "current_trace",
    "did_you_mean",
    "dumps",
    "environment",
    "event",
    "first_sentence",
    "load_settings",
    "mask",
    "mask_text",
    "nearest",
    "new_trace",
    "plain",
    "shortened",
    "traced",
]
