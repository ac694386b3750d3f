"""Learning from use: tools that were used after like messages rank higher, those passed over lower.

Beside it, training: what uses or examples say about all messages together, fitted once, when a person asks for it.

Invariant: a message that is like none before ranks as without learning, exactly; a tool on which nothing was trained
loses no place by training.
"""

from thresher.knowledge.tools.learning.adapter import AdapterFigures
from thresher.knowledge.tools.learning.replay import MovedTool, Replay
from thresher.knowledge.tools.learning.service import Learning, LearningState, UsedTool
from thresher.knowledge.tools.learning.training import Training, TrainingResult, TrainingState
from thresher.knowledge.tools.learning.uses import OfferedAnswer, offered_tools

__all__ = [
    "AdapterFigures",
    "Learning",
    "LearningState",
    "MovedTool",
    "OfferedAnswer",
    "Replay",
    "Training",
    "TrainingResult",
    "TrainingState",
    "UsedTool",
    "offered_tools",
]
