"""Files of binary formats, made for a test."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from docx import Document
from pypdf import PdfWriter


def pdf(pages: Sequence[Sequence[str]], *, password: str = "", chapters: Sequence[tuple[str, int]] = ()) -> bytes:
    """A PDF with these lines on its pages, and an outline of titles and the pages (from 0) that they start on."""
    writer = PdfWriter(io.BytesIO(_plain_pdf(pages)), full=True)
    for title, page in chapters:
        writer.add_outline_item(title=title, page_number=page)
    if password:
        writer.encrypt(password)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _plain_pdf(pages: Sequence[Sequence[str]]) -> bytes:
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        stream = f"BT /F1 12 Tf 50 750 Td {shown} ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    tail = (
        f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(places) + 1} /Root 1 0 R >>\n"
    )
    return out + f"{tail}startxref\n{len(out)}\n%%EOF\n".encode("latin-1")


def word(parts: Sequence[tuple[str, Any]]) -> bytes:
    """A Word document of (style, text) paragraphs, and ("table", rows)."""
    document = Document()
    for style, content in parts:
        if style == "table":
            table = document.add_table(0, len(content[0]))
            for row in content:
                cells = table.add_row().cells
                for cell, words in zip(cells, row, strict=True):
                    cell.text = words
        else:
            document.add_paragraph(content, style=style)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()
