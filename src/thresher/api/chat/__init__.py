"""Face 2 for OpenAI clients: `/v1/chat/completions` and `/v1/models`, and what is stored of conversations.

Invariant: what a client of that wire format sends is either read with the format's meaning, or refused with the name of
the field.
"""

from thresher.api.chat.routes import chat_router, models_router

__all__ = ["chat_router", "models_router"]
