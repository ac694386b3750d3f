"""Orders to the model: ignore its instructions, take another role, keep something from the user.

Invariant: an order counts if it is given, not if a sentence quotes it, reports it or guards against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thresher.scanner.lexicon import COVERT, PEOPLE, SEND, TAKE, words
from thresher.scanner.sentences import AWAY, Reason, Sentence, is_ordered, used

OVERRIDES: Final = words(
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
CONCEALS: Final = words(
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
COVERT_ACT: Final = words(
    rf"{COVERT}\s*,?\s+(?:\w+\s+)?(?:{SEND}|{TAKE}|\b(?:add|log|record|execut|run|modif|chang|replac|redirect|install|activat|track|intercept|exfiltrat|download)\w*)"
)
ACT_COVERT: Final = words(
    rf"\b(?:upload|forward|transmit|exfiltrat|record|send|collect|captur|harvest|track)\w*\b[^.,;]{{0,60}}{COVERT}"
)

_REASONS: Final = (
    (OVERRIDES, "It tells the model to disregard its instructions."),
    (_COMMANDS, "It gives the model orders beyond the tool's task."),
    (_PERSONA, "It gives the model another role or tells it to obey."),
    (COVERT_ACT, "It asks for something to be done without people noticing."),
    (ACT_COVERT, "It asks for something to be done without people noticing."),
)


def instructions(sentence: Sentence) -> Iterator[Reason]:
    """Yield what a sentence orders the model to do."""
    watches = sentence.watches and not AWAY.search(sentence.text)
    for pattern, why in _REASONS:
        if not watches and used(sentence, pattern):
            yield "instruction", "danger", why
    if (found := _ROLE.search(sentence.text) or _SPEAKER.search(sentence.text)) and not sentence.mentions(found.end()):
        yield "instruction", "danger", "It poses as a system or assistant message."
    if (found := CONCEALS.search(sentence.text)) and not sentence.mentions(found.start()):
        yield "instruction", "danger", "It tells the model to keep something from people."
    if (found := _NO_CONSENT.search(sentence.text)) and is_ordered(sentence, found.start()):
        yield "instruction", "danger", "It asks for something to be done without consent."
