"""Renders templates: every value is escaped, and its invisible characters are shown.

Invariant: a template cannot forget it: each value that it prints passes `_shown`, and Jinja escapes the rest.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from thresher.console.marks import changed_words, marked
from thresher.core import plain
from thresher.foreign import visible, visible_json

_HERE: Final = Path(__file__).parent
STATIC: Final = _HERE / "static"
_STEPS: Final = ((60, 1, "s"), (3_600, 60, "min"), (86_400, 3_600, "h"), (60 * 86_400, 86_400, "days"))
_WEB: Final = ("http", "https")
_EVEN: Final = 0.005
_FEWEST_POINTS: Final = 2
_CITED: Final = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
_ALIGNED: Final = re.compile(r"text-align:(left|center|right)")
_BLANK_LINES: Final = re.compile(r"\n(?:[ \t]*\n)+")
_NUMBER: Final = re.compile(r"\d+")
_LONGEST_MARKDOWN: Final = 200_000
_MARKS: Final = "[*_~<&"
_MOST_MARKS: Final = 8_000
"""A text with more characters, or more of these, is shown as it is: to read it as Markdown would keep others waiting,
for 50 µs a mark."""
_MOST_BLOCKS: Final = 10_000
"""As many lines and cells of tables; a row of a table gets as many cells as its first one has, whatever it says."""


@cache
def templates() -> Environment:
    """The templates, compiled when each is first shown."""
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "ago": ago,
        "bytes": size,
        "changed": changed_words,
        "exact": _exact,
        "is_plain": _is_plain,
        "json": _json,
        "markdown": markdown,
        "marked": marked,
        "ms": milliseconds,
        "number": number,
        "percent": percent,
        "plain": plain,
        "segment": _segment,
        "sparkline": sparkline,
    }
    environment.filters.update(filters)
    added: Any = {"asset": asset, "link": link, "built": (STATIC / "built").is_dir}
    environment.globals.update(added)
    return environment


def _shown(value: Any) -> Any:
    if isinstance(value, Markup):
        return value
    return visible(value, breaks=True) if isinstance(value, str) else "" if value is None else value


def _exact(value: str | None) -> Markup:
    """A value as it is, escaped: for hidden fields and addresses, which come back."""
    return escape("" if value is None else value)


def _json(value: Any) -> str:
    """A value as indented JSON."""
    try:
        return visible_json(plain(value), indent=2)
    except RecursionError:
        return "(nested too deeply to be shown)"


def _segment(value: Any) -> str:
    """A value as one segment of a path."""
    return quote(str(value), safe="")


def _is_plain(text: str) -> bool:
    """Whether a text is shown as it is: it has no invisible characters."""
    return visible(text, breaks=True) == text


def number(value: float | None) -> str:
    """A number with its thousands separated."""
    return "" if value is None else f"{value:,}"


def percent(share: float | None) -> str:
    """A share of 0 to 1."""
    if share is None:
        return ""
    digits = (
        0 if share in (0, 1) or _EVEN < share < 1 - _EVEN else 1
    )  # what is nearly all or nothing is not rounded to it
    return f"{100 * share:.{digits}f} %"


def link(path: str, /, **query: Any) -> str:
    """A path with a query; parameters without a value are left out, and a list is repeated."""
    given = {name: value for name, value in query.items() if value not in (None, "", [], ())}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def page_of(base: str, name: str) -> str:
    """The address of the page of something that is named by any characters."""
    return f"{base}/{quote(name, safe='')}"


@cache
def asset(name: str) -> str:
    """The address of a static file: another one when its content is."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def ago(when: dt.datetime | str | None, now: dt.datetime | None = None) -> Markup:
    """A time as people say it, with the exact one beside it for a pointer."""
    if not when:
        return Markup("never")
    when = dt.datetime.fromisoformat(when) if isinstance(when, str) else when
    now = now or dt.datetime.now(dt.UTC)
    seconds = (now - when).total_seconds()
    amount = abs(seconds)
    step = next(((amount // unit, name) for limit, unit, name in _STEPS if amount < limit), None)
    said = (
        f"{when:%d %b %Y}"
        if step is None
        else f"{step[0]:.0f} {step[1].rstrip('s') if step[0] == 1 and len(step[1]) > 3 else step[1]}"
    )
    if step is not None:
        said = "now" if amount < 1 else f"{said} ago" if seconds > 0 else f"in {said}"
    exact = f"{when.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(when.isoformat(), exact, said)


def size(count: float | None) -> str:
    """Bytes with a unit."""
    if count is None:
        return ""
    for unit in ("B", "kB", "MB"):
        if count < 1_000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1_000
    return f"{count:.1f} GB"


def sparkline(values: Sequence[float], width: int = 96, height: int = 20) -> str:
    """The path of a line through some values, the first one on the left; empty for fewer than two."""
    if len(values) < _FEWEST_POINTS:
        return ""
    most, step = max(*values, 1e-9), width / (len(values) - 1)
    places = (
        f"{index * step:.1f} {height - 1 - (height - 2) * value / most:.1f}" for index, value in enumerate(values)
    )
    return f"M{'L'.join(places)}"


def milliseconds(value: float | None) -> str:
    """A duration in milliseconds; seconds from ten thousand on."""
    if value is None:
        return ""
    return f"{value / 1_000:,.1f} s" if value >= 10_000 else f"{value:,.0f} ms" if value >= 10 else f"{value:.1f} ms"


def markdown(text: str, citations: Mapping[int, str] | None = None) -> Markup:
    """Markdown of others as HTML: no raw HTML, no images, and links that name their host.

    Args:
        text: The Markdown.
        citations: Addresses of this console by number: `[2]` becomes a link to the second.
    """
    if len(text) > _LONGEST_MARKDOWN or sum(map(text.count, _MARKS)) > _MOST_MARKS or _blocks(text) > _MOST_BLOCKS:
        return Markup('<pre class="wrap">{}</pre>').format(visible(text, breaks=True))
    environment = {"citations": citations or {}}
    return Markup(_markdown().render(visible(text, breaks=True), environment))  # noqa: S704 - the renderer escapes, HTML is off


def _blocks(text: str) -> int:
    """At least how many lines and cells of tables a text has."""
    found = 0
    for block in _BLANK_LINES.split(text):
        lines = block.splitlines()
        found += len(lines) * max((1, *(line.count("|") for line in lines)))
    return found


@cache
def _markdown() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["table", "strikethrough"])
    reader.validateLink = _is_web  # pyright: ignore[reportAttributeAccessIssue] - how the library is told
    return reader


def _is_web(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme in _WEB and bool(parts.netloc)


def _cited(number: str, citations: Mapping[int, str]) -> str:
    address = citations.get(int(number))
    return f'<a class="cite" href="{escape(address)}">{number}</a>' if address else number


class _Renderer(RendererHTML):
    """Renders links with their host, and images as links."""

    def link_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        """The beginning of a link."""
        token = tokens[at]
        token.attrSet("rel", "noopener nofollow")
        env["host"] = urlsplit(str(token.attrGet("href") or "")).hostname or ""
        env["in_link"] = True
        return self.renderToken(tokens, at, options, env)

    def link_close(self, _tokens: Sequence[Token], _at: int, _options: Any, env: Any) -> str:
        """The end of a link, and its host."""
        env["in_link"] = False
        return f'</a> <span class="host">({escape(env["host"])})</span>'

    def text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002 - the library's
        """Words, in which numbers of passages are links."""
        written, cited = str(escape(tokens[idx].content)), env.get("citations")
        if not cited or env.get("in_link"):
            return written
        return _CITED.sub(lambda group: f"[{_NUMBER.sub(lambda one: _cited(one[0], cited), group[1])}]", written)

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        """The beginning of a table, which scrolls by itself where it is too wide."""
        region = '<div class="scroll" tabindex="0" role="region" aria-label="Table">'
        return region + self.renderToken(tokens, at, options, env)

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        """The end of a table."""
        return f"{self.renderToken(tokens, at, options, env)}</div>"

    def th_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        """The beginning of a cell, with its alignment as a class: no style is allowed inline."""
        aligned = _ALIGNED.fullmatch(str(tokens[at].attrs.pop("style", "")))
        if aligned and aligned[1] != "left":
            tokens[at].attrSet("class", {"center": "middle", "right": "end"}[aligned[1]])
        return self.renderToken(tokens, at, options, env)

    td_open = th_open

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002 - the library's
        """An image, which is not loaded: a link to it."""
        token = tokens[idx]
        source, name = str(token.attrGet("src") or ""), escape(token.content or "image")
        host = escape(urlsplit(source).hostname or "no host")
        link = f'<a rel="noopener nofollow" href="{escape(source)}">{name}</a>' if _is_web(source) else name
        return f'{link} <span class="host">(image, {host})</span>'


def render(name: str, context: Mapping[str, Any]) -> str:
    """The text of a page."""
    return templates().get_template(name).render(context)
