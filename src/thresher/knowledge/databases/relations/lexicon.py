"""Words for keys, roles and measures in English and German, and some in Romance languages.

Invariant: general words only; no names of a particular schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

KeyKind: TypeAlias = Literal["", "id", "number", "code", "name"]

KEY_WORDS: Mapping[str, KeyKind] = {
    **dict.fromkeys(
        ("id", "ids", "key", "uuid", "guid", "oid", "sk", "pk", "fk", "ref", "uid", "gid", "rid", "sid", "pid", "ident",
         "identifier", "hk", "idx", "rowid", "lnk", "link"),
        "id",
    ),
    **dict.fromkeys(("no", "nr", "num", "number", "nummer", "nbr", "numero"), "number"),
    **dict.fromkeys(("code", "cd", "kz", "kuerzel", "cod", "codigo", "kennung", "kennzeichen", "iso", "abbr", "symbol",
                     "slug"), "code"),
    **dict.fromkeys(("name", "bezeichnung", "title"), "name"),
}  # fmt: skip
"""Words at the end or the beginning of a column's name that show the kind of key."""

OUTER_MARKS = frozenset({"fk", "pk", "ref", "lnk", "key", "fid", "x", "in"})
"""Words around a column's name and its key word: `fk_customer_id`, `customer_id_fk`."""

LEADING_KEYS = frozenset({"id", "fk", "cod", "cd", "nr", "ref", "idx", "code", "key", "sk"})
"""Key words that may come first: `id_cliente`, `fk_kunde`."""

GLUED_KEYS = ("uuid", "guid", "number", "nummer", "code", "key", "nbr", "num", "id", "nr", "no", "cd", "sk", "fk")
"""Key words at the end of a name without a separator, longest first: `custid`, `kundennr`."""

NOT_GLUED = frozenset({
    "paid", "valid", "invalid", "void", "grid", "bid", "aid", "said", "solid", "liquid", "raid", "hybrid", "fluid",
    "rapid", "acid", "avid", "lid", "mid", "prepaid", "unpaid", "kid", "casino", "piano", "volcano", "domino",
    "monkey", "turkey", "hockey", "whiskey", "barcode", "zipcode", "postcode",
})  # fmt: skip

TABLE_MARKS = frozenset({"tbl", "t", "tb", "tab", "table", "dim", "fact", "fct", "mst", "lkp", "lu", "ref", "stg", "d",
                         "f", "m", "xref", "rel", "mt", "dbo", "vw", "ods", "dwh", "raw"})  # fmt: skip
"""Words before a table's name that show the kind of table."""

NEUTRAL = frozenset({"master", "header", "hdr", "table", "tbl", "info", "information", "data", "list", "base", "main",
                     "record", "file", "stamm", "kopf", "dim", "dimension", "basic", "lookup", "mst", "tab", "core",
                     "entity", "directory", "catalog", "catalogue", "definition"})  # fmt: skip
"""Words after a table's name that add no meaning: `product_master`, `order_header`."""

MEASURES = frozenset({
    "count", "cnt", "total", "amount", "amt", "price", "qty", "quantity", "size", "length", "width", "height", "weight",
    "age", "year", "month", "day", "week", "hour", "minute", "second", "rate", "ratio", "percent", "pct", "level",
    "rank", "ranking", "position", "pos", "score", "version", "sort", "seq", "sequence", "flag", "value", "cost", "fee",
    "sum", "balance", "discount", "tax", "points", "point", "duration", "date", "time", "timestamp", "datetime", "at",
    "on", "description", "comment", "note", "notes", "text", "latitude", "longitude", "lat", "lng", "lon", "max", "min",
    "avg", "average", "limit", "start", "end", "capacity", "salary", "wage", "income", "revenue", "profit", "budget",
    "speed", "distance", "area", "population", "phone", "fax", "email", "mail", "url", "street", "zip", "password",
    "menge", "preis", "betrag", "anzahl", "summe", "datum", "zeit", "jahr", "monat", "tag", "stand", "wert", "prozent",
    "reihenfolge", "bemerkung", "beschreibung", "telefon", "strasse", "plz", "ort", "title", "name", "gender", "sex",
    "color", "colour", "is", "has", "active", "enabled", "deleted", "years", "days", "hours", "percentage", "index",
    "won", "lost", "played", "number", "times", "quantities", "stock", "grade",
})  # fmt: skip
"""Last words of columns that hold a measure or a text rather than a key, unless a key word follows."""

AMOUNTS = frozenset({"unit", "number", "num", "no", "count", "total", "amount", "quantity", "qty", "max", "min", "avg",
                     "average", "sum", "anzahl", "is", "has", "can", "percent", "share", "cost", "price"})  # fmt: skip
AMOUNT_JOINTS = frozenset({"on", "of", "per", "pro"})
"""Words inside a name that make it a measure: `units_on_order`, `number_of_guests`."""

ATTRIBUTES = MEASURES | {"type", "status", "state", "code", "key", "kind", "category", "class", "group", "label"}
"""Names of key columns that do not show which table they belong to."""

NOT_KEYS = MEASURES | {"type", "status", "kind", "label", "code", "key"}
"""Names that alone do not make a column point to a key of the same name."""

GENERIC_TAILS = frozenset({"type", "status", "line", "item", "detail", "entry", "history", "log", "link", "map",
                           "value", "data", "info", "group", "category", "state", "kind", "class", "note", "rel",
                           "assignment", "relation", "xref", "position", "translation", "text"})  # fmt: skip
"""Last words that many tables share: alone they do not name a table."""

QUALIFIERS = frozenset({"from", "to", "old", "new", "home", "away", "primary", "secondary", "first", "second", "last",
                        "by", "via", "start", "end", "main", "alt", "source", "target", "src", "dst", "dest",
                        "destination", "current", "previous", "original", "von", "nach", "bis", "neu", "in",
                        "out", "for", "at", "of", "a", "b", "one", "two", "default", "other", "origin"})  # fmt: skip
"""Words after a name that distinguish several references: `airport_from`, `address_old_id`."""

PREPOSITIONS = frozenset({"via", "by", "to", "from", "of", "with", "for", "von", "durch", "an", "bei", "in"})

PERSONS = frozenset({"employee", "staff", "mitarbeiter", "angestellter", "personnel", "worker", "user", "benutzer",
                     "anwender", "person", "member", "agent", "teacher", "lecturer", "instructor", "customer", "kunde",
                     "contact", "emp", "librarian", "officer", "author", "player", "student", "personal", "mitglied",
                     "listener", "reader", "client", "patient", "professional", "operator"})  # fmt: skip
"""Tables of people, whose rows may refer to each other as manager, author, friend."""

UPWARD = frozenset({
    "parent", "parents", "reportsto", "reports", "reportto", "superior", "supervisor", "boss", "manager", "mgr",
    "super", "ancestor", "root", "previous", "prev", "next", "predecessor", "successor", "replaces", "replacedby",
    "replyto", "reply", "duplicateof", "mergedinto", "original", "copyof", "belongsto", "vorgesetzter", "vorgesetzte",
    "vater", "eltern", "uebergeordnet", "ueber", "oberkategorie", "vorgaenger", "nachfolger", "padre", "pere", "father",
    "mother", "spouse", "mentor", "leader", "lead", "head", "chief", "inreplyto", "supersedes", "mutter", "partner",
    "jefe", "basedon",
})  # fmt: skip
"""Names for another row of the same table."""

PURELY_UPWARD = frozenset({
    "parent", "parents", "reportsto", "reports", "reportto", "superior", "super", "ancestor", "predecessor",
    "successor", "replaces", "replacedby", "replyto", "inreplyto", "duplicateof", "mergedinto", "copyof",
    "uebergeordnet", "vater", "eltern", "vorgaenger", "nachfolger", "padre", "pere", "prev", "previous", "next",
    "root", "belongsto", "father", "mother", "supersedes", "basedon",
})  # fmt: skip
"""Names that almost always mean the same table."""

_STAFF = ("employee", "staff", "mitarbeiter", "angestellter", "personnel", "worker", "empleado", "personal", "emp",
          "teacher", "lecturer", "instructor", "professor", "faculty", "agent", "user", "benutzer", "person",
          "people", "account", "member", "contact")  # fmt: skip
_USERS = ("user", "benutzer", "anwender", "usuario", "member", "author", "employee", "staff", "mitarbeiter", "person",
          "profile", "login", "account", "contact", "customer")  # fmt: skip
_OWNERS = ("user", "benutzer", "person", "customer", "kunde", "client", "member", "company", "account", "contact",
           "employee", "mitarbeiter")  # fmt: skip
_BUYERS = ("customer", "client", "kunde", "cliente", "buyer", "account", "company", "user", "person", "member", "party",
           "contact", "partner")  # fmt: skip
_PLAYERS = ("player", "team", "club", "contestant", "competitor", "participant", "athlete", "wrestler", "person")
_PLACES = ("airport", "station", "port", "city", "location", "place", "stop", "ort", "warehouse", "address", "country")
_PEOPLE = ("person", "people", "user", "employee", "member", "student", "patient", "customer", "staff", "contact")
_SUPPLIERS = ("supplier", "vendor", "lieferant", "company", "manufacturer", "brand", "producer", "maker", "partner")

BY_SOMEBODY = (*_USERS[:3], "employee", "staff", "mitarbeiter", "member", "person", "operator", "agent", "worker")
"""Tables that `booked_by` and `gebucht_von` refer to."""

ROLES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("manager", "mgr", "rep", "representative", "supervisor", "assignee", "approver", "clerk", "agent", "salesman",
         "salesperson", "seller", "handler", "technician", "inspector", "engineer", "leader", "lead", "head", "chief",
         "boss", "operator", "responsible", "consultant", "director", "chair", "cashier", "driver", "sachbearbeiter",
         "betreuer", "verantwortlicher", "leiter", "vorgesetzter", "bearbeiter", "berater", "vertreter", "verkaeufer",
         "fahrer", "zustaendig", "assignedto", "assigned", "handledby", "approvedby", "approved", "picker", "packer",
         "advisor", "adviser", "coach", "ansprechpartner", "contact", "kontakt", "trainer",
         "soldby", "servedby", "secretary", "dean", "vendedor"),
        _STAFF,
    ),
    **dict.fromkeys(
        ("author", "creator", "editor", "reviewer", "createdby", "created", "updatedby", "updated",
         "modifiedby", "modified", "deletedby", "sender", "recipient", "receiver", "reporter", "uploader", "publisher",
         "moderator", "follower", "followed", "following", "friend", "organizer", "organiser", "host", "admin",
         "poster", "requester", "requestor", "watcher", "voter", "ersteller", "erstelltvon", "angelegtvon", "angelegt",
         "geaendertvon", "geaendert", "absender", "empfaenger", "verfasser", "lastmodifiedby", "changedby",
         "enteredby", "postedby", "closedby", "submitter", "actor", "inviter", "invitee", "liked", "blocked", "changed",
         "entered", "posted", "closed", "invitedby", "performer", "usr", "login"),
        _USERS,
    ),
    **dict.fromkeys(
        ("buyer", "purchaser", "payer", "soldto", "sold", "billto", "shipto", "orderedby", "debtor", "guest", "kaeufer",
         "besteller", "rechnungsempfaenger", "auftraggeber", "tenant", "renter", "borrower", "debitor", "cust"),
        _BUYERS,
    ),
    **dict.fromkeys(("winner", "loser", "captain", "opponent", "scorer", "champion", "home", "away", "host", "guest",
                     "visitor", "runnerup", "striker", "batsman", "bowler"), _PLAYERS),
    **dict.fromkeys(("origin", "destination", "source", "departure", "arrival", "from", "to", "dest", "start", "von",
                     "nach", "abflug", "ankunft", "birthplace", "src", "dst"), _PLACES),
    **dict.fromkeys(("owner", "besitzer", "eigentuemer", "inhaber", "proprietor"), _OWNERS),
    **dict.fromkeys(("husband", "wife", "spouse", "father", "mother", "child", "partner", "beneficiary", "holder",
                     "witness"), _PEOPLE),
    **dict.fromkeys(("manufacturer", "producer", "vendor", "maker", "supplier", "hersteller", "brand", "kreditor",
                     "provider", "distributor", "lieferant"), _SUPPLIERS),
}  # fmt: skip
"""Last word (or joined words) of a column -> tables that contain such a role, the likeliest first."""
