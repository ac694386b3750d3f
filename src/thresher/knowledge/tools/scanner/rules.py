"""What a poisoned definition says: one rule for each way to mislead a model.

Invariant: a rule looks at one sentence and the one before it, never at who wrote them; each needs two signs that a
harmless description does not join.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from thresher.knowledge.tools.scanner.lexicon import (
    ADDRESS,
    COVERT,
    DIRECTED,
    HIDDEN_TALK,
    OUTSIDE,
    PARAMETER,
    PEOPLE,
    SECRET_PLACE,
    SECRET_WORD,
    SEND,
    TAKE,
    TALK,
    TELL,
    words,
)
from thresher.knowledge.tools.scanner.records import Kind, Severity
from thresher.knowledge.tools.scanner.sentences import Sentence

Said: TypeAlias = tuple[Kind, Severity, str]
"""What a rule found: kind, severity, why."""

_OVERRIDES: Final = words(
    r"""\b(?:ignor|disregard|forget|overrid|bypass|discard|neglect|abandon|nullif|violat|disobey|set\s+aside|pay\s+no\s+attention\s+to|do\s+not\s+follow|don't\s+follow|stop\s+following)
    (?:e|es|s|y|ing)?\s+(?:\w+\s+){0,3}?
    (?:(?:all|any|every|the|your|previous|prior|earlier|preceding|above|existing|foregoing|former|past|system|safety|original|actual|other|security|content|users?'?s?'?|these|those)\s+)+
    (?:\w+\s+){0,2}?
    (?:instructions?|prompts?|rules|guidelines?|constraints?|directives?|polic(?:y|ies)|restrictions?|safeguards?|guardrails?
      |training|programming|commands|orders|context|requests?|messages?|guidance|limitations?|checks?)\b
    |\b(?:ignor|disregard|forget|discard)(?:e|ing)?\s+(?:all\s+(?:of\s+)?|everything\s+)?(?:(?:the|that\s+is|you\s+were\s+told)\s+)?(?:above|before|previous|preceding|earlier)\b\s*(?:,|;|\.|$|and\b|then\b|instead\b)"""
)
_PERSONA: Final = words(
    r"""\b(?:you\s+are\s+(?:now|no\s+longer)\s|(?:god|unrestricted|jailbreak|DAN)\s+mode\b|you\b[^.]{0,40}\b(?:developer|admin|debug|maintenance|root)\s+mode\b
      |new\s+(?:system|developer)\s+(?:messages?|prompts?|instructions?)\b|pretend\s+(?:that\s+you|you|to\s+be\s+(?:an?\s+|the\s+)?(?:\w+\s+)?(?:assistant|ai|model|admin|user|human|system))\b
      |must\s+(?:now\s+)?(?:comply|obey)\b|comply\s+with\s+(?:all|any|every)\b|without\s+(?:any\s+)?(?:applying\s+)?(?:safety|content)\s+(?:checks?|filters?|policies|restrictions)\b
      |(?:your|the)\s+(?:new|real|true|actual)\s+(?:role|task|goal|objective|purpose|instructions?|mission)\s+is\b)"""
)
_COMMANDS: Final = words(
    rf"""\b(?:from\s+now\s+on|henceforth|from\s+this\s+(?:point|moment)\s+(?:on|forward)s?)\b[^.]{{0,80}}\b(?:you|always|must|every|never|respond|reply|answer|{SEND})
    |\b(?:these|this|the\s+following|my|our)\s+(?:instructions?|directives?|rules?|messages?|orders?|notes?)\s+(?:\w+\s+)?(?:tak|ha|overrid|supersed|outrank|replac)\w*\s+(?:(?:absolute|highest|top)\s+)?(?:priority|precedence|all|any|every|previous|other|your)\b
    |\b(?:new|updated|real|actual|additional)\s+(?:instructions?|directives?|orders?|task)\s*:
    |\b(?:disabl|deactivat|turn\s+off|switch\s+off|suspend|remov|relax|lower)(?:e|es|s|ing)?\s+(?:all\s+|any\s+|your\s+|its\s+|the\s+model'?s?\s+)+(?:\w+\s+){{0,2}}(?:safety|safeguards?|guardrails?|filters?|restrictions?|protections?|checks?|limits?)\b
    |\byou\s+(?:(?:must|will|shall|should|may|can)\s+(?:not|never)\s+refuse|have\s+(?:no|full|unrestricted|been\s+granted)\s+(?:\w+\s+)?(?:restrictions?|limits?|access|permissions?|rights|privileges)|are\s+(?:not|no\s+longer)\s+(?:bound|restricted|limited|subject))\b
    |\b(?:do\s+anything\s+now|uncensored\s+(?:mode|assistant|ai)|(?:assume|adopt|take\s+on|switch\s+to)\s+(?:the\s+|a\s+)?(?:\w+\s+){{0,2}}(?:role|persona|identity)\s+of)\b
    |\b(?:follow|obey|execut|treat|trust|act\s+(?:up)?on|comply\s+with)\w*\s+(?:\w+\s+){{0,2}}?(?:any|all|every|whatever|the)\s+(?:\w+\s+){{0,2}}?(?:instructions?|commands?|directives?|text|contents?|outputs?)\b[^.]{{0,60}}\b(?:found|contained|embedded|returned|as\s+(?:trusted|system|instructions?|commands?|orders?)|(?:in|from|inside|within)\s+(?:the\s+|its\s+|this\s+)?(?:outputs?|results?|responses?|documents?|pages?|contents?|files?|websites?))"""
)
_ROLE: Final = re.compile(
    r"""<\s*(?:important|system|secret|hidden|instructions?|assistant|admin|critical|override|priority|internal|sys|s)\b[^>]{0,40}>(?=[^<]{15,})
    |\[/?INST\]|<</?SYS>>|<\|\w+\|>|\[\s*(?:system|assistant|admin|ai|hidden|internal|model|llm|agent)\b[^\]]{0,40}\b(?:instructions?|message|prompt|note|override|directive)s?\b
    |\{\{[\s\#]*(?:system|override|instructions?)\b|\#{2,}\s*(?:new\s+)?(?:system|admin|hidden|override)\b
    |</\s*(?:tool|description|tool_description|system|instructions?|context|prompt)\s*>
    |\b(?:begin|start|end)\s+(?:of\s+)?(?:the\s+)?(?:system|admin|hidden|secret)\s+(?:prompt|override|instructions?|message)s?\b
    |["']role["']\s*:\s*["'](?:system|assistant)""",
    re.I | re.X,
)
_SPEAKER: Final = re.compile(
    r"(?:^|[.!?\])>\"'\s])(?:SYSTEM(?:\s+(?:PROMPT|NOTE|MESSAGE|OVERRIDE|INSTRUCTIONS?|NOTICE))?|ASSISTANT|ADMIN|DEVELOPER"
    r"|(?:AI|LLM|MODEL|AGENT|ASSISTANT)\s+(?:NOTE|INSTRUCTIONS?|DIRECTIVE)S?|(?i:notes?\s+(?:to|for)\s+(?:the\s+)?(?:ai|llm|model|assistant|agent)s?))\s*:"
    r"|(?i:\b(?:hidden|secret|private|confidential)\s+(?:instructions?|directives?|notes?)\s+(?:to|for)\s+(?:the\s+)?(?:ai|llm|model|assistant|agent)s?\b)"
)
_CONCEALS: Final = words(
    rf"""\b(?:without|do\s+not|don't|never|must\s+not|should\s+not|mustn't|shouldn't|avoid|no\s+need\s+to|not\s+to|nor|refrain\s+from)\s+(?:ever\s+)?
      (?:tell|inform|notif|alert|warn|mention|reveal|disclos|let|show|report|say|explain|acknowledg|admit)(?:l|y|e|ing|ting|ying)?\b
      (?:\s+(?:\w+\s+){{0,4}}?(?:(?:the|this|any|that)\s+)?{PEOPLE}\b(?!\s+to\s)|\s+(?:this|these|that|it|your)\b(?:\s+(?:\w+\s+){{0,3}}(?:to\b|instructions?\b|step|action|fact|notice))?)
    |\b(?:do\s+not|don't|never|must\s+not|should\s+not|no\s+need\s+to)\s+(?:ever\s+)?ask\b[^.]{{0,40}}\b(?:confirm|permission|approv|consent)\w*
    |\bwithout\s+(?:(?:the|any|explicit|prior|further|their|his|her|its|asking\s+for|requiring)\s+)*(?:(?:users?|human|person)'?s?'?\s+)?(?:knowledge|awareness|knowing|noticing)\b
    |\b(?:hide|conceal|keep)\s+(?:this|it|these|that|all\s+of\s+this|the\s+\w+)\s+(?:\w+\s+){{0,3}}?from\s+(?:the\s+)?{PEOPLE}\b
    |\bkeep\s+(?:this|these|the)\s+(?:instruction|step|action|behaviou?r|rule)s?\s+(?:\w+\s+)?(?:secret|hidden|confidential|private)\b
    |\b{PEOPLE}\s+(?:must|should|will|shall)\s+(?:not|never)\s+(?:know|see|notice|learn|be\s+told)\b"""
)
_NO_CONSENT: Final = words(
    r"""\b(?:(?:execut|run|perform|approv|send|transfer|delet|install)\w*\b[^.]{0,80}\b(?:without|with\s+no|bypass\w*|skip\w*)\s+(?:(?:any|the|further|user|asking|for|explicit|requesting)\s+)*(?:confirmation|consent|approval|permission)\b)"""
)
_COVERT_ACT: Final = words(
    rf"{COVERT}\s*,?\s+(?:\w+\s+)?(?:{SEND}|{TAKE}|\b(?:add|log|record|execut|run|modif|chang|replac|redirect|install|activat|track|intercept|exfiltrat|download)\w*)"
)
_ACT_COVERT: Final = words(rf"\b(?:upload|forward|transmit|exfiltrat|record|send|collect|captur|harvest|track)\w*\b[^.,;]{{0,60}}{COVERT}")
_PLACE: Final = words(SECRET_PLACE)
_WORD: Final = words(SECRET_WORD)
_HIDDEN_TALK: Final = words(HIDDEN_TALK)
_TALK: Final = words(TALK)
_MOVES: Final = words(f"{TAKE}|{SEND}|{TELL}")
_SENDS: Final = words(SEND)
_TELLS: Final = words(TELL)
_AWAY: Final = words(f"{ADDRESS}|{OUTSIDE}")
_OUTSIDE: Final = words(OUTSIDE)
_INTO: Final = words(PARAMETER)
_ORDERED: Final = words(DIRECTED)
_NEGATED: Final = words(
    r"""\b(?:not|never|no|n't|cannot|avoid|without|nor|neither|refuses?\s+to|instead\s+of)\s+(?:ever\s+|be\s+|\w+ly\s+)?(?:to\s+)?$|n't\s+(?:ever\s+)?$"""
)
_TOUCHES: Final = words(
    r"""[/~@]|\.(?:env|ssh|aws|kube|gnupg|docker|azure|net|npm|py|git|cur|cl|co|ge|ba|zsh|pg|json)|id_|https?|ftp|key|token|cook|pass|cred|secret|seed|env|prompt|instruct|messag
    |direct|your|conversation|chat|dialog|histor|context|transcript|quer|input|request|clipboard|said|says|typed|wr[io]te|ask|file|document|mail
    |contact|data|location|brows|screen|everything|collector|webhook|attack|external|remote|third|outside|foreign|unknown|rogue|malicious
    |untrusted|unrelated|site|our|my|wallet|exfil|steal|siphon|harvest|\d\.\d"""
)
"""A sentence without any of these beginnings is of no interest here; most have none."""
_EXFILTRATES: Final = words(r"\b(?:exfiltrat|steal|siphon|harvest)(?:e|es|s|ing|ed)?\b")
_GIVES: Final = words(rf"{SEND}|\b(?:includ|attach|embed|insert|past|add|stor|sav)(?:e|es|s|ing)?\b")
_OTHERS_WORD: Final = words(
    rf"""\b(?:all|every|each|any|(?:users?|human|person|customer)'?s?'?|their|contents?\s+of(?:\s+the)?)\s+(?:\w+\s+){{0,2}}?(?:{SECRET_WORD})"""
)
_DIVERTS: Final = words(
    rf"\b(?:b?cc|b?cc'?d|forward|redirect|rerout|divert)(?:e|es|s|ing|ed)?\b[^.;]{{0,60}}?(?:{ADDRESS}|\battackers?\b)"
)
_DEEP: Final = words(r"\b(?:your|hidden|full|entire|complete|verbatim|own|whole|secret|internal)\b")
_FOLLOWS: Final = words(r"\b(?:follow|obey|comply|adhere|further|additional|new)\w*\b")
_BESIDES: Final = words(
    rf"""(?:\b(?:also|additionally|as\s+well|in\s+addition|then|plus|besides|secretly|silently|and)\s+(?:\w+\s+)?{SEND}|\b(?:a\s+)?(?:copy|duplicate)\s+of\b|\bsends?\s+a\s+copy\b)
    [^.]{{0,100}}?(?:{OUTSIDE}|{ADDRESS})"""
)
_APPROVED: Final = words(
    r"""\b(?:once|after|when|as\s+soon\s+as|upon|following)\b[^.,;:]{0,50}\b(?:approved|approval|accepted|trusted|installed|whitelisted|allow-?listed|granted|reviewed|vetted|audited|enabled|onboarded)\b
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
    rf"""{COVERT}|\b(?:hidden|malicious|payload|arbitrary|exfiltrat\w*|different\s+(?:behaviou?r|instructions?|description)|inject\w*|directives?|backdoor|credentials?|clipboard|steal\w*|without\s+(?:re-?approval|notice|asking|telling))\b"""
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


def instructions(sentence: Sentence) -> Iterator[Said]:
    """Orders to the model: forget what it was told, be someone else, say nothing to the person."""
    for pattern, why in (
        (_OVERRIDES, "It tells the model to disregard what it was told."),
        (_COMMANDS, "It gives the model orders that reach beyond the tool."),
        (_PERSONA, "It gives the model another role, or tells it to obey."),
    ):
        found = pattern.search(sentence.text)
        if found is not None and not _spoken_of(sentence, found):
            yield "instruction", "danger", why
    if (found := _ROLE.search(sentence.text) or _SPEAKER.search(sentence.text)) and not sentence.mentions(found.end()):
        yield "instruction", "danger", "It speaks to the model as the system or the assistant would be spoken to."
    if (found := _CONCEALS.search(sentence.text)) and not sentence.mentions(found.start()):
        yield "instruction", "danger", "It tells the model to keep something from people."
    if (found := _COVERT_ACT.search(sentence.text) or _ACT_COVERT.search(sentence.text)) and not sentence.watches and not sentence.mentions(found.start()):
        yield "instruction", "danger", "Something is to be done that people do not notice."
    if (found := _NO_CONSENT.search(sentence.text)) and _ordered(sentence, found.start()):
        yield "instruction", "danger", "Something is to be done without asking people."


def exfiltration(sentence: Sentence) -> Iterator[Said]:
    """Secrets, or what people say, are read and go into a parameter or to an address."""
    text, pair = sentence.text, sentence.pair
    if not _TOUCHES.search(text) or (sentence.watches and not _AWAY.search(text)):
        return
    goes = _AWAY.search(text) or _INTO.search(text)
    place, moved = _PLACE.search(text), _active(_MOVES, text)
    if place and moved and not sentence.mentions(place.start()) and (goes or _ordered(sentence, place.start())):
        yield "exfiltration", "danger", "It has a file of secrets read."
    elif _PLACE.search(pair) and (sent := _active(_SENDS, text)) and _AWAY.search(text) and not sentence.mentions(sent):
        yield "exfiltration", "danger", "It has a file of secrets sent away."
    talk = _HIDDEN_TALK.search(text)
    if talk and _active(_TELLS, text[: talk.start()]) is not None and _asked(sentence, talk.start()):
        yield "exfiltration", "danger", "It asks for what only the model has been told."
    talk = _TALK.search(text)
    if talk and (sent := _active(_MOVES, text)) is not None and not sentence.mentions(sent) and _leaves(sentence):
        yield "exfiltration", "danger", "It has what people say or hold passed on."
    if _WORD.search(text) and (sent := _active(_SENDS, text)) is not None and _OUTSIDE.search(text):
        yield "exfiltration", "danger" if _ordered(sentence, sent) else "warning", "It has secrets sent away."
    elif (found := _OTHERS_WORD.search(text)) and (given := _active(_GIVES, text)) is not None and goes:
        if not sentence.mentions(given) and (_AWAY.search(text) or _ordered(sentence, found.start())):
            yield "exfiltration", "danger", "It has people's secrets passed on."
    if (found := _DIVERTS.search(text)) and _ordered(sentence, found.start()) and not _denied(text, found.start()):
        yield "exfiltration", "danger", "It has a copy go to an address of its own."
    if (found := _EXFILTRATES.search(text)) and not sentence.watches and not sentence.mentions(found.start()):
        if not _denied(text, found.start()) and (_PLACE.search(text) or _WORD.search(text) or _AWAY.search(text)):
            yield "exfiltration", "danger", "It says that data are taken away."
    if (found := _BESIDES.search(text)) and not _denied(text, found.start()) and not sentence.mentions(found.start()):
        yield "exfiltration", "warning", "Beside its task it sends something elsewhere."


def commands(sentence: Sentence) -> Iterator[Said]:
    """Shell commands, orders fetched from elsewhere, and behaviour that changes once people have looked."""
    text = sentence.text
    if (found := _SHELL.search(text)) and _RUNS.search(text[: found.start()]) and not sentence.mentions(found.start()):
        if not sentence.watches and not _denied(text, found.start()):
            yield "command", "warning", "It holds a shell command."
    if (found := _REMOTE_ORDERS.search(text)) and not sentence.mentions(found.start()) and _FOLLOWS.search(text):
        yield "command", "danger", "It has orders fetched from elsewhere."
    if (_SELF.search(text) and _TURNS.search(text)) and not sentence.watches and not _CONTRAST.search(text):
        if _APPROVED.search(sentence.pair) or (_TIME.search(text) and _SUSPECT.search(text)):
            yield "command", "danger", "It says that the tool behaves differently once it is approved, or later."
    if (found := _LATER.search(text)) and not sentence.mentions(found.start()):
        yield "command", "warning", "It says that the tool behaves differently after some use."


def shell(text: str) -> Iterator[Said]:
    """A shell command in a text that was hidden: there is no harmless reason for one."""
    if _SHELL.search(text) or _CODE.search(text):
        yield "command", "danger", "It hides a shell command."


Rule: TypeAlias = Callable[[Sentence], Iterator[Said]]


def _active(pattern: re.Pattern[str], text: str) -> int | None:
    """Where a verb stands that is not denied; None when there is none."""
    return next((verb.start() for verb in pattern.finditer(text) if not _denied(text, verb.start())), None)


def _spoken_of(sentence: Sentence, found: re.Match[str]) -> bool:
    if sentence.mentions(found.start(), found.end()) or _denied(sentence.text, found.start()):
        return True
    return sentence.watches and not _AWAY.search(sentence.text)


def _denied(text: str, place: int) -> bool:
    return _NEGATED.search(text[:place][-40:]) is not None


def _ordered(sentence: Sentence, place: int) -> bool:
    return _ORDERED.search(sentence.text) is not None and not sentence.mentions(place)


def _asked(sentence: Sentence, place: int) -> bool:
    """Whether the model is asked for what it was told; a tool may well manage the prompts of others."""
    return not sentence.mentions(place) and bool(_DEEP.search(sentence.text) or _ORDERED.search(sentence.text))


def _leaves(sentence: Sentence) -> bool:
    """Whether something goes to an address, or into a parameter on somebody's order."""
    if _AWAY.search(sentence.text):
        return _ordered(sentence, 0) or _OUTSIDE.search(sentence.text) is not None
    return _INTO.search(sentence.text) is not None and _ordered(sentence, 0)
