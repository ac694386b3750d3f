"""The pages of the console, one module for each entry of its navigation."""

from thresher.console.pages import (
    actions,
    apis,
    cases,
    chat,
    databases,
    documents,
    explanation,
    home,
    insight,
    packs,
    servers,
    settings,
    solutions,
    threads,
    tools,
)

PAGES = (
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
    *insight.PAGES,
    *settings.PAGES,
    *cases.PAGES,
    *explanation.PAGES,
    *actions.PAGES,
)
"""All pages."""

__all__ = ["PAGES"]
