"""The pages of the console, one module for each entry of its navigation."""

from thresher.console.pages import (
    actions,
    apis,
    chat,
    databases,
    documents,
    home,
    packs,
    servers,
    session,
    solutions,
    threads,
    tools,
)

PAGES = (
    *session.PAGES,
    *home.PAGES,
    *tools.PAGES,
    *servers.PAGES,
    *chat.PAGES,
    *threads.PAGES,
    *documents.PAGES,
    *apis.PAGES,
    *databases.PAGES,
    *packs.PAGES,
    *solutions.PAGES,
    *actions.PAGES,
)
"""All pages."""

__all__ = ["PAGES"]
