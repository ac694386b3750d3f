"""The world and the tasks of `benchmarks programs`: a made repository, folders, a graph, and twelve things to do there.

A task's program calls tools as `server.tool(...)`, and its last expression is the answer; beside it stands how the
answer follows from the world.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

AUTHORS = ("Ada Meyer", "Bo Lindqvist", "Chidi Okafor", "Dana Petrova", "Emre Kaya")
REGIONS = ("north", "south", "east", "west")
ITEMS = ("lamp", "desk", "chair", "shelf", "rug", "clock")
PARTS = ("billing", "search", "upload", "mailer")
ZONES = ("America/New_York", "Asia/Tokyo", "Europe/London", "Asia/Kolkata", "Australia/Sydney", "America/Sao_Paulo")
COMMITS = 40


@dataclass
class World:
    """What the tools find.

    Attributes:
        repository: A repository.
        folder: A folder of files.
        memory: The file of the graph.
        commits: Author, message and added lines of each commit, oldest first.
        sales: Month, region, item, pieces, price.
        lines: Log, level, part, milliseconds, request.
        notes: Name of a note, its owner, open items, finished ones, the request that it tells of.
        meetings: Title, zone, local time.
        people: Name, team, and to whom they report.
    """

    repository: Path
    folder: Path
    memory: Path
    commits: list[tuple[str, str, int]]
    sales: list[tuple[str, str, str, int, int]]
    lines: list[tuple[str, str, str, int, str]]
    notes: list[tuple[str, str, int, int, str]]
    meetings: list[tuple[str, str, str]]
    people: list[tuple[str, str, str]]

    def reset(self) -> None:
        """Undo what tasks have written."""
        (self.folder / "totals.csv").unlink(missing_ok=True)
        entities = [
            {
                "type": "entity",
                "name": name,
                "entityType": "person",
                "observations": [f"team: {team}", "joined in 2024"],
            }
            for name, team, _ in self.people
        ]
        relations = [
            {"type": "relation", "from": name, "to": boss, "relationType": "reports_to"}
            for name, _, boss in self.people
            if boss
        ]
        self.memory.write_text("\n".join(map(json.dumps, [*entities, *relations])), encoding="utf-8")


@dataclass(frozen=True)
class Task:
    """One thing to do.

    Attributes:
        name: Its name.
        message: What a user asks.
        program: The program; R and F stand for the repository and the folder.
        answer: How the answer follows from the world.
        writes: The tools in it that change something.
    """

    name: str
    message: str
    program: str
    answer: Callable[[World], Any]
    writes: tuple[str, ...] = ()

    def code(self, world: World) -> str:
        """The program with its paths."""
        return f"R = {str(world.repository)!r}\nF = {str(world.folder)!r}\n{self.program.strip()}"


def make(place: Path) -> World:
    """Make the world; the same each time."""
    chance = random.Random(20)
    folder, repository = place / "files", place / "repository"
    sales = [
        (
            f"2026-{month:02}",
            chance.choice(REGIONS),
            chance.choice(ITEMS),
            chance.randint(1, 20),
            chance.randint(5, 400),
        )
        for month in range(1, 13)
        for _ in range(40)
    ]
    lines = [
        (f"day-{day}", chance.choices(("INFO", "WARN", "ERROR"), (80, 12, 8))[0], chance.choice(PARTS), ms, f"r{n:05}")
        for n, (day, ms) in enumerate((day, chance.randint(3, 4000)) for day in range(1, 6) for _ in range(120))
    ]
    slowest = max(lines, key=lambda one: one[3])[4]
    notes = [
        (f"note-{n:02}", chance.choice(AUTHORS), chance.randint(0, 5), chance.randint(0, 4), f"r{9000 + n:05}")
        for n in range(20)
    ]
    notes[13] = (*notes[13][:4], slowest)
    meetings = [
        (f"Meeting {n}", chance.choice(ZONES), f"{chance.randint(7, 17):02}:{chance.choice((0, 15, 30, 45)):02}")
        for n in range(16)
    ]
    people = [(f"Person {n}", chance.choice(PARTS), f"Person {n // 4}" if n % 7 and n > 3 else "") for n in range(30)]
    repository.mkdir()
    world = World(
        repository, folder, place / "memory.jsonl", _commits(repository, chance), sales, lines, notes, meetings, people
    )
    _files(world, chance)
    world.reset()
    return world


def _commits(repository: Path, chance: random.Random) -> list[tuple[str, str, int]]:
    def git(*arguments: str, **more: str) -> None:
        subprocess.run(["git", *arguments], cwd=repository, env={**os.environ, **more}, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    commits: list[tuple[str, str, int]] = []
    at = datetime(2026, 1, 5, 9, tzinfo=UTC)
    sizes = chance.sample(range(2, 60), COMMITS)
    for n, size in enumerate(sizes):
        author, kind = chance.choice(AUTHORS), chance.choice(("Add", "Fix", "Speed up", "Document"))
        part = chance.choice(PARTS)
        with (repository / f"{part}.py").open("a", encoding="utf-8") as file:
            file.writelines(f"value_{n}_{line} = {chance.randint(1, 10**6)}\n" for line in range(size))
        at += timedelta(hours=chance.randint(5, 60))
        git("add", ".")
        name = {"NAME": author, "EMAIL": f"{author.split()[0].lower()}@example.org", "DATE": at.isoformat()}
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in name.items()}
        message = f"{kind} {part} number {n}"
        git("commit", "-q", "-m", message, **who)
        commits.append((author, message, size))
    return commits


def _files(world: World, chance: random.Random) -> None:
    def write(path: str, lines: list[str]) -> None:
        file = world.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    for month in sorted({one[0] for one in world.sales}):
        rows = [",".join(map(str, one)) for one in world.sales if one[0] == month]
        write(f"sales/{month}.csv", ["month,region,item,pieces,price", *rows])
    for day in sorted({one[0] for one in world.lines}):
        rows = [
            f"2026-03-0{day[-1]}T10:{n // 60:02}:{n % 60:02}Z {level} {part} handled request={request} ms={ms}"
            for n, (log, level, part, ms, request) in enumerate(world.lines)
            if log == day
        ]
        write(f"logs/{day}.log", rows)
    for name, owner, todo, done, request in world.notes:
        items = [f"- [ ] write to customer {chance.randint(100, 999)}" for _ in range(todo)]
        items += [f"- [x] call customer {chance.randint(100, 999)}" for _ in range(done)]
        write(
            f"notes/{name}.md", [f"# {name}", f"Owner: {owner}", f"A customer asked about request {request}.", *items]
        )
    write("meetings.csv", ["title,zone,time", *(",".join(one) for one in world.meetings)])


def _amsterdam(world: World) -> dict[str, str]:
    today, there = datetime.now(UTC).date(), ZoneInfo("Europe/Amsterdam")
    found: dict[str, str] = {}
    for title, zone, time in world.meetings:
        hour, minute = map(int, time.split(":"))
        at = datetime(today.year, today.month, today.day, hour, minute, tzinfo=ZoneInfo(zone)).astimezone(there)
        if 8 <= at.hour < 18:
            found[title] = at.strftime("%H:%M")
    return found


def _growth(world: World) -> list[Any]:
    def pieces(month: str, item: str) -> int:
        return sum(one[3] for one in world.sales if one[0] == month and one[2] == item)

    return max([pieces("2026-12", item) - pieces("2026-01", item), item] for item in ITEMS)


def _totals(world: World) -> dict[str, int]:
    return {r: sum(one[3] * one[4] for one in world.sales if one[1] == r) for r in sorted(REGIONS)}


def _slow_note(world: World) -> str:
    slowest = max(world.lines, key=lambda one: one[3])[4]
    return next(f"{one[0]}.md" for one in world.notes if one[4] == slowest)


def _part_sizes(world: World) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for _, message, size in world.commits[-12:]:
        sizes[message.split()[-3] + ".py"] += size
    return dict(sorted(sizes.items()))


_SALES = """
names = (await filesystem.list_directory(path=F + '/sales'))['content'].split()[1::2]
text = (await filesystem.read_multiple_files(paths=[F + '/sales/' + n for n in names]))['content']
rows = [l.split(',') for l in text.splitlines() if l.startswith('2026-')]
"""
_LOG_LINES = """
names = (await filesystem.list_directory(path=F + '/logs'))['content'].split()[1::2]
text = (await filesystem.read_multiple_files(paths=[F + '/logs/' + n for n in names]))['content']
"""
_LOG = """
log = await git.git_log(repo_path=R, max_count=100)
"""

TASKS = (
    Task(
        "commits-by-author",
        "Count the commits of each author in the git log of the repository.",
        _LOG
        + """
authors = [l[8:] for l in log.splitlines() if l.startswith('Author: ')]
{a: authors.count(a) for a in sorted(set(authors))}""",
        lambda world: dict(sorted(Counter(one[0] for one in world.commits).items())),
    ),
    Task(
        "largest-commit",
        "Which commit in the git log added the most lines? Show each commit and name the message of the largest.",
        _LOG
        + """
import asyncio
ids = [l.split()[1] for l in log.splitlines() if l.startswith('Commit: ')]
shown = await asyncio.gather(*[git.git_show(repo_path=R, revision=i) for i in ids])
added = [sum(l.startswith('+') and not l.startswith('+++') for l in s.splitlines()) for s in shown]
messages = [l[9:] for l in log.splitlines() if l.startswith('Message: ')]
[max(added), messages[added.index(max(added))]]""",
        lambda world: max([size, message] for _, message, size in world.commits),
    ),
    Task(
        "lines-by-file",
        "How many lines did the last 12 commits of the git repository add to each file? Use the log and show them.",
        """
log = await git.git_log(repo_path=R, max_count=12)
sizes = {}
for line in log.splitlines():
    if line.startswith('Commit: '):
        for l in (await git.git_show(repo_path=R, revision=line.split()[1])).splitlines():
            if l.startswith('+++ '):
                name = l.split('/')[-1].strip()
            elif l.startswith('+'):
                sizes[name] = sizes.get(name, 0) + 1
{n: sizes[n] for n in sorted(sizes)}""",
        _part_sizes,
    ),
    Task(
        "sales-by-region",
        "Total the sales of each region over all CSV files in the sales directory: list it and read the files.",
        _SALES
        + """
total = {}
for _, region, _, pieces, price in rows:
    total[region] = total.get(region, 0) + int(pieces) * int(price)
{r: total[r] for r in sorted(total)}""",
        _totals,
    ),
    Task(
        "growth-of-items",
        "Which item grew most in pieces sold between the January and the December file? Read both text files.",
        """
def pieces(text):
    sums = {}
    for row in text.splitlines()[1:]:
        _, _, item, n, _ = row.split(',')
        sums[item] = sums.get(item, 0) + int(n)
    return sums
a = pieces((await filesystem.read_text_file(path=F + '/sales/2026-01.csv'))['content'])
b = pieces((await filesystem.read_text_file(path=F + '/sales/2026-12.csv'))['content'])
max([b[i] - a.get(i, 0), i] for i in b)""",
        _growth,
    ),
    Task(
        "errors-by-part",
        "Count the ERROR lines of each component over all log files: list the directory and read the files.",
        _LOG_LINES
        + """
parts = [l.split()[2] for l in text.splitlines() if ' ERROR ' in l]
{p: parts.count(p) for p in sorted(set(parts))}""",
        lambda world: dict(sorted(Counter(one[2] for one in world.lines if one[1] == "ERROR").items())),
    ),
    Task(
        "note-of-the-slowest-request",
        "Find the slowest request in the log files, and which note mentions it: list directories, read the files.",
        _LOG_LINES
        + """
slow = max((l.split() for l in text.splitlines() if ' ms=' in l), key=lambda w: int(w[-1][3:]))
request = slow[-2].split('=')[1]
notes = (await filesystem.list_directory(path=F + '/notes'))['content'].split()[1::2]
both = (await filesystem.read_multiple_files(paths=[F + '/notes/' + n for n in notes]))['content']
[part.split('/')[-1] for part in both.split(request)[0].splitlines() if part.endswith('.md:')][-1][:-1]""",
        _slow_note,
    ),
    Task(
        "meetings-in-office-hours",
        "Read the meetings file, convert each time to Europe/Amsterdam, and list those between 8 and 18 there.",
        """
import asyncio
text = (await filesystem.read_text_file(path=F + '/meetings.csv'))['content']
rows = [l.split(',') for l in text.splitlines()[1:]]
there = await asyncio.gather(*[
    time.convert_time(source_timezone=z, time=t, target_timezone='Europe/Amsterdam') for _, z, t in rows])
at = [t['target']['datetime'][11:16] for t in there]
{r[0]: t for r, t in zip(rows, at) if '08:00' <= t < '18:00'}""",
        _amsterdam,
    ),
    Task(
        "people-without-a-manager",
        "Who in the knowledge graph reports to nobody? Read the graph and count them by team.",
        """
graph = await memory.read_graph()
led = {r['from'] for r in graph['relations'] if r['relationType'] == 'reports_to'}
teams = [e['observations'][0][6:] for e in graph['entities'] if e['name'] not in led]
{t: teams.count(t) for t in sorted(set(teams))}""",
        lambda world: dict(sorted(Counter(team for _, team, boss in world.people if not boss).items())),
    ),
    Task(
        "open-items-by-owner",
        "Count the open check boxes of each owner over all notes: list the directory and read the files.",
        """
names = (await filesystem.list_directory(path=F + '/notes'))['content'].split()[1::2]
text = (await filesystem.read_multiple_files(paths=[F + '/notes/' + n for n in names]))['content']
count = {}
for line in text.splitlines():
    if line.startswith('Owner: '):
        owner = line[7:]
        count[owner] = count.get(owner, 0)
    elif line.startswith('- [ ]'):
        count[owner] += 1
{o: count[o] for o in sorted(count)}""",
        lambda world: {
            owner: sum(one[2] for one in world.notes if one[1] == owner)
            for owner in sorted({one[1] for one in world.notes})
        },
    ),
    Task(
        "write-totals",
        "Write a file totals.csv with the sales of each region: list the directory, read the files, write the file.",
        _SALES
        + """
total = {}
for _, region, _, pieces, price in rows:
    total[region] = total.get(region, 0) + int(pieces) * int(price)
lines = [f'{r},{total[r]}' for r in sorted(total)]
await filesystem.write_file(path=F + '/totals.csv', content='\\n'.join(lines))
(await filesystem.read_text_file(path=F + '/totals.csv'))['content'].split()""",
        lambda world: [f"{region},{total}" for region, total in _totals(world).items()],
        ("filesystem_write_file",),
    ),
    Task(
        "remember-authors",
        "Create an entity in the knowledge graph for each author in the git log, and count the graph's entities.",
        _LOG
        + """
authors = [l[8:] for l in log.splitlines() if l.startswith('Author: ')]
new = [
    {'name': a, 'entityType': 'author', 'observations': [f'{authors.count(a)} commits']} for a in sorted(set(authors))
]
await memory.create_entities(entities=new)
len((await memory.read_graph())['entities'])""",
        lambda world: len(world.people) + len({one[0] for one in world.commits}),
        ("memory_create_entities",),
    ),
)
