"""Addresses: what they say, and what they must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.connectors import open_connector, read_address
from thresher.core import ConfigurationError, InvalidInput, NotFound


@pytest.mark.parametrize(
    ("url", "location", "user", "hosts"),
    [
        ("postgresql://u:p%40@db.example.org/shop", "postgresql://db.example.org:5432/shop", "u", ("db.example.org",)),
        ("postgres://u@h:6432/shop", "postgresql://h:6432/shop", "u", ("h",)),
        ("postgresql+psycopg2://u@h/shop?sslmode=verify-full", "postgresql://h:5432/shop", "u", ("h",)),
        ("postgresql://u:p@h/my%40shop", "postgresql://h:5432/my%40shop", "u", ("h",)),
        ("postgresql:///shop", "postgresql://localhost:5432/shop", "", ("localhost",)),
        ("postgresql://u:p@/shop?host=/run/pg", "postgresql://%2Frun%2Fpg:5432/shop", "u", ("/run/pg",)),
        ("postgresql://u@a/shop?host=b,c", "postgresql://a:5432/shop", "u", ("a", "b", "c")),
        ("postgresql://u@/shop?host=a:1&host=b:2", "postgresql://a:1/shop", "u", ("a", "b")),
        ("mysql+pymysql://u:p@[::1]:3307/shop", "mysql://[::1]:3307/shop", "u", ("::1",)),
        ("mariadb://u@h/shop?unix_socket=/run/m.sock", "mariadb://h:3306/shop", "u", ("h", "/run/m.sock")),
        ("oracle+oracledb://u:p@h/?service_name=XEPDB1", "oracle://h:1521/XEPDB1", "u", ("h",)),
        ("mssql+pyodbc://u:p@h/shop?driver=ODBC+Driver+18+for+SQL+Server", "mssql://h:1433/shop", "u", ("h",)),
    ],
)
def test_a_server_is_read_without_its_secrets(url: str, location: str, user: str, hosts: tuple[str, ...]) -> None:
    """Location, user and all that would be reached, whatever driver is named."""
    address = read_address(url)

    assert (address.location, address.user, address.hosts) == (location, user, hosts)
    assert address.file is None


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_file_is_read_as_a_whole_path(scheme: str, tmp_path: Path) -> None:
    """Four slashes name a path from the root."""
    address = read_address(f"{scheme}:///{tmp_path}/shop.db")

    assert address.file == tmp_path / "shop.db"
    assert (address.hosts, address.location) == ((), f"{scheme}:///{tmp_path}/shop.db")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "shop",
        "postgresql:/",
        "postgres//u:correct-horse@h/d",
        "postgresqll://u:correct-horse@h/d",
        "postgresql://u:correct-horse@h:port/d",
        "postgresql://u:correct-horse@h:99999/d",
        "postgresql://u:horse@correct-horse@h/d",
        "postgresql://u:correct-horse@h/d?options=-c%20session_replication_role=replica",
        "postgresql://u:correct-horse@h/d?service=prod",
        "postgresql://u:correct-horse@h/d?hostaddr=10.0.0.1",
        "postgresql://u:correct-horse@h/d?host=a,b&port=1,2",
        "postgresql://u:correct-horse@h/d?host=a:x",
        "postgresql://u:correct-horse@h/d\n",
        "postgresql://u:correct-horse@h/d\0",
        "mysql://u:correct-horse@h/d?init_command=drop",
        "mysql://u:correct-horse@h/d?local_infile=1",
        "mysql://u:correct-horse@h/d?read_default_file=/etc/my.cnf",
        "mysql://u:correct-horse@h/d?client_flag=65536",
        "mysql://u:correct-horse@h/d?charset=gbk",
        "postgresql://u:x@horse/correct-horse@h/d",
        "postgresql://u:x@horse?correct-horse=1@h/d",
        "oracle://u:correct-horse@h",
        "oracle://u:correct-horse@h/x)(HOST=other",
        "oracle://u:correct-horse@h/?service_name=x)(HOST=other",
        "oracle://u:correct-horse@h/?service_name=x&protocol=ipc",
        "mssql+pyodbc://?odbc_connect=DRIVER%3Dx",
        "mssql+pyodbc://u:correct-horse@h;UID=sa/d",
        "mssql+pyodbc://u:correct-horse@h/d?driver=/tmp/mine.so",
        "mssql+pyodbc://u:correct-horse@h/d?driver=SQLite3",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=rw",
        "sqlite:////tmp/x.db?uri=true",
        "duckdb:///md:shop",
        "duckdb:////tmp/x.db?access_mode=read_write",
        "mongodb://u:correct-horse@h/d",
        "postgresql://" + "u" * 5000,
    ],
)
def test_a_wrong_address_is_refused_without_being_repeated(url: str) -> None:
    """The message explains what to write, and never holds the password."""
    with pytest.raises(InvalidInput) as caught:
        read_address(url)

    assert "correct-horse" not in str(caught.value)
    assert str(caught.value)


def test_what_is_shown_of_an_address_has_no_password() -> None:
    """Neither the password nor options that may hold one are in its representation."""
    assert "horse" not in repr(read_address("postgresql://u:horse@h/d?sslpassword=horse"))


def test_a_file_must_exist(tmp_path: Path) -> None:
    """A connection never creates a file, and its error names the missing one."""
    with pytest.raises(NotFound, match=r"gone\.db"):
        open_connector(f"sqlite:///{tmp_path}/gone.db")
    with pytest.raises(InvalidInput, match="is not a file"):
        open_connector(f"sqlite:///{tmp_path}")

    assert list(tmp_path.iterdir()) == []


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user installs SQL Server's driver, and the error explains how."""
    monkeypatch.setitem(__import__("sys").modules, "pyodbc", None)
    monkeypatch.delitem(__import__("sys").modules, "thresher.connectors.mssql", raising=False)

    with pytest.raises(ConfigurationError, match="sqlserver"):
        open_connector("mssql+pyodbc://u:p@h/d")
