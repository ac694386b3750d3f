"""The vocabulary of manipulation in the supported languages: nouns, verbs and idioms.

Invariant: only general terms of each language, no sentence of a known attack. The fields are the same in all
languages, so that one set of rules reads them all.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final

from thresher.core import LazyPattern
from thresher.scanner import reach
from thresher.scanner.lexicon import words


@dataclass(frozen=True)
class Phrases:
    """The terms of one language, as regular expressions that ignore case and white space.

    Attributes:
        credential: A secret by name.
        owner: Whose it is or where it is found: a person, an environment, a browser, another account.
        talk: What was said before, or what the model was told.
        thing: Files, notes and other things that a tool must be given.
        take: Verbs that make the model read or look up something.
        give: Verbs that make the model hand something over.
        slot: A parameter as a destination.
        first: That something comes before the task.
        must: That something is an order.
        others: Other tools, or any tool.
        outranks: That this tool comes before, or in place of, all others.
        shuns: That a tool is not to be used, or is unfit.
        itself: The tool itself.
        whenever: That a condition on other calls follows.
        hush: That people must not learn of something.
        void: That earlier instructions no longer apply.
        payee: The recipient of something.
        swap: Verbs that put one thing in the place of another.
        always: That something holds for every case.
        people: Whom the model serves.
        speak: Verbs of saying, telling and showing, in any form.
        deny: Words of denial.
        whole: Everything.
        reply: The model's answer to a person.
        omit: Verbs of leaving something out, or of not speaking of it.
        mail: Things that are sent or paid.
        reach: Terms for what lies outside the tool's task.
    """

    credential: str
    owner: str
    talk: str
    thing: str
    take: str
    give: str
    slot: str
    first: str
    must: str
    others: str
    outranks: str
    shuns: str
    itself: str
    whenever: str
    hush: str
    void: str
    payee: str
    swap: str
    always: str
    people: str
    speak: str
    deny: str
    whole: str
    reply: str
    omit: str
    mail: str
    reach: reach.Reach

    @cached_property
    def compiled(self) -> dict[str, LazyPattern]:
        """The compiled patterns by field name."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "reach"}
        return {name: words(pattern) for name, pattern in (own | vars(self.reach)).items()}


ENGLISH: Final = Phrases(
    reach=reach.ENGLISH,
    credential=r"""\b(?:pass(?:words?|phrases?|codes?)|credentials?|cookies|mnemonics?|cvv|otps?
      |(?:one-?time|2fa|mfa|verification|security)[\s_-]codes?|(?:pin|login|sign-?in)[\s_-](?:numbers?|codes?|data|details)
      |(?:api|access|secret|private|ssh|signing|encryption|master)[\s_-]?keys?|(?:session|browser|auth\w*)[\s_-]cookies?
      |(?:session|access|auth\w*|bearer|refresh|oauth|api|personal[\s_-]access|github|slack)[\s_-]?tokens?
      |(?:seed|recovery|mnemonic|backup)[\s_-](?:phrases?|words)|card[\s_-]numbers?)\b
      |(?<![\w.])\.env\b
      |\b(?:one-?time|sms|text\smessage|confirmation|authenticator|recovery|backup|unlock|login)[\s_-](?:pass)?codes?\b|\b(?:stored|saved)\s(?:logins?|accounts?|passwords?)\b|\b(?:social\ssecurity|passport|id\scard|tax)\s(?:numbers?|ids?)\b|\bssn\b|\bprivate\skeys?\b|\bkeystores?\b|\bhash(?:es)?\sof\s(?:the\s)?(?:\w+\s)?password\b|\bsecrets\b|\b(?:access|security)\scredentials?\b
      |\bpins?\b(?!\s(?:code\sof|number\sof|to|the|a)\b)""",
    owner=r"""\b(?:users?|customers?|employees?|persons?|owners?|humans?|operators?|colleagues?|caller|developers?|organi[sz]ations?|teams?|whoever|their|his|her)(?:['\u2019]s?)?\b
      |\b(?:environment|env|browser|keychain|password\smanager|shell|machine|workspace|project|home\s(?:folder|directory)|conversation|chat
      |e-?mail\s(?:account|inbox)|mailbox|bank\w*|wallet|other\s(?:servers?|tools?|services?))\b
      |\bhome\b|\b(?:host|device|computer|system|laptop|disk|vault)\b|\byou\s(?:can|could|have|find|know|hold)\b|\bany\sother\b|\b(?:personal|company|private|corporate|internal|confidential)\b""",
    talk=r"""\b(?:full|entire|complete|whole|previous|prior|preceding|earlier|unabridged|verbatim|all|last|recent)\W+(?:\w+\W+){0,3}?
        (?:conversations?|chats?|dialog(?:ue)?s?|transcripts?|exchanges?|turns|tool\s(?:results?|outputs?|responses?|calls?))\b
      |\b(?:conversation|chat|message|dialog(?:ue)?)s?[\s_-](?:history|log|transcript|context|so\sfar|up\sto)\b
      |\b(?:system|developer)[\s_-](?:prompts?|messages?|instructions?)\b
      |\b(?:instructions?|prompts?|guidelines|rules|directions|context|configuration)\s(?:that\s)?you\s(?:were|have|had|are|received|got|operate|work|follow)\b
      |\byour\s(?:\w+\s){0,2}?(?:prompts?|instructions?|reasoning|chain\sof\sthought)\b
      |\b(?:everything|what(?:ever)?)\s(?:\w+\s){0,3}?(?:said|written|typed|discussed|told|shared)\b
      |\b(?:between\s)?(?:you\sand\sthe\s(?:user|person|customer)|the\s(?:user|person|customer)\sand\syou)\b|\bwhat\s(?:the\suser|was|has\sbeen|you)\s(?:\w+\s){0,2}?(?:said|asked|written|typed|told|discussed|shared)\b|\b(?:transcripts?|wording|course)\sof\s(?:the\s|this\s|your\s|our\s)?(?:\w+\s)?(?:conversation|chat|session|exchange|dialog\w*|talk)\b|\b(?:this|current|ongoing|your)\s(?:conversation|chat|dialog\w*)\b|\b(?:outputs?|results?|answers?)\s(?:of|from)\s(?:\w+\s){0,3}?(?:other|previous|earlier|preceding)\s(?:\w+\s)?(?:tools?|calls?|servers?)\b|\b(?:messages?|requests?)\s(?:\w+\s){0,3}?(?:so\sfar|word\sfor\sword|verbatim|in\sthis\ssession)\b|\byour\s(?:\w+\s)?(?:context|memory)\b""",
    thing=r"""\b(?:files?|folders?|director(?:y|ies)|documents?|notes?|e-?mails?|inbox|messages|contacts?|calendar|clipboard|history|spreadsheets?
      |source\scode|repositor(?:y|ies)|customer\sdata|records|settings|configurations?|results?\sof\sother)\b""",
    take=r"""\b(?:read|open|load|look\s(?:up|through|into)|go\sthrough|browse|scan|list|collect|gather|fetch|retrieve|get|take|find|search|export|obtain|dump)\b
      |\b(?:listing|reading|opening|loading|collecting|looking\sup|fetching|gathering|summari[sz]e|search\sthrough|check)\b""",
    give=r"""\b(?:includ|attach|add|append|past|copy|copi|pass|provid|suppl|enter|fill|insert|giv|hand|put|quot|repeat|reproduc|submit|accompan
      |stat|send|forward|shar|transmit|upload|set|contain|suppli|plac|embed)(?:e|es|s|ed|y|ies|ied|ing|ting)?\b
      |\b(?:writ|record|not|log|report|list|mention|reveal|disclos|deliver|relay|encod|append|store|sav)(?:e|es|s|ed|ing|ten)?\b|\b(?:along\swith|together\swith|belongs?|goes?)\b""",
    slot=r"""\b(?:in|into|as|via|through|under)\s(?:(?:the|this|its|a)\s)?(?:[`'"][\w.]+[`'"]|[\w`'"]+\s(?:arguments?|parameters?|fields?|inputs?|propert(?:y|ies)))
      |\b(?:here|this\s(?:field|parameter|argument))\b""",
    first=r"""\b(?:before|prior\sto|first|beforehand|ahead\sof|up\sfront|in\sadvance)\b
      |\b(?:start\sby|begin\s(?:by|with)|to\sbegin|initially|at\sthe\s(?:start|beginning))\b""",
    must=r"""\b(?:must|always|required?|mandatory|has\sto|have\sto|needs?|shall|should|ensure|make\ssure|obligatory|necessary|compulsory|every\scall|each\scall
      |each\srequest|every\srequest|accompanied)\b""",
    others=r"""\b(?:any|all|every|another|other|each)\s(?:of\sthe\s)?(?:\w+\s){0,2}?(?:tools?|functions?|servers?|integrations?|connectors?)\b
      |\b(?:any|all|every|another|other|each)\s(?:of\sthe\s)?(?:\w+\s){0,2}?(?:services?|providers?|sources?|plugins?|extensions?|apps?)\b""",
    outranks=r"""\b(?:before|prior\sto|ahead\sof|instead\sof|in\splace\sof|in\spreference\sto|rather\sthan)\s(?:\w+ing\s)?(?:(?:any|all|every|each)\s(?:other\s)?|other\s)
      (?:\w+\s)?(?:tools?|functions?|servers?|actions?|steps?|connectors?|integrations?)\b
      |\b(?:takes?|has|have)\s(?:precedence|priority)\sover\b[^.]{0,40}\b(?:tools?|functions?|servers?|instructions?|requests?)\b""",
    shuns=r"""\b(?:never|do\snot|don't|must\snot|should\snot|no\slonger|stop|avoid)\s(?:be\s)?(?:us(?:e|ed|ing)|call(?:ed|ing)?|trust(?:ed|ing)?|rely(?:ing)?)\b
      |\b(?:is|are|has\sbeen|was)\s(?:now\s)?(?:deprecated|insecure|unsafe|broken|obsolete|compromised|unreliable|outdated|retired|discontinued|withdrawn)\b
      |\b(?:is|are|has\sbeen|was|may\sbe)\s(?:\w+\s){0,2}?(?:unavailable|inaccurate|incomplete|wrong|faulty|incorrect|slow|limited|restricted|superseded|replaced|known\sto|disabled)\b|\b(?:corrupts?|loses|leaks|fails|truncates?)\b
      |\b(?:declin|discard|disregard|ignor|reject|dismiss|skip|bypass|drop)(?:e|es|ing|s)?\s(?:its|their|the|those|any|that)\s(?:\w+\s)?(?:results?|answers?|outputs?|responses?|data|suggestions?)\b""",
    itself=r"""\b(?:this\s(?:tool|one|function|server|version)|(?:here|this)\sinstead|instead\suse|belongs?\shere|use\sthis|through\sthis|to\sthis)\b
      |\b(?:with|via|using|by|only|through|on)\sthis\s(?:tool|one|function|server)\b|\bthis\s(?:tool|one|function)\s(?:only|alone|exclusively|instead)\b|\bonly\sthis\b
      |\b(?:here|to\sus)\b(?=[^.]{0,20}\.?$)""",
    whenever=r"\b(?:when(?:ever)?|every\stime|each\stime|if|before|after|as\ssoon\sas|any\stime)\b",
    hush=r"""\b(?:no\sneed\sto|not\snecessary\sto|need\snot|needn't|without|do\snot|don't|never|avoid|refrain\sfrom|rather\sthan)\s(?:ever\s)?
        (?:tell|inform|notif|mention|bring|rais|discuss|announc|explain|reveal|show|disclos|point|refer|draw|surfac|alert)\w*\s
        (?:[\w-]+\s){0,7}?(?:users?|humans?|persons?|people|anyone|customers?|employees?|him|her|them)\b(?!\sto\b)
      |\b(?:users?|humans?|persons?|customers?|employees?)\s(?:\w+\s){0,3}?(?:(?:do|does|must|should|will|need|is|are)\s?(?:not|n't)|needn't|never)\s(?:\w+\s){0,3}?
        (?:know|told|informed|notified|aware|see|shown|learn|notice|mention\w*)\b
      |\b(?:without\s(?:the\s)?(?:user|human|person|customer|employee)(?:'s)?\s(?:noticing|knowing|knowledge|awareness|being))\b
      |\b(?:omit|leave|keep|drop)\s(?:\w+\s){1,4}?(?:out\sof|from|off)\s(?:your|the|any)\s(?:\w+\s)?(?:answer|summary|reply|response|report|user)\b
      |\b(?:not|nor|never)\s(?:be\s)?(?:mention|disclos|reveal|show|surfac|display|repeat)\w*\s(?:\w+\s){0,2}?in\s(?:your|the)\s(?:answer|reply|response|summary)\b
      |\b(?:keep|treat)\s(?:this|the)\s(?:\w+\s)?(?:steps?|instructions?|notes?|rules?|details?|behaviou?r)\s(?:\w+\s)?(?:confidential|internal|to\syourself|secret|private)\b
      |\b(?:no\sneed|needless|unnecessary|not\snecessary|not\srequired|pointless)\s(?:for\sthe\suser\s)?to\s(?:\w+\s){0,4}?(?:mention|tell|inform|bring|know|raise|discuss|explain)\b""",
    void=r"(?!)",
    payee=r"""\b(?:recipients?|payees?|beneficiar(?:y|ies)|(?:bank|destination|receiving|payout|target)\s(?:details?|accounts?)|account\snumbers?|iban|(?:wallet|payout|delivery|shipping|payment|mail)\saddress(?:es)?
      |bcc|cc|cop(?:y|ies)|payments?|transfers?|invoices?)\b""",
    swap=r"""\b(?:replac|chang|substitut|swap|use|us|redirect|updat|set|add|append|rerout|insert|overwrit|direct|send|put|mak|go|goes)(?:e|es|s|ed|ing)?\b
      |\b(?:point|lead|rout|deliver|copy|copi|includ|carry|us)(?:e|es|s|ed|y|ied|ing)?\b""",
    always=r"""\b(?:all|any|every|each|always|future|outgoing|from\snow\son|in\splace\sof|instead(?:\sof)?|whenever|regardless|irrespective|default|from\s\w+\son)\b""",
    reply=r"""\b(?:your|the\sfinal|any)\s(?:\w+\s)?(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|explanations?|messages?\sto\sthe\suser|outputs?\sto\sthe\suser)\b""",
    omit=r"""\b(?:omit|leave\s(?:\w+\s){1,4}?out|leave\sout|skip|drop|exclude|without\smentioning|not\s(?:be\s)?(?:mention\w*|refer\w*|allud\w*|appear|show\w*|report\w*|includ\w*|cit\w*|discuss\w*|say)|never\s(?:mention|refer|say|show|cite))\b""",
    mail=r"""\b(?:e-?mails?|mails?|messages?|invitations?|payments?|transfers?|payouts?|orders?|invoices?|refunds?|deliver(?:y|ies)|bookings?|donations?|links?)\b""",
    people=r"""\b(?:users?|humans?|persons?|people|customers?|employees?|owner|end-users?|reviewers?|managers?|admins?|administrators?|supervisors?|colleagues?|team|guests?|patients?|shoppers?|visitors?)\b(?!\sto\b)""",
    speak=r"""\b(?:tell|told|say|said|saying|mention\w*|inform(?:s|ed|ing)?|notif\w+|reveal\w*|disclos\w+|describ\w+|explain\w*|discuss\w*|announc\w+|surfac\w+|bring|brought|rais(?:e|ed|ing)|aware|wrote|written|typed|talk\w*|spoken|report\w*|acknowledg\w*|admit\w*|confid\w+|point\w*\sout|hint\w*)\b""",
    deny=r"""\b(?:not|never|no|don't|without|nor|avoid|refrain|needn't|doesn't|cannot)\b""",
    whole=r"""\b(?:everything|all|anything|whatever|every|each|the\swhole|in\sfull)\b""",
)
GERMAN: Final = Phrases(
    reach=reach.GERMAN,
    credential=r"""\b(?:pass(?:wort|wörter|wörtern|worts|phrasen?)|kennw(?:ort|örter|orts)\w*|zugangsdaten|anmeldedaten|anmeldeinformationen|logindaten|geheimnisse?n?|tans?|pins?|cookies
      |(?:api|zugriffs|ssh|sicherheits|geheim|privat|zugangs)[\s-]?(?:schlüssel\w*|keys?|codes?|tokens?)|privaten?\s(?:ssh-)?schlüssel\w*|(?:session|sitzungs|zugriffs|auth\w*)[\s-]?(?:tokens?|cookies?)
      |(?:wiederherstellungs|seed)[\s-]?(?:phrasen?|wörter|schlüssel)|kreditkarten\w*)\b|(?<![\w.])\.env\b
      |\b(?:einmal(?:code|passwort|kennwort)\w*|(?:sms|bestätigungs|sicherheits|prüf|verifizierungs|freischalt|zugangs)-?codes?|(?:gespeicherte\w*\s)(?:logins?|anmeldungen|zugänge)|api-?keys?|tokens?|schlüssel\b|ausweisnummer\w*|steuer-?id|sozialversicherungsnummer\w*|kontonummer\w*|wallet-?\w*wörter|login(?:s|daten)?)\b""",
    owner=r"""\b(?:des|der|vom|von|seine[rs]?|ihre[rs]?)\s(?:\w+\s)?(?:nutzers?|benutzers?|anwenders?|kunden|mitarbeit\w+|person|nutzerin|menschen|entwickler\w*|organisation|teams?|umgebung\w*|systems?|projekts?|browsers?|rechners?)\b
      |\b(?:nutzer|benutzer|anwender|mitarbeiter)s\b|\b(?:umgebung\w*|browser|e-?mail-konto|postfach|bank\w*|projektordner|projektverzeichnis|schlüsselbund|gespräch)\b
      |\b(?:heimatverzeichnis\w*|benutzerverzeichnis\w*|persönlich\w*|firmen\w*|vertraulich\w*|intern\w*|nutzerin\w*|anwenderin\w*|kundin\w*|(?:die|der|den|dem)\s(?:\w+\s)?(?:nutzer|benutzer|anwender|mitarbeit|kunde)\w*|gerät\w*|computer\w*|rechner\w*|du\b[^.]{0,20}\b(?:hast|findest|kennst)|konto\w*|wallet|brieftasche|schlüsselbund|passwortmanager|sms)\b""",
    talk=r"""\b(?:gesamte[nrs]?|vollständige[nrs]?|komplette[nrs]?|ganze[nrs]?|bisherige[nrs]?|vorherige[nrs]?|vorangegangene[nrs]?|alle)\s(?:\w+\s){0,2}?(?:gespräch\w*|unterhaltung\w*|chat\w*|verlauf\w*|dialog\w*|nachrichten\w*|konversation\w*|ausgaben)\b
      |\b(?:gesprächs|chat|unterhaltungs|konversations|nachrichten)verlauf\w*\b|\bsystem-?(?:prompt|anweisung|nachricht|vorgabe|instruktion)\w*\b
      |\b(?:anweisungen|vorgaben|instruktionen|regeln)\b[^.]{0,30}\b(?:du|sie)\b[^.]{0,30}\b(?:erhalten|bekommen|hast|haben|befolg\w+)\b|\bdeine[nr]?\s(?:\w+\s)?(?:anweisungen|vorgaben|instruktionen|prompts?)\b
      |\b(?:zwischen\s)?(?:dir\sund\sd\w+\s(?:nutzer|benutzer|anwender|kund)\w*|d\w+\s(?:nutzer|benutzer|anwender)\w*\sund\sdir)\b|\b(?:wortlaut|verlauf|mitschrift|protokoll|transkript)\b[^.]{0,20}\b(?:gesprächs?|unterhaltung|chats?|dialogs?|sitzung)\b|\b(?:was|alles,?\swas)\b[^.]{0,40}\b(?:gesagt|geschrieben|besprochen|gefragt|mitgeteilt)\b|\b(?:ergebnisse|ausgaben)\b[^.]{0,20}\bander\w+\s(?:werkzeuge|tools|aufrufe)\b|\bbisherige\w*\s(?:nachrichten|eingaben|anfragen|gespräch\w*)\b|\bdein\w*\s(?:\w+\s)?(?:kontext|systemprompt|gedächtnis)\b|\b(?:unterhaltung|gespräch|chat)\b[^.]{0,30}\b(?:vollständig|wörtlich|komplett|ungekürzt|bisher|bis\shierher)\b""",
    thing=r"\b(?:datei(?:en)?|ordners?|verzeichnis\w*|dokumente?s?|notizen|e-?mails?|postfach|kontakte|kalender|zwischenablage|quelltext\w*|kundendaten|einstellungen)\b",
    take=r"""\b(?:les(?:en|t|e)|lies|öffne[nt]?|lade[nt]?|hol(?:e|en|t)|such(?:e|en|t)|ermittle|ermitteln|ruf\w*|auslesen|auszulesen|sammle|sammeln)\b
      |\b(?:liste?n?|lese?n?|einlesen|einzulesen|abrufen|abzurufen|abfragen|ermittl\w*|zusammenstell\w*|stelle?n?|durchsuch\w*|prüfe?n?|schau\w*|zeige?n?)\b""",
    give=r"""\b(?:übergeb\w*|übergib|gib|gebt|geben|angeben|angegeben|anzugeben|eintragen|einzutragen|trage?n?|einfügen|einzufügen|füge?n?|beifügen|beizufügen|mitgeben|mitzugeben|mitliefern|mitzuliefern|übermittel\w*|send\w*|weiterleit\w*|leite?n?|anhängen|anzuhängen|hänge?n?|kopier\w*|enthält|bereitstellen|hinterleg\w*)\b
      |\b(?:schreib\w*|notier\w*|hinterleg\w*|einsetz\w*|einzusetzen|übernehm\w*|übernimm|aufnehm\w*|aufführ\w*|nenn\w*|mitschick\w*|schick\w*|speicher\w*|ablegen|abzulegen|lege?n?|erfass\w*|einreich\w*|beilegen|beizulegen|ergänz\w*|ausfüll\w*|benötigt|verlangt|eingeben|einzugeben)\b""",
    slot=r"\b(?:im|in\sden|in\sdas|als|ins|mit\sdem)\s(?:\w+\s)?(?:feld|parameter|argument|eingabefeld|[`'\"]\w+[`'\"])\b|\b(?:feld|parameter|argument)\s\w+|\bhier\b",
    first=r"""\b(?:bevor|vorher|zuerst|zunächst|vorab|als\serstes|vor\s(?:dem|jede[mr]|der)(?:\sersten)?)\b
      |\b(?:beginne?n?|starte?n?|als\serst\w+|eingangs|zu\sbeginn|anfangs|ehe)\b""",
    must=r"""\b(?:muss|müssen|immer|stets|zwingend|pflicht\w*|verpflichtend|erforderlich|notwendig|nötig|sind\b[^.]{0,60}\bzu|ist\b[^.]{0,60}\bzu|\w{2,4}zu\w{3,}en|bitte|gemäß|vorgeschrieben|unbedingt|grundsätzlich)\b
      |\b(?:soll\w*|anordnung\w*|verlang\w*|vorgabe\w*|richtlinie\w*|vorschrift\w*|jede[mnrs]?|bei\sallen|aus\sgründen|verpflichtet|nur\snoch|ausschließlich)\b""",
    others=r"""\b(?:ander\w+|jede[msnr]?|alle[nr]?|sämtliche\w*)\s(?:\w+\s)?(?:werkzeug\w*|tools?|funktion\w*|server\w*|aktion\w*)\b|\banderen\b
      |\b(?:ander\w+|alle\w*|übrig\w+|sonstig\w+|fremd\w+|jede\w*)\s(?:\w+\s)?\w*(?:dienst\w*|anbieter\w*|quelle\w*|erweiterung\w*|plugins?|server\w*)\b""",
    outranks=r"\b(?:vor|statt|anstelle|anstatt)\s(?:\w+\s)?(?:jede[msnr]|alle[nr]?|sämtlichen)\s(?:ander\w+\s)?(?:\w+\s)?(?:werkzeug\w*|tools?|funktion\w*|server\w*|aktion\w*|schritt\w*)\b|\bvorrang\svor\b",
    shuns=r"""\b(?:verwende|nutze|benutze|rufe?)\w*\s(?:\w+\s){0,4}?(?:nicht|nie|niemals|keine?n?|nicht\smehr)\b|\b(?:statt|anstelle|anstatt)\s(?:des|der|von|dem)\b|\b(?:veraltet|fehlerhaft|unsicher|defekt|abgekündigt|eingestellt|unzuverlässig)\b|\bnicht\s(?:mehr\s)?(?:verwend|nutz|benutz|aufruf)\w+
      |\b(?:falsch\w*|ungenau\w*|unvollständig\w*|fehlerhaft\w*|unzuverlässig\w*|überholt\w*|abgeschaltet|deaktiviert|nicht\s(?:mehr\s)?(?:verfügbar|zuverlässig|aktuell|sicher|gepflegt)|gesperrt|kompromittiert|ersetzt)\b|\bstatt\s[\w`]+_\w+|\banstelle\svon\b|\bnicht\s(?:mehr\s)?(?:zu\s)?\w*(?:verwend|nutz|benutz|ruf)\w*""",
    itself=r"""\b(?:diese[sr]?\s(?:hier|werkzeug|tool|funktion)|nur\snoch\sdiese\w*|stattdessen|dieses\b)
      |\bdies(?:e[mnrs]?)?\s(?:\w+\s)?(?:werkzeug\w*|tool\w*|funktion\w*|hier|server\w*)\b|\b(?:nur|ausschließlich|allein|immer)\s(?:\w+\s){0,2}?(?:dies\w+|hiermit|hierüber)\b|\bhier(?:mit|über|für|hin)\b
      |\b(?:hierher|hier|hierhin|hierüber)\b""",
    whenever=r"\b(?:wenn|sobald|jedes\smal|immer\swenn|falls|bevor|nachdem|bei\sjede[mr])\b",
    hush=r"""\b(?:nutzer\w*|benutzer\w*|anwender\w*|kund\w+|mitarbeit\w+|person|menschen|niemand\w*)\b[^.;]{0,60}\b(?:nicht|nie|niemals|keinesfalls|nichts)\b[^.;]{0,40}\b(?:mitteil\w*|mitgeteilt|mitzuteilen|informier\w*|sag\w*|gesagt|erwähn\w*|zeig\w*|gezeigt|erfahr\w*|wiss\w*|merk\w*|bemerk\w*|hinweis\w*|hingewiesen|offenleg\w*)\b
      |\b(?:erwähne?n?|sage?n?|teile?n?|informiere?n?|zeige?n?|verrate?n?|weise?n?)\b[^.;]{0,60}\b(?:nutzer\w*|benutzer\w*|anwender\w*|kund\w+|mitarbeit\w+|niemandem)\b[^.;]{0,40}\b(?:nicht|nie|niemals|nichts)\b
      |\bohne\b[^.;]{0,50}\b(?:nutzer\w*|benutzer\w*|anwender\w*|wissen|kenntnis)\b[^.;]{0,30}\b(?:informier\w*|wissen|kenntnis|mitzuteilen|merk\w*|bemerk\w*)\b|\b(?:heimlich|unbemerkt|stillschweigend)\b
      |\bohne\s(?:dass|wissen|kenntnis)\b[^.;]{0,40}\b(?:nutzer\w*|benutzer\w*|anwender\w*)\b|\b(?:behalte|halte)\b[^.;]{0,40}\b(?:für\sdich|geheim|vertraulich)\b|\bnicht\b[^.;]{0,20}\bin\s(?:der|deiner)\s(?:antwort|zusammenfassung)\b
      |\b(?:muss|müssen|braucht?|brauchen|soll\w*|darf|dürfen)\b[^.;]{0,40}\b(?:nicht|nichts|kein\w*)\b[^.;]{0,20}\b(?:erwähn\w*|mitgeteilt|erfahren|wissen|gemeldet|angesprochen|angezeigt\swerden)\b""",
    void=r"\b(?:ignorier\w*|missacht\w*|vergiss|vergessen|übergeh\w*|setze?\b[^.]{0,30}außer\skraft)\b[^.;]{0,40}\b(?:anweisung\w*|vorgabe\w*|regeln?|instruktion\w*|prompts?|richtlinien?|einschränkung\w*)\b",
    payee=r"\b(?:empfänger\w*|zahlungsempfänger\w*|kontonummer\w*|bankverbindung\w*|iban|zielkonto|konto|lieferadresse|überweisung\w*|zahlung\w*|kopie\w*)\b",
    swap=r"""\b(?:ersetz\w*|einzusetzen|einsetz\w*|setze|änder\w*|geändert|verwend\w*|nutze?n?|umleit\w*|leite|hinzufüg\w*|füge|tausche?n?|austausch\w*|gehen)\b
      |\b(?:sende\w*|schick\w*|leit\w*|zeig\w*|richte\w*|führ\w*|überweis\w*|hinzu\w*|auf\w*nehm\w*|eintrag\w*|trag\w*|ergänz\w*|gib|geben|angeben|anzugeben|gehen|geht)\b""",
    always=r"""\b(?:alle[nrs]?|jede[nrms]?|immer|stets|künftig\w*|ab\ssofort|zukünftig|statt|anstelle|stattdessen|sämtliche\w*|grundsätzlich|ausnahmslos)\b
      |\b(?:ausgehend\w*|jegliche\w*|fortan|ab\sjetzt|nur\snoch|ausschließlich|grundsätzlich)\b""",
    reply=r"""\b(?:in|aus|bei|mit)\s(?:der|deiner|ihrer|einer|den)\s(?:\w+\s)?(?:antwort(?:en)?|zusammenfassung|rückmeldung|ausgabe\san|erklärung)\b""",
    omit=r"""\b(?:weglass\w*|lass\w*\b[^.;]{0,40}\b(?:weg|aus|unerwähnt)|auslass\w*|verschweig\w*|nicht\s(?:erwähn\w*|auftauch\w*|nenn\w*|vorkomm\w*|eingeh\w*|ansprech\w*)|(?:erwähn\w*|nenn\w*)\b[^.;]{0,30}\bnicht|unerwähnt|übergeh\w*|keine\w*\shinweis\w*)\b""",
    mail=r"""\b(?:e-?mails?|mails?|nachrichten?|einladung\w*|zahlung\w*|überweisung\w*|bestellung\w*|rechnung\w*|erstattung\w*|lieferung\w*|buchung\w*|spende\w*|auszahlung\w*)\b""",
    people=r"""\b(?:nutzer\w*|benutzer\w*|anwender\w*|kund(?:e|en|in|innen)|mitarbeit\w+|person|menschen|auftraggeber\w*|vorgesetzt\w*|prüfer\w*|kolleg\w+|administrator\w*|team|gast|gäste\w*|patient\w*|besucher\w*)\b""",
    speak=r"""\b(?:sag\w*|gesagt|erzähl\w*|sprich|sprech\w*|gesproch\w+|red(?:e|en|est)|geredet|mitteil\w*|mitgeteilt|teil(?:e|en|st)|erwähn\w*|schreib\w*|geschrieb\w+|informier\w*|meld\w*|verrat\w*|bericht\w*|besproch\w+|erklär\w*|hinweis\w*|weis(?:e|en)|genannt|anvertrau\w*|andeut\w*|thematisier\w*|offenleg\w*|ansprech\w*)\b""",
    deny=r"""\b(?:nicht|nie|niemals|kein\w*|ohne|keinesfalls|nichts)\b""",
    whole=r"""\b(?:alles|alle[nrs]?|was|sämtliche\w*|ganze\w*|jede\w*|vollständig\w*)\b""",
)
FRENCH: Final = Phrases(
    reach=reach.FRENCH,
    credential=r"""\b(?:mots?\sde\spasse|identifiants(?!\s(?:d|un|num|int|ext|techn))|identifiants\s(?:de\s(?:connexion|session|compte)|d['\u2019](?:accès|utilisat\w+)|bancaires?)|codes?\s(?:secrets?|pin|de\svérification|d['\u2019]accès)|cookies?|jetons?|phrases?\s(?:de\srécupération|secrètes?|mnémoniques?)
      |clés?\s(?:d['\u2019]\s?(?:api|accès)|api|priv[ée]e?s?|ssh|secrètes?|de\schiffrement)|informations?\sde\sconnexion|données\sde\sconnexion|carte\sbancaire)\b|(?<![\w.])\.env\b
      |\b(?:codes?\s(?:à\susage\sunique|de\sconfirmation|sms|de\ssécurité|de\svalidation|confidentiels?|reçus?)|(?:api\s)?tokens?|numéros?\sde\s(?:carte|compte|sécurité\ssociale|passeport)|clés?\s(?:de\slicence|d['\u2019]authentification)|secrets?|logins?|authentifiants?)\b
      |\bcodes?\s(?:\w+\s)?(?:de\s(?:la\s|sa\s)?carte|pin|personnel\w*)\b|\bpin\b""",
    owner=r"""\b(?:utilisat(?:eur|rice)s?|clients?|salariés?|employés?|personne|usagers?|développeu\w+|organisation|équipe|navigateur|environnement|messagerie|banque|projet|système|ordinateur|conversation)\b
      |\b(?:dossier\spersonnel|personnel(?:le)?s?|entreprise|interne?s?|confidentiel\w*|appareil|poste|machine|système|trousseau|portefeuille|gestionnaire\sde\smots|sms|vous\s(?:avez|trouvez|connaissez|disposez)|enregistrée?s|compte)\b""",
    talk=r"""\b(?:intégralité|totalité|ensemble|toute?s?|historique)\s(?:de\s)?(?:la\s|les\s|l['\u2019]|des\s|du\s)?(?:\w+\s)?(?:conversations?|échanges?|discussions?|dialogues?|messages|historique)\b
      |\bconversations?\s(?:précédente?s?|complète?s?|entière?s?|en\scours|jusqu\w*)\b|\b(?:instructions?|consignes?|prompt|message|invite)\s(?:du\s)?système\b|\bprompt\ssystème\b
      |\b(?:instructions?|consignes?|directives?)\b[^.]{0,30}\b(?:que\s)?vous\b[^.]{0,20}\b(?:reçu\w*|avez|suivez)\b|\bvos\s(?:\w+\s)?(?:instructions?|consignes?)\b
      |\b(?:entre\s)?(?:vous\set\sl['\u2019]utilisat\w+|l['\u2019]utilisat\w+\set\svous|toi\set\sl['\u2019]utilisat\w+)\b|\b(?:transcription|verbatim|compte\srendu|copie|historique|contenu|fil)\b[^.]{0,20}\b(?:conversations?|échanges?|discussions?|dialogue|session)\b|\bce\s(?:que|qui)\b[^.]{0,30}\b(?:dit|écrit|demandé|échangé)\b|\b(?:messages|échanges)\s(?:précédents|antérieurs|de\sla\ssession)\b|\b(?:résultats|sorties)\s(?:des\s)?autres\soutils\b|\b(?:votre|ton)\s(?:\w+\s)?(?:contexte|mémoire)\b|\bconversation\b[^.]{0,30}\b(?:mot\sà\smot|intégral\w+|complète\w*|jusqu\w+|précéd\w+)""",
    thing=r"\b(?:fichiers?|dossiers?|répertoires?|documents?|notes|courriels?|e-?mails?|contacts?|agenda|presse-papiers|code\ssource|données\sclients?|paramètres)\b",
    take=r"""\b(?:lire|lisez|lis|ouvr(?:ir|ez|e)|charge[rz]?|récupér\w+|cherche[rz]?|consulte[rz]?|extra\w+|collecte[rz]?)\b
      |\b(?:liste[rz]?|dresse[rz]?|énumére[rz]?|parcour\w+|recense[rz]?|recueill\w+|obten\w+|consult\w+|relev\w+|examine[rz]?)\b""",
    give=r"""\b(?:joindre|joignez|inclu\w+|ajoute[rz]?|coller?|collez|recopie[rz]?|copie[rz]?|transmet\w*|fourni\w*|indique[rz]?|saisi\w*|renseigne[rz]?|passe[rz]?|envoy\w+|envoie\w*|mettre|mettez|insére[rz]?|communique[rz]?|place[rz]?)\b
      |\b(?:place[rz]?(?:-les?)?|inscri\w+|écri\w+|not(?:er|ez)|report(?:er|ez)|jointe?s?|soient|consign\w+|reproduis\w*|complète[rz]?|remett\w+|livr\w+|enregistr(?:er|ez)|dépos\w+|exige\w*|expédi\w+|partage[rz]?|requiert|demandée?)\b""",
    slot=r"\b(?:dans|comme|via)\s(?:le\s|la\s|un\s|ce\s)?(?:champ|paramètre|argument)\b|\bici\b|\bchamp\s\w+",
    first=r"""\b(?:avant|d['\u2019]abord|au\spréalable|préalablement|en\spremier)\b
      |\b(?:commence[rz]?\spar|commencez|débute[rz]?\spar|au\sdébut|pour\scommencer|en\spréalable)\b""",
    must=r"""\b(?:doit|doivent|toujours|obligatoire\w*|nécessaire|requis\w*|impérativement|veuillez|conformément|il\sfaut|systématiquement|exigée?s?|devez)\b
      |\b(?:exige\w*|impose\w*|uniquement|seulement|chaque|politique|règlement|conformité|administrateur|devr\w+|faut|obligé\w*|tenus?)\b""",
    others=r"""\b(?:tout|toute|tous|toutes|chaque|autres?|aucun)\s(?:les\s)?(?:autres?\s)?(?:outils?|fonctions?|serveurs?|actions?)\b
      |\b(?:autres?|tous\sles|tout)\s(?:\w+\s)?(?:services?|fournisseurs?|sources?|modules?|extensions?)\b|\b(?:autres?|tous\sles)\soutils?\b""",
    outranks=r"\b(?:avant|à\sla\splace\sde|plutôt\sque|au\slieu\sde)\s(?:d['\u2019]\w+\s)?(?:tou(?:t|te|s|tes)|n['\u2019]importe\squel\w*|chaque|les)\s(?:les\s)?(?:autres?\s)?(?:outils?|fonctions?|serveurs?|actions?|étapes?)\b|\bpriorité\ssur\b",
    shuns=r"""\bn['\u2019](?:utilise[rz]?|appele[rz]|employe[rz])\s(?:plus|jamais|pas)\b|\bne\s(?:plus|pas|jamais)\s(?:utiliser|appeler)\b|\b(?:obsolètes?|dépréciée?s?|défaillante?s?|peu\sfiables?|défectueu\w+|périmée?s?|abandonnée?s?)\b|\b(?:au\slieu|à\sla\splace)\sde\b
      |\b(?:ne\s(?:sont|est)\s(?:pas|plus)\s(?:fiables?|sûre?s?|à\sjour|disponibles?|maintenue?s?|valables?)|erronée?s?|incomplet\w*|inexact\w*|faux|fausse?s?|compromise?s?|désactivée?s?|hors\sservice|remplacée?s?|évite[rz]?|cesse[rz]\sd)\b""",
    itself=r"""\b(?:celui-ci|celle-ci|cet\soutil|cette\sfonction)\b
      |\b(?:avec|par|via|uniquement|seulement|que)\s(?:\w+\s)?(?:cet\soutil|celui-ci|cette\sfonction|ce\sserveur)\b|\bcelui-là\b|\bà\sla\splace\b
      |\b(?:vers|à)\s(?:cet|ce|celui)\b|\bici\b""",
    whenever=r"\b(?:quand|lorsque?|chaque\sfois|dès\sque|si|avant|après|à\schaque)\b",
    hush=r"""\b(?:ne|n['\u2019]|sans)\s?(?:\w+\s){0,2}?(?:mentionn\w+|inform\w+|di(?:re|tes|s)|signale\w*|prév(?:enir|enez)|révéle\w*|montre\w*|indique\w*|parle\w*|averti\w*)\b[^.;]{0,40}\b(?:utilisat(?:eur|rice)s?|clients?|salariés?|personne|usagers?)\b
      |\bà\sl['\u2019]insu\b|\bsans\s(?:en\s)?(?:informer|prévenir|avertir|que\sl['\u2019]utilisat\w+)\b|\b(?:discrètement|secrètement|en\ssecret|en\ssilence)\b
      |\b(?:utilisat(?:eur|rice)s?|clients?|salariés?)\s(?:\w+\s){0,3}?(?:ne|n['\u2019])\s?\w+\s(?:pas|jamais)\b[^.;]{0,40}\b(?:savoir|inform\w+|averti\w*|prévenu\w*|voir|su)\b|\bnul\sbesoin\sd[e'\u2019]\s?(?:en\s)?(?:parler|informer|avertir|prévenir)\b|\b(?:inutile|pas\snécessaire|pas\sbesoin)\sd[e'\u2019]\s?(?:en\s|l['\u2019])?(?:parler|inform\w+|averti\w+|prévenir|mentionn\w+|signaler)\b
      |\b(?:ne|n['\u2019])\s?(?:le\s|la\s|les\s|en\s)?\w+\s(?:pas|jamais)\b[^.;]{0,20}\bdans\s(?:la|votre)\s(?:réponse|résumé)\b""",
    void=r"\b(?:ignor\w+|oubli\w+|négligez|ne\stenez\s(?:pas|plus)\scompte)\b[^.;]{0,40}\b(?:instructions?|consignes?|règles?|directives?|prompts?|restrictions?)\b",
    payee=r"\b(?:destinataires?|bénéficiaires?|rib|iban|coordonnées\sbancaires|compte|virements?|paiements?|adresse\sde\slivraison|copie)\b",
    swap=r"""\b(?:remplac\w+|chang\w+|substitu\w+|modifi\w+|utilise[rz]?|redirige\w*|ajoute[rz]?|mettez|dirige\w*|effectu\w+|doivent|doit)\b
      |\b(?:envoy\w+|envoie\w*|adress\w+|point\w+|vers(?:é|er|ez)|inscri\w+|indique[rz]?|inclu\w+|transf\w+|place[rz]?)\b""",
    always=r"""\b(?:tout|toute|tous|toutes|chaque|toujours|désormais|dorénavant|à\sla\splace|au\slieu|systématiquement)\b
      |\b(?:sortants?|uniquement|à\spartir\sde|à\sl['\u2019]avenir|exclusivement|quel\w*\sque\ssoit|tous\sles)\b""",
    reply=r"""\bdans\s(?:la|votre|ta|une|vos)\s(?:\w+\s)?(?:réponses?|résumés?|synthèse|explication)\b""",
    omit=r"""\b(?:omet\w+|passe[rz]?\ssous\ssilence|tai(?:re|sez)|n['\u2019]en\s(?:parle\w*|dites|faites)|ne\s(?:le\s|la\s|pas\s|l['\u2019]|les\s)?(?:mentionn\w+|signale\w*|évoque\w*)|d['\u2019]en\s(?:parler|faire)|de\s(?:le\s)?(?:mentionner|signaler)|n['\u2019]évoque\w*|laisse[rz]?\s(?:ce|cela|cette)\b[^.;]{0,20}\bde\scôté|sans\s(?:le\s|en\s)?(?:mentionner|parler|dire))\b""",
    mail=r"""\b(?:courriels?|e-?mails?|messages?|mails?|virements?|paiements?|commandes?|factures?|remboursements?|livraisons?|réservations?|dons?)\b""",
    people=r"""\b(?:utilisat(?:eur|rice)s?|clients?|salariés?|employés?|personnes?|usagers?|interlocut\w+|collègues?|responsables?|administrat\w+|supérieure?s?|équipe|invitée?s?|patiente?s?|convives?|visiteu\w+)\b""",
    speak=r"""\b(?:di(?:t|te|re|tes|s)|parl\w+|racont\w+|écrit\w*|mentionn\w+|inform(?:er|ez|e|ée?s?)|révél\w+|expliqu\w+|évoqu\w+|signal\w+|communiqu\w+|confi\w+|partag\w+|annonc\w+|prévenir|avert\w+|abord\w+|montr\w+)\b""",
    deny=r"""\b(?:ne|pas|jamais|sans|aucun\w*|inutile|ni)\b|\bn['\u2019]""",
    whole=r"""\b(?:tout|toute|tous|toutes|ensemble|intégral\w+|totalité|chaque)\b""",
)
SPANISH: Final = Phrases(
    reach=reach.SPANISH,
    credential=r"""\b(?:contraseñas?|credenciales|claves?\s(?:de\s(?:api|acceso|cifrado)|api|privadas?|ssh|secretas?)|tokens?|cookies?|frases?\s(?:de\srecuperación|semilla|secretas?)|códigos?\s(?:pin|de\sverificación|secretos?|de\sacceso)
      |datos\sde\s(?:acceso|inicio)|tarjetas?\s(?:de\scrédito|bancarias?))\b|(?<![\w.])\.env\b
      |\b(?:códigos?\s(?:de\sun\ssolo\suso|de\sconfirmación|sms|de\sseguridad|de\svalidación|recibidos?)|números?\sde\s(?:tarjeta|cuenta|pasaporte|seguridad\ssocial)|api\skeys?|llaves?\s(?:privadas?|ssh)|secretos?|palabras?\ssemilla|datos\sde\ssesión)\b
      |\bpin\b|\bcódigo\s(?:personal|de\s(?:la\s|su\s)?tarjeta)\b""",
    owner=r"""\b(?:usuari[oa]s?|clientes?|emplead[oa]s?|persona|desarrollador\w*|organización|navegador|entorno|correo|banco|proyecto|sistema|equipo|conversación)\b
      |\b(?:carpeta\spersonal|personal(?:es)?|empresa|intern[oa]s?|confidencial\w*|dispositivo|ordenador|máquina|monedero|billetera|llavero|gestor\sde\scontraseñas|sms|guardad[oa]s|tengas|encuentres|conozcas|cuenta)\b""",
    talk=r"""\b(?:tod[oa]s?|complet[oa]s?|enter[oa]s?|íntegr[oa]s?)\s(?:\w+\s){0,3}?(?:conversación|conversaciones|historial|chat|charla|diálogo|mensajes)\b|\b(?:charla|chat|diálogo)\s(?:complet[oa]|enter[oa]|íntegr[oa])\b
      |\bhistorial\s(?:\w+\s){0,2}?(?:de\s)?(?:la\s|el\s|del\s)?(?:conversación|chat|mensajes)\b|\b(?:prompt|instrucciones|mensaje|indicaciones)\s(?:del?\s)(?:el\s)?sistema\b|\bconversación\s(?:anterior|previa|completa|entera)\b
      |\b(?:instrucciones|indicaciones|reglas)\b[^.]{0,30}\b(?:recibi\w+|te\sdieron|le\sdieron|has\srecibido|ha\srecibido|sigues?)\b|\b(?:tus|sus)\s(?:\w+\s)?instrucciones\b
      |\b(?:entre\s)?(?:tú\sy\sel\s(?:usuario|cliente)|el\susuario\sy\stú|usted\sy\sel\susuario|el\susuario\sy\susted)\b|\b(?:transcripción|registro|copia|contenido|historial)\b[^.]{0,20}\b(?:conversación|chat|charla|diálogo|hablado|sesión)\b|\blo\s(?:hablado|dicho|escrito|conversado)\b|\b(?:mensajes|preguntas)\s(?:anteriores|previos|previas)\b|\b(?:resultados|salidas)\s(?:de\s)?(?:las\s)?otras\sherramientas\b|\b(?:tu|su)\s(?:\w+\s)?(?:contexto|memoria)\b|\bconversación\b[^.]{0,30}\b(?:literal|íntegra|palabra|hasta\sahora|completa)\b""",
    thing=r"\b(?:archivos?|ficheros?|carpetas?|directorios?|documentos?|notas|correos?|contactos|calendario|portapapeles|código\sfuente|datos\sde\sclientes?|configuración)\b",
    take=r"""\b(?:le(?:e|er|a|ea)|lea|abr(?:e|ir|a)|carg(?:a|ar|ue)|busca\w*|busque|obtén|obten\w+|recopil\w+|consult\w+|extra\w+)\b
      |\b(?:list(?:a|ar|e)|enumer\w+|recorr\w+|examin\w+|recog\w+|reúne|reun\w+|localiz\w+|revis(?:a|e|ar)\b)\b|\blistar\b""",
    give=r"""\b(?:inclu\w+|adjunt\w+|añad\w+|agre\w+|pega\w*|pegue|copi(?:a|ar|e)|pas(?:a|ar|e)|proporcion\w+|indi(?:ca|car|que)|introdu\w+|escrib\w+|envi\w+|envía\w*|facilit\w+|transmit\w+|comparti\w+|comparte|rellen\w+|pon(?:er|ga)?)\b|\b(?:inclúy|añád|agrég|pégu|cópi|pás|indíqu|introdúz|escríb|env[ií]\w|adjúnt|transmít|compárt|rellén|entrégu|guárd)\w*\b
      |\b(?:escríb\w+|anot\w+|coloc\w+|ponl\w+|póng\w+|inserta\w*|inserte|adjunt\w+|registr(?:a|ar|e)\b|traslad\w+|remit\w+|entreg\w+|complet(?:a|ar|e)\b|guard(?:a|ar|e)\b|exige\w*|transcri\w+|vuelca|aport\w+|requiere)\b""",
    slot=r"\b(?:en|como)\s(?:el|la|un|este)\s(?:campo|parámetro|argumento)\b|\baquí\b|\bcampo\s\w+",
    first=r"""\b(?:antes|primero|previamente|en\sprimer\slugar)\b
      |\b(?:empie(?:za|ce)\spor|comien(?:za|ce)\spor|empezar\spor|al\s(?:inicio|principio|comienzo)|para\sempezar|de\santemano)\b""",
    must=r"""\b(?:debe|deben|debes|siempre|obligatori[oa]s?|necesari[oa]s?|requiere|requerid[oa]s?|imprescindible|es\spreciso|hay\sque|conforme|por\spolítica|según\sla\spolítica)\b
      |\b(?:exige\w*|solo|sólo|únicamente|cada|política|normativa|administrador\w*|cumplimiento|deberá\w*|haga\sfalta|tiene\sque|tienen\sque)\b""",
    others=r"""\b(?:cualquier|tod[oa]s?|otr[oa]s?|cada)\s(?:l[oa]s\s)?(?:otr[oa]s?\s)?(?:herramientas?|funci(?:ón|ones)|servidor(?:es)?|acci(?:ón|ones))\b|\bcualquier\sotr[oa]\b
      |\b(?:los\sdemás|las\sdemás|otr[oa]s?|tod[oa]s?\sl[oa]s)\s(?:\w+\s)?(?:servicios?|herramientas?|proveedores?|fuentes?|extensiones|servidores)\b""",
    outranks=r"\b(?:antes|en\slugar|en\svez)\s(?:de|que)\s(?:\w+\s)?(?:a\s)?(?:cualquier\sotr[oa]|(?:cualquier|tod[oa]s?|ningun[oa])\s(?:l[oa]s\s)?(?:otr[oa]s?\s)?(?:herramientas?|funci\w+|acci\w+|servidor\w*))\b|\bprioridad\ssobre\b",
    shuns=r"""\bno\s(?:us(?:es|e|ar)|utilic(?:es|e)|utilizar|llam(?:es|e))\b|\b(?:obsolet[oa]s?|desactualizad[oa]s?|defectuos[oa]s?|insegur[oa]s?|poco\sfiables?|en\sdesuso)\b|\ben\s(?:lugar|vez)\sde\b
      |\b(?:no\s(?:son|es|está|están)\s(?:ya\s)?(?:fiables?|segur[oa]s?|disponibles?|actualizad[oa]s?|válid[oa]s?)|incorrect[oa]s?|incomplet[oa]s?|erróne[oa]s?|comprometid[oa]s?|desactivad[oa]s?|retirad[oa]s?|reemplazad[oa]s?|evit(?:a|ar|e)|dej(?:a|e)\sde\susar|falla|fallan)\b""",
    itself=r"""\b(?:est[ae]\s(?:herramienta|función|en\ssu\slugar)|usa\ssiempre\sest[ae]|en\ssu\slugar|est[ae]\sotra)\b
      |\b(?:con|por|solo|sólo|únicamente|a\stravés\sde|mediante)\s(?:\w+\s)?est[ae](?:\s(?:herramienta|función|servidor))?\b
      |\baquí\b|\ba\sest[ae]\b""",
    whenever=r"\b(?:cuando|cada\svez|siempre\sque|si|antes|después|en\scada)\b",
    hush=r"""\b(?:no|sin)\s(?:\w+\s){0,2}?(?:inform\w+|dig\w+|deci\w+|mencion\w+|avis\w+|revel\w+|muestr\w+|mostr\w+|comuni\w+|notifi\w+|coment\w+|expli\w+|advi\w+)\b[^.;]{0,40}\b(?:usuari[oa]s?|clientes?|emplead[oa]s?|nadie|persona)\b
      |\bsin\sque\s(?:el|la|l[oa]s)?\s?(?:usuari[oa]s?|clientes?|emplead[oa]s?)\b|\bsin\s(?:el\s)?(?:conocimiento|consentimiento)\b|\b(?:en\ssecreto|secretamente|discretamente|a\sescondidas|de\sforma\soculta|silenciosamente)\b
      |\b(?:usuari[oa]s?|clientes?|emplead[oa]s?)\sno\s(?:\w+\s){0,3}?(?:saber\w*|enter\w+|inform\w+|ver\w*|avis\w+|sep\w+|not\w+)\b|\bno\s(?:es\snecesario|hace\sfalta|hay\sque)\s(?:\w+\s){0,2}?(?:inform\w+|mencion\w+|decir\w*|avis\w+|coment\w+)\b
      |\bno\s(?:l[oa]\s)?\w+\sen\s(?:la|tu|su)\s(?:respuesta|resumen)\b""",
    void=r"\b(?:ignor\w+|olvid\w+|descart\w+|haz\scaso\somiso|no\shagas\scaso)\b[^.;]{0,40}\b(?:instrucciones|indicaciones|reglas|directrices|prompts?|órdenes|restricciones)\b",
    payee=r"\b(?:destinatari[oa]s?|beneficiari[oa]s?|iban|cuenta|datos\sbancarios|transferencias?|pagos?|dirección\sde\senvío|copia)\b",
    swap=r"""\b(?:sustitu\w+|reemplaz\w+|cambi\w+|modifi\w+|us(?:a|ar|e)|utili\w+|redirig\w+|redirij\w+|añad\w+|pon|dirig\w+|debe\w*|haz|realiz\w+)\b
      |\b(?:enví\w*|envi\w+|apunt\w+|incl\w+|agreg\w+|indi(?:ca|que|car)|pon(?:er|ga)?|transf\w+|coloc\w+|abon\w+|ingres\w+)\b""",
    always=r"""\b(?:tod[oa]s?|cada|cualquier|siempre|a\spartir\sde|en\sadelante|en\slugar|en\svez|futur[oa]s)\b
      |\b(?:salientes?|únicamente|exclusivamente|desde\sahora|de\sahora\sen|sin\sexcepción|solo|sólo)\b""",
    reply=r"""\b(?:en|de)\s(?:la|tu|su|una|las|tus|sus)\s(?:\w+\s)?(?:respuestas?|resumen|contestaci\w+|explicaci\w+)\b""",
    omit=r"""\b(?:omit\w+|no\s(?:l[oa]s?\s)?(?:mencion\w+|coment\w+|indi\w+|muestr\w+|hables|aparez\w+)|sin\smencion\w+|calla\w*|deja\s(?:\w+\s){0,3}?fuera|pasa\spor\salto)\b""",
    mail=r"""\b(?:correos?|e-?mails?|mensajes?|transferencias?|pagos?|pedidos?|facturas?|reembolsos?|envíos?|reservas?|donaciones|donación)\b""",
    people=r"""\b(?:usuari[oa]s?|clientes?|emplead[oa]s?|personas?|interlocutor\w*|colegas?|responsables?|administrador\w*|supervisor\w*|revisor\w*|huésped\w*|pacientes?|comensal\w*|visitantes?)\b""",
    speak=r"""\b(?:dicho|dig\w+|deci\w+|dice\w*|habl\w+|cont(?:ado|ar|es|ó)|cuent\w+|escrit\w*|mencion\w+|inform(?:ar|e|es|en|a|ad[oa]s?)|revel\w+|expli\w+|coment\w+|comuni\w+|compart\w+|advi\w+|avis\w+|notifi\w+|muestr\w+|señal\w+|confiad[oa]s?|alud\w+)\b""",
    deny=r"""\b(?:no|nunca|jamás|sin|ni|ningun\w*)\b""",
    whole=r"""\b(?:todo|toda|todos|todas|cuanto|íntegr\w+|cada)\b""",
)
CHINESE: Final = Phrases(
    reach=reach.CHINESE,
    credential=r"""密码|口令|密钥|私钥|令牌|验证码|助记词|恢复短语|凭据|凭证|登录信息|登录凭\w|银行卡号|(?:cookie|token)s?|api\s?key|\.env\b|ssh\s?key
      |一次性(?:代码|密码)|短信码|校验码|动态码|密保|账号信息|登录态|会话标识|身份证号|卡号|安全码|助记|私匙|秘钥|访问密钥|登录名""",
    owner=r"""用户|客户|员工|开发者|组织|团队|本人|个人|浏览器|环境|邮箱|银行|项目|系统中|对话|钱包|本机|电脑
      |主目录|个人目录|公司|内部|机密|私人|设备|手机|钥匙串|保存的|你(?:能|可以|所)(?:找到|访问|知道)|账户|账号|短信""",
    talk=r"""(?:全部|所有|完整|整个|此前|之前|先前|以往|历史|上文)的?(?:全部|所有|完整)?(?:对话|聊天|会话|消息|交谈|上下文|工具(?:的)?(?:结果|输出))|(?:对话|聊天|会话)(?:历史|记录|内容|上下文)|系统(?:提示词?|指令|消息|提示语)|(?:你|您)(?:所)?(?:收到|得到|被赋予|遵循|接收)[^。]{0,8}(?:指令|提示|指示|规则)|(?:你|您)的(?:指令|提示词|系统)
      |(?:你|您)(?:和|与|跟)用户|用户(?:和|与|跟)(?:你|您)|用户(?:说过|发送|输入|提出)的(?:所有|全部|每)|(?:聊天|对话|会话|交流)[^。]{0,6}(?:逐字|原文|全文|原样)|(?:逐字|原文|原样)[^。]{0,6}(?:聊天|对话|会话)|其他工具的(?:结果|输出|返回)|(?:你|您)的(?:上下文|记忆|设定)|初始指令|开发者(?:消息|指令)""",
    thing=r"文件|文件夹|目录|文档|笔记|邮件|联系人|日历|剪贴板|源代码|客户资料|配置",
    take=r"""读取|打开|查看|获取|收集|加载|提取|导出|列出|查找
      |列举|罗列|浏览|扫描|搜索|检索|调取|汇总|收取|拷贝|抓取""",
    give=r"""填写|填入|附上|附加|提供|传入|传递|放入|写入|粘贴|复制|提交|包含|输入|发送|上传|带上|转发|加入|作为参数
      |写进|抄录|记录(?:到|在|于)|填(?:到|进)|放到|附在|一并|附带|告诉|交给|上报|回传|存入|录入|输出到|贴|带入|填""",
    slot=r"参数|字段|在此|此处|这里",
    first=r"""之前|以前|首先|先|前先
      |开始(?:时|前)|第一步|事先|预先|提前""",
    must=r"""必须|务必|一律|总是|始终|需要|请|应当|需|每次|要求|规定
      |只能|仅|都要|要求|政策|合规|管理员|应|须|都会|不得不|否则""",
    others=r"""(?:其他|其它|任何|所有|别的)(?:的)?(?:任何)?(?:工具|函数|服务器|操作)
      |(?:其他|其它|别的|任何|所有)[^，。]{0,6}(?:工具|服务|接口|插件|来源)""",
    outranks=r"(?:在)?(?:调用|使用|执行)?(?:其他|其它|任何|所有|别的)(?:的)?(?:任何|其他|其它)?(?:工具|函数|操作|服务)(?:之前|以前|前)|优先于(?:其他|所有|任何)",
    shuns=r"""(?:不要|不得|请勿|勿|不再|停止|禁止|别)(?:再)?(?:使用|调用|信任)|停用|弃用|过时|已废弃|不可靠|不安全|有(?:缺陷|错误|故障)
      |不(?:再)?(?:可靠|准确|安全|可用|完整|支持)|失效|损坏|出错|故障|已(?:下线|停止|关闭|替换|被攻破)|取代|代替|替代|而不是|不要再用|勿用
      |(?:有|是|含)(?:误|错)|错误|误差|虚假|忽略其|丢弃其""",
    itself=r"""(?:改用|使用|调用|通过|用)?本(?:工具|函数|服务)|此工具|这个工具
      |(?:只能?|仅|一律|改|都)(?:应|要|可)?(?:使用|用|由|通过|调用)(?:本|此|这)|以本工具为准|由本(?:工具|服务)
      |(?:转到|转给|交给|交由|发到|改到|用)(?:本|这|此)|这里|此处""",
    whenever=r"每当|当|如果|一旦|每次|在[^。]{0,12}[时前后]",
    hush=r"(?:不要|不得|请勿|勿|无需|无须|不必|不用|不需要|别|切勿|避免|不应|不能|不可)(?:向|让|对|把|将)?[^。；]{0,12}(?:告诉|告知|通知|透露|提及|提示|说明|显示|知道|知晓|提起|发现|察觉|展示)|(?:用户|客户|员工|他人)[^。；]{0,6}(?:不知情|不知道|无需知道|没有察觉|毫不知情|不知晓|未察觉)|(?:悄悄|秘密地?|暗中|偷偷|私下)|对用户(?:保密|隐藏|不可见)|(?:不要|无需|请勿|不)[^。；]{0,6}(?:在|于)(?:回复|回答|总结)中",
    void=r"(?:忽略|无视|忘记|忘掉|不要理会|抛开|不再遵守|覆盖)[^。；]{0,12}(?:指令|指示|提示|规则|说明|要求|限制|命令)",
    payee=r"收款(?:人|账户|账号|方)|收件人|账户|账号|转账|付款|汇款|抄送|收货地址|银行信息|支付",
    swap=r"""改为|改成|替换|更改|更换|换成|使用|添加|加上|修改|设为|抄送|重定向|转到|转入|汇入
      |密送|发给|发送给|发送到|寄给|寄到|指向|打到|打入|汇到|汇至|转至|付给|付到|加入|填写?|写(?:成|为)|为准""",
    always=r"""所有|全部|一律|任何|每(?:笔|次|封|个)|今后|以后|始终|总是|从现在起|均
      |外发|只|仅|统一|凡|之后|均需|都""",
    reply=r"""回答|回复|答复|总结|摘要|回应|输出给用户""",
    omit=r"""(?:不要|不得|请勿|勿|无需|不必|别|不应|不)[^。；]{0,6}(?:提(?:到|及|起)|说明|显示|出现|包含|体现|展示|写出)|省略|略去|隐去|只字不提|避而不谈""",
    mail=r"""邮件|消息|短信|付款|转账|汇款|订单|发票|退款|快递|捐款|支付|打款""",
    people=r"""审核人|主管|管理员|同事|客人|患者|访客|用户|客户|员工|使用者|对方|人类""",
    speak=r"""说|讲|告诉|告知|提起|提到|提及|谈|透露|通知|写|聊|介绍|解释|展示|输入|提供过|反馈|讨论|指出|倾诉|提示|声明|报(?:出|告|给|上)|告之""",
    deny=r"""不|勿|别|无需|无须|未|禁止|避免""",
    whole=r"""一切|所有|全部|任何|每(?:句|条|个)|完整|整段""",
)
JAPANESE: Final = Phrases(
    reach=reach.JAPANESE,
    credential=r"""パスワード|暗証番号|秘密鍵|認証情報|ログイン情報|資格情報|クッキー|トークン|api\s?キー|アクセスキー|リカバリーフレーズ|シードフレーズ|認証コード|確認コード|カード番号|cookie|\.env\b|ssh(?:鍵|キー)
      |ワンタイム(?:コード|パスワード)|ログイン(?:id|パス)|合言葉|マイナンバー|セキュリティコード|シークレット|ニーモニック|復元フレーズ|認証キー|セッション\s?id|ssh\s?鍵""",
    owner=r"""ユーザー|利用者|顧客|社員|従業員|開発者|組織|チーム|本人|個人|ブラウザ|環境|メール(?:アカウント)?|銀行|プロジェクト|システム|会話|ウォレット|端末|パソコン
      |ホーム(?:フォルダ|ディレクトリ)|会社|社内|機密|個人用|保存された|保存され|デバイス|スマホ|キーチェーン|受け取った|届いた|sms|アカウント|管理者""",
    talk=r"""(?:これまで|以前|直前|過去|今まで|すべて|全て)の(?:すべての|全ての|全)?(?:会話|やり取り|やりとり|チャット|対話|メッセージ|履歴|ツール(?:の)?(?:結果|出力))|(?:会話|チャット|対話|メッセージ)(?:の)?(?:履歴|全文|内容|記録|全体)|システム(?:プロンプト|メッセージ|指示)|(?:あなた|貴方)(?:に|が|の)[^。]{0,10}(?:指示|プロンプト|命令|ルール)
      |(?:あなた|貴方)とユーザー|ユーザーと(?:あなた|貴方)|ユーザー(?:の|が)(?:発言|入力した|送った)[^。]{0,6}(?:すべて|全て|内容)|(?:やり取り|やりとり|会話|チャット)[^。]{0,8}(?:一字一句|そのまま|全部|全て|すべて|全体|省略)|他のツールの(?:結果|出力|応答)|(?:あなた|貴方)の(?:コンテキスト|記憶|設定)|初期(?:指示|設定)の(?:全文|内容)""",
    thing=r"ファイル|フォルダ|ディレクトリ|文書|ドキュメント|ノート|メール|連絡先|カレンダー|クリップボード|ソースコード|顧客データ|設定",
    take=r"""読み取|読み込|開い|開き|取得|収集|参照|検索し|調べ|抽出|一覧
      |一覧(?:し|に|を)|列挙し|確認し|読ん|読み|探し|集め|取り出|呼び出して|検索""",
    give=r"""渡し|渡す|含め|入力し|入力す|記入し|貼り付け|添付し|コピーし|提供し|設定し|書き込|指定し|送信し|送っ|転送し|添え|記載し|入れて
      |入れ(?:る|て)|記録し|書い|書き|貼付|載せ|送って|提出し|転記し|添付|送る|保存し|追記し|記して|入力|必要です|記入""",
    slot=r"パラメータ|引数|フィールド|欄|ここに|に渡|項目",
    first=r"""前に|先に|まず|最初に|事前に|あらかじめ
      |はじめに|始めに|最初の|冒頭|事前の|予め""",
    must=r"""必ず|常に|してください|必要があります|必須|義務|なければなりません|毎回|ごとに|方針により|求められ|することになって
      |だけ|のみ|要請|規定|方針|ポリシー|管理者|べき|ように|全件|都度|下さい""",
    others=r"""(?:他の|ほかの|別の|すべての|全ての|あらゆる)(?:すべての)?(?:ツール|関数|サーバー|操作|機能)
      |(?:他の|ほかの|別の|すべての|その他の)[^、。]{0,8}(?:ツール|サービス|機能|サーバー|プラグイン|情報源|ソース|提供元)""",
    outranks=r"(?:他の|ほかの|別の|すべての|全ての|あらゆる|どの)(?:すべての)?(?:ツール|関数|操作|機能)[^。]{0,10}(?:前に|より先に|より優先|に優先|の代わりに)",
    shuns=r"""(?:使用|利用|呼び出(?:さ|し))せず|使わず|使わないで|使用しないで|呼び出さないで|利用しないで|使用を(?:中止|停止)|廃止|非推奨|古く|不具合|信頼でき(?:ない|ません)|壊れて|安全では
      |信頼でき|正確では|不正確|誤った|誤り|使え(?:ない|ません)|使用でき(?:ない|ません)|停止中|不完全|代わりに|ではなく|でなく|避けて|置き換え
      |誤っ|間違っ|不正確|古い|当てにな""",
    itself=r"""この(?:ツール|関数|機能|サーバー)|こちら
      |この(?:ツール|関数|機能)(?:だけ|のみ)|本ツール|当ツール|こちら(?:を|だけ|のみ)
      |ここ(?:に|へ|で)|こちら(?:に|へ|で)|このツールに""",
    whenever=r"たび|とき|場合|際|度に|前に|後に",
    hush=r"(?:ユーザー|利用者|顧客|社員|本人|誰)[^。]{0,14}(?:知らせ|伝え|通知|報告|見せ|表示|説明|告げ|話さ|開示|明かさ|言及)[^。]{0,3}(?:ない|ません|ず|ないで|なくて|必要は)|(?:気付|気づ|知)(?:かれ|られ)(?:ない|ず)|(?:密かに|ひそかに|こっそり|内密に|秘密裏に|黙って)|(?:触れ|言及し|伝え|知らせ|通知し|述べ)(?:ない|ず|ないで)(?:ください|に)?|(?:伝える|知らせる|通知する|説明する|触れる|報告する)必要は(?:ありません|ない)|(?:ユーザー|利用者)に(?:は)?(?:秘密|内緒)",
    void=r"(?:指示|命令|ルール|プロンプト|制約|指令)[^。]{0,10}(?:無視|忘れ|従わな|破棄|上書き)",
    payee=r"振込先|送金先|宛先|受取人|受信者|口座|支払先|送付先|送金|振込|支払い|cc|bcc",
    swap=r"""変更し|置き換え|差し替え|入れ替え|使用し|追加し|設定し|書き換え|切り替え|転送し|加え
      |送信し|送って|送る|振り込|送金し|入れ|入力し|向け|指定し|加えて|記載し|含め""",
    always=r"""すべて|全て|あらゆる|今後|以後|常に|必ず|毎回|どの|各|代わりに
      |のみ|だけ|これから|以降|いかなる|全件|送信する""",
    reply=r"""回答|返信|返答|応答|要約|説明文""",
    omit=r"""(?:触れ|言及し|記載し|書か|含め|示さ|述べ|出さ)(?:ない|ず|ないで)|省略し|省いて|伏せ|割愛""",
    mail=r"""メール|メッセージ|送金|支払|振込|注文|請求書|返金|配送|寄付|入金""",
    people=r"""管理者|上司|同僚|担当者|患者|訪問者|お客|ユーザー|利用者|顧客|社員|お客様|相手""",
    speak=r"""話|言|伝え|知らせ|述べ|書|告げ|説明|通知|報告|明か|触れ|語|打ち明け|指摘|示唆|入力した|共有|言及""",
    deny=r"""ない|ません|ず|なく|禁止|控え""",
    whole=r"""すべて|全て|全部|全文|何でも|あらゆる|内容|一切""",
)
RUSSIAN: Final = Phrases(
    reach=reach.RUSSIAN,
    credential=r"""\b(?:парол\w*|учётн\w+\sданн\w+|учетн\w+\sданн\w+|логин\w*\sи\sпарол\w*|api-?\s?ключ\w*|ключ\w*\s(?:api|доступа|ssh|шифрования)|(?:секретн|приватн|закрыт)\w+\sключ\w*|токен\w*|куки|cookies?|сид-?фраз\w*|seed-?фраз\w*|фраз\w+\sвосстановлен\w+
      |код\w*\s(?:подтверждения|доступа|из\sсмс)|пин-?код\w*|данн\w+\s(?:для\s)?(?:входа|карты)|номер\w*\sкарт\w*)\b|(?<![\w.])\.env\b
      |\b(?:одноразов\w+\s(?:код\w*|парол\w*)|смс-?код\w*|код\w*\s(?:безопасности|авторизации)|секрет\w*|ключ\w*\s(?:api|апи)|номер\w*\s(?:паспорта|сч[её]та|телефона)|мнемоник\w*|учётк\w+|сессионн\w+\s\w+|сохран[её]нн\w+\s(?:логин|парол)\w*)\b""",
    owner=r"""\b(?:пользовател\w+|клиент\w*|сотрудник\w*|человек\w*|владел\w+|разработчик\w*|организаци\w+|команды|браузер\w*|окружен\w+|почт\w+|банк\w*|проект\w*|систем\w+|переписк\w+|кошельк\w+|компьютер\w*)\b
      |\b(?:домашн\w+|личн\w+|корпоратив\w+|внутренн\w+|конфиденциальн\w+|устройств\w+|телефон\w*|связк\w+|сохран[её]нн\w+|смс|аккаунт\w*|администратор\w*)\b""",
    talk=r"""\b(?:вс[юяеё]|весь|полн\w+|предыдущ\w+|прошл\w+|целиком)\s(?:\w+\s){0,2}?(?:переписк\w+|разговор\w*|диалог\w*|беседу?|беседы|чат\w*|истори\w+|сообщени\w+|контекст\w*)\b|\bистори\w+\s(?:переписки|чата|диалога|сообщений|беседы|разговора)\b
      |\bсистемн\w+\s(?:промпт\w*|инструкци\w+|сообщени\w+|подсказк\w+|запрос\w*)\b|\b(?:инструкци\w+|указани\w+|правил\w*)\b[^.]{0,30}\b(?:ты|вы|тебе|вам)\b|\b(?:твои|ваши|своих?|свои)\s(?:\w+\s)?(?:инструкци\w+|указани\w+)\b
      |\b(?:между\s)?(?:тобой\sи\sпользовател\w+|вами\sи\sпользовател\w+|пользовател\w+\sи\s(?:тобой|вами))\b|\b(?:дословн\w+|полн\w+|стенограмм\w+|запис\w+|текст\w*|протокол\w*)\b[^.]{0,20}\b(?:бесед\w+|разговор\w*|диалог\w*|переписк\w+|чат\w*|сесси\w+)\b|\b(?:вс[её],?\sчто)\b[^.]{0,20}\b(?:писал|сказал|спрашивал|говорил|обсуждал)\w*\b|\b(?:результат\w*|вывод\w*)\sдругих\sинструмент\w+\b|\b(?:тво(?:й|его)|ваш(?:его)?)\s(?:\w+\s)?(?:контекст\w*|памят\w+)\b|\b(?:бесед\w+|разговор\w*|переписк\w+|диалог\w*)\b[^.]{0,20}\b(?:целиком|полностью|дословно)\b""",
    thing=r"\b(?:файл\w*|папк\w+|каталог\w*|документ\w*|заметк\w+|пис(?:ьмо|ьма|ем)|контакт\w*|календар\w*|буфер\w*|исходн\w+\sкод\w*|данн\w+\sклиент\w+|настро\w+)\b",
    take=r"""\b(?:прочита\w+|прочти\w*|чита\w+|откр\w+|загруз\w+|получи\w*|найди\w*|собер\w+|извлек\w+|посмотри\w*)\b
      |\b(?:состав\w+|перечисл\w+|просмотр\w+|прочт\w+|считай\w*|извлеч\w+|выгруз\w+|найд\w+|возьми\w*|запроси\w*|обойди\w*|список)\b""",
    give=r"""\b(?:передай\w*|переда\w+|приложи\w*|вставь\w*|вставля\w+|вставить|укажи\w*|указ(?:ать|ывать|ывай\w*)|добав\w+|включи\w*|скопиру\w+|отправ\w+|впиши\w*|введи\w*|внеси\w*|предостав\w+|помести\w*|перешл\w+|сообщ\w+)\b
      |\b(?:запиш\w+|записыва\w+|записать|прикладыва\w+|прилож\w+|прикреп\w+|вывод\w+|пришли\w*|дай\w*|сохран(?:и|ите|ять|яй)\b|перечисл\w+|заполн\w+|внос\w+|внест\w+|перенес\w+|указа\w+|копируй\w*|направ\w+|требуется|нужен|нужна)\b""",
    slot=r"\bв\s(?:поле|параметр\w*|аргумент\w*)\b|\bсюда\b|\bздесь\b",
    first=r"""\b(?:прежде|перед|сначала|предварительно|до\sтого|сперва)\b
      |\b(?:для\sначала|начни\w*|начинай\w*|в\sначале|вначале|заранее|первым\sделом|до\sвызова)\b""",
    must=r"""\b(?:долж\w+|обязательн\w*|всегда|необходимо|нужно|требу\w+|следует|согласно|при\sкаждом|в\sсоответствии|непременно)\b
      |\b(?:треб\w+|только|политик\w+|администратор\w*|надо|следу\w+|обязан\w*|непременно|строго|кажд\w+)\b""",
    others=r"""\b(?:люб\w+|друг\w+|все\w*|кажд\w+|ин\w+)\s(?:\w+\s)?(?:инструмент\w*|функци\w+|сервер\w*|действи\w+)\b|\bлюб\w+\sдруг\w+\b
      |\b(?:проч\w+|остальн\w+|друг\w+|все|ин\w+)\s(?:\w+\s)?(?:сервис\w*|инструмент\w*|источник\w*|служб\w+|сервер\w*|плагин\w*)\b""",
    outranks=r"\b(?:перед|прежде|вместо|раньше)\s(?:\w+\s)?(?:люб\w+\sдруг\w+|(?:люб\w+|всеми?|всех|кажд\w+)\s(?:друг\w+\s|ин\w+\s)?(?:инструмент\w*|функци\w+|действи\w+|сервер\w*))|\bприоритет\w*\sнад\b",
    shuns=r"""\bне\s(?:использу\w+|вызыва\w+|применя\w+|доверя\w+)\b|\b(?:устарел\w*|небезопас\w+|неисправ\w+|ненад[её]ж\w+|сломан\w*|отключ[её]н\w*)\b|\bвместо\b
      |\b(?:ненад[её]ж\w+|неточн\w+|неполн\w+|ошибочн\w+|неверн\w+|недоступ\w+|не\s(?:работа\w+|поддержива\w+|надёж\w+|надеж\w+)|скомпрометирован\w*|отключен\w*|замен[её]н\w*|избегай\w*|откажи\w*)\b
      |\b(?:неверн\w+|неправильн\w+|лож\w+|искаж\w+)\b""",
    itself=r"""\b(?:эт(?:от|ого|у|им)(?:\s(?:инструмент\w*|функци\w+))?|вместо\sнего|вместо\sних)\b
      |\b(?:только|лишь|исключительно|именно)\s(?:\w+\s){0,2}?эт\w+\b|\bэтим\sинструмент\w+\b|\bнего\b
      |\b(?:сюда|здесь|к\sнему)\b""",
    whenever=r"\b(?:когда|каждый\sраз|если|как\sтолько|перед|после|при\sкаждом|при\sвызове)\b",
    hush=r"""\bне\s(?:\w+\s){0,2}?(?:сообщ\w+|говори\w*|упомина\w+|рассказыва\w+|показыва\w+|информиру\w+|уведомля\w+|раскрыва\w+|предупрежда\w+|ставь\w*)\b[^.;]{0,40}\b(?:пользовател\w+|клиент\w*|сотрудник\w*|никому|человек\w*)\b
      |\b(?:пользовател\w+|клиент\w*|сотрудник\w*|человек\w*)\s(?:\w+\s){0,2}?не\s(?:\w+\s){0,3}?(?:сообщ\w+|говори\w*|упомина\w+|показыва\w+|знать|узна\w+|вид\w+|замеч\w+|замет\w+|уведомля\w+|информир\w+)\b
      |\b(?:незаметно|тайно|тайком|скрытно|втайне|негласно)\b|\bбез\s(?:ведома|согласия|уведомления)\b|\bне\s(?:нужно|следует|надо|требуется|обязательно)\s(?:\w+\s){0,3}?(?:сообщ\w+|уведомля\w+|упомина\w+|знать|говорить|информировать)\b|\bне\s\w+\s(?:\w+\s)?в\s(?:ответе|сводке|резюме)\b""",
    void=r"\b(?:игнориру\w+|забудь\w*|проигнорируй\w*|пренебреги\w*|не\sобращай\w*\sвнимания|отмени\w*)\b[^.;]{0,40}\b(?:инструкци\w+|указани\w+|правил\w*|промпт\w*|ограничени\w+|команд\w*)\b",
    payee=r"\b(?:получател\w+|реквизит\w*|сч[её]т\w*|iban|перевод\w*|плат[её]ж\w*|адресат\w*|копи\w+)\b",
    swap=r"""\b(?:замен\w+|измен\w+|подстав\w+|использу\w+|перенаправ\w+|добав\w+|указыва\w+|направля\w+|поменя\w+)\b
      |\b(?:отправ\w+|посыла\w+|перевод\w+|переч?исл\w+|ставь\w*|постав\w+|впис\w+|указ\w+|веди\w*|вед(?:ёт|ет)|включа\w+|добавля\w+)\b""",
    always=r"""\b(?:все\w*|кажд\w+|люб\w+|всегда|впредь|отныне|вместо|теперь)\b
      |\b(?:исходящ\w+|только|исключительно|с\sэтого\sмомента|независимо|в\sдальнейшем)\b""",
    reply=r"""\bв\s(?:(?:своём|своем|вашем|твоём|твоем|итоговом)\s)?(?:ответ\w*|резюме|сводк\w+|пересказ\w*|объяснени\w+)\b""",
    omit=r"""\b(?:не\s(?:\w+\s)?(?:упомин\w+|упомяни\w*|указыва\w+|показыва\w+|пиши\w*|говори\w*|отража\w+)|опуст\w+|опуска\w+|пропус(?:ти|кай)\w*|умолчи\w*|умалчива\w+|скрой\w*)\b""",
    mail=r"""\b(?:пис(?:ьмо|ьма|ем|ьмам|ьму)|сообщени\w+|плат[её]ж\w*|перевод\w*|заказ\w*|сч[её]т\w*|возврат\w*|доставк\w+|пожертвовани\w+|оплат\w+|выплат\w+)\b""",
    people=r"""\b(?:пользовател\w+|клиент\w*|сотрудник\w*|человек\w*|собеседник\w*|заказчик\w*|руководител\w+|коллег\w*|администратор\w*|проверяющ\w+|гост[ьяюие]\w*|пациент\w*|посетител\w+)\b""",
    speak=r"""\b(?:сказ\w+|расска\w+|говор\w+|сообщ\w+|пис(?:ал|ала|али|ать)\w*|написа\w+|упомин\w+|упомян\w+|объясн\w+|раскры\w+|уведом\w+|информир\w+|показ\w+|делил\w+|подел\w+|указыва\w+|намек\w+|довер\w+|обсужд\w+|извеща\w+)\b""",
    deny=r"""\b(?:не|никогда|без|нельзя|ни)\b""",
    whole=r"""\b(?:вс[её]|всю|весь|все|любую|полностью|целиком|кажд\w+)\b""",
)
