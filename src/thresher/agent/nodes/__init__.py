"""The steps of a turn; each is a function of the state and the turn's desk, and fails as it says.

Uses: core, embedding, llm.
"""

from thresher.agent.nodes.complete import complete
from thresher.agent.nodes.initialise import initialise
from thresher.agent.nodes.retrieve import retrieve
from thresher.agent.nodes.route import client_calls, onward, route
from thresher.agent.nodes.tools import tools

__all__ = ["client_calls", "complete", "initialise", "onward", "retrieve", "route", "tools"]
