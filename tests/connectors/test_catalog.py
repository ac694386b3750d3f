"""Types of every engine, by family."""

from __future__ import annotations

import pytest

from thresher.connectors.catalog import family, length_of

TYPES = """
postgresql integer integer
postgresql character varying(20)=text
postgresql numeric(10,2)=decimal
postgresql timestamp(3) with time zone=datetime
postgresql time without time zone=time
postgresql double precision=float
postgresql text[]=array
postgresql bit(3)=other
postgresql interval day to second=interval
postgresql tsvector=other
postgresql "char"=text
mysql tinyint(1)=boolean
mysql tinyint(4) unsigned=integer
mysql bit(1)=boolean
mysql bit(8)=binary
mysql enum('date','int')=text
mysql int unsigned zerofill=integer
mysql decimal(10,2) unsigned=decimal
mariadb year=integer
mariadb longblob=binary
mariadb uuid=uuid
oracle NUMBER(10)=integer
oracle NUMBER(10,0)=integer
oracle NUMBER(10,-2)=integer
oracle NUMBER(10,2)=decimal
oracle NUMBER=decimal
oracle DATE=datetime
oracle VARCHAR2(20 CHAR)=text
oracle TIMESTAMP(6) WITH LOCAL TIME ZONE=datetime
oracle INTERVAL YEAR(2) TO MONTH=interval
oracle LONG RAW=binary
mssql bit=boolean
mssql uniqueidentifier=uuid
mssql timestamp=binary
mssql nvarchar(max)=text
sqlite NVARCHAR(160)=text
sqlite UNSIGNED BIG INT=integer
sqlite NUMERIC(10,2)=decimal
sqlite DATETIME=datetime
sqlite =other
duckdb DECIMAL(18,3)=decimal
duckdb STRUCT(a INTEGER, b DATE)=json
duckdb INTEGER[3]=array
duckdb UNION(k INTEGER)=other
duckdb TIMESTAMP WITH TIME ZONE=datetime
duckdb ENUM('a', 'b')=text
"""
CASES = [
    (line.split(" ", 1)[0], *line.split(" ", 1)[1].replace("integer integer", "integer=integer").rsplit("=", 1))
    for line in TYPES.strip().splitlines()
]


@pytest.mark.parametrize(("dialect", "type_name", "expected"), CASES, ids=[f"{case[0]} {case[1]}" for case in CASES])
def test_a_type_has_the_family_of_its_values(dialect: str, type_name: str, expected: str) -> None:
    """Whatever the engine calls it."""
    assert family(dialect, type_name) == expected


def test_the_first_number_of_a_type_is_its_length() -> None:
    """Characters or digits; none where the type names none."""
    lengths = [
        length_of(name) for name in ("varchar(20)", "numeric(10,2)", "VARCHAR2(20 CHAR)", "text", "nvarchar(max)")
    ]

    assert lengths == [20, 10, 20, None, None]
