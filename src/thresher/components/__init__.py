"""Drop-in components: Python modules in a folder of the owner become tools, prompts, resources and servers.

`python -m thresher.components` is the process that runs them; what is here is light, for modules and for the daemon.

Invariant: code of a folder is never run in the daemon's own process, nor from a folder that others can write.

Uses: core.
"""

from thresher.components.auth import Auth
from thresher.components.folder import Folder, look
from thresher.components.proxies import add_server
from thresher.components.report import FileReport, Report, read_report, report_of

__all__ = ["Auth", "FileReport", "Folder", "Report", "add_server", "look", "read_report", "report_of"]
