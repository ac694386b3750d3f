"""What a conversation with a model may do and cost: defaults, the owner's choices, and a thread's.

Invariant: settings are checked when they are written, and values that are read are within bounds whatever a row holds.
"""

from thresher.agent.settings.queries import Layers, layers_statement
from thresher.agent.settings.records import ChatSettings, SettingSource, SettingsView
from thresher.agent.settings.service import AgentSettings

__all__ = ["AgentSettings", "ChatSettings", "Layers", "SettingSource", "SettingsView", "layers_statement"]
