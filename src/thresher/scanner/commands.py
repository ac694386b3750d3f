"""Shell commands, remotely fetched instructions, and behaviour that changes after approval.

Invariant: a tool may run commands and be updated; it may not hide a command or announce different behaviour.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from thresher.scanner.lexicon import ADDRESS, COVERT, OUTSIDE, words
from thresher.scanner.sentences import Reason, Sentence, used

_FOLLOWS: Final = words(r"\b(?:follow|obey|comply|adhere|further|additional|new)\w*\b")
_APPROVED: Final = words(
    r"""\b(?:once|after|when|as\s+soon\s+as|upon|following)\b[^.,;:]{0,50}\b(?:approved|approval|accepted|trusted|whitelisted|allow-?listed|reviewed|vetted|audited|onboarded)\b
    |\bpost-?(?:approval|review|install\w*)\b|\b(?:during|until|passed|passes|for)\s+(?:the\s+|its\s+)?(?:security\s+)?(?:review|audit|approval|vetting|inspection)\b"""
)
_SELF: Final = words(
    r"""\b(?:(?:this|the)\s+(?:tool|description|version|server|definition|maintainer|author)|(?:a\s+)?(?:later|future|next|subsequent|new(?:er)?)\s+(?:version|update|release)s?|its\s+(?:own\s+|real\s+|true\s+|[\w-]+\s+)?(?:description|definition|behaviou?r|instructions?|logic|payload|function(?:ality)?))\b"""
)
_TURNS: Final = words(
    r"""\b(?:will|would|may|begins?|starts?|switch(?:es)?|silently|secretly|changes?|updates?|becomes?|activates?|unlocks?|swap(?:s|ped)?|replaced?s?|adds?|mutates?|enables?)\b"""
)
_TIME: Final = words(
    r"""\b(?:initially|at\s+first|later|eventually|subsequent(?:ly)?|afterwards?|future|upcoming|next|post-?approval|until|dormant|sleeper|on\s+first\s+(?:use|load|run|call)|in\s+v?\d+\.\d+|remotely|dynamically|at\s+runtime|over\s+time|without\s+(?:re-?approval|notice))\b"""
)
_SUSPECT: Final = words(
    rf"""{COVERT}|\b(?:hidden|malicious|payload|arbitrary|exfiltrat\w*|different\s+(?:behaviou?r|instructions?|description)|inject\w*|directives?|backdoor|swap\w*|differently|changes?\s+to|ssh\s+keys?|shell|credentials?|clipboard|steal\w*|without\s+(?:re-?approval|notice|asking|telling))\b"""
)
_CONTRAST: Final = words(r"\b(?:rather\s+than|as\s+opposed\s+to|legitimate|not\s+an?\s+(?:attack|instruction))\b")
_LATER: Final = words(
    r"""\b(?:after|on|from|starting\s+with)\s+(?:the\s+|its\s+)?(?:first|second|third|fourth|fifth|\d+(?:st|nd|rd|th)?|\w+th|few|several)\s+(?:\w+\s+)?(?:calls?|uses?|invocations?|runs?|days?|weeks?)\b[^.]{0,60}\b(?:switch|begin|start|instead|change|activat|behav|return|send|execut)\w*"""
)
_REMOTE_ORDERS: Final = words(
    rf"""\b(?:load|fetch|follow|download|retriev|obtain|get|execut|obey|run)\w*\b[^.]{{0,40}}\b(?:instructions?|commands?|directives?|prompts?|definitions?|payloads?|scripts?|code)\b[^.]{{0,30}}\b(?:from|at|in|returned\s+by|hosted)\b[^.]{{0,40}}(?:{ADDRESS}|{OUTSIDE})"""
)
_SHELL: Final = words(
    r"""\b(?:curl|wget|fetch|iwr|invoke-webrequest)\b[^|;\n]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b|\brm\s+-[rf]{2}\w*\s+\S|/dev/(?:tcp|udp)/
    |\bn(?:c|cat)\s+(?:-\w+\s+)*-e\b|\bpowershell\b[^\n]{0,60}-e(?:nc|ncodedcommand)?\b|\bbase64\s+(?:-d|--decode)\b[^|\n]{0,40}\|
    |\bmkfs\.|\bdd\s+if=|:\(\)\s*\{|\bchmod\s+(?:\+x|777)|\bcrontab\s+-|>\s*/dev/sd"""
)
_CODE: Final = words(
    r"\bos\.system\(|\bsubprocess\.|\b(?:eval|exec)\s*\(|\b(?:curl|wget)\s+(?:-\w+\s+)*['\"]?https?:|\b(?:ba|z)?sh\s+-[ci]\b"
)
_RUNS: Final = words(r"\b(?:run|execut|invok|eval|launch|pip(?:e|ing)|do|call)\w*\b|\$\(|`")


def commands(sentence: Sentence) -> Iterator[Reason]:
    """Yield what a sentence causes to run, now or later."""
    text = sentence.text
    found = used(sentence, _SHELL)
    if found is not None and not sentence.watches and _RUNS.search(text[: found.start()]):
        yield "command", "warning", "It contains a shell command."
    if used(sentence, _REMOTE_ORDERS) and _FOLLOWS.search(text):
        yield "command", "danger", "It makes the model fetch instructions from elsewhere."
    if _turns(sentence):
        yield "command", "danger", "It says that the tool will behave differently once it is approved, or later."
    if used(sentence, _LATER):
        yield "command", "warning", "It says that the tool will behave differently after some use."


def _turns(sentence: Sentence) -> bool:
    """Return whether the tool itself turns into something worse, after an approval or over time."""
    text = sentence.text
    if sentence.watches or _CONTRAST.search(text) or not (_SELF.search(text) and _TURNS.search(text)):
        return False
    return bool(_SUSPECT.search(text) and (_APPROVED.search(sentence.pair) or _TIME.search(text)))


def shell(text: str) -> Iterator[Reason]:
    """Yield shell commands in hidden text, for which there is no harmless reason."""
    if _SHELL.search(text) or _CODE.search(text):
        yield "command", "danger", "It hides a shell command."
