"""What a definition asks of a model beyond its task, in any supported language.

A definition is judged by its stated purpose: a login may ask for a password and a chat for its history, a unit
converter may not. The terms of each language (`phrases`) find what is asked for, from whom, and where it goes; the
rules that combine them are the same for all languages.

Invariant: every rule combines at least two signs. A text without a language's signs costs one look-up of its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.core import LazyPattern, Tool, first_sentence
from thresher.scanner.crossing import is_foreign, tool_names
from thresher.scanner.hidden_text import folded
from thresher.scanner.lexicon import ADDRESS, PRIVATE_PLACE, vocabulary, words
from thresher.scanner.phrases import CHINESE, ENGLISH, FRENCH, GERMAN, JAPANESE, RUSSIAN, SPANISH, Phrases
from thresher.scanner.records import PeerTools
from thresher.scanner.sentences import Reason, Sentence, sentences
from thresher.scanner.texts import ScanText

Terms: TypeAlias = dict[str, LazyPattern]
_ADDRESS: Final = words(ADDRESS)
_BEFORE: Final = 8
_AFTER: Final = 20
"""Characters around a denial that it applies to: Japanese puts them before it, the other languages after."""


def overreach(text: str, of: Terms, *, parameter: bool, placed: bool, needed: bool) -> Iterator[Reason]:
    """Yield what one sentence does outside its own tool: to other servers' calls, other data, and what people see.

    Args:
        text: The sentence.
        of: The terms of its language.
        parameter: Whether it describes a parameter.
        placed: Whether there is a destination: it describes a parameter or names one.
        needed: Whether the tool needs secrets for its task.
    """
    if of["abroad"].search(text):
        yield from _abroad(text, of, placed=placed)
    if _has(text, of, "discard", "ours") and (of["others"].search(text) or of["abroad"].search(text)):
        yield "override", "danger", "It makes the model ignore what other tools return."
    if placed and _is_gathered(text, of, parameter=parameter, needed=needed):
        yield "exfiltration", "danger", "It asks for data that the tool was not given."
    yield from _behind_backs(text, of)


def _has(text: str, of: Terms, *names: str) -> bool:
    """Return whether a sentence contains a term of each kind."""
    return all(of[name].search(text) for name in names)


def _abroad(text: str, of: Terms, *, placed: bool) -> Iterator[Reason]:
    """Yield what is done to calls of another server."""
    if _has(text, of, "alter", "matter"):
        yield "override", "danger", "It changes the arguments of another tool."
    elif _has(text, of, "content", "give") and (placed or of["take"].search(text) or _ADDRESS.search(text)):
        yield "exfiltration", "danger", "It makes another tool collect data and pass it on."
    elif of["unasked"].search(text) or (
        of["legacy"].search(text) and (of["itself"].search(text) or of["ours"].search(text))
    ):
        yield "override", "danger", "It decides whether another tool is used."


def _is_gathered(text: str, of: Terms, *, parameter: bool, needed: bool) -> bool:
    """Return whether something from elsewhere is to be put into a parameter."""
    gives = of["give"].search(text) is not None
    if parameter or gives:
        if _has(text, of, "personal", "known") or _has(text, of, "key", "stored"):
            return True
        if not needed and _has(text, of, "key", "store"):
            return True
    if gives and not needed and _has(text, of, "key", "owner", "pressure"):
        return True
    if gives and not parameter and not of["whenever"].search(text) and _has(text, of, "personal", "people", "speak"):
        return True
    if not parameter and _has(text, of, "store", "take", "owner", "digest"):
        return True
    tools = of["abroad"].search(text) or of["others"].search(text)
    if tools and of["results"].search(text) and not of["matter"].search(text):
        return gives or of["pressure"].search(text) is not None
    return gives and _has(text, of, "rest", "store")


def _behind_backs(text: str, of: Terms) -> Iterator[Reason]:
    """Yield what people are not asked, not told, or told wrongly."""
    moves = of["give"].search(text) or of["alter"].search(text)
    if moves and of["unasked"].search(text) and _ADDRESS.search(text):
        yield "exfiltration", "danger", "It sends something away without consent."
    if _has(text, of, "alter", "matter", "people") and _is_unsaid(text, of):
        yield "instruction", "danger", "It changes something and keeps it from people."
    says = of["speak"].search(text) or of["present"].search(text) or of["give"].search(text)
    if _has(text, of, "present", "despite") or (says and _has(text, of, "skew", "people")):
        yield "instruction", "danger", "It misrepresents results."
    if _has(text, of, "shown", "narrow") and any(of[one].search(text) for one in ("personal", "known", "despite")):
        yield "instruction", "danger", "It tells the model to keep something from people."


def _is_unsaid(text: str, of: Terms) -> bool:
    """Return whether a verb of saying is close to a denial."""
    return any(
        of["speak"].search(text[max(0, denial.start() - _BEFORE) : denial.end() + _AFTER])
        for denial in of["deny"].finditer(text)
    )


_TOKEN: Final = re.compile(r"[a-zà-öø-ÿœß]+")
_PARTS: Final = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_LATIN: Final = (
    (
        GERMAN,
        vocabulary("""der das den dem des die und nicht nie für mit vor bei wird werden sind im zu ist alle statt als jeder
    jede ein eine einen einer auf aus von vom zum zur es sie du dies diese dieser dieses diesem bitte kein
    keine auch nur noch oder wenn was andere anderen hier man hat haben bis über unter nach ab wie so einfügen"""),
    ),
    (
        FRENCH,
        vocabulary("""le la les l d un de du et ne pas sans avant pour une dans en est vos vous votre que qui ce cet cette tout
    tous au aux par sur ici ce ces cette autres ou si comme"""),
    ),
    (
        SPANISH,
        vocabulary(
            "el la los las de del y sin antes para un una por que se lo es esta este todas todos tu su con en al aquí otras otros si como"
        ),
    ),
)
"""A language is tried if two of these words occur, in a short text one; a wrong guess costs little."""
_SHORT: Final = 80
_NEEDLESS: Final = "It asks for a secret that the tool does not need."
_NEAR: Final = 60
"""Characters between a denial and what it denies."""
_CYRILLIC: Final = re.compile("[\u0400-\u04ff]")
_KANA: Final = re.compile("[\u3040-\u30ff]")
_HAN: Final = re.compile("[\u4e00-\u9fff]")
_REACH: Final = vocabulary("""server servers tool tools connector connectors integration integrations plugin plugins user users known
    memory even although though regardless despite irrespective folder drive mailbox inbox desktop downloads environment
    configured stored machine keychain manager matter remember secret key token employee employees customer
    customers colleague colleagues developer person people anyone login pin passport
    approval confirmation consent permission guest guests reviewer reviewers admin patient sources providers services ours customers urgent immediately printenv""")
"""Words for what lies outside a tool."""
_ENGLISH: Final = _REACH | vocabulary("""password passwords passphrase passcode passphrases credential credentials cookie cookies mnemonic cvv otp
    otps login logins browser saved stored passport passports ssn keystore key keys token tokens phrase phrases env variables variable conversation conversations chat
    chats dialog dialogue transcript transcripts exchange exchanges history prompt prompts instructions
    guidelines said written discussed turns results outputs precedence priority tools functions servers
    connectors integrations tool actions steps recipient recipients payee payees beneficiary iban account
    accounts bcc payments transfers details rsa ssh aws inform tell mention told informed know aware notice
    notified bring reveal disclose answer summary reply response confidential secret internal notes notify
    numbers number codes code pin pins card files file inbox folder emails contacts""")
_NOT: Final = vocabulary(
    "not no never without don needn avoid refrain rather omit leave left skip drop exclude nor keep treat"
)
_PEOPLE: Final = vocabulary("""user users human humans person people anyone customer customers employee employees him her them answer
    reply response summary report confidential internal secret private yourself""")
_ABOUT: Final = (
    ("hush", (_NOT, _PEOPLE)),
    (
        "reply",
        (_NOT, vocabulary("answer answers reply replies response responses summary summaries output messages")),
    ),
    (
        "others",
        (
            vocabulary("""tool tools function functions server servers one here action actions step steps connector connectors
    service services provider providers source sources plugin plugins"""),
        ),
    ),
    ("reach", (_REACH,)),
    ("contents", (_ENGLISH - vocabulary("tool tools functions servers actions steps account accounts"),)),
)
"""Words that an English sentence needs for a rule, one of each set."""
_EVERY: Final = frozenset({"void", "hush", "reply", "others", "contents", "reach"})
_ORDERS: Final = ("must", "first", "pressure", "unasked")
"""Terms that turn a sentence into an order."""
_CLAUSE: Final = re.compile("[,;:()\uff0c\uff1b\uff1a\u3001]")
_PLACE: Final = words(PRIVATE_PLACE)
_CONTENT: Final = words(
    r"\b(?:contents?|text|lines|values?|inhalte?s?|contenus?|contenidos?|содержим\w+|содержани\w+)\b|内容|全文|中身"
)
_OUTPUT: Final = words(r"\b(?:outputs?|ausgabe|sortie|salida|вывод\w*)\b|输出|出力|結果")
_ENVIRONMENT: Final = words(
    r"""\b(?:all|contents?|values?|dump|list|users?'?s?|current)\W+(?:\w+\W+){0,3}?environment\svariables\b|\b(?:alle|inhalte?|werte)\b[^.]{0,20}\bumgebungsvariablen\b
    |\b(?:toutes|contenu|valeurs)\b[^.]{0,20}\bvariables\sd['\u2019]environnement\b|\b(?:todas|contenido|valores)\b[^.]{0,20}\bvariables\sde\sentorno\b|(?:所有|全部)[^。]{0,6}环境变量|环境变量[^。]{0,6}(?:内容|值)
    |(?:すべて|全て)の環境変数|環境変数の(?:内容|値|一覧)|\b(?:все|содержимое|значения)\b[^.]{0,20}\bпеременн\w+\sокружения\b"""
)
_WEAK: Final = words(
    r"""(?:api|access|auth\w*|bearer|oauth|refresh|personal)[\s_-]?(?:access[\s_-])?(?:keys?|tokens?)
        |tokens?|credentials?|令牌|api\s?密钥|トークン|api\s?キー|токен\w*|api-?\s?ключ\w*|api-?\s?schlüssel
        |clés?\sd['\u2019]\s?api|claves?\sde\sapi|jetons?"""
)
"""Secrets with which callers of any service identify themselves."""
_OVERT: Final = words(
    r"""\b(?:api|apikey|auth\w*|access|token|tokens|key|keys|credentials?|secret|bearer|headers?
        |proxy|pass(?:word|code|wort)?|clave|contrasena|cookies?|certs?|certificates?|codes?|cookie
        |pwd|logins?|credential)\b"""
)
_AMBIENT: Final = words(
    r"""\b(?:browser|conversation|chat|mailbox|inbox|e-?mail|bank|wallet|other|gespräch|postfach
        |navigateur|navegador|conversación|messagerie|correo|диалог\w*|браузер\w*|почт\w+|переписк\w+)\b
        |浏览器|对话|邮箱|钱包|ブラウザ|会話|メール"""
)
_ACCOUNT: Final = re.compile(
    r"""\b(?![\w.+-]*@(?:[\w-]+\.)*example\.)[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b|\b[A-Z]{2}\d{2}[\s\d]{10,}\d
        |(?<![\w.:/-])\d(?:[\s-]?\d){6,}(?![\w.])|\b0x[0-9a-f]{8,}"""
)
"""An e-mail address or account number."""
_VARIABLE: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|CREDENTIALS)\b")
"""Name of an environment variable that holds a secret."""
_METADATA: Final = words(
    r"""\b(?:length|format|type|kind|names?|ids?|identifiers?|fingerprints?|number|expir\w+|lifetime
        |validity|whether|hash|returned)\b"""
)
"""Words about a secret that are not the secret itself."""
_LOGIN: Final = re.compile(r"\w+:\w+@")
_SEAM: Final = re.compile("(?<=[\u3040-\u30ff\u4e00-\u9fff])(?=[!-~])|(?<=[!-~])(?=[\u3040-\u30ff\u4e00-\u9fff])")
"""Boundary between Chinese or Japanese and Latin letters, where neither language needs a space."""
_TARGET: Final = words(
    rf"{ADDRESS}|\b[A-Z]{{2}}\d{{2}}[\s\d]{{10,}}\d|\b\d[\d\s-]{{5,}}\d|\b0x[0-9a-f]{{8,}}|\b[13][a-km-z1-9]{{25,34}}\b|\b[A-Z]{{2,}}-\d{{3,}}\b"
)
_WORD: Final = re.compile(r"\w{3,}")
_DIGIT: Final = re.compile(r"\d{2}|@")

_FOR_SECRETS: Final = words(
    r"""log-?\s?(?:in|on|out)|\b(?:otp|2fa|mfa|totp)\b|verif\w*\s(?:\w+\s)?code|sign-?\s?(?:in|up|on)|\bauth(?!or(?!i))|account|\buser|\bregist(?:er|ration|rier)|passw|passphrase|credential|secret|vault|token|\bkeys?\b|\bssh|connect|database|\b(?:s?ftp|smtp|imap|sql|db)\b|wallet|crypt
    |\bvpn|wi-?fi|\bpdf\b.*\b(?:unlock|protect)|protect|unlock|deploy|certificate|\bsign(?:s|ing|ed|ature)?\b|cookie|session|permission|\baccess|security|environment|\benv\b|config|profile|membership|subscri|payment|card|bank
    |anmeld|benutzer|konto|verbinde|verbindung\w*\s(?:zu|mit|her)|datenbank|kennwort|geheim|schlüssel|zugang|entsperr
    |connex|compte|utilisateur|mot\sde\spasse|chiffr|identif|sesión|usuario|cuenta|contraseña|conect|cifr|clave|acceso
    |登录|登陆|用户|账户|账号|密码|密钥|认证|连接|数据库|加密|注册|ログイン|ユーザー|アカウント|パスワード|認証|接続|暗号|鍵|登録
    |вход|войти|пользовател|аккаунт|учётн|учетн|парол|авториз|подключ|шифр|ключ|регистрац"""
)
_FOR_TALK: Final = words(
    r"""chat|conversation|messag|dialog|history|prompt|memor|remember|recall|assistant|agent|\bllm|language\smodel|\bai\b|gpt|summar|transcript|thread|session|repl(?:y|ies)|respon|completion|feedback|reason|think|thought
    |meeting|interview|discuss|ask|question|answer|persona|context|instruction|support|ticket
    |gespräch|unterhaltung|nachricht|verlauf|zusammenfass|antwort|frage|échange|discussion|résum|réponse|mensaje|conversaci|historial|resum|respuesta|diálogo
    |对话|聊天|会话|消息|记忆|总结|摘要|回复|会話|チャット|対話|メッセージ|要約|返信|記憶|履歴|переписк|диалог|беседу|сообщени|чат|пересказ|памят|ответ|разговор"""
)
_FOR_FILES: Final = words(
    r"""file|folder|director|document|note|mail|contact|calendar|clipboard|spreadsheet|repositor|code|project|config|backup|upload|import|export|read|write|sync|workspace|scan|audit|\benv\b|\bssh|secret|vault|deploy|docker|credential
    |datei|ordner|verzeichnis|dokument|notiz|fichier|dossier|document|courriel|archivo|fichero|carpeta|correo|buzón|文件|目录|文档|邮件|ファイル|フォルダ|文書|メール|файл|папк|каталог|документ|письм"""
)
_ASKED_BY_NAME: Final = words(
    r"""\b(?:(?:ssh\ )?private\ keys?|seed\ phrases?|mnemonics?|recovery\ phrases?|env\ files?|dotenv|env\ vars|environment\ variables|browser\ cookies|session\ cookies?
    |(?:user|account|e\ ?mail|bank)\ passwords?|aws\ secrets?(?:\ access\ key)?|aws\ credentials|api\ keys|wallet\ keys?|credit\ card\ numbers?)\b"""
)
_TALK_BY_NAME: Final = words(
    r"""\b(?:(?:conversation|chat|dialog(?:ue)?|message)\ (?:history|log|transcript)|full\ conversation
        |system\ prompts?|previous\ messages|all\ messages|other\ tool\ (?:results|outputs?)|tool\ outputs
        |user\ messages)\b"""
)


@dataclass(frozen=True, slots=True)
class RequestCase:
    """A sentence that may ask for something, with its context.

    Attributes:
        tool: The tool whose definition contains it; None for a text on its own.
        parameter: Whether it describes a parameter, which is itself a destination.
        name: Name of the parameter; may be empty.
        sentence: The sentence.
        peers: The tools of other servers.
    """

    tool: Tool | None
    parameter: bool
    name: str
    sentence: Sentence
    peers: PeerTools

    def fits(self, purpose: LazyPattern) -> bool:
        """Return whether the tool's stated purpose - name, title and first sentence - calls for such a thing."""
        if self.tool is None:
            return False
        summary = first_sentence(self.tool.description)
        said, ours = "".join(self.sentence.text.split()), "".join(folded(summary).split())
        own = "" if not self.parameter and (said in ours or ours in said) else summary
        return purpose.search(f"{_PARTS.sub(' ', self.tool.name)} {self.tool.title} {own}") is not None


def requests(text: ScanText, plain: str, tool: Tool | None, peers: PeerTools) -> Iterator[tuple[Reason, str]]:
    """Yield what a text asks for beyond its tool's task, each with the words that ask.

    Args:
        text: A text of the definition.
        plain: The text as it is read, without hidden characters.
        tool: The definition; None for a text on its own.
        peers: The tools of other servers.
    """
    parameter = text.where.startswith("/inputSchema/")
    if text.role == "name":
        if parameter and tool is not None:
            yield from _by_name(plain, tool, peers)
        return
    if not (candidates := _languages(plain)):
        return
    for sentence in sentences(plain if plain.isascii() else _SEAM.sub(" ", plain)):
        asked = RequestCase(tool, parameter and text.role == "prose", text.name, sentence, peers)
        for phrases in candidates:
            for said in _sentence(asked, phrases.compiled, _cues(sentence.text) if phrases is ENGLISH else _EVERY):
                yield said, sentence.text


def _by_name(name: str, tool: Tool, peers: PeerTools) -> Iterator[tuple[Reason, str]]:
    """Yield what a parameter's name alone asks for."""
    parts = _PARTS.sub(" ", name).strip()
    asked = RequestCase(tool, True, name, Sentence(parts), peers)
    if _ASKED_BY_NAME.search(parts) and not asked.fits(_FOR_SECRETS):
        yield ("exfiltration", "danger", "Its name asks for a secret that the tool does not need."), name
    elif _TALK_BY_NAME.search(parts) and not asked.fits(_FOR_TALK):
        yield ("exfiltration", "danger", "Its name asks for the conversation with the model."), name


def _languages(plain: str) -> list[Phrases]:
    """Return the languages that a text may be in."""
    low = plain.lower()
    tokens = frozenset(_TOKEN.findall(low))
    least = 1 if len(plain) < _SHORT else 2
    found = [phrases for phrases, marks in _LATIN if len(marks & tokens) >= least]
    if not _ENGLISH.isdisjoint(tokens):
        found.append(ENGLISH)
    if not plain.isascii():
        found += [RUSSIAN] if _CYRILLIC.search(plain) else []
        found += [JAPANESE] if _KANA.search(plain) else []
        found += [CHINESE] if _HAN.search(plain) else []
    return found


def _cues(text: str) -> frozenset[str]:
    """Return the topics of an English sentence by its words; most have none."""
    tokens = frozenset(_TOKEN.findall(text.lower()))
    return frozenset(rule for rule, marks in _ABOUT if all(not one.isdisjoint(tokens) for one in marks))


def _sentence(asked: RequestCase, of: dict[str, LazyPattern], about: frozenset[str]) -> Iterator[Reason]:
    if not about:
        return
    text = asked.sentence.text
    if "void" in about and (found := of["void"].search(text)) and not asked.sentence.mentions(found.start()):
        yield "instruction", "danger", "It tells the model to disregard its instructions."
    if _hushes(asked.sentence, of, about):
        yield "instruction", "danger", "It tells the model to keep something from people."
    watches = asked.sentence.watches and not asked.parameter
    if "reach" in about and (not watches or of["pressure"].search(text)) and not _is_summary(asked, of):
        placed = asked.parameter or _slot(asked, of)
        needed = asked.fits(_FOR_SECRETS) or (_is_overt(asked) and asked.parameter)
        yield from overreach(text, of, parameter=asked.parameter, placed=placed, needed=needed)
    if watches:
        return
    if "others" in about and (why := _about_others(asked, of)):
        yield "override", "danger", why
    if _diverts(text, of):
        yield "override", "danger", "It changes the recipient of something."
    if "contents" in about and (why := _needless_request(asked, of)):
        yield "exfiltration", "danger", why


def _is_summary(asked: RequestCase, of: dict[str, LazyPattern]) -> bool:
    """Return whether a sentence says what the tool does: it is the first of the description and not an order."""
    if asked.parameter or asked.name or asked.sentence.before:
        return False
    return not any(of[sign].search(asked.sentence.text) for sign in (*_ORDERS, "whenever"))


def _hushes(sentence: Sentence, of: dict[str, LazyPattern], about: frozenset[str]) -> bool:
    """Return whether people must not learn of something, or the answer to them must leave it out."""
    text = sentence.text
    if "hush" in about and (found := of["hush"].search(text)) and not sentence.mentions(found.start()):
        return True
    if "hush" in about and any(_is_hushed(clause, of) for clause in _CLAUSE.split(text)):
        return True
    return "reply" in about and of["reply"].search(text) is not None and of["omit"].search(text) is not None


def _is_hushed(clause: str, of: dict[str, LazyPattern]) -> bool:
    """Return whether a clause denies that something is said to people, in any word order, close together."""
    for denial in of["deny"].finditer(clause):
        near = clause[max(0, denial.start() - _NEAR) : denial.end() + _NEAR]
        if of["people"].search(near) and of["speak"].search(near) and not of["unless"].search(near):
            return True
    needless = of["needless"].search(clause) is not None
    return needless and of["people"].search(clause) is not None and of["learn"].search(clause) is not None


def _about_others(asked: RequestCase, of: dict[str, LazyPattern]) -> str:
    """Return what is done to other tools: outranked, disparaged or interfered with; may be empty."""
    text, pair = asked.sentence.text, asked.sentence.pair
    if of["outranks"].search(text) and of["must"].search(text):
        return "It claims precedence over all other tools."
    if of["itself"].search(text) and _shuns_another(pair, of):
        name = asked.tool.name if asked.tool else ""
        if of["others"].search(pair) or any(is_foreign(one, asked.peers, name) for one in tool_names(pair)):
            return "It disparages another tool and recommends itself instead."
        return ""
    found = of["whenever"].search(text)
    other = of["others"].search(text, found.end()) if found else None
    if other and of["swap"].search(text, other.end()) and (_TARGET.search(text) or of["payee"].search(text)):
        return "It adds something to the calls of another tool."
    return ""


def _shuns_another(text: str, of: dict[str, LazyPattern]) -> bool:
    """Return whether anything but the tool itself is called unfit or not to be used."""
    reach = 3 if _KANA.search(text) or _HAN.search(text) else 24
    for found in of["shuns"].finditer(text):
        after = _CLAUSE.split(text[found.end() : found.end() + reach])[0]
        if of["itself"].search(found[0] + after) is None:
            return True
    return False


def _diverts(text: str, of: dict[str, LazyPattern]) -> bool:
    """Return whether the definition's own recipient or account replaces all others."""
    if not _DIGIT.search(text) or not of["swap"].search(text) or not of["always"].search(text):
        return False
    payee, mail = of["payee"].search(text) is not None, of["mail"].search(text) is not None
    if (payee or mail) and _ACCOUNT.search(text):
        return True
    return payee and mail and _TARGET.search(text) is not None


def _needless_request(asked: RequestCase, of: dict[str, LazyPattern]) -> str:
    """Return what is asked for that the task does not need: secrets, conversations, files; may be empty."""
    text, mentions = asked.sentence.text, asked.sentence.mentions
    gives, slot = of["give"].search(text) is not None, _slot(asked, of)
    ordered = asked.parameter or slot or (gives and any(of[sign].search(text) for sign in _ORDERS))
    if not ordered:
        return ""
    if not asked.fits(_FOR_SECRETS):
        if (
            (found := of["credential"].search(text))
            and _is_someones(asked, found[0], of)
            and not mentions(found.start())
        ):
            return _NEEDLESS
        if gives and not _is_overt(asked) and _VARIABLE.search(text):
            return _NEEDLESS
        if (gives or _CONTENT.search(text) or _OUTPUT.search(text)) and (
            _PLACE.search(text) or _ENVIRONMENT.search(text)
        ):
            return "It asks for a file of secrets."
    found = of["talk"].search(text) or _whole_conversation(text, of)
    if found and not asked.fits(_FOR_TALK) and not mentions(found.start()):
        return "It asks for the conversation with the model."
    passed = not asked.parameter and gives and slot and of["thing"].search(text) and of["take"].search(text)
    early = passed and (of["first"].search(text) or of["owner"].search(text))
    return (
        "It makes the model read something else first and pass it along."
        if early and not asked.fits(_FOR_FILES)
        else ""
    )


def _whole_conversation(text: str, of: dict[str, LazyPattern]) -> re.Match[str] | None:
    """Return the match for everything that a person has said or written."""
    if of["whole"].search(text) is None or (person := of["people"].search(text)) is None:
        return None
    said = of["speak"].search(text, person.end())
    return said if said is not None and said.start() - person.end() <= _NEAR else None


def _is_someones(asked: RequestCase, secret: str, of: dict[str, LazyPattern]) -> bool:
    """Return whether a secret belongs to a person or the environment, not to the service that the tool is for."""
    text = asked.sentence.text
    rest = of["credential"].sub(" ", text)
    if asked.parameter and not _is_overt(asked) and not _LOGIN.search(text) and not _METADATA.search(text):
        return True
    if _LOGIN.search(text) or of["owner"].search(rest) is None:
        return not asked.parameter and _slot(asked, of) and _is_ordered(text, of)
    if not _WEAK.fullmatch(secret):
        return True
    if asked.parameter:
        return not _is_overt(asked) or _AMBIENT.search(rest) is not None
    gives = of["give"].search(text) is not None
    return gives and (_AMBIENT.search(rest) is not None or (_slot(asked, of) and _is_ordered(text, of)))


def _is_overt(asked: RequestCase) -> bool:
    """Return whether a parameter's name is one that callers of a service commonly send."""
    return not asked.parameter or _OVERT.search(_PARTS.sub(" ", asked.name)) is not None


def _is_ordered(text: str, of: dict[str, LazyPattern]) -> bool:
    return of["give"].search(text) is not None and (of["must"].search(text) or of["first"].search(text)) is not None


def _slot(asked: RequestCase, of: dict[str, LazyPattern]) -> bool:
    """Return whether a sentence names a destination: a field, or a parameter of the tool."""
    text = asked.sentence.text
    if of["slot"].search(text):
        return True
    named = asked.tool.input_schema.get("properties") if asked.tool else None
    return isinstance(named, dict) and not named.keys().isdisjoint(_WORD.findall(text))
