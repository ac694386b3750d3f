"""Files that a browser downloads.

Invariant: a cell that a spreadsheet would take for a formula begins with an apostrophe.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, Final

from starlette.responses import Response

from thresher.core import dumps, plain

_DANGEROUS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", *"\uff1d\uff0b\uff0d\uff20")
"""Beginnings of cells that spreadsheets take for formulas, some in full width."""


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> Response:
    """Rows as a CSV file, in UTF-8.

    Args:
        name: The file's name, without its ending; what is no letter or digit of ASCII becomes a hyphen.
        columns: The first line.
        rows: The other lines.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([_cell(one) for one in columns])
    writer.writerows([[_cell(value) for value in row] for row in rows])
    return _file(name, "csv", text.getvalue(), "text/csv; charset=utf-8")


def json_file(name: str, value: Any) -> Response:
    """A record as a JSON file; its name as that of `csv_file`."""
    return _file(name, "json", dumps(plain(value), indent=2) + "\n", "application/json")


def _file(name: str, ending: str, text: str, kind: str) -> Response:
    safe = "".join(letter if letter.isalnum() else "-" for letter in name if letter.isascii()) or "rows"
    headers = {"content-disposition": f'attachment; filename="{safe}.{ending}"', "cache-control": "no-store"}
    return Response(text, media_type=kind, headers=headers)


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_DANGEROUS) else value
