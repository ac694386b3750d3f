"""The pages of the console, one module for each entry of its navigation."""

from thresher.console.pages import actions, apis, databases, documents, home, servers, session, tools

PAGES = (
    *(*session.PAGES, *home.PAGES, *tools.PAGES, *servers.PAGES),
    *(*documents.PAGES, *apis.PAGES, *databases.PAGES, *actions.PAGES),
)
"""All pages."""

__all__ = ["PAGES"]
