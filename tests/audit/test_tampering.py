"""A change of the log behind its back is found: by the owner of the database, with every trigger off."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import psycopg
import pytest

from tests.audit.conftest import attempt
from tests.support import Databases
from thresher.audit import AuditLog, StatementOutcome, Verification
from thresher.core import AuditBroken, Caller, Tenant
from thresher.store import Database, SecretBox

LINKS = 6
"""Of the chain that each test tampers with: see `chain`."""
MINE = "tenant_id = {tenant}"
COPY = """insert into audit_link
  select {tenant}, {place}, key, previous, hash, kind, at, owner, trace_id, subject, actor, client, model, thread,
         connection, dialect, sql, tool, allowed, rule, outcome, rows, ms, note
  from audit_link where """
CUT = "delete from audit_link where tenant_id = {tenant} and id > 4"
EDITS: dict[str, list[str]] = {
    "the statement": ["update audit_link set sql = 'select 2' where tenant_id = {tenant} and id = 1"],
    "a space in the statement": ["update audit_link set sql = sql || ' ' where tenant_id = {tenant} and id = 1"],
    "who": ["update audit_link set actor = 'eve' where tenant_id = {tenant} and id = 1"],
    "whose": ["update audit_link set owner = 'eve' where tenant_id = {tenant} and id = 1"],
    "the client": ["update audit_link set client = '' where tenant_id = {tenant} and id = 1"],
    "the model": ["update audit_link set model = 'm' where tenant_id = {tenant} and id = 1"],
    "the thread": ["update audit_link set thread = '' where tenant_id = {tenant} and id = 1"],
    "the connection": ["update audit_link set connection = 'x' where tenant_id = {tenant} and id = 1"],
    "the dialect": ["update audit_link set dialect = 'x' where tenant_id = {tenant} and id = 1"],
    "the tool": ["update audit_link set tool = 'x' where tenant_id = {tenant} and id = 1"],
    "the trace": ["update audit_link set trace_id = 'x' where tenant_id = {tenant} and id = 1"],
    "the verdict": ["update audit_link set allowed = true, rule = '' where tenant_id = {tenant} and id = 3"],
    "the verdict to none": ["update audit_link set allowed = null where tenant_id = {tenant} and id = 3"],
    "the rule": ["update audit_link set rule = 'clause' where tenant_id = {tenant} and id = 3"],
    "the time, by a microsecond": [
        "update audit_link set at = at + interval '1 microsecond' where tenant_id = {tenant} and id = 1"
    ],
    "how it ended": ["update audit_link set outcome = 'error' where tenant_id = {tenant} and id = 2"],
    "the rows": ["update audit_link set rows = 0 where tenant_id = {tenant} and id = 2"],
    "the milliseconds": ["update audit_link set ms = ms + 1e-9 where tenant_id = {tenant} and id = 2"],
    "the error": ["update audit_link set note = 'x' where tenant_id = {tenant} and id = 2"],
    "which decision an outcome belongs to": ["update audit_link set subject = 4 where tenant_id = {tenant} and id = 2"],
    "a decision to an outcome": ["update audit_link set kind = 'outcome' where tenant_id = {tenant} and id = 1"],
    "the hash": [r"update audit_link set hash = '\x00' where tenant_id = {tenant} and id = 1"],
    "the hash before": [r"update audit_link set previous = '\x00' where tenant_id = {tenant} and id = 2"],
    "the key's name": [r"update audit_link set key = '\x00' where tenant_id = {tenant} and id = 1"],
    "the first link is gone": ["delete from audit_link where tenant_id = {tenant} and id = 1"],
    "a link in the middle is gone": ["delete from audit_link where tenant_id = {tenant} and id = 3"],
    "a link is gone and the rest moved up": [
        "delete from audit_link where tenant_id = {tenant} and id = 3",
        "update audit_link set id = id - 1 where tenant_id = {tenant} and id = 4",
        "update audit_link set id = id - 1 where tenant_id = {tenant} and id = 5",
        "update audit_link set id = id - 1 where tenant_id = {tenant} and id = 6",
    ],
    "two links changed places": [
        "update audit_link set id = 100 where tenant_id = {tenant} and id = 1",
        "update audit_link set id = 1 where tenant_id = {tenant} and id = 3",
        "update audit_link set id = 3 where tenant_id = {tenant} and id = 100",
    ],
    "two statements changed places": [
        "update audit_link a set sql = b.sql from audit_link b where a.tenant_id = {tenant} and b.tenant_id = {tenant}"
        " and a.id in (1, 4) and b.id in (1, 4) and a.id <> b.id"
    ],
    "the last link is gone": ["delete from audit_link where tenant_id = {tenant} and id = 6"],
    "the tail is gone": [CUT],
    "all links are gone": ["delete from audit_link where tenant_id = {tenant}"],
    "the tail is gone and the head says so": [
        CUT,
        "update audit_head h set id = 4, hash = l.hash from audit_link l"
        " where h.tenant_id = {tenant} and l.tenant_id = {tenant} and l.id = 4",
    ],
    "the head is gone": ["delete from audit_head where tenant_id = {tenant}"],
    "links and head are gone": [
        "delete from audit_link where tenant_id = {tenant}",
        "delete from audit_head where tenant_id = {tenant}",
    ],
    "the head's place": ["update audit_head set id = 9 where tenant_id = {tenant}"],
    "the head's hash": [r"update audit_head set hash = '\x00' where tenant_id = {tenant}"],
    "the head's seal": [r"update audit_head set seal = '\x00' where tenant_id = {tenant}"],
    "a link was added": [COPY.replace("{place}", "7") + "tenant_id = {tenant} and id = 6"],
    "a link was added and the head moved": [
        COPY.replace("{place}", "7") + "tenant_id = {tenant} and id = 6",
        "update audit_head set id = 7 where tenant_id = {tenant}",
    ],
    "a link of another tenant was put in": [
        "delete from audit_link where tenant_id = {tenant} and id = 1",
        COPY.replace("{place}", "1") + "tenant_id = {other} and id = 1",
    ],
    "the whole chain and head of another tenant": [
        "delete from audit_link where tenant_id = {tenant}",
        COPY.replace("{place}", "id") + "tenant_id = {other}",
        "update audit_head h set id = o.id, hash = o.hash, seal = o.seal from audit_head o"
        " where h.tenant_id = {tenant} and o.tenant_id = {other}",
    ],
    "a forged pruning": [
        "delete from audit_link where tenant_id = {tenant} and id <= 2",
        COPY.replace("{place}", "7") + "tenant_id = {tenant} and id = 6",
        "update audit_link set kind = 'pruned', subject = 2 where tenant_id = {tenant} and id = 7",
    ],
    "a forged new beginning": [
        "update audit_link set sql = 'x' where tenant_id = {tenant} and id = 1",
        "update audit_link set kind = 'restarted', subject = 5 where tenant_id = {tenant} and id = 6",
    ],
}


@dataclass
class Owner:
    """The owner of the database: no trigger and no policy stops them. They have no key."""

    address: str
    names: dict[str, int] = field(default_factory=dict[str, int])

    async def run(self, *statements: str) -> None:
        """Run statements that name tenants."""
        async with await psycopg.AsyncConnection.connect(self.address) as connection:
            await connection.execute("set session_replication_role = replica")
            for statement in statements:
                await connection.execute(statement.format(**self.names).encode())


@pytest.fixture
def owner(databases: Databases, database: Database, tenant: Tenant, other_tenant: Tenant) -> Owner:
    """The owner of the module's database."""
    name = re.search(r"test_[0-9a-f]+", database.address)
    assert name
    return Owner(databases.url(name[0], "thresher_admin"), {"tenant": tenant.id, "other": other_tenant.id})


@pytest.fixture
async def chain(log: AuditLog, caller: Caller, other_tenant: Tenant) -> Verification:
    """Two chains of six: ran, refused, failed, and one that never ended."""
    for who in (caller, Caller(other_tenant)):
        first = await log.decide(who, attempt("select a"))
        await log.end(who, first, StatementOutcome("ok", 3, 1.5))
        await log.decide(who, attempt("delete from b", allowed=False))
        third = await log.decide(who, attempt("select c"))
        await log.end(who, third, StatementOutcome("error", 0, 0.25, "no such table"))
        await log.decide(who, attempt("select pg_sleep(1)"))
    return await log.verify(caller.tenant)


async def test_an_untouched_chain_is_sound(chain: Verification) -> None:
    """A statement without an outcome is told, and is no tampering."""
    assert (chain.links, chain.entries, chain.anchored, chain.sound) == (LINKS, 4, LINKS, True)
    assert [(one.kind, one.id, one.fatal) for one in chain.problems] == [("without outcome", 6, False)]
    assert re.fullmatch("6:[0-9a-f]{64}", chain.head)


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.usefixtures("chain")
async def test_an_edit_is_found(log: AuditLog, tenant: Tenant, owner: Owner, edit: str) -> None:
    """Each kind of edit, made by the owner of the database."""
    await owner.run(*EDITS[edit])

    found = await log.verify(tenant)

    assert not found.sound, edit


@pytest.mark.parametrize("edit", [edit for edit in EDITS if edit != "links and head are gone"])
async def test_an_edit_is_found_without_a_note_beside_the_database(
    database: Database, secrets: SecretBox, chain: Verification, tenant: Tenant, owner: Owner, edit: str
) -> None:
    """But for a log that is gone altogether, the chain tells by itself; the owner may ask from another machine."""
    await owner.run(*EDITS[edit])

    found = await AuditLog(database, secrets).verify(tenant)

    assert chain.sound
    assert not found.sound, edit


@pytest.mark.parametrize("known", ["note", "head"])
async def test_a_log_that_was_taken_back_whole_is_found(
    database: Database, secrets: SecretBox, log: AuditLog, chain: Verification, caller: Caller, owner: Owner, known: str
) -> None:
    """An earlier state is a sound chain in itself: the note in the data folder, or a head that was kept, tells."""
    await owner.run("create table if not exists kept as table audit_head", "delete from kept")
    await owner.run("insert into kept select * from audit_head where tenant_id = {tenant}")
    await log.decide(caller, attempt("drop table secrets", allowed=False))
    later = await log.verify(caller.tenant)
    await owner.run(
        "delete from audit_link where tenant_id = {tenant} and id = 7",
        "delete from audit_head where tenant_id = {tenant}",
        "insert into audit_head select * from kept",
        "drop table kept",
    )

    other = AuditLog(database, secrets)
    found = await (log.verify(caller.tenant) if known == "note" else other.verify(caller.tenant, expect=later.head))

    assert (await other.verify(caller.tenant)).head == chain.head
    assert [one.kind for one in found.problems if one.fatal] == ["anchor" if known == "note" else "expected"]


async def test_an_earlier_head_stays_true(log: AuditLog, chain: Verification, caller: Caller) -> None:
    """What was noted holds however much is written after."""
    await log.decide(caller, attempt())

    assert (await log.verify(caller.tenant, expect=chain.head)).sound
    assert not (await log.verify(caller.tenant, expect=f"3:{chain.head.partition(':')[2]}")).sound


@pytest.mark.parametrize(
    "edit",
    [
        "the head is gone",
        "the head's hash",
        "the head's seal",
        "the tail is gone and the head says so",
        "a link was added",
    ],
)
@pytest.mark.usefixtures("chain")
async def test_nothing_is_added_to_a_log_that_was_tampered_with(
    database: Database, secrets: SecretBox, caller: Caller, owner: Owner, edit: str
) -> None:
    """So no statement runs, and a new beginning says what it stands on."""
    await owner.run(*EDITS[edit])
    log = AuditLog(database, secrets)

    with pytest.raises(AuditBroken, match="audit verify"):
        await log.decide(caller, attempt())
    beginning = await log.restart(caller.tenant)
    await log.decide(caller, attempt())

    found = await log.verify(caller.tenant)
    assert found.sound, found.problems
    assert ("restarted", beginning) in {(one.kind, one.id) for one in found.problems}


@pytest.mark.usefixtures("chain")
async def test_a_process_that_knows_more_than_the_head_says_so(log: AuditLog, caller: Caller, owner: Owner) -> None:
    """A log that is taken back under a running process is noticed with the next line."""
    await owner.run(*EDITS["the tail is gone and the head says so"])

    with pytest.raises(AuditBroken, match=r"was cut|head that was changed"):
        await log.decide(caller, attempt())
