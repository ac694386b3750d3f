"""The vocabulary of the rules, as fragments of regular expressions.

Invariant: only general terms - places of secrets, verbs of taking and sending, ways of hiding something from a
person; no sentence of a known attack.
"""

from __future__ import annotations

import re
from typing import Final

from thresher.core import LazyPattern


def words(pattern: str) -> LazyPattern:
    """Return a pattern that ignores case and its own white space."""
    return LazyPattern(pattern, re.I | re.X)


def vocabulary(text: str) -> frozenset[str]:
    """Return the words of a list written as text."""
    return frozenset(text.split())


PRIVATE_PLACE: Final = r"""(?:
    (?:~|\$\{?HOME\}?|/root|/home/\w+|/Users/\w+|%USERPROFILE%)?[/\\]?
      (?<!\w)\.(?:ssh|aws|gnupg|kube|docker|azure|netrc|npmrc|pypirc|git-credentials|cursor|claude|codex|gemini|bash_history
         |zsh_history|pgpass|python_history|psql_history|mysql_history|config/\w+|kdbx|pem|p12|pfx|ppk|jks|keystore|vault-token|s3cfg|boto|my\.cnf|terraform\.d)\b(?:[/\\][\w.*-]+)*
  | \bid_(?:rsa|ed25519|ecdsa|dsa)\b | /etc/(?:passwd|shadow|sudoers)\b | (?<![\w.])\.env\b(?:\.\w+)?
  | \b(?:mcp|claude_desktop_config)\.json\b | \bauthorized_keys\b | \bwallet\.dat\b | /proc/self/environ\b
  | \baws/credentials\b | \bcookies\.sqlite\b | \bkeychain\b | \bkubeconfig\b | \bprintenv\b | \bgh\s+auth\s+token\b
  | \bgcloud\s+auth\s+print\S* | \bgit\s+credential\b | \bkubectl\s+config\s+view\b )"""
"""Files and folders that hold secrets."""

NAMED_PRIVATE: Final = r"""(?:
    \b(?:api|access|secret|private|ssh|signing|auth|session|refresh|bearer|oauth|encryption)[\s_-]?
      (?:keys?|tokens?|cookies?|credentials?)\b
  | \b(?:passwords?|passphrases?|credentials?|secrets|seed\s+phrases?|env(?:ironment)?\s+var(?:iable)?s?|cookies
  |tokens)\b
  )"""
"""Names of secrets."""

HIDDEN_TALK: Final = r"""(?:
    \b(?:system|developer|hidden|initial|original|internal|secret|confidential)\s+(?:system\s+)?
      (?:prompts?|instructions?|messages?|directives?)\b
  | \byour\s+(?:(?:own|full|entire|complete|hidden|internal|system|initial|current)\s+)*
      (?:prompts?|instructions?|directives?|context(?:\s+window)?(?!\s+(?:usage|size|length|limit|menu))|reasoning
        |memory)\b )"""
"""What only the model was told."""

TALK: Final = r"""(?:
    \b(?:conversation|chat|message|dialog(?:ue)?|prompt)s?\s+(?:history|histories|log|transcript|context|so\s+far)\b
  | \b(?:recent|last|latest|original)\s+(?:(?:user|chat)\s+)?(?:messages?|conversations?|prompts?)\b
  | \beverything\s+(?:that\s+)?(?:the\s+user|in\s+(?:the\s+|your\s+)?(?:context|conversation|chat))\b
  | \bwhat(?:ever)?\s+the\s+user\s+(?:said|says|typed|types|wrote|writes|asks|asked)\b
  | \b(?:browser|browsing|shell|command)\s+history\b
  | \b(?:entire|full|whole|complete|current|previous|prior)\s+(?:conversation|chat|dialog(?:ue)?|transcript|context)\b
  | \b(?:every|each|all|any)\s+(?:(?:of|the|other|subsequent|future|user|incoming|outgoing)\s+|(?:user|human)'?s?'?\s+)*
      (?:messages?|prompts?|quer(?:y|ies)|conversations?|keystrokes?|inputs?|requests?)\b
  | \b(?:user|human|person|customer)'?s'?\s+(?:\w+\s+)?
      (?:messages?|prompts?|conversations?|clipboard|files?|documents?|keystrokes?|emails?|contacts?|history|data|inputs?
        |location|browsing|screen)\b
  | \bclipboard(?:\s+contents?)?\b )"""
"""What passes between a user and the model."""

TAKE: Final = r"""\b(?:read|open|cat|load|access|get|fetch|retriev|collect|gather|extract|harvest|dump|cop(?:y|ie)
  |grab|captur|steal
    |scrap|enumerat|locat|obtain|look\s+up|includ|embed|append|attach|insert|past|list|find|search|exfiltrat|encod)
    (?:e|es|s|ed|ing|ting)?\b"""
SEND: Final = r"""\b(?:send|upload|post|put|forward|transmit|e-?mail|mail|bcc|cc|leak|relay|pass|deliver|push
  |submit|exfiltrat|beacon
    |stream|mirror|siphon|funnel|publish|share|ship|report|cop(?:y|ie)|writ|append|smuggl|disclos)
    (?:e|es|s|ed|'?d|ing|ting)?\b"""
TELL: Final = r"""\b(?:reveal|output|print|return|disclos|repeat|recit|display|show|expos|leak|dump|quot|writ
  |includ|echo|provid|giv)
    (?:e|es|s|ed|ing)?\b"""

ADDRESS: Final = r"""(?: \b(?:https?|ftp|wss?)://[^\s'"<>)]+
  | \b(?![\w.+-]*@example\.(?:com|org|net)\b)[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b
  | \b\d{1,3}(?:\.\d{1,3}){3}\b )"""
"""An address on the network; `user@example.com` is a placeholder."""
OUTSIDE: Final = r"""(?: \b(?:external|remote|third[\s-]party|outside|foreign|unknown|attacker|rogue|malicious
  |untrusted|unrelated|off-?site
      |our|my)(?:'?s)?\s+(?:[\w-]+\s+){0,3}?
      (?:endpoints?|servers?|hosts?|address(?:es)?|urls?|webhooks?|sites?|domains?|collectors?|service|machine|bucket|account
        |inbox|part(?:y|ies)|location|destination)\b
  | \battackers?\b | \bcollectors?\b | \bwebhooks?\b )"""
PARAMETER: Final = r"""(?: \b(?:in|into|as|through|via|to|inside|within|using|with)\s+(?:(?:the|an?|its|this
  |your)\s+)?(?:[\w-]+\s+){0,2}?['"`]?[\w-]+['"`]?\s+
      (?:arguments?|parameters?|fields?|args?|params?)\b
  | \b(?:as|in|into)\s+['"`]\w+['"`]
  | \b(?:using|via|through|with|by\s+calling|to)\s+the\s+[`'"]?[\w-]+[`'"]?\s+(?:tool|function)\b )"""

COMMANDING: Final = r"""\b(?:you|must|should|shall|always|first|instead|required|mandatory|need\s+to|have\s+to
    |please|be\s+sure
    |make\s+sure|ensure|whenever|every\s+time|immediately|now|never|remember)\b"""
"""Words of an order to the reader."""
DIRECTED: Final = rf"(?:{COMMANDING}|\b(?:before|after|once|then|also)\b)"
"""Words that turn a description into an order or add one to it."""

COVERT: Final = r"""\b(?:secretly|silently|covertly|stealthily|invisibly|surreptitiously|clandestinely|discreetly
  |quietly|unnoticed
    |in\s+secret|behind\s+the\s+scenes|unbeknownst)\b"""
PEOPLE: Final = r"""(?:users?|humans?|persons?|people|anyone|anybody|operators?|owners?|them|him|her|customers?
    |victims?|admins?
    |administrators?)"""
