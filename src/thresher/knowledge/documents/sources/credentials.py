"""Finds credentials by their form.

Invariant: pure; returns the kind of a secret and never quotes it. Examples in manuals - the words EXAMPLE and `xxxx`, a
key of dots - are not secrets.
"""

from __future__ import annotations

import re
from typing import Final

_KEY: Final = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:\\[rn]|\s|[\w-]{1,40}: [^\n]{0,200}\n)*+([A-Za-z0-9+/=]{32,})"
)
_TOKENS: Final[tuple[tuple[bytes, str, re.Pattern[bytes]], ...]] = tuple(
    (begin, what, re.compile(rb"(?<![A-Za-z0-9])" + re.escape(begin) + form))
    for begin, what, form in (
        (b"AKIA", "a key of AWS", rb"([0-9A-Z]{16})(?![0-9A-Za-z])"),
        (b"ghp_", "a token of GitHub", rb"(\w{36})"),
        (b"gho_", "a token of GitHub", rb"(\w{36})"),
        (b"ghs_", "a token of GitHub", rb"(\w{36})"),
        (b"github_pat_", "a token of GitHub", rb"(\w{50,})"),
        (b"glpat-", "a token of GitLab", rb"([\w-]{20,})"),
        (b"xoxb-", "a token of Slack", rb"([\w-]{24,})"),
        (b"xoxp-", "a token of Slack", rb"([\w-]{24,})"),
        (b"sk-ant-", "a key of Anthropic", rb"([\w-]{40,})"),
        (b"sk-proj-", "a key of OpenAI", rb"([\w-]{40,})"),
        (b"sk-", "a key of OpenAI", rb"([A-Za-z0-9]{40,})"),
        (b"AIza", "a key of Google", rb"([\w-]{35})"),
        (b"hf_", "a token of Hugging Face", rb"([A-Za-z0-9]{30,})"),
        (b"npm_", "a token of npm", rb"([A-Za-z0-9]{36})"),
        (b"pypi-AgEIcHlwaS5vcmc", "a token of PyPI", rb"([\w-]{40,})"),
        (b"sk_live_", "a key of Stripe", rb"([A-Za-z0-9]{20,})"),
        (b"rk_live_", "a key of Stripe", rb"([A-Za-z0-9]{20,})"),
        (b"SG.", "a key of SendGrid", rb"([\w-]{20,}\.[\w-]{30,})"),
        (b"thr_", "a key of Thresher", rb"([\w-]{40,})"),
    )
)
"""Published forms of tokens; the fixed beginning is searched first, which costs almost nothing."""
_PLACEHOLDER: Final = re.compile(rb"example|x{4}|\*{3}|0{6}|12345|abcdef|your|token|secret|dummy|fake|redacted", re.I)
_FEW_DIFFERENT: Final = 8


def secret_in(data: bytes) -> str:
    """The kind of credential in some bytes, such as `a private key`; empty if there is none."""
    if b"PRIVATE KEY" in data and any(_is_random(found) for found in _KEY.findall(data)):
        return "a private key"
    for begin, what, form in _TOKENS:
        if begin in data and any(_is_random(found) for found in form.findall(data)):
            return what
    return ""


def _is_random(body: bytes) -> bool:
    return len(set(body)) >= _FEW_DIFFERENT and _PLACEHOLDER.search(body) is None
