"""Calls of operations and their credentials, for `verbs.apis`: what a face gives, as the APIs kind takes it.

Invariant: a rehearsal sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.knowledge.apis import ApiCredential, ApiReply, CallRequest, CredentialRequest, EndpointReference
from thresher.verbs.request import Request


async def call_api_endpoint(request: Request, reference: Mapping[str, str], *, dry_run: bool, **given: Any) -> ApiReply:
    """See the verb."""
    wanted = CallRequest(
        EndpointReference(**reference),
        dry_run=dry_run or request.is_rehearsal,
        client=request.client,
        thread=request.thread,
        **given,
    )
    return await request.services.apis.call(request.caller, wanted)


async def set_api_credential(request: Request, provider: str, **given: Any) -> ApiCredential:
    """See the verb."""
    return await request.services.apis.access.set_credential(request.caller, provider, CredentialRequest(**given))
