"""The agent's prompts: six texts by name, as shipped or changed by a tenant.

Invariant: whatever a tenant writes, each prompt has its variables, and text of others stands between borders.
"""

from thresher.agent.prompts.queries import in_force_statement, versions_of
from thresher.agent.prompts.records import SHIPPED, AgentPrompt, fill_text
from thresher.agent.prompts.service import Prompts

__all__ = ["SHIPPED", "AgentPrompt", "Prompts", "fill_text", "in_force_statement", "versions_of"]
