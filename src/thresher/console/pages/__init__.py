"""The pages of the console, one module for each entry of its navigation."""

from thresher.console.pages import actions, apis, documents, home, session, tools

PAGES = (*session.PAGES, *home.PAGES, *tools.PAGES, *documents.PAGES, *apis.PAGES, *actions.PAGES)
"""All pages."""

__all__ = ["PAGES"]
