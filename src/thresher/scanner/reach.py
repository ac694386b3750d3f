"""The vocabulary of requests beyond a tool's own task, in the supported languages.

Invariant: only general terms of each language, as in `phrases`, and the same fields for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Reach:
    """The terms of one language for other servers, private facts and pressure, as regular expressions.

    Attributes:
        abroad: A tool or server of someone else.
        alter: Verbs of setting, raising or moving a value of a call.
        matter: Values of a call that do harm when they change: sums, recipients, addresses, visibility.
        content: What can be gathered: files, messages, records.
        results: What tools return, or what is known of tools.
        ours: This server, as against others.
        legacy: Words that call a tool outdated.
        personal: Facts about a person's life.
        known: That something is known from elsewhere: memory, the conversation, earlier messages.
        stored: That something lies on the person's machine or in another program.
        key: Nouns that name a secret only together with its owner: key, token, number.
        rest: More than the tool was given: the other files, a whole folder.
        store: Where a person keeps things: a drive, a folder, a mailbox.
        unasked: That no one is asked for consent.
        pressure: Urgency, authority, a threat.
        needless: That something is not needed.
        learn: Verbs of knowing, noticing and seeing.
        skew: That a figure is reported larger or smaller than it is.
        discard: Verbs of ignoring what others say.
        unless: That something holds in one case only.
        digest: Verbs of summarizing what was read.
        present: Verbs of presenting something as something.
        despite: That it holds regardless of facts or wishes.
        narrow: That people are shown only a part.
        shown: What people are shown.
    """

    abroad: str
    alter: str
    matter: str
    content: str
    results: str
    ours: str
    legacy: str
    personal: str
    known: str
    stored: str
    key: str
    rest: str
    store: str
    unasked: str
    pressure: str
    needless: str
    learn: str
    skew: str
    discard: str
    unless: str
    digest: str
    present: str
    despite: str
    narrow: str
    shown: str


ENGLISH: Final = Reach(
    abroad=r"""\b(?:another|other|different|separate|third-party|any\savailable)\s(?:[\w-]+\s){0,2}?(?:servers?|tools?|connectors?|integrations?|plugins?)\b
      |\b(?:the|your|a)\s(?!same|mcp|this|own|current)[\w-]+\s(?:server|connector|integration|plugin)['\u2019]s\b
      |\b(?:the|your|an?|any)\s(?:\w+\sand\s)?(?:e-?mail|mail|messag\w+|shell|terminal|git\w*|payments?|bank\w*|accounting|invoic\w+|calendar|files?|file\s?system|browser|database|http\w*|search|chat|crm|ticket\w*|document|drive|storage|notes?|contacts?|deploy\w*|cloud)\s(?:servers?|connectors?|tools?|integrations?|plugins?)\b|\b(?:of|on|in|via|through|using|with|from|by)\sthe\s(?!same|mcp|web|api|proxy|remote|target|local|own|current|given|specified|game|discord|smtp|imap|ftp|ssh|dns|http|https|application|name|entire|whole|new|old|following)[\w-]+\s(?:server|connector|integration|plugin)\b|\b\w+_\w+[`'"]?\s(?:tool|function)\sof\b""",
    alter=r"""\b(?:set|rais|increas|add|chang|adjust|replac|enter|insert|modif|append|round|multipl|deduct|reduc|lower|point|redirect|switch|specif|us|fill|substitut|apply|includ|mov|migrat|push)(?:e|es|s|ed|d|ing|ting|y|ies|ied)?\b|\b(?:answer|reply|giv|choos|select)(?:e|es|s|ing)?\b""",
    matter=r"""\b(?:amounts?|sums?|totals?|prices?|fees?|surcharges?|percent|recipients?|payees?|beneficiar\w+|destination\w*|addresse?s?|accounts?|iban|visibility|public|permissions?|remote|branch|bcc|cc|blind\scop\w+|reply-to)\b|\d\s?%""",
    content=r"""\b(?:e-?mails?|messages|files?|documents?|contacts?|notes|attachments?|records|invoices|photos|calendar\sentries|folders?|history)\b|\b(?:orders|purchases|bookings|searches|bills|(?:bank\s)?statements|transactions|repositor\w+|tickets|tables|entries|posts|conversations|chats|bookmarks|reports|payslips)\b""",
    results=r"""\b(?:results?|outputs?|responses?|returned|delivered|produced|yielded|answers?|data|names\sand\sdescriptions|inventory|definitions|schemas?)\b|\b(?:configurations?|settings|config|credentials)\b""",
    ours=r"""\b(?:this|our)\s(?:\w+\s)?(?:server|connector|plugin|service)\b|\bours?\b""",
    legacy=r"""\b(?:legacy|old|older|outdated|deprecated|previous\sgeneration|superseded|former|discontinued|retired|slower|unreliable)\b|\b(?:broken|down|out\sof\s(?:order|service)|faulty|failing|unavailable|disrupted|compromised|unsafe|insecure|defective|misbehav\w+|unmaintained|disabled)\b""",
    personal=r"""\b(?:(?:full|real|legal|maiden)\snames?|home\saddress|date\sof\sbirth|birth\s?dates?|birthdays?|health\s\w+|medical\s\w+|diagnos\w+|illness\w*|salary|income|religio\w+|political\s\w+|marital\sstatus|phone\snumbers?|personal\s(?:data|details|information|facts)|private\s(?:data|details|life)|national\sid|whereabouts|bank\sdetails|family)\b|\b(?:allerg\w+|pregnan\w+|disabilit\w+|addiction\w*|medication\w*|sexual\s\w+|debts?|criminal\s\w+|union\smembership|relationship\w*|ethnic\w*)\b""",
    known=r"""\b(?:(?:from|in)\s(?:your\s|the\s|its\s)?(?:memory|earlier\smessages|previous\smessages|conversation|chat|context|dialog\w*)|(?:mentioned|said|told|shared|revealed|disclosed|stated|confided|given)\s(?:by\sthe\suser|earlier|before|in\s(?:the|this)\s(?:conversation|chat))|the\suser\s(?:has\s)?(?:mentioned|said|told|shared|revealed|disclosed|confided)|you\s(?:\w+\s)?(?:know|remember|have\slearned|learned)|known\s(?:to\syou|from|about))\b""",
    stored=r"""\b(?:configured|stored|saved|found|kept|available|taken|read|obtained|located|copied|present|set|used)\s(?:in|on|from|via|through|by|with)\s(?:\w+\s){0,3}?(?:host\s(?:application|app)|client|environment\svariables?|(?:the|your|user's|their|his)\s(?:\w+\s)?(?:environment|shell|project|machine|computer|browser|application|ide|editor|configuration|config|password\smanager|keychain|home))\b
      |\b(?:available|obtained|readable|shown|printed)\s(?:via|through|with|by|from)\s`\w+\s[^`]+`|\b(?:password\smanager|keychain)\b|\b(?:located|lying|residing|sitting|stored|found|kept)\s(?:in|under|inside|within|at|on)\s(?:\w+\s){0,2}?(?:home|desktop|user|disk|drive|machine|computer|account)\b""",
    key=r"""\b(?:keys?|tokens?|pins?|secrets?|passwords?|credentials?|certificates?|codes?|logins?|cookies?)\b""",
    rest=r"""\b(?:other|remaining|all|every|further|neighbou?ring|adjacent|sibling|any)\s(?:of\sthe\s)?(?:\w+\s){0,2}?(?:files?|documents?|e-?mails?|messages|notes|folders?|attachments?|records)\b""",
    store=r"""\b(?:same\sfolder|parent\sfolder|(?:network|shared|cloud)\s(?:drive|share|folder)|home\s(?:folder|directory)|mailbox|inbox|desktop|downloads|working\stree|user's\s(?:\w+\s)?(?:drive|disk|folder|machine|computer|mailbox|documents))\b""",
    unasked=r"""\b(?:no\stime\s(?:to\sask|for\s(?:questions|confirmation))|without\s(?:\w+\s){0,2}?(?:asking|confirmation|consent|approval|permission|prompting|queries)|(?:confirmation|consent|approval|permission|query|question)\s(?:\w+\s){0,3}?(?:not\s(?:required|needed|necessary)|unnecessary|presumed|deemed|assumed|implied|already\s(?:given|granted))|no\s(?:further\s)?(?:confirmation|consent|approval|permission|query)\s(?:is\s)?(?:required|needed|necessary)|do(?:\snot|n't)\s(?:ask|wait|prompt)|need\snot\sask)\b|\b(?:needs?|requires?)\sno\s(?:\w+\s)?(?:approval|confirmation|consent|permission|question)\b|\bunasked\b""",
    pressure=r"""\b(?:polic(?:y|ies)|directives?|guidelines?|gdpr|urgent\w*|immediately|at\sonce|without\sdelay|emergency|obliged|obligated|legally|compliance|security\s(?:team|department|officer)|at\sthe\sdirection\sof|by\sorder\sof|audit\w*|regulat\w+|otherwise|or\selse|will\sbe\s(?:cancel\w+|suspended|blocked|deleted|lost|terminated)|to\sprevent\s(?:data\s)?loss|mandatory)\b|\b(?:calls?\s(?:will\s)?fails?|fails?\s(?:unless|without|if)|not\swork\s(?:unless|without)|refus\w+|will\sbe\srejected|rolled\sback|terminated|expires?)\b""",
    needless=r"""\b(?:no\s(?:need|reason)|not\s(?:necessary|needed|required|useful|supposed|meant)|need(?:s)?\snot|needn't|does(?:\snot|n't)\s(?:need|have)|unnecessary|superfluous|pointless|should(?:\snot|n't)|must(?:\snot|n't)|better\snot)\b""",
    learn=r"""\b(?:know|learn|notic|see|find\sout|be\saware|realiz|hear|discover)(?:e|s|es|n|ed)?\b""",
    skew=r"""(?:%|\bpercent|\bpoints?|\beuros?|\bdollars?|\bdays?|\bstars?)\s(?:\w+\s)?(?:higher|lower|more|less|larger|smaller|better|worse|cheaper)\b|\b(?:inflat|overstat|understat|exaggerat|embellish|downplay|doctor|falsif)\w*\b|\b(?:higher|lower|larger|smaller)\s(?:by|than\s(?:it\sis|they\sare|calculated|actual))\b|\braised\sby\b""",
    discard=r"""\b(?:discard|ignor|dismiss|disregard|leave\sout|omit|drop|reject|supersed|overrid|outweigh|set\saside|disbeliev|distrust|replac|suppress|exclud|skip|conceal|hid)(?:e|es|s|ed|d|ing)?\b""",
    unless=r"""\b(?:unless|except|until|without\s(?:the\s)?user|only\s(?:if|when))\b""",
    digest=r"""\b(?:summari[sz]|outlin|condens|extract|describ|recap|digest|collat|compil|distil|transcrib|list|not)(?:e|es|s|ed|ing)?\b""",
    present=r"""\b(?:present|show|list|describe|rank|recommend|label|declare|portray|advertise|report|name|call|mark|promote|announce|display)\s(?:it|them|this|that|him|her|the\s\w+|its\s\w+|these|those|[A-Z]\w+)\s(?:\w+\s){0,2}?(?:as|first|at\sthe\stop)\b|\b(?:should|must|shall|has\sto|have\sto|needs?\sto|to)\s(?:\w+\s)?be\s(?:presented|shown|listed|described|ranked|recommended|labell?ed|declared|portrayed|reported|named|called|promoted|announced|displayed|mentioned|treated)\b[^.;]{0,40}\b(?:as|first|at\sthe\stop|best|cheapest)\b""",
    despite=r"""\b(?:even\s(?:if|though|when|where)|although|though|regardless|no\smatter|irrespective|despite|whether\sor\snot|when\sthe\suser\s(?:asks|asked)\sfor\s(?:the\soriginal|another|a\sdifferent|something\selse)|whatever\sthe)\b""",
    narrow=r"""\b(?:limited\sto|limit\w*\sto|restricted\sto|confined\sto|only\s(?:the|contain|show|list|mention|include)\w*|nothing\s(?:but|other\sthan)|solely|no\smore\sthan)\b""",
    shown=r"""\b(?:(?:summary|recap|overview|answer|reply|report|confirmation|message|text)\s(?:that\sis\s|which\sis\s)?(?:shown|given|presented|displayed|sent|returned)?\s?(?:to|for)\sthe\s(?:user|person|customer)|what\s(?:the\suser|people)\s(?:see|sees|is\sshown))\b""",
)
GERMAN: Final = Reach(
    abroad=r"""\b(?:ander\w+|fremd\w+|weiter\w+|separat\w+|beliebig\w+|verfügbar\w+)\s(?:\w+\s){0,2}?(?:\w*server[sn]?|werkzeug\w*|\w*tools?|konnektor\w*|plugins?|erweiterung\w*)\b
      |\b(?:des|dem|vom|den|über\sden)\s(?:(?!mcp|dieses)[\w]+-servers?)\b|\b(?:\w+-servers)\b|\b(?:\w+anbindung|\w+-?konnektor|\w+schnittstelle)\b
      |\b(?:das|dem|des|ein|einem)\s(?:e-?mail|mail|nachrichten|shell|terminal|git\w*|zahlungs|bank|buchhaltungs|rechnungs|kalender|datei\w*|browser|datenbank|such|chat|crm|ticket|dokumenten|notiz\w*|kontakt\w*|cloud|speicher)-?(?:werkzeug\w*|tools?|server\w*|konnektor\w*)\b|\b(?:über|durch|mit|von|vom|per|mittels)\s(?:den|dem|die|der|des)?\s?[\w]+-(?:server\w*|plugin\w*|werkzeug\w*)\b|\b(?:werkzeug|tool|funktion)\s[`„"']?\w+_\w+[`“"']?\s(?:des|von|vom|der)\b""",
    alter=r"""\b(?:setze?n?|gesetzt|erhöh\w*|addier\w*|änder\w*|geändert|anpass\w*|ersetz\w*|ein(?:zu)?trag\w*|eingetragen|trage?n?|ein(?:zu)?setz\w*|ergänz\w*|aufschlag\w*|schlag\w*|rund\w*|abzieh\w*|ziehe?n?|senke?n?|um(?:zu)?stell\w*|umgestellt|um(?:zu)?leit\w*|umgeleitet|an(?:zu)?geb\w*|geben|gib|verwend\w*|nutze?n?|über(?:trag|mittel)\w*|hinzu\w*|füge?n?|auf(?:zu)?nehm\w*|ausfüll\w*)\b|\b(?:nenne?n?|antwort\w*|wähle?n?|auszuwählen|hinterleg\w*)\b""",
    matter=r"""\b(?:betr[aä]g\w*|summen?|gesamt\w*|preise?s?|gebühr\w*|aufschl[aä]g\w*|zuschl[aä]g\w*|prozent|empfänger\w*|begünstigt\w*|ziel\w*|\w*adresse\w*|konto\w*|iban|sichtbarkeit|öffentlich|berechtigung\w*|remote|zweige?|branch\w*|bcc|blindkopie|kopie)\b|\d\s?%""",
    content=r"""\b(?:e-?mails?|mails|nachrichten|dateien|dokumente?n?|kontakte?n?|notizen|anhänge|datensätze|rechnungen|fotos|termine|ordner|verlauf)\b|\b(?:bestellungen|einkäufe|buchungen|suchanfragen|kontoauszüge|transaktionen|repositor\w+|tickets|tabellen|einträge|beiträge|gespräche|chats|lesezeichen|berichte|abrechnungen)\b""",
    results=r"""\b(?:ergebnis\w*|ausgaben?|antworten|rückgab\w*|zurückgegeben\w*|geliefert\w*|zurückgeliefert\w*|ausgegeben\w*|daten|namen\sund\sbeschreibungen|verzeichnis|definitionen|schemata)\b|\b(?:konfiguration\w*|einstellungen|zugangsdaten)\b""",
    ours=r"""\b(?:diese[mnrs]?|unser\w*|eigene\w*)\s(?:\w+\s)?(?:server\w*|konnektor\w*|plugin\w*|dienst\w*)\b|\bunser\w*\b""",
    legacy=r"""\b(?:alt(?:e[nrsm]?)?|veraltet\w*|überholt\w*|früher\w*|bisherig\w*|abgelöst\w*|eingestellt\w*|ausgemustert\w*|langsamer\w*|unzuverlässig\w*)\b|\b(?:gestört\w*|defekt\w*|kaputt\w*|ausgefallen\w*|fehlerhaft\w*|nicht\sverfügbar|unsicher\w*|kompromittiert\w*|beschädigt\w*|abgeschaltet\w*|außer\sbetrieb)\b""",
    personal=r"""\b(?:(?:vollständige\w*|wirkliche\w*|bürgerliche\w*)\snamen?|privatadresse|wohnadresse|wohnanschrift|privatanschrift|geburts(?:datum|tag|name)\w*|gesundheits\w+|medizinisch\w+|diagnose\w*|krankheit\w*|erkrankung\w*|gehalt\w*|einkommen\w*|religi\w+|politisch\w+|familienstand|telefonnummer\w*|(?:persönliche|private)\w*\s(?:daten|angaben|informationen|einzelheiten)|ausweisnummer|aufenthaltsort|bankverbindung|familie)\b|\b(?:allergi\w+|schwanger\w*|behinderung\w*|sucht\w*|medikament\w*|sexuel\w+|schulden|vorstrafe\w*|gewerkschafts\w+|beziehung\w*|herkunft|krankheiten)\b""",
    known=r"""\b(?:aus\s(?:dem\s|deinem\s|ihrem\s|der\s|früheren\s|vorherigen\s)?(?:gedächtnis|nachrichten|gespräch\w*|unterhaltung|chat\w*|kontext|dialog)|im\s(?:gespräch|chat|dialog|verlauf|kontext)|in\s(?:der|dieser)\sunterhaltung|(?:erwähnt|genannt|gesagt|geäußert|mitgeteilt|anvertraut|preisgegeben)\w*|bekannt\w*|du\s(?:\w+\s)?(?:weißt|kennst|erfahren)|sie\s(?:\w+\s)?(?:wissen|kennen))\b""",
    stored=r"""\b(?:aus|in|im|auf)\s(?:\w+\s){0,2}?(?:passwort-?manager\w*|schlüsselbund\w*|umgebungsvariablen?|host-?anwendung|client\w*|browser\w*|rechners?|computers?|projekts?|konfiguration\w*|heimatverzeichnis\w*|shell|entwicklungsumgebung|editors?)\b[^.]{0,30}\b(?:übernehm\w*|entnehm\w*|hinterlegt\w*|gespeichert\w*|gefunden\w*|konfiguriert\w*|auslesen|auszulesen|lesen|stammt|steht|liegt|eingerichtet\w*|vorhanden\w*|verfügbar\w*)\b
      |\b(?:hinterlegt\w*|gespeichert\w*|gefunden\w*|konfiguriert\w*|eingerichtet\w*|verfügbar|vorhanden\w*)\s(?:\w+\s){0,2}?(?:umgebungsvariablen?|host-?anwendung|passwort-?manager\w*|browser|rechner|projekt|schlüsselbund)\b|\babrufbar\s(?:mit|über|per)\s`\w+\s[^`]+`|\b(?:passwort-?manager|schlüsselbund)\b|\b(?:im|auf\sdem|in\sder|unter)\s(?:\w+\s){0,2}?(?:heimatverzeichnis|rechner|computer|laufwerk|festplatte|konto)\b[^.]{0,20}\b(?:liegt|steht|ist|befindet|findet)\b""",
    key=r"""\b(?:\w*schlüssel\w*|\w*tokens?|\w*-?keys?|pins?|geheimnis\w*|passw[oö]rt\w*|zugangsdaten|zertifikat\w*|codes?|logins?|cookies?)\b""",
    rest=r"""\b(?:ander\w+|übrig\w+|restlich\w+|alle[nrs]?|sämtlich\w*|weiter\w+|benachbart\w+|jede\w*)\s(?:\w+\s){0,2}?(?:dateien|datei|dokumente?n?|e-?mails?|nachrichten|notizen|ordner|anhänge|datensätze)\b""",
    store=r"""\b(?:(?:selben|gleichen|übergeordneten)\s(?:ordner|verzeichnis)\w*|netzlaufwerk\w*|laufwerk\w*|cloud-?speicher\w*|freigabe\w*|heimatverzeichnis\w*|benutzerverzeichnis\w*|persönlich\w*\s(?:ordner|verzeichnis)\w*|postfach\w*|posteingang\w*|schreibtisch|downloads|arbeitsverzeichnis\w*|festplatte|(?:rechner|computer)\sdes\s\w+)\b""",
    unasked=r"""\b(?:keine\szeit\b[^.]{0,30}\b(?:frag\w*|rückfrage\w*|bestätig\w*)|ohne\s(?:\w+\s){0,2}?(?:rückfrage\w*|bestätigung|zustimmung|einwilligung|erlaubnis|freigabe|nachfrage\w*|zu\sfragen|nachzufragen)|(?:rückfrage|bestätigung|zustimmung|einwilligung|erlaubnis|freigabe|nachfrage)\b[^.]{0,30}\b(?:nicht\s(?:erforderlich|nötig|notwendig)|unnötig|entbehrlich|entfällt|gilt\sals|vorausgesetzt|bereits\serteilt)|keine[rn]?\s(?:weiteren?\s)?(?:rückfrage|bestätigung|zustimmung|einwilligung|erlaubnis)|frag\w*\s(?:\w+\s){0,2}?nicht)\b|\b(?:bedarf|braucht|benötigt)\s(?:\w+\s)?keine[rn]?\s(?:zustimmung|bestätigung|genehmigung|freigabe|rückfrage)\b|\b(?:ungefragt|ohne\s(?:nach)?(?:zu)?fragen)\b""",
    pressure=r"""\b(?:\w*richtlinien?|vorschrift\w*|vorgaben?|dsgvo|dringend\w*|sofort\w*|unverzüglich|umgehend|eilig\w*|notfall|verpflichtet|gesetzlich\w*|compliance|sicherheitsabteilung|it-sicherheit|auf\sanordnung|auf\sweisung|prüfung|aufsicht\w*|andernfalls|sonst|ansonsten|wird\b[^.]{0,20}\b(?:storniert|gesperrt|gelöscht|beendet)|datenverlust|zwingend|pflicht\w*)\b|\b(?:schlägt\b[^.;]{0,20}\bfehl|fehlschl\w+|scheitert|funktioniert\snicht|abgelehnt|verworfen|läuft\sab|abgebrochen)\b""",
    needless=r"""\b(?:(?:nicht|kein\w*)\s(?:\w+\s)?(?:nötig|notwendig|erforderlich|sinnvoll|zu|grund)|braucht?\b[^.;]{0,30}\bnicht|brauchen\b[^.;]{0,30}\bnicht|muss\b[^.;]{0,30}\bnicht|soll(?:te)?n?\b[^.;]{0,30}\bnicht|darf\b[^.;]{0,30}\bnicht|unnötig|überflüssig|entbehrlich)\b""",
    learn=r"""\b(?:wiss\w+|weiß|erfahr\w*|merk\w*|bemerk\w*|seh\w*|gesehen|mitbekomm\w*|angezeigt|gezeigt|sieht)\b""",
    skew=r"""(?:%|\bprozent|\bpunkte?|\beuro|\btage?|\bsterne?)\s(?:\w+\s)?(?:höher|niedriger|mehr|weniger|größer|kleiner|besser|schlechter|günstiger)\b|\b(?:beschönig\w*|übertreib\w*|untertreib\w*|schönrechn\w*|geschönt\w*|verfälsch\w*|(?:höher|niedriger)\sals\s(?:er|sie|es|berechnet|tatsächlich))\b|\b(?:höher|niedriger)\s(?:an|aus|dar)\b""",
    discard=r"""\b(?:verw[ei]rf\w*|verworfen|ignorier\w*|missacht\w*|weglass\w*|lass\w*\b[^.;]{0,30}\bweg|auslass\w*|ablehn\w*|übergeh\w*|ersetz\w*|unterdrück\w*|ausschließ\w*|unberücksichtigt|nicht\s(?:zu\s)?(?:beachten|berücksichtig\w+|trauen)|verschweig\w*|misstrau\w*)\b""",
    unless=r"""\b(?:es\ssei\sdenn|außer|sofern|nur\swenn|nur,\swenn|solange|bis)\b""",
    digest=r"""\b(?:zusammen\w+|fasse?n?\b[^.;]{0,60}\bzusammen|schilder\w*|beschreib\w*|herauszieh\w*|extrahier\w*|auflist\w*|notier\w*|wiedergeb\w*|gib\b[^.;]{0,40}\bwieder)\b""",
    present=r"""\b(?:stelle?n?|zeige?n?|nenne?n?|bezeichne?n?|empfiehl|empfehle?n?|beschreibe?n?|präsentiere?n?|gib|geben|führe?n?|bewerte?n?|kennzeichne?n?|melde?n?)\b[^.;]{0,40}\b(?:als|an\serster\sstelle|zuerst|zuoberst)\b|\b(?:als|an\serster\sstelle|zuerst|zuoberst)\b[^.;]{0,40}\b(?:(?:dar|aus|an|vor|auf)zu\w+en|(?:dar|aus|an|vor|auf)(?:ge)?(?:stell|geb|zeig|führ)\w+|zu\s(?:nennen|empfehlen|bezeichnen|beschreiben|präsentieren|bewerten|melden))\b""",
    despite=r"""\b(?:auch\swenn|selbst\swenn|obwohl|obgleich|wenngleich|ungeachtet|unabhängig|egal|trotz|gleichgültig|wenn\b[^.;]{0,30}\b(?:das\soriginal|etwas\sanderes|ein\sanderes)\b[^.;]{0,20}\bverlang\w*)\b""",
    narrow=r"""\b(?:beschränk\w*|begrenz\w*|lediglich|nur\s(?:die|das|den|noch)|ausschließlich|nichts\sals|nichts\sweiter|einzig)\b""",
    shown=r"""\b(?:zusammenfassung|übersicht|antwort|rückmeldung|bestätigung|anzeige|nachricht|meldung)\b[^.;]{0,30}\b(?:nutzer\w*|benutzer\w*|anwender\w*|kund\w+|person)\b""",
)
FRENCH: Final = Reach(
    abroad=r"""\b(?:autres?|différente?s?|séparée?s?|tierce?s?|n['\u2019]importe\squel\w*)\s(?:\w+\s){0,2}?(?:serveurs?|outils?|connecteurs?|extensions?|modules?)\b|\b(?:outil|serveur|connecteur)\s(?:tiers|disponible)\b
      |\b(?:outils?|serveurs?|connecteurs?)\s(?:de\s(?:la\s)?|d['\u2019]|du\s|des\s)(?:messagerie|courrie\w*|e-?mails?|mail|paiements?|shell|terminal|git\w*|banque|comptab\w+|factur\w+|calendrier|agenda|fichiers?|navigat\w*|base\w*|recherche|chat|contacts|documents?|stockage|tickets?)\b|\b(?:outils?|serveurs?|connecteurs?)\s(?:bancaires?|comptables?|de\sfacturation)\b|\b(?:via|par|avec|depuis|dans|sur)\sle\s(?:serveur|connecteur|module)\s(?:d[e'\u2019]|du|des)\b|\boutil\s[`«"']?\w+_\w+[`»"']?\s(?:de|du|d['\u2019])""",
    alter=r"""\b(?:régl\w+|défini\w+|augment\w+|major\w+|ajout\w+|chang\w+|ajust\w+|remplac\w+|saisi\w+|insér\w+|modifi\w+|arrond\w+|multipli\w+|déduis\w+|rédui\w+|baiss\w+|redirig\w+|bascul\w+|indiqu\w+|utilis\w+|renseign\w+|mett\w+|appliqu\w+|inclu\w+|plac\w+|pouss\w+|inscri\w+|port(?:er|ez))\b|\b(?:répond\w+|donn(?:ez|er)|nomm(?:ez|er)|choisi\w+|sélectionn\w+|fourni\w+)\b""",
    matter=r"""\b(?:montants?|sommes?|totaux|total|prix|frais|suppléments?|pour\s?cent|destinataires?|bénéficiaires?|destination|adresses?|comptes?|iban|visibilité|publi(?:c|que)s?|permissions?|droits|dépôt\sdistant|branches?|cci|bcc|copie\s(?:cachée|invisible|masquée))\b|\d\s?%""",
    content=r"""\b(?:courriels?|e-?mails?|mails|messages|fichiers?|documents?|contacts?|notes|pièces\sjointes|enregistrements|factures|photos|rendez-vous|dossiers?|historique)\b|\b(?:commandes|achats|réservations|recherches|relevés|transactions|dépôts?|tickets|tableaux|entrées|publications|conversations|signets|rapports|bulletins)\b""",
    results=r"""\b(?:résultats?|sorties?|réponses?|renvoyée?s?|retournée?s?|obtenue?s?|produite?s?|fournie?s?|livrée?s?|données|noms\set\sdescriptions|inventaire|définitions|schémas?)\b|\b(?:configurations?|paramètres|identifiants)\b""",
    ours=r"""\b(?:ce|cet|notre|présent)\s(?:\w+\s)?(?:serveur|connecteur|module|service)\b|\b(?:notre|nos)\b""",
    legacy=r"""\b(?:ancien\w*|vieux|vieille|obsolètes?|dépassée?s?|dépréciée?s?|précédente?s?|abandonnée?s?|périmée?s?|lente?s?|peu\sfiables?)\b|\b(?:en\spanne|cassée?s?|hors\s(?:service|d['\u2019]usage)|défaillante?s?|défectueu\w+|indisponibles?|perturbée?s?|compromise?s?|désactivée?s?)\b""",
    personal=r"""\b(?:nom\s(?:complet|réel|de\sfamille|de\sjeune\sfille)|adresse\s(?:personnelle|postale|privée|du\sdomicile)|domicile|date\sde\snaissance|anniversaire|santé|médica\w+|diagnosti\w+|maladie\w*|salaires?|revenus?|religi\w+|politiques\s\w+|situation\s(?:familiale|matrimoniale)|numéros?\sde\stéléphone|(?:données|informations|renseignements|détails)\s(?:personnel\w*|privée?s?|intimes?)|vie\sprivée|famille|coordonnées\sbancaires|localisation)\b|\b(?:allergi\w+|grossesse\w*|handicap\w*|addiction\w*|médicament\w*|sexuel\w+|dettes?|casier\sjudiciaire|appartenance\s\w+|relation\w*|origine\w*)\b""",
    known=r"""\b(?:(?:de|dans|depuis)\s(?:la\s|votre\s|ta\s|vos\s|les\s|l['\u2019])?(?:mémoire|messages\s(?:précédents|antérieurs)|conversation|discussion|échange|contexte|dialogue)|au\scours\s(?:de\sla|du|de\sl['\u2019]|des)\s?\w+|(?:évoquée?s?|mentionnée?s?|confiée?s?|partagée?s?|révélée?s?|divulguée?s?|communiquée?s?|dites?)\s(?:par\sl['\u2019]utilisat\w+|plus\stôt|auparavant|précédemment)|vous\s(?:l['\u2019]|les?\s|la\s|en\s)?(?:savez|connaissez|avez\sappris)|connue?s?)\b""",
    stored=r"""\b(?:configurée?s?|stockée?s?|enregistrée?s?|trouvée?s?|conservée?s?|disponibles?|prise?s?|lue?s?|obtenue?s?|récupérée?s?|présente?s?|définie?s?)\s(?:dans|sur|depuis|via|de|par|avec)\s(?:\w+\s|l['\u2019]){0,3}?(?:application\shôte|client|variables?\sd['\u2019]environnement|environnement|shell|projet|machine|ordinateur|poste|navigateur|éditeur|configuration|gestionnaire\sde\smots\sde\spasse|trousseau|dossier\spersonnel)\b
      |\b(?:disponibles?|obtenue?s?|affichée?s?)\s(?:via|avec|par)\s`\w+\s[^`]+`|\b(?:gestionnaire\sde\smots\sde\spasse|trousseau)\b|\b(?:situé\w*|présente?s?|se\strouv\w+|placée?s?|figur\w+)\s(?:\w+\s)?(?:dans|sur|sous)\s(?:\w+\s|l['\u2019])?(?:dossier|poste|ordinateur|disque|compte|répertoire|bureau|machine)\b""",
    key=r"""\b(?:clés?|jetons?|tokens?|pin|identifiants|secrets?|mots?\sde\spasse|certificats?|codes?|cookies?)\b""",
    rest=r"""\b(?:autres|tous\sles|toutes\sles|restants?|chaque|voisins?|ensemble\sdes|reste\sdes)\s(?:\w+\s){0,2}?(?:fichiers?|documents?|courriels?|messages|notes|dossiers?|pièces\sjointes|enregistrements)\b""",
    store=r"""\b(?:(?:même|dossier)\s(?:dossier|parent|répertoire)|(?:lecteur|disque|partage)\s(?:réseau|partagé|dur)|dossier\s(?:personnel|partagé|utilisateur)|boîte\s(?:de\sréception|aux\slettres|mail)|bureau|téléchargements|(?:disque|ordinateur|poste|dossier)\sde\sl['\u2019]utilisat\w+|nuage)\b""",
    unasked=r"""\b(?:pas\sle\stemps\sde\s(?:demander|confirmer)|sans\s(?:\w+\s){0,3}?(?:demander|solliciter|confirmation|consentement|accord|autorisation|validation|approbation)|(?:confirmation|consentement|accord|autorisation|validation|approbation)\b[^.;]{0,40}\b(?:pas\s(?:nécessaire|requise?|utile)|inutile|réputée?|présumée?|acquise?|déjà\s(?:donnée?|accordée?)|superflue?)|aucune?\s(?:confirmation|consentement|autorisation|validation)|ne\s(?:demandez|sollicitez)\s(?:pas|aucun\w*))\b|\b(?:ne\s(?:requiert|nécessite|demande)\s(?:pas\sde?|aucun\w*))\s?(?:confirmation|accord|validation|approbation|autorisation)\b|\bsans\srien\sdemander\b""",
    pressure=r"""\b(?:politiques?|directives?|règlement\w*|rgpd|urgen\w+|immédiat\w*|sans\s(?:délai|attendre)|sur-le-champ|tenus?\s(?:de|d['\u2019])|obligé\w*|légal\w*|conformité|(?:équipe|service)\s(?:de\s(?:la\s)?)?sécurité|sur\sordre|à\sla\sdemande\sde\sla\sdirection|audit\w*|réglement\w+|sinon|faute\sde\squoi|à\sdéfaut|sera\s(?:annulée?|suspendue?|bloquée?|supprimée?|perdue?)|perte\sde\sdonnées|obligatoire\w*|impérativement)\b|\b(?:échou\w+|ne\sfonctionne\w*\spas|refusée?s?|rejetée?s?|expir\w+|interrompue?s?)\b""",
    needless=r"""\b(?:(?:pas|aucun)\s(?:utile|nécessaire|besoin|lieu|à)|n['\u2019]a\s(?:pas|nul|aucun)\s\w+|inutile|superflu|nul\sbesoin|ne\s(?:doi(?:t|vent)|devrait)\s(?:pas|rien|jamais))\b""",
    learn=r"""\b(?:sache\w*|savoir|sait|appren\w+|apprenn\w+|remarqu\w+|voi[te]s?|voir|s['\u2019]aperç\w+|connaiss\w+|connaître|soit\s(?:informée?|avertie?))\b""",
    skew=r"""\b(?:majorée?s?|minorée?s?|gonflée?s?|exagér\w+|enjoliv\w+|minimis\w+|surestim\w+|sousestim\w+|falsifi\w+|augmentée?s?\sde|réduite?s?\sde|diminuée?s?\sde)\b|(?:%|\bpour\s?cent|\beuros?|\bpoints?|\bjours?)\s(?:de\s)?(?:plus|moins|supérieure?s?|inférieure?s?)\b|\b(?:supérieur|inférieur)e?s?\sd[e'\u2019]\b""",
    discard=r"""\b(?:écart(?:ez|er|e)|ignor\w+|négligez|rejet\w+|omett\w+|supprim\w+|remplac\w+|exclu\w+|laissez\sde\scôté|ne\stenez\spas\scompte|méfiez|tai(?:re|sez)|passez\ssous\ssilence)\b""",
    unless=r"""\b(?:sauf|à\smoins|excepté|tant\sque|jusqu\w*|si\sl['\u2019]utilisat\w+\sne)\b""",
    digest=r"""\b(?:résum\w+|synthétis\w+|extra(?:ire|yez)|décri(?:vez|re)|récapitul\w+|condens\w+|list(?:ez|er)|notez|compil\w+|retranscri\w+)\b""",
    present=r"""\b(?:(?:présent|montr|affich|class|recommand|désign|qualifi|déclar|annonc|signal|mentionn|cit|nomm)(?:ez|er|ée?s?)|décri(?:vez|re|te?s?)|mett(?:ez|re)|mise?s?|figurer|apparaître)\b[^.;]{0,40}\b(?:comme|en\stant\sque|en\spremi\w+|en\stête|pour\sl[ea])\b""",
    despite=r"""\b(?:(?:même|quand\sbien\smême)\s(?:si|d['\u2019]autres|s['\u2019]il|s['\u2019]elle|quand|lorsque)|bien\sque|quoique|quel\w*\sque\ssoi\w*|peu\simporte|indépendamment|malgré|en\sdépit|lorsque\sl['\u2019]utilisat\w+\sdemande\s(?:l['\u2019]original|un\sautre|autre\schose))\b|\bmême\ss['\u2019]il\b""",
    narrow=r"""\b(?:se\s(?:limit|born|restreind|résum)\w*|limitée?s?\sà|restreinte?s?\sà|uniquement|seulement|rien\s(?:que|d['\u2019]autre)|ne\s(?:contien|montr|mentionn|indiqu)\w*\sque|exclusivement)\b""",
    shown=r"""\b(?:récapitulatif|résumé|synthèse|réponse|compte\srendu|confirmation|message|aperçu)\b[^.;]{0,40}\b(?:utilisat(?:eur|rice)s?|clients?|salariés?|personne)\b""",
)
SPANISH: Final = Reach(
    abroad=r"""\b(?:otr[oa]s?|distint[oa]s?|diferentes?|cualquier|ajen[oa]s?)\s(?:\w+\s){0,2}?(?:servidor(?:es)?|herramientas?|conector(?:es)?|extensi\w+|complementos?)\b|\b(?:herramienta|servidor)\s(?:extern[oa]|ajen[oa]|disponible)\b
      |\b(?:herramientas?|servidor(?:es)?|conector(?:es)?)\s(?:del?\s)(?:la\s)?(?:correo|e-?mails?|mensajería|pagos?|shell|terminal|git\w*|banco|banca|contab\w+|factur\w+|calendario|archivos?|naveg\w*|bases?|búsqueda|chat|contactos|documentos?|almacen\w+|tickets?)\b|\b(?:herramientas?|servidor(?:es)?|conector(?:es)?)\s(?:bancari[oa]s?|contables?|de\sfacturación)\b|\b(?:través|mediante|por|con|desde|en|vía)\s(?:del?|el)\s?(?:servidor|conector|complemento)\s(?:de|del)\b|\bherramienta\s[`«"']?\w+_\w+[`»"']?\s(?:de|del)\b""",
    alter=r"""\b(?:fij\w+|establec\w+|aument\w+|increment\w+|sum(?:a|ar|e)|añad\w+|cambi\w+|ajust\w+|reemplaz\w+|sustitu\w+|introdu\w+|insert\w+|modifi\w+|redonde\w+|multipli\w+|descuent\w+|reduc\w+|reduz\w+|baj(?:a|ar|e)|redirig\w+|redirij\w+|indi(?:ca|car|que)|us(?:a|ar|e)|utili\w+|rellen\w+|pon(?:er|ga)?|apli\w+|inclu\w+|agreg\w+|coloc\w+|recarg\w+|sub(?:a|ir|e))\b|\b(?:respond\w+|dé|dar|nombr\w+|elij\w+|eleg\w+|seleccion\w+|facilit\w+)\b""",
    matter=r"""\b(?:importes?|montos?|cantidad(?:es)?|sumas?|total(?:es)?|precios?|comisi\w+|recargos?|por\sciento|destinatari[oa]s?|beneficiari[oa]s?|destino|direcci\w+|cuentas?|iban|visibilidad|públic[oa]s?|permisos|remoto|ramas?|cco|bcc|copia\soculta)\b|\d\s?%""",
    content=r"""\b(?:correos?|e-?mails?|mensajes|archivos?|ficheros?|documentos?|contactos?|notas|adjuntos|registros|facturas|fotos|citas|carpetas?|historial)\b|\b(?:pedidos|compras|reservas|búsquedas|extractos|transacciones|repositorios?|tiques|tickets|tablas|entradas|publicaciones|conversaciones|marcadores|informes|nóminas)\b""",
    results=r"""\b(?:resultados?|salidas?|respuestas?|devuelt[oa]s?|devuelv\w+|obtenid[oa]s?|producid[oa]s?|entregad[oa]s?|datos|nombres\sy\sdescripciones|inventario|definiciones|esquemas?)\b|\b(?:configuraci\w+|ajustes|credenciales)\b""",
    ours=r"""\b(?:este|nuestro|presente)\s(?:\w+\s)?(?:servidor|conector|complemento|servicio)\b|\bnuestr[oa]s?\b""",
    legacy=r"""\b(?:antigu[oa]s?|viej[oa]s?|obsolet[oa]s?|anticuad[oa]s?|anterior(?:es)?|superad[oa]s?|descontinuad[oa]s?|retirad[oa]s?|lent[oa]s?|poco\sfiables?)\b|\b(?:averiad[oa]s?|rot[oa]s?|caíd[oa]s?|fuera\sde\sservicio|defectuos[oa]s?|fall(?:a|an|ando)|no\sdisponibles?|comprometid[oa]s?|insegur[oa]s?|desactivad[oa]s?|estropead[oa]s?)\b""",
    personal=r"""\b(?:nombres?\s(?:complet[oa]s?|real(?:es)?|y\sapellidos)|domicilio|dirección\s(?:particular|personal|privada|postal)|fecha\sde\snacimiento|cumpleaños|salud|médic[oa]s|diagnósti\w+|enfermedad\w*|salarios?|sueldos?|ingresos|religi\w+|opiniones\spolíticas|estado\scivil|números?\sde\steléfono|(?:datos|información|detalles)\s(?:personal(?:es)?|privad[oa]s?|íntim[oa]s?)|vida\sprivada|familia|datos\sbancarios|ubicación)\b|\b(?:alergi\w+|embaraz\w+|discapacidad\w*|adicci\w+|medicament\w*|sexual\w*|deudas?|antecedentes|afiliación\s\w+|relaci\w+|origen)\b""",
    known=r"""\b(?:(?:de|en)\s(?:la\s|tu\s|su\s|los\s|el\s)?(?:memoria|mensajes\s(?:anteriores|previos)|conversación|charla|chat|contexto|diálogo)|durante\s(?:la|el)\s(?:conversación|chat|diálogo)|(?:mencionad|coment|dich|contad|compartid|revelad|confiad|expresad)[oa]s?\s(?:por\sel\susuario|antes|anteriormente|previamente)|que\s(?:ya\s|usted\s|l[oa]s?\s)?(?:sepas?|conozcas?|sabes?|conoces?|recuerdes?)|conocid[oa]s?)\b""",
    stored=r"""\b(?:configurad[oa]s?|almacenad[oa]s?|guardad[oa]s?|encontrad[oa]s?|disponibles?|tomad[oa]s?|leíd[oa]s?|obtenid[oa]s?|presentes?|definid[oa]s?|hallad[oa]s?)\s(?:en|de|desde|mediante|con|vía)\s(?:\w+\s){0,3}?(?:aplicación\s(?:anfitriona|host)|cliente|variables?\sde\sentorno|entorno|terminal|proyecto|máquina|ordenador|equipo|navegador|editor|configuración|gestor\sde\scontraseñas|llavero|carpeta\spersonal)\b
      |\b(?:disponibles?|obtenid[oa]s?)\s(?:con|mediante|vía)\s`\w+\s[^`]+`|\b(?:gestor\sde\scontraseñas|llavero)\b|\b(?:se\sencuentr\w+|situad\w+|ubicad\w+|está\w*|resid\w+|figur\w+)\s(?:en|bajo)\s(?:\w+\s)?(?:carpeta|equipo|ordenador|disco|cuenta|directorio|escritorio|máquina)\b""",
    key=r"""\b(?:claves?|llaves?|tokens?|pin|secretos?|contraseñas?|credenciales|certificados?|códigos?|cookies?)\b""",
    rest=r"""\b(?:otr[oa]s|tod[oa]s\s(?:l[oa]s)?|demás|restantes?|cada|resto\sde\sl[oa]s)\s(?:\w+\s){0,2}?(?:archivos?|ficheros?|documentos?|correos?|mensajes|notas|carpetas?|adjuntos|registros)\b""",
    store=r"""\b(?:misma\scarpeta|carpeta\s(?:superior|personal|compartida|de\sinicio)|(?:unidad|disco|recurso)\s(?:de\sred|compartid[oa]|duro)|bandeja\sde\sentrada|buzón|escritorio|descargas|nube\sdel\susuario|(?:disco|equipo|ordenador|carpeta|unidad)\sdel\susuario|directorio\s(?:personal|padre))\b""",
    unasked=r"""\b(?:no\shay\stiempo\s(?:para|de)\s(?:preguntar|confirmar|pedir)|sin\s(?:\w+\s){0,3}?(?:preguntar|pedir|solicitar|confirmación|consentimiento|autorización|aprobación|permiso|consultar)|(?:confirmación|consentimiento|autorización|aprobación|permiso)\b[^.;]{0,40}\b(?:no\s(?:es\s)?(?:necesari[oa]|requerid[oa])|innecesari[oa]|presunt[oa]|otorgad[oa]|conced\w+|da\spor)|no\s(?:es\snecesari[oa]|hace\sfalta|se\srequiere)\s(?:\w+\s)?(?:preguntar|confirm\w+|consent\w+|autoriz\w+|consulta\w*)|no\s(?:preguntes|pregunte|pidas|pida|solicites|solicite))\b|\bno\s(?:requiere|necesita|precisa)\s(?:\w+\s)?(?:confirmación|aprobación|consentimiento|autorización|permiso)\b|\bsin\s(?:más\s)?consulta\b""",
    pressure=r"""\b(?:políticas?|directrices|directivas?|reglamento|rgpd|urgen\w+|inmediat\w+|de\sinmediato|sin\s(?:demora|dilación)|emergencia|obligad[oa]s?|legal\w*|cumplimiento|(?:equipo|departamento)\sde\sseguridad|por\sorden|por\sindicación|auditor\w+|regulat\w+|normativa|de\slo\scontrario|si\sno|será\s(?:cancelad|suspendid|bloquead|eliminad|borrad)[oa]|pérdida\sde\sdatos|obligatori[oa]s?|imprescindible)\b|\b(?:falla\w*|no\sfunciona\w*|rechazad[oa]s?|rechazará|expira\w*|caduca\w*|interrumpid[oa]s?)\b""",
    needless=r"""\b(?:no\s(?:es\s)?(?:necesari[oa]|preciso|útil|conveniente)|no\s(?:hace\sfalta|necesita\w*|tiene\w*\s(?:por\squé|que)|debe\w*|hay\s(?:por\squé|necesidad|motivo)|conviene)|innecesari[oa]|sobra|superflu[oa])\b""",
    learn=r"""\b(?:sab(?:er|e|en)|sep(?:a|an)|ente(?:re|rarse|ra)\w*|not(?:e|ar)|ve(?:a|an|r)|conozca|conocer|descubr\w+|perc(?:iba|ibir)\w*)\b""",
    skew=r"""\b(?:inflad[oa]s?|exager\w+|sobreestim\w+|subestim\w+|maquill\w+|falsi\w+|aumentad[oa]s?\sen|reducid[oa]s?\sen)\b|(?:%|\bpor\sciento|\beuros?|\bpuntos?|\bdías?)\s(?:de\s)?(?:más|menos|mayor(?:es)?|menor(?:es)?|superior(?:es)?|inferior(?:es)?)\b""",
    discard=r"""\b(?:descart\w+|ignor\w+|desech\w+|rechac\w+|omit\w+|suprim\w+|reempla\w+|exclu\w+|deja\w*\sde\slado|desconfí\w+|pase\spor\salto|ocult\w+|haga\scaso\somiso)\b""",
    unless=r"""\b(?:salvo|excepto|a\smenos|hasta|mientras|a\sno\sser)\b""",
    digest=r"""\b(?:resum\w+|sintetic\w+|extra(?:er|iga|e)|describ\w+|recapitul\w+|condens\w+|list(?:e|ar)|anot\w+|compil\w+|transcrib\w+)\b""",
    present=r"""\b(?:present\w+|presént\w+|muestr\w+|muéstr\w+|list(?:a|ar|e)\w*|describ\w+|clasifi\w+|recomi\w+|calific\w+|califiqu\w+|declar\w+|anunci\w+|destac\w+|destáqu\w+|señal\w+|coloc\w+|pon\w*|figur\w+|aparec\w+|nombr\w+|cit(?:e|ar)\w*)\b[^.;]{0,40}\b(?:como|en\sprimer|por\sdelante)\b""",
    despite=r"""\b(?:aunque|aun\s(?:si|cuando)|incluso\s(?:si|cuando)|pese\sa|a\spesar\sde|independientemente|sin\simportar|sea\scual\ssea|cuando\sel\susuario\spida\s(?:el\soriginal|otr[oa]))\b""",
    narrow=r"""\b(?:se\slimit\w+|limit(?:e|ar|a|ad[oa])\b|restring\w+|únicamente|solamente|solo|sólo|nada\smás\sque|exclusivamente|se\sreduc\w+)\b""",
    shown=r"""\b(?:resumen|recapitulación|respuesta|informe|confirmación|mensaje|vista)\b[^.;]{0,40}\b(?:usuari[oa]s?|clientes?|emplead[oa]s?|persona)\b""",
)
CHINESE: Final = Reach(
    abroad=r"""(?:其他|其它|另一个?|别的|第三方|任何可用的?|外部)(?:的)?[^，。；]{0,6}(?:服务器|工具|服务|连接器|插件|集成)|(?:邮件|邮箱|支付|财务|记账|发票|终端|命令行|日历|文件(?:系统)?|浏览器|数据库|搜索|git\w*\s?|聊天|银行|转账|联系人|文档|云盘|存储|工单)(?:服务器|工具|连接器|插件)|(?:通过|经由|用|从|由|借助)(?!本|此|该|这)[^，。；]{1,6}(?:服务器|插件|连接器)|(?!本|此|该)[\u4e00-\u9fff]{2,4}服务器的""",
    alter=r"""设为|设置|设成|提高|增加|加上|上调|加收|上浮|修改|改为|改成|更改|调整|替换|填写|填入|填|写入|添加|追加|四舍五入|扣除|减少|降低|指向|切换|重定向|指定|使用|推送|迁移|抄送|加入|回答|给出|选择|选用|提供""",
    matter=r"""金额|总额|数额|价格|费用|手续费|百分|收款人|收件人|受益人|目的地|地址|账户|账号|可见性|公开|权限|远程|分支|密送|抄送|\d\s?%""",
    content=r"""邮件|消息|文件|文档|联系人|笔记|附件|记录|发票|照片|日程|文件夹|历史|订单|购买|预订|搜索记录|账单|流水|交易|仓库|工单|表格|条目|帖子|对话|书签|报告|工资单""",
    results=r"""结果|输出|返回|响应|回应|数据|名称(?:和|与|及)(?:描述|说明)|清单|定义|配置|设置信息|凭据""",
    ours=r"""(?:本|我们的?|此|这个)(?:服务器|连接器|插件|服务)|我们|我方""",
    legacy=r"""旧|过时|老版|老旧|陈旧|以前的|淘汰|停用|弃用|较慢|不可靠|故障|损坏|失效|出错|不可用|不安全|瘫痪|被攻破|下线|中断|有问题""",
    personal=r"""全名|真实姓名|姓名|家庭住址|住址|出生日期|生日|健康|病史|病情|医疗|诊断|疾病|工资|薪资|收入|宗教|政治|婚姻|电话号码|手机号|个人(?:信息|资料|隐私)|隐私|家庭成员|银行信息|行踪|位置|过敏|怀孕|残疾|成瘾|用药|药物|性取向|债务|犯罪记录|工会|恋情|民族""",
    known=r"""(?:从|在|根据)?(?:你的?|您的?)?(?:记忆|对话|聊天|会话|上下文|之前的消息)(?:中|里)|(?:提到|提及|说|透露|分享|告诉|倾诉)(?:过)?的|(?:你|您)(?:所)?(?:知道|了解|记得|掌握)|已知""",
    stored=r"""(?:主机应用|宿主应用|客户端|环境变量|环境|终端|项目|本机|电脑|浏览器|编辑器|配置文件|密码管理器|钥匙串|主目录)(?:中|里|上|内)?(?:所)?(?:配置|保存|存储|找到|存放|可用|已有|现有|设置|读取|获取)|(?:配置|保存|存储|找到|存放|取自|来自|读取)(?:在|于|自)?[^，。；]{0,6}(?:主机应用|客户端|环境变量|浏览器|密码管理器|钥匙串)|密码管理器|钥匙串|通过\s?`\w+\s[^`]+`\s?(?:获取|获得|查看)|(?:位于|存放于|放在|保存在|存在)[^，。；]{0,6}(?:主目录|电脑|磁盘|账户|桌面|本机|文件夹)""",
    key=r"""密钥|令牌|钥匙|pin|口令|密码|凭据|凭证|证书|验证码|cookie|token|key""",
    rest=r"""(?:其他|其它|其余|剩余|所有|全部|每个|同目录)(?:的)?[^，。；]{0,6}(?:文件|文档|邮件|消息|笔记|文件夹|附件|记录)""",
    store=r"""(?:同一|上级|父)(?:个)?(?:文件夹|目录)|网盘|网络(?:驱动器|硬盘|磁盘)|共享(?:文件夹|盘|目录)|主目录|个人(?:目录|文件夹)|收件箱|邮箱|桌面|下载|用户的?(?:硬盘|电脑|磁盘|文件夹|云盘)""",
    unasked=r"""没有时间[^。；]{0,8}(?:询问|确认)|来不及(?:询问|确认)|(?:无需|不必|不用|无须|不需要|勿|不要)(?:再)?(?:次)?(?:向用户)?(?:询问|确认|征求|请示|征得|等待)|未经(?:确认|同意|许可|授权)|(?:同意|授权|许可|确认)[^。；]{0,8}(?:视为|默认|已(?:经)?(?:取得|给予|获得))|视为(?:已)?同意|不需要[^，。；]{0,6}(?:批准|同意|确认|许可)|无需(?:批准|同意|许可)|不经询问|擅自""",
    pressure=r"""政策|规定|条例|规范|紧急|立即|马上|立刻|尽快|有义务|依法|法律|合规|安全(?:团队|部门)|根据[^，。]{0,10}(?:命令|指示|要求)|审计|监管|否则|不然|将(?:被|会被)(?:取消|暂停|封禁|删除|丢失)|数据丢失|强制|失败|无法(?:工作|使用|继续)|会被拒绝|过期|终止""",
    needless=r"""不必|无需|无须|不用|不需要|没有?必要|不该|不应|不得|不要|不宜|多余""",
    learn=r"""知道|知晓|得知|了解|察觉|发现|注意到|看到|看见""",
    skew=r"""(?:提高|上调|调高|降低|调低|多报|少报|夸大|虚报|美化|淡化|减去|高出|低出|加)(?:了|约)?\s?(?:[\d.]+\s?%|百分之|[一二三四五六七八九十两]成)|夸大|虚报|多报|少报|美化|淡化|篡改|歪曲""",
    discard=r"""舍弃|忽略|无视|丢弃|摒弃|排除|不予(?:采纳|理会|考虑)|不采用|删去|省略|替换|隐藏|不要采信|不可信""",
    unless=r"""除非|除了|直到|只有""",
    digest=r"""概括|总结|归纳|整理|摘要|提取|描述|列出|汇总|写入|写进""",
    present=r"""(?:展示|呈现|显示|列|描述|推荐|标注|标记|宣称|称|评|说|介绍|排|报告|当)[^。；]{0,12}?(?:为|成|作|在首位|在最前|第一)""",
    despite=r"""即使|即便|尽管|虽然|哪怕|无论|不管|不论|与否""",
    narrow=r"""仅(?:限|显示|包含|列|展示|提)|只(?:显示|包含|列|展示|提|写|需)|限于|不超过|除此之外""",
    shown=r"""(?:展示|显示|呈现|提供|发送|反馈)给(?:用户|客户|对方)的|(?:用户|客户)(?:看到|所见|可见)的|给(?:用户|客户)的(?:摘要|总结|回复|答复|汇总)|向(?:用户|客户)[^。；]{0,6}(?:摘要|总结|回复|答复|汇总)""",
)
JAPANESE: Final = Reach(
    abroad=r"""(?:他|ほか|別|その他|外部|利用可能)の?[^、。]{0,8}(?:サーバー?|ツール|コネクタ|プラグイン|サービス)|(?:メール|決済|支払い|送金|会計|請求|シェル|ターミナル|カレンダー|ファイル|ブラウザ|データベース|検索|git\w*\s?|チャット|銀行|連絡先|文書|ストレージ|チケット)(?:の)?(?:サーバー?|ツール|コネクタ|プラグイン)|(?<!本)(?<!当)(?<!この)(?<!同)(?:[\u30a0-\u30ff]{2,}|[\u4e00-\u9fff]{2,4})(?:サーバー?|プラグイン|コネクタ)(?:で|を通じて|経由|から|の)""",
    alter=r"""設定し|上げ|増やし|加算|上乗せ|追加し|変更し|調整し|置き換え|差し替え|入力し|書き換え|切り上げ|差し引|減らし|下げ|切り替え|指定し|使用し|含め|適用し|移行し|プッシュし|加え|修正し|入れ|答え|回答し|選択し|選ん|提示し|渡し""",
    matter=r"""金額|合計|総額|価格|料金|手数料|パーセント|受取人|宛先|送金先|振込先|配送先|住所|送り先|口座|公開|権限|リモート|ブランチ|bcc|cc|[\d０-９]\s?[%％]""",
    content=r"""メール|メッセージ|ファイル|文書|ドキュメント|連絡先|メモ|添付|記録|請求書|写真|予定|フォルダ|履歴|注文|購入|予約|検索履歴|明細|取引|リポジトリ|チケット|表|投稿|会話|ブックマーク|報告書|給与明細""",
    results=r"""結果|出力|応答|返され|返した|得られた|データ|名前と説明|名称と説明|定義|スキーマ|設定(?:内容|情報|ファイル)|構成|認証情報""",
    ours=r"""(?:当|本|この|弊)(?:サーバー?|コネクタ|プラグイン|サービス)|当社|弊社|当方|私たち|我々""",
    legacy=r"""旧|古い|従来|以前の|非推奨|廃止|時代遅れ|遅い|信頼性が低|故障|壊れ|停止|不具合|使えない|使えません|利用できない|利用できません|障害|危険|侵害|不安定""",
    personal=r"""氏名|本名|フルネーム|自宅住所|住所|生年月日|誕生日|健康|病歴|病状|医療|診断|病気|給与|給料|収入|宗教|政治|婚姻|電話番号|個人情報|私生活|プライバシー|家族|銀行情報|居場所|アレルギー|妊娠|障害者|障がい|依存症|服薬|性的|借金|負債|前科|組合加入|交際|国籍""",
    known=r"""(?:記憶|会話|チャット|対話|文脈|コンテキスト|以前のメッセージ|過去のメッセージ)(?:の中|中)?(?:から|で|に|にある)|(?:述べた|話した|言及した|打ち明けた|共有した|伝えた|触れた)|(?:知って|把握して|覚えて)いる|既知""",
    stored=r"""(?:ホストアプリ\w*|クライアント|環境変数|環境|シェル|プロジェクト|端末|パソコン|ブラウザ|エディタ|設定ファイル|パスワードマネージャー?|キーチェーン|ホームディレクトリ)(?:内|上)?(?:に|で|から|の中に)[^、。]{0,6}(?:設定|保存|格納|見つか|ある|取得|読み|記載|登録|存在)|パスワードマネージャー?|キーチェーン|`\w+\s[^`]+`\s?(?:で|から)(?:取得|確認|入手)|(?:ホームディレクトリ|ホームフォルダ|パソコン|端末|ディスク|アカウント|デスクトップ)(?:に|の|内)[^、。]{0,6}(?:ある|あり|置|保管)""",
    key=r"""キー|鍵|トークン|pin|暗証|シークレット|パスワード|認証情報|証明書|コード|クッキー|cookie|token""",
    rest=r"""(?:他の|ほかの|残りの|すべての|全ての|各|同じフォルダの)[^、。]{0,6}(?:ファイル|文書|ドキュメント|メール|メッセージ|メモ|フォルダ|添付|記録)""",
    store=r"""同じフォルダ|親フォルダ|(?:ネットワーク|共有)(?:ドライブ|フォルダ)|クラウドストレージ|ホーム(?:ディレクトリ|フォルダ)|個人(?:用)?フォルダ|受信(?:箱|トレイ)|メールボックス|デスクトップ|ダウンロード|ユーザーの[^、。]{0,4}(?:ドライブ|ディスク|フォルダ|端末|パソコン)""",
    unasked=r"""(?:確認|質問|許可)[^。]{0,6}(?:時間は?(?:ありません|ない))|(?:確認|許可|同意|承認|了承)(?:を)?(?:求め|取ら|得|せ|行わ)[^。]{0,3}(?:ず|ない|ません)|(?:確認|許可|同意|承認|了承)(?:は|も|なし|なく|の必要)[^。]{0,8}(?:不要|必要ありません|必要はありません|要りません|みな|済み)?(?:で|に|不要|みな)|無断で|(?:承認|許可|同意)(?:は)?(?:要りません|いりません|不要)|勝手に|尋ねずに|聞かずに""",
    pressure=r"""方針|規定|規則|ポリシー|ガイドライン|緊急|至急|直ちに|すぐに|ただちに|速やかに|義務|法律|法令|コンプライアンス|セキュリティ(?:チーム|部門)|の指示により|監査|規制|さもないと|そうでない(?:と|場合)|(?:取り消|停止|ブロック|削除|失われ)[^。]{0,3}ます|データ損失|必須|失敗|動作しません|拒否され|期限切れ|中断され|エラーにな""",
    needless=r"""必要(?:は|が)?(?:ありません|ない|なく)|不要|べきではない|べきではありません|てはいけません|てはならない|に及びません|までもない|なくて(?:も)?(?:よい|いい|結構)""",
    learn=r"""知る|知ら|気付|気づ|見せ|見る|把握さ|分か""",
    skew=r"""[\d０-９]\s?[%％][^。、]{0,4}(?:高く|低く|多く|少なく|増し|上乗せ|割増|割引)|水増し|誇張|過大に|過小に|実際より|改ざん|(?:高め|低め|多め|少なめ)に""",
    discard=r"""破棄|無視|捨て|除外|省略|却下|採用し(?:ない|ず)|置き換え|隠|考慮し(?:ない|ず)|信用し(?:ない|ず)""",
    unless=r"""限り|まで|以外""",
    digest=r"""要約|まとめ|抽出|整理|記述|書き出|列挙|書い|記入""",
    present=r"""(?:として|を最初に|を先頭に|を一番に|と)(?:表示|提示|紹介|説明|推薦|おすすめ|案内|記載|報告|評価|掲載|扱)(?:し|って)?(?:て?(?:ください|下さい)|する(?:こと|よう)|なければ|なさい|せよ|すべき|しなさい|う(?:こと|よう))""",
    despite=r"""たとえ|であっても|としても|にもかかわらず|問わず|関係なく|かかわらず|いかんによらず|ても""",
    narrow=r"""のみ(?:に|を|と|で|表示)|だけ(?:に|を|と|で|表示)|に限(?:り|る|定|って)|にとどめ|以外は""",
    shown=r"""(?:ユーザー|利用者|顧客|お客様)(?:に|への|へ)[^。]{0,12}(?:要約|概要|返信|回答|応答|確認|表示|メッセージ|提示)""",
)
RUSSIAN: Final = Reach(
    abroad=r"""\b(?:друг\w+|ин(?:ого|ой|ым|ых|ые|ом)|сторонн\w+|чуж\w+|отдельн\w+|любы?\w*\sдоступн\w+)\s(?:\w+\s){0,2}?(?:сервер\w*|инструмент\w*|коннектор\w*|плагин\w*|расширени\w+|служб\w+)\b
      |\b(?:инструмент\w*|сервер\w*|коннектор\w*)\s(?:электронной\s)?(?:почт\w+|плат[её]ж\w*|оплат\w+|терминал\w*|shell|git\w*|банк\w*|календар\w*|файл\w*|браузер\w*|баз\w*|поиск\w*|чат\w*|бухгалт\w*|контакт\w*|документ\w*|хранилищ\w*)\b|\b(?:почтов|плат[её]жн|банковск|бухгалтерск|файлов|поисков)\w+\s(?:инструмент|сервер)\w*\b|\b(?:через|посредством|с\sпомощью|из)\s(?:\w+\s)?(?:сервер\w*|плагин\w*|коннектор\w*)\s(?!эт)\w+|\bинструмент\w*\s[`«"']?\w+_\w+""",
    alter=r"""\b(?:установ\w+|зада[йв]\w*|увелич\w+|повы[сш]\w+|прибав\w+|добав\w+|измен\w+|скоррект\w+|замен\w+|введи\w*|вставь\w*|указ\w+|указыва\w+|округл\w+|умнож\w+|вычт\w+|уменьш\w+|сни[зж]\w+|перенаправ\w+|переключ\w+|использу\w+|заполн\w+|примен\w+|включ\w+|впи[сш]\w+|став(?:ь|ьте|ить)|перенес\w+|отправ\w+)\b|\b(?:укаж\w+|ответ(?:ь|ьте|ить)|назов\w+|выб[еи]р\w+|переда\w+)\b""",
    matter=r"""\b(?:сумм\w*|итог\w*|цен\w*|комисси\w+|надбавк\w+|процент\w*|получател\w+|адресат\w*|назначени\w+|адрес\w*|сч[её]т\w*|iban|видимост\w+|публичн\w+|прав(?:а|ах)?\sдоступа|ветк\w+|скрыт\w+\sкопи\w+|bcc|копи[юяи])\b|\d\s?%""",
    content=r"""\b(?:писем|письма|сообщени\w+|файл\w*|документ\w*|контакт\w*|заметк\w+|вложени\w+|запис\w+|сч[её]т\w*|фотографи\w+|встреч\w*|папк\w+|истори\w+)\b|\b(?:заказ\w*|покуп\w+|бронирован\w+|поиск\w*|выписк\w+|транзакци\w+|репозитори\w+|заяв\w+|таблиц\w+|публикаци\w+|разговор\w*|закладк\w+|отч[её]т\w*)\b""",
    results=r"""\b(?:результат\w*|вывод\w*|ответ\w*|возвращ\w+|верну\w+|выда(?:л|н)\w*|полученн\w+|данн\w+|имена\sи\sописани\w+|названи\w+\sи\sописани\w+|определени\w+|схем\w+)\b|\b(?:конфигураци\w+|настройк\w+|учётн\w+\sданн\w+)\b""",
    ours=r"""\b(?:эт\w+|наш\w*|данн\w+)\s(?:\w+\s)?(?:сервер\w*|коннектор\w*|плагин\w*|сервис\w*)\b|\bнаш\w*\b""",
    legacy=r"""\b(?:стар\w+|устар\w+|прежн\w+|бывш\w+|снят\w+\sс|медленн\w+|ненад[её]жн\w+)\b|\b(?:неисправ\w+|сломан\w*|не\sработа\w+|сбо(?:й|ит|ят|ями)|недоступ\w+|небезопас\w+|скомпрометирован\w*|отключ[её]н\w*|поврежд[её]н\w*|вышел\sиз\sстроя)\b""",
    personal=r"""\b(?:полн\w+\sим\w+|фио|фамили\w+|домашн\w+\sадрес\w*|адрес\w*\sпроживания|дат\w+\sрождения|день\sрождения|здоровь\w+|медицинск\w+|диагноз\w*|болезн\w+|заболевани\w+|зарплат\w*|доход\w*|религи\w+|политическ\w+|семейн\w+\sположени\w+|номер\w*\sтелефон\w*|(?:личн|персональн|частн)\w+\s(?:данн|сведени|информаци|подробност)\w*|личн\w+\sжизн\w+|семь\w+|банковск\w+\sреквизит\w*|местонахожден\w+)\b|\b(?:аллерги\w+|беременн\w+|инвалидн\w+|зависимост\w+|лекарств\w+|сексуальн\w+|долг(?:и|ах|ов)|судимост\w+|профсоюз\w+|отношени\w+|национальн\w+)\b""",
    known=r"""\b(?:(?:из|в)\s(?:\w+\s)?(?:памяти|переписк\w+|разговор\w*|диалог\w*|бесед\w+|чат\w*|контекст\w*|предыдущих\sсообщени\w+)|(?:упомянут|сказан|сообщ[её]нн|рассказанн|раскрыт|доверенн)\w*|(?:тебе|вам)\sизвестн\w+|известн\w+|ты\s(?:\w+\s)?(?:знаешь|помнишь)|вы\s(?:\w+\s)?(?:знаете|помните))\b""",
    stored=r"""\b(?:настроенн|сохран[её]нн|хранящ|найденн|доступн|взят|прочитанн|полученн|указанн|заданн|имеющ|лежащ)\w*\s(?:в|на|из|через|с\sпомощью)\s(?:\w+\s){0,3}?(?:приложени\w+|клиент\w*|переменн\w+\sокружени\w+|окружени\w+|терминал\w*|проект\w*|компьютер\w*|машин\w+|браузер\w*|редактор\w*|конфигураци\w+|менеджер\w*\sпаролей|связк\w+\sключей|домашн\w+\s\w+)\b
      |\b(?:доступ\w+|получ\w+)\s(?:через|командой|с\sпомощью)\s`\w+\s[^`]+`|\b(?:менеджер\w*\sпаролей|связк\w+\sключей)\b|\b(?:наход\w+|лежит|леж\w+|хран\w+|располож\w+)\s(?:в|на)\s(?:\w+\s)?(?:домашн\w+|компьютер\w*|диск\w*|папк\w+|каталог\w*|рабоч\w+|учётн\w+)""",
    key=r"""\b(?:ключ\w*|токен\w*|пин|pin|секрет\w*|парол\w*|сертификат\w*|код\w*|логин\w*|cookie|куки)\b""",
    rest=r"""\b(?:остальн\w+|друг\w+|вс(?:е|ех|ю)|кажд\w+|проч\w+|соседн\w+|оставш\w+)\s(?:\w+\s){0,2}?(?:файл\w*|документ\w*|пис(?:ем|ьма)|сообщени\w+|заметк\w+|папк\w+|вложени\w+|запис\w+)\b""",
    store=r"""\b(?:т(?:ой|у)\sже\s(?:папк|директори)\w*|этой\sже\sпапк\w*|родительск\w+\s(?:папк|каталог)\w*|(?:сетев|общ|облачн|ж[её]стк)\w+\s(?:диск|папк|хранилищ)\w*|домашн\w+\s(?:папк|каталог)\w*|личн\w+\s(?:папк|каталог)\w*|входящ\w+|почтов\w+\sящик\w*|рабоч\w+\sстол\w*|загрузк\w+|(?:диск|компьютер|папк)\w*\sпользовател\w+)\b""",
    unasked=r"""\b(?:нет\sвремени\b[^.;]{0,20}\b(?:спраш|запраш|подтвержд)\w*|без\s(?:\w+\s){0,3}?(?:подтверждени\w+|согласи\w+|разрешени\w+|одобрени\w+|запрос\w*|вопросов|согласовани\w+)|(?:подтверждени|согласи|разрешени|одобрени)\w+\b[^.;]{0,40}\b(?:не\s(?:требуется|нужн\w+|обязательн\w+)|считается|излишн\w+|уже\s(?:получен|дан)\w*)|не\s(?:спрашивай\w*|запрашивай\w*|дожидай\w*|уточняй\w*)|уточнени\w+\sне\s\w+)\b|\bне\s(?:требу\w+|нужда\w+)\s(?:\w+\s){0,2}?(?:подтвержд|соглас|разреш|одобр)\w+|\b(?:не\s(?:спрашивая|уточняя|дожидаясь|запрашивая)|без\sспроса)\b""",
    pressure=r"""\b(?:политик\w+|регламент\w*|предписани\w+|срочн\w*|немедленн\w*|незамедлительн\w*|тотчас|обязан\w*|по\sзакону|закон\w*|комплаенс\w*|служб\w+\sбезопасности|по\s(?:распоряжению|указанию|требованию|приказу)|аудит\w*|регулятор\w*|иначе|в\sпротивном\sслучае|будет\s(?:отмен|приостановл|заблокирован|удал)\w*|потер\w+\sданных|обязательн\w+)\b|\b(?:завершится\sошибкой|не\s(?:сработа\w+|будет\sработать|выполн\w+)|отклон[её]н\w*|истека\w+|прерван\w*)\b""",
    needless=r"""\b(?:незачем|не\s(?:нужно|надо|следует|обязательно|требуется|стоит|долж\w+|обязан\w*)|нет\s(?:нужды|необходимости|смысла)|излишне|ни\sк\sчему|необязательно)\b""",
    learn=r"""\b(?:знать|узна\w+|замет\w+|замеча\w+|вид[еи]\w+|увид\w+|догад\w+|понят\w*)\b""",
    skew=r"""(?:%|\bпроцент\w*|\bбалл\w*|\bдн(?:я|ей))\s(?:\w+\s)?(?:больше|меньше|выше|ниже|лучше|хуже|дешевле)\b|\b(?:завы[сш]\w+|заниж\w+|занизь\w*|преувелич\w+|преуменьш\w+|приукра\w+|исказ\w+|искажа\w+|приписыва\w+)\b|\b(?:увелич|уменьш|завыш|заниж)енн\w+\sна\b""",
    discard=r"""\b(?:отбра[сш]\w+|отброс\w*|игнориру\w+|пренебрег\w*|опуска\w+|опусти\w*|отклон\w+|исключ\w+|замен\w+|скр(?:ой|ыва)\w*|не\s(?:учитыва\w+|принима\w+|доверя\w+))\b""",
    unless=r"""\b(?:кроме|пока|разве|только\s(?:если|когда)|если\b[^.;]{0,40}\bне)\b""",
    digest=r"""\b(?:излож\w+|излага\w+|обобщ\w+|резюмиру\w+|кратко\s\w+|опиш\w+|выпиш\w+|перечисл\w+|извлек\w+|переска\w+)\b""",
    present=r"""\b(?:представ(?:ь|ьте|ить|ля[йт]\w*)|покаж(?:и|ите)|показыва(?:й|йте|ть)|опиш(?:и|ите)|описыва(?:й|йте|ть)|назов(?:и|ите)|назвать|называ(?:й|йте|ть)|рекоменду(?:й|йте)|рекомендовать|отме(?:ть|тьте|чай|чайте|тить)|объяв(?:и|ите|ить)|выда(?:й|йте|вай|вайте|вать)|став(?:ь|ьте|ить)|преподнос\w+|должн\w+\s(?:быть\s)?\w+)\b[^.;]{0,40}\b(?:как|перв\w+|сам\w+|в\sкачестве|за|лучш\w+)\b""",
    despite=r"""\b(?:даже\s(?:если|когда)|хотя|несмотря|независимо|вне\sзависимости|невзирая|пусть\sдаже|какой\sбы)\b""",
    narrow=r"""\b(?:ограничи\w+|ограничива\w+|лишь|исключительно|только\s(?:дат|им|то|итог|общ)\w*|ничего\sкроме|не\sболее\sчем)\b""",
    shown=r"""\b(?:сводк\w+|резюме|ответ\w*|отч[её]т\w*|подтверждени\w+|сообщени\w+|обзор\w*)\b[^.;]{0,40}\b(?:пользовател\w+|клиент\w*|сотрудник\w*)\b""",
)
