"""Random texts full of quotes, comments and brackets: a call that the engine sees is one that the guard has seen."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing, suppress

from thresher.sqlguard import judge

PIECES = [
    *(
        "'",
        '"',
        "\\",
        "`",
        "/*",
        "*/",
        "--",
        "-- ",
        "#",
        "\n",
        "\r",
        "\t",
        "\f",
        " ",
        ";",
        ",",
        ".",
        "(",
        ")",
        "[",
        "]",
    ),
    *(
        ", evil(1) ",
        ",evil(1)",
        "evil (1)",
        '"evil"(1)',
        "`evil`(1)",
        "[evil](1)",
        "evil/**/(1)",
        "evil\n(1)",
        "evil('+')",
    ),
    *(
        "'a'",
        "'a",
        "a'",
        "''",
        '""',
        '"b"',
        "``",
        "N'",
        "x'",
        "e'",
        "q'[",
        "]'",
        "U&'",
        "'+'",
        "'.'",
        "','",
        "'('",
        "'AS'",
    ),
    *(
        "1",
        "a",
        "1e",
        "0x",
        "é",
        "\u00a0",
        "\u2028",
        "as b",
        " AS ",
        " WITH ",
        " in ",
        " over ",
        " filter ",
        "from t",
        "||",
    ),
    *("/*!", "/**/", "@", "?", "$$", "{", "}", "*", "-", "//", "cast(1 as evil(1))", "case when evil(1) then 1 end"),
]
"""`evil` is a function that no list has."""


def test_no_text_hides_a_call_from_the_guard() -> None:
    """SQLite itself says whether it called."""
    dice, called, passed = random.Random(6), list[str](), 0

    def evil(value: object) -> None:
        called.append(str(value))

    with closing(sqlite3.connect(":memory:")) as engine:
        engine.execute("create table t (a)")
        engine.execute("insert into t values (1)")
        engine.create_function("evil", 1, evil)
        for _ in range(8_000):
            sql = "SELECT 1, " + "".join(dice.choice(PIECES) for _ in range(dice.randint(1, 9)))
            if judge(sql, "sqlite").allowed:
                passed += 1
                with suppress(sqlite3.Error):
                    engine.execute(sql).fetchall()
            assert called == [], sql

    assert passed > 100
