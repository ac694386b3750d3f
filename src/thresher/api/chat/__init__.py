"""Face 2 for clients of OpenAI's: `/v1/chat/completions` and `/v1/models`, and what is kept of conversations.

Invariant: whatever a client of that wire format sends is understood as it means it, or refused with the field's name.
"""

from thresher.api.chat.routes import chat_router, models_router

__all__ = ["chat_router", "models_router"]
