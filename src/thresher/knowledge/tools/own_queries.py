"""Queries made from a tool's own definition: what people would ask of it, by rules.

Name, description and parameters each give a query, and verbs of the same meaning give two more: a tool that none of
them finds is found by nobody who does not know its name.

Invariant: pure. The same definition always gives the same queries, and no query contains the tool's name as an
identifier, which a search would always find.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast

from thresher.core import Tool, first_sentence
from thresher.knowledge.tools.models import plain_name
from thresher.search import split_name, terms

MOST_QUERIES: Final = 5
"""Queries of a tool at most."""
_SENTENCE_WORDS: Final = 14
_QUERY_PARAMETERS: Final = 3

_VERBS: Final = """
accept: agree to, take
add: insert, append, put in, attach
activate: enable, switch on, turn on
analyze: examine, study, inspect
answer: reply to, respond to
append: add, attach, put at the end
apply: use, carry out
approve: accept, confirm, agree to
archive: put away, store
ask: query, question
assign: give, allocate, set
attach: add, join
authenticate: sign in, log in
book: reserve, order
build: make, compile, construct
buy: order, purchase
calculate: compute, work out, figure out
call: invoke, run
cancel: stop, call off, abort
capture: take, record, grab
change: alter, modify, edit
check: verify, test, look at
checkout: switch to, change to
choose: pick, select
classify: sort, categorize, label
clear: empty, delete, reset
click: press, tap
clone: copy, duplicate
close: shut, end, finish
combine: merge, join, put together
commit: record, save, check in
compare: contrast, tell the differences of, diff
compress: shrink, zip, pack
compute: calculate, work out
configure: set up, adjust
connect: link, join
convert: turn, transform, change
copy: duplicate, clone
count: tell the number of, tally
create: make, set up, add
crop: cut, trim
deactivate: disable, switch off
debug: troubleshoot, find errors in
decode: decipher, unpack
decrypt: decipher, unlock
delete: remove, erase, get rid of
deploy: release, roll out
describe: explain, tell about, outline
detect: find, recognize, spot
diff: compare, show the changes of
disable: switch off, turn off, deactivate
disconnect: unlink, cut off
display: show, present
download: fetch, save, get
draw: sketch, paint, plot
drop: delete, remove
duplicate: copy, clone
echo: repeat, send back
edit: change, modify, alter
enable: switch on, turn on, activate
encode: pack, encipher
encrypt: lock, encipher
enumerate: list, show all
estimate: guess, reckon
evaluate: assess, rate, judge
execute: run, perform, carry out
explain: describe, clarify
export: save, write out, download
extract: pull out, take out, get
fetch: download, retrieve, load
fill: complete, enter
filter: narrow down, select
find: look for, locate, search for
follow: track, subscribe to
forecast: predict, foresee
format: lay out, style
generate: make, create, produce
get: fetch, retrieve, look up
give: hand, provide
group: bundle, sort
identify: recognize, tell, find out
import: load, bring in, read in
initialize: set up, start
insert: add, put in
inspect: look at, examine
install: set up, add
invite: ask to join, add
invoke: call, run
join: combine, merge
launch: start, open, run
limit: restrict, cap
link: connect, join
list: show all, enumerate, see every
load: read, open, fetch
locate: find, look for
lock: block, secure
lookup: find, search for, look up
manage: handle, administer
mark: tag, flag, label
merge: combine, join, put together
modify: change, edit, alter
monitor: watch, track, keep an eye on
move: transfer, shift, relocate
navigate: go to, browse to, open
notify: tell, alert, inform
open: show, launch, load
optimize: improve, tune
order: buy, book
parse: read, interpret, analyze
pause: hold, stop for a while
pay: settle, transfer money for
play: start, listen to
plot: draw, chart, graph
post: publish, send, submit
predict: forecast, foresee
print: show, output
publish: release, post, put online
pull: fetch, get
push: upload, send
query: ask, search, look up
rank: order, sort
rate: score, evaluate
read: open, view, look at, see
recognize: identify, detect
recommend: suggest, advise
record: save, note, capture
refresh: reload, update
register: enrol, sign up, add
reject: refuse, decline, turn down
release: publish, free
remember: keep in mind, store, note
remove: delete, take out, get rid of
rename: change the name of, give a new name to
render: draw, show
replace: substitute, swap, exchange
reply: answer, respond
report: tell, summarize
request: ask for, apply for
reserve: book, keep
reset: clear, restore, set back
resize: scale, change the size of
resolve: settle, solve, look up
restart: start again, reboot
restore: bring back, recover
resume: continue, go on with
retrieve: get, fetch, look up
return: give back, get, show
reverse: turn around, undo
revert: undo, take back, roll back
review: look over, check
revoke: withdraw, cancel
rotate: turn, spin
run: execute, start, perform
sample: pick some of, draw
save: store, keep, write
scan: look through, examine
schedule: plan, arrange, book
scrape: extract, collect
screenshot: take a picture of, capture
search: look for, find, look up
select: choose, pick
send: deliver, transmit, post
set: change, assign, define
share: give access to, pass on
show: display, view, let me see
sign: authorize, put a signature on
simulate: model, imitate
solve: work out, find the solution of
sort: order, arrange
split: divide, cut, separate
stage: prepare, add
start: begin, launch, run
stop: end, halt, quit
store: save, keep, put away
submit: send in, hand in, post
subscribe: follow, sign up for
suggest: recommend, propose
summarize: sum up, shorten, give the gist of
switch: change to, go to
sync: synchronize, bring up to date
synchronize: sync, bring up to date
tag: label, mark
test: check, try out
track: follow, watch
train: teach, fit
transcribe: write down, turn into text
transfer: move, send, pass
transform: convert, change, turn
translate: put into another language, interpret
trigger: start, set off
trim: cut, shorten
type: enter, write
undo: take back, revert
uninstall: remove, take off
unlock: open, free
unsubscribe: stop following, leave
update: change, edit, modify
upload: send, put online, transfer
validate: check, verify
verify: check, confirm
view: see, look at, show
visit: go to, open
wait: pause, hold on
watch: observe, follow, monitor
wrap: pack, enclose
write: save, put down, store
"""
"""Verbs of tools, each with some of the same meaning."""

_LEAD: Final = re.compile(
    r"^(?:(?:this|the|a|an)\s+)?(?:\w+\s+)?(?:tool|function|endpoint|method|command|utility)\s+"
    r"(?:(?:that|which|to|for|will|can|is|be|used|allows?|lets?|you|helps?)\s+)*"
    r"|^(?:use (?:this|it)(?: tool)?|allows?|lets?|helps?|used|can be used|provides? (?:a way|the ability))\s+"
    r"(?:(?:to|when|for|you|users?|the user|if)\s+)*",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_][\w'-]*")
_BRACKETS: Final = re.compile(r"\([^)]*\)|\[[^\]]*\]|\"")


@cache
def _synonyms() -> Mapping[str, tuple[str, ...]]:
    lines = (line.partition(": ") for line in _VERBS.strip().splitlines())
    return {verb: tuple(others.split(", ")) for verb, _, others in lines}


@cache
def _by_term() -> Mapping[str, str]:
    """Each verb by its index term, which its inflections share."""
    return {term: verb for verb in reversed([*_synonyms()]) for term in terms(verb)[:1]}


def verb_of(word: str) -> str:
    """Return the known verb of which a word is a form; empty if there is none."""
    return _by_term().get(next(iter(terms(word)), ""), "")


def verb_synonyms(verb: str) -> tuple[str, ...]:
    """Return verbs of the same meaning, the nearest first; none for an unknown verb."""
    return _synonyms().get(verb, ())


@dataclass(frozen=True, slots=True)
class Action:
    """What a tool's name says.

    Attributes:
        verb: Its verb, as known; empty if it has none.
        object: Its other words, without those of its server.
        words: All its words.
    """

    verb: str
    object: str
    words: str


def action_of(tool: Tool) -> Action:
    """Read a tool's name."""
    words = split_name(tool.name).lower().split()
    own = _without_server(words, split_name(plain_name(tool.server)).lower().split())
    # The first word is the verb, if it is one; a last one often is (`file_read`).
    places = [0, len(own) - 1, *range(1, len(own) - 1)]
    place = next((place for place in places if own and verb_of(own[place])), None)
    verb = "" if place is None else verb_of(own[place])
    others = [word for number, word in enumerate(own) if number != place]
    if verb and others[0:1] and others[0] in ("to", "in", "into", "on") and len(others) > 1:
        others = others[1:]  # `write_to_sheet`
    return Action(verb, " ".join(others), " ".join(words))


def _without_server(words: list[str], server: Sequence[str]) -> list[str]:
    """The words of a name without the name of its server before or after them, if any are left."""
    for size in range(min(len(server), len(words) - 1), 0, -1):
        if words[:size] == list(server[:size]):
            return words[size:]
    return words


def request_of(sentence: str) -> str:
    """Return a sentence of a description as a request: "Returns the tags of a post." is "return the tags of a post"."""
    text = _BRACKETS.sub(" ", sentence)
    text = _LEAD.sub("", " ".join(text.split()))
    first, _, rest = text.strip().rstrip(".!?:;").partition(" ")
    verb = verb_of(first) if _WORD.fullmatch(first) else ""
    words = [verb or (first if first.isupper() else first[:1].lower() + first[1:]), *rest.split()]
    return " ".join(words[:_SENTENCE_WORDS]).strip(" ,-")


def parameter_words(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a tool's parameters as words, required ones first."""
    properties = schema.get("properties")
    names = list(cast("Mapping[str, Any]", properties)) if isinstance(properties, Mapping) else []
    required = schema.get("required")
    needed = set(cast("list[Any]", required)) if isinstance(required, list) else set[Any]()
    return tuple(split_name(name).lower() for name in sorted(names, key=lambda name: name not in needed))


def own_queries(tool: Tool) -> tuple[str, ...]:
    """Return the queries that a tool should be found by: `MOST_QUERIES` at most, fewer if its definition says little.

    They are its name in words, its first sentence as a request, two with verbs of the same meaning, and one with its
    parameters.
    """
    action = action_of(tool)
    request = request_of(first_sentence(tool.description or tool.title))
    verb, thing = action.verb or verb_of(request.partition(" ")[0]), action.object
    others = [*verb_synonyms(verb), "", ""]
    after = request.partition(" ")[2] if verb_of(request.partition(" ")[0]) else ""
    parameters = " and ".join(parameter_words(tool.input_schema)[:_QUERY_PARAMETERS])
    return distinct(
        (
            action.words,
            request,
            f"{others[0]} {thing}" if others[0] and thing else "",
            f"{others[1]} {after or thing}" if others[1] else "",
            f"{verb} {thing} with {parameters}" if parameters else "",
        )
    )


def distinct(queries: Iterable[str]) -> tuple[str, ...]:
    """Return queries without repeats; single words, which fit many tools, only if there is nothing else."""
    texts = dict.fromkeys(" ".join(query.split()) for query in queries)
    longer = tuple(text for text in texts if " " in text)
    return (longer or tuple(text for text in texts if len(text) > 1))[:MOST_QUERIES]
