"""The steps of a turn that ask the model, search documents and call tools.

Each is a function of the state and the turn's context; its docstring names its failures.
"""

from thresher.agent.nodes.complete import complete
from thresher.agent.nodes.retrieve import retrieve
from thresher.agent.nodes.tools import tools

__all__ = ["complete", "retrieve", "tools"]
