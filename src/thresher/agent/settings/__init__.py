"""What a conversation with a model may do and cost: the defaults, a client's choices, and a thread's.

Invariant: settings are checked when they are written, and whatever a row holds, what is read is within bounds.
"""

from thresher.agent.settings.queries import layers_of, layers_statement
from thresher.agent.settings.records import ChatSettings, SettingSource, SettingsView
from thresher.agent.settings.service import AgentSettings

__all__ = ["AgentSettings", "ChatSettings", "SettingSource", "SettingsView", "layers_of", "layers_statement"]
