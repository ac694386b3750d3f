"""The pages of the console, one module for each entry of its navigation."""

from thresher.console.pages import actions, apis, cases, databases, documents, explanation, home, session, tools

PAGES = (
    *session.PAGES,
    *home.PAGES,
    *explanation.PAGES,
    *cases.PAGES,
    *tools.PAGES,
    *documents.PAGES,
    *apis.PAGES,
    *databases.PAGES,
    *actions.PAGES,
)
"""All pages."""

__all__ = ["PAGES"]
