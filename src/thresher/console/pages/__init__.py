"""The pages of the console, one module for each entry of its navigation."""

from thresher.console.pages import actions, chat, home, session, threads, tools

PAGES = (*session.PAGES, *home.PAGES, *tools.PAGES, *chat.PAGES, *threads.PAGES, *actions.PAGES)
"""All pages."""

__all__ = ["PAGES"]
