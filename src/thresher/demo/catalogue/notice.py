"""Writes the notice that goes with the catalogue: origins, licences, and what was changed.

Invariant: one row for every vendor of the catalogue, in its order.
"""

from __future__ import annotations

from thresher.demo.catalogue.shipped import Catalogue

_HEAD = """# Notice for `tools.json.gz`

The tool definitions in this file were made by `python -m thresher.demo.catalogue build` from OpenAPI descriptions
inside the npm package `{package}` (MIT, Copyright (c) 2019 HTTP Toolkit; collected by APIs.guru, CC0 1.0).
The descriptions are their vendors' own, under the licences that the package gives for each:

| server | description | tools | made by | licence | taken from |
|---|---|---|---|---|---|
"""

_TAIL = """
**Changed:** some operations were chosen from each description; an operation became a tool with one input schema
(parameters and body fields together); descriptions were stripped of markup and shortened; references were resolved,
deep levels, long choices and shared technical parameters left out. Every sentence is the vendor's.

The definitions serve as data to search in. They call nothing; no vendor endorses this project; names and marks belong
to their owners.

**Apache 2.0** works: the licence's text is the file `LICENSE` of this project.
**Creative Commons Attribution 3.0** works: <https://creativecommons.org/licenses/by/3.0/>.
**MIT** works, copyright (c) by the makers named in the table:

> Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
> documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
> rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
> persons to whom the Software is furnished to do so, subject to the following conditions:
>
> The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
> Software.
>
> THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
> WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
> COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
> OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def notice(catalogue: Catalogue) -> str:
    """The notice of a catalogue, as Markdown."""
    rows: list[str] = []
    for vendor in catalogue.vendors:
        count = sum(tool.server == vendor.server for tool in catalogue.tools)
        licence = f"[{vendor.licence}]({vendor.licence_url})" if vendor.licence_url else vendor.licence
        cells = (f"`{vendor.server}`", f"{vendor.title} {vendor.version}", str(count), vendor.maker)
        rows.append(f"| {' | '.join(cells)} | {licence} | {f'<{vendor.origin}>' if vendor.origin else ''} |\n")
    return _HEAD.format(package=catalogue.package) + "".join(rows) + _TAIL
