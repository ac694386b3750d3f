"""The agent's prompts: six texts by name, as shipped or changed by a tenant.

Invariant: whatever a tenant writes, each prompt has its variables, and text of others stands between borders.
"""

from thresher.agent.prompts.queries import PromptVersion, in_force_statement
from thresher.agent.prompts.records import SHIPPED, AgentPrompt, fill_text
from thresher.agent.prompts.service import Prompts

__all__ = ["SHIPPED", "AgentPrompt", "PromptVersion", "Prompts", "fill_text", "in_force_statement"]
