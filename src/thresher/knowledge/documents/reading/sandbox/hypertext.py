"""HTML: the visible text of a page, as Markdown.

lxml parses the page and removes what is not content; markdownify writes the Markdown.

Invariant: the converter, which recurses for each level, ends however deeply the page is nested.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from bs4 import BeautifulSoup, Tag
from lxml import html as untyped_html
from markdownify import MarkdownConverter

_Element: TypeAlias = Any
"""An element of lxml, which has no types."""
_html: Any = untyped_html
_DEEPEST: Final = 60
"""Most levels of tags; deeper tags are removed and their text stays, because the converter recurses for each level."""
_NO_CONTENT: Final = (
    "//script | //style | //noscript | //template | //svg | //iframe | //object | //canvas | //nav | //button | "
    "//input | //select | //dialog | //*[@hidden] | //*[@aria-hidden='true'] | "
    "//*[@role='navigation' or @role='search' or @role='banner'] | //a[contains(@class, 'headerlink')]"
)
_MAIN: Final = "//main | //*[@role='main']"
_MAIN_SHARE: Final = 0.5
"""Share of the page's text from which its main part stands for the whole page."""
_LANGUAGE: Final = re.compile(r"(?:language|lang|highlight|brush:)-?\s*([A-Za-z0-9+#]+)")
_BLANK_LINES: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")
_TRAILING: Final = re.compile(r"(?<=\S)[ \t]+$", re.M)


def convert(octets: bytes) -> dict[str, Any]:
    """The page's text as Markdown, and its title.

    Args:
        octets: The page in UTF-8, whatever encoding it declares.
    """
    parser = _html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = _html.document_fromstring(octets, parser=parser)
    except _html.etree.ParserError:
        return {"text": "", "title": ""}
    title = " ".join("".join(str(part) for part in root.xpath("//head/title[1]//text()")).split())
    main = _content(root)
    _flatten(main)
    converter = MarkdownConverter(
        heading_style="ATX", bullets="-", code_language_callback=_language, escape_misc=False, escape_underscores=False
    )
    soup = BeautifulSoup(_html.tostring(main, encoding="unicode"), "lxml")
    text = _TRAILING.sub("", converter.convert_soup(soup))
    return {"text": _BLANK_LINES.sub("\n\n", text).strip("\n") + "\n", "title": title}


def _content(root: _Element) -> _Element:
    """The part of the page with its text, without what is not content."""
    for element in root.xpath(_NO_CONTENT):
        if element.getparent() is not None:
            element.drop_tree()
    for image in root.xpath("//img"):
        _words_of(image)
    for words in root.xpath("//td//text()[contains(., '|')] | //th//text()[contains(., '|')]"):
        _escape(words)
    for link in root.xpath("//a[starts-with(@href, '#') or starts-with(@href, 'javascript:')]"):
        link.drop_tag()
    whole = root.find("body")
    whole = root if whole is None else whole
    mains = root.xpath(_MAIN)
    if len(mains) == 1 and len(mains[0].text_content()) > _MAIN_SHARE * len(whole.text_content()):
        return mains[0]
    return whole


def _words_of(image: _Element) -> None:
    """Replace an image by its alternative text."""
    words = " ".join((image.get("alt") or "").split())
    image.tail = f"{words} {image.tail or ''}" if words else image.tail
    image.drop_tag()


def _escape(words: Any) -> None:
    """Escape a bar inside a cell, where it is not a border."""
    escaped = words.replace("|", "\\|")
    if words.is_tail:
        words.getparent().tail = escaped
    else:
        words.getparent().text = escaped


def _flatten(root: _Element) -> None:
    """Remove the tags that are too deep."""
    depth = 0
    deep: list[_Element] = []
    for event, element in _html.etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if event == "start" and depth > _DEEPEST:
            deep.append(element)
    for element in reversed(deep):
        element.drop_tag()


def _language(element: Tag) -> str:
    """The language of a code block, from its class."""
    nodes = [element, element.find("code"), element.parent, element.parent.parent if element.parent else None]
    for node in nodes:
        classes = node.get("class") if isinstance(node, Tag) else None
        match = _LANGUAGE.match(" ".join(classes) if isinstance(classes, list) else classes or "")
        if match:
            return match[1]
    return ""
