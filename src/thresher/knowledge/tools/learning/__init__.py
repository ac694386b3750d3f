"""Learning from use: tools that were used after like messages rank higher, those passed over lower.

Invariant: a message that is like none before ranks as without learning, exactly.
"""

from thresher.knowledge.tools.learning.replay import MovedTool, Replay
from thresher.knowledge.tools.learning.service import Learning, LearningState, UsedTool
from thresher.knowledge.tools.learning.uses import OfferedAnswer, offered_tools

__all__ = [
    "Learning",
    "LearningState",
    "MovedTool",
    "OfferedAnswer",
    "Replay",
    "UsedTool",
    "offered_tools",
]
