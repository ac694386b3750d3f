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
    servers,
    session,
    settings,
    threads,
    tools,
)

PAGES = (
    *(*session.PAGES, *home.PAGES, *explanation.PAGES, *cases.PAGES, *tools.PAGES, *servers.PAGES),
    *(*chat.PAGES, *threads.PAGES),
    *(*documents.PAGES, *apis.PAGES, *databases.PAGES),
    *(*insight.PAGES, *settings.PAGES, *actions.PAGES),
)
"""All pages."""

__all__ = ["PAGES"]
