"""The pages of the console, one module for each entry of its navigation."""

from thresher.console.pages import actions, apis, databases, documents, home, packs, session, solutions, tools

PAGES = (
    *session.PAGES,
    *home.PAGES,
    *tools.PAGES,
    *documents.PAGES,
    *apis.PAGES,
    *databases.PAGES,
    *packs.PAGES,
    *solutions.PAGES,
    *actions.PAGES,
)
"""All pages."""

__all__ = ["PAGES"]
