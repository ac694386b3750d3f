"""Charts as numbers that templates draw as SVG.

Invariant: pure. Coordinates are units of the drawing's view box, rounded to a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

WIDTH: Final = 720
HEIGHT: Final = 180
_LINE: Final = 22


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: what it stands for, its value, and its length as a share of the longest, -1 to 1."""

    name: str
    value: float
    share: float


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars, in their order; `height` is that of the whole drawing."""

    bars: Sequence[Bar]
    height: int


def bars_of(values: Sequence[tuple[str, float]]) -> Bars:
    """Bars of named values."""
    most = max((abs(value) for _, value in values), default=0.0) or 1.0
    return Bars([Bar(name, value, round(value / most, 4)) for name, value in values], _LINE * len(values))


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20 ..., so that the axis ends at a round number."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value - 1e-12 * value)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a column: its class, and where it stands."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Plot:
    """Several series over equal steps, such as days, drawn in one frame of `WIDTH` by `HEIGHT`.

    Attributes:
        series: Name and class of each.
        segments: Parts of stacked columns.
        lines: Class and path of each line; a lone point is a path of no length.
        steps: For titles: (x, width, what a step has).
        top: The value at the upper edge, a round number.
        names: The first and the last step.
        is_empty: Whether there is nothing to see.
    """

    series: Sequence[tuple[str, str]]
    segments: Sequence[Segment]
    lines: Sequence[tuple[str, str]]
    steps: Sequence[tuple[float, float, str]]
    top: float
    names: tuple[str, str]
    is_empty: bool


Series: TypeAlias = tuple[str, str, Sequence[float | None]]
"""A name, a class, and a value for each step; None where there is none."""
_GAP: Final = 0.15
"""Of a step's width, on both sides of its column."""
_WHOLE: Final = 10
"""Values from here on are said without a fraction."""


def columns_of(steps: Sequence[str], series: Sequence[Series], unit: str = "") -> Plot:
    """Columns whose parts are the series, the first one at the bottom.

    Args:
        steps: The name of each step.
        series: What is stacked.
        unit: Of the values, for titles.
    """
    totals = [sum(values[at] or 0 for _, _, values in series) for at in range(len(steps))]
    top, width = _round_up(max(totals, default=0)), WIDTH / max(1, len(steps))
    segments: list[Segment] = []
    for at in range(len(steps)):
        below = 0.0
        for _, kind, values in series:
            height = HEIGHT * (values[at] or 0) / top
            if height > 0:
                x, y = width * (at + _GAP), HEIGHT - below - height
                wide = width * (1 - 2 * _GAP)
                segments.append(Segment(kind, round(x, 1), round(y, 1), round(wide, 1), round(height, 1)))
            below += height
    return _plot(steps, series, unit, top, segments, [])


def lines_of(steps: Sequence[str], series: Sequence[Series], unit: str = "") -> Plot:
    """A line for each series, all on one scale; arguments as `columns_of`."""
    given = [value for _, _, values in series for value in values if value is not None]
    top, width = _round_up(max(given, default=0)), WIDTH / max(1, len(steps))
    lines: list[tuple[str, str]] = []
    for _, kind, values in series:
        path, before = "", None
        for at, value in enumerate(values):
            if value is not None:
                place = f"{round(width * (at + 0.5), 1)} {round(HEIGHT - HEIGHT * value / top, 1)}"
                path += f"L{place}" if before is not None else f"M{place}h0"
            before = value
        lines.append((kind, path))
    return _plot(steps, series, unit, top, [], lines)


def _plot(
    steps: Sequence[str],
    series: Sequence[Series],
    unit: str,
    top: float,
    segments: Sequence[Segment],
    lines: Sequence[tuple[str, str]],
) -> Plot:
    width = WIDTH / max(1, len(steps))
    titles: list[tuple[float, float, str]] = []
    for at, step in enumerate(steps):
        said = ", ".join(_said(name, value, unit) for name, _, values in series if (value := values[at]) is not None)
        titles.append((round(width * at, 1), round(width, 1), f"{step}: {said or 'nothing'}"))
    ends = (steps[0], steps[-1]) if steps else ("", "")
    names = [(name, kind) for name, kind, _ in series]
    return Plot(names, segments, lines, titles, top, ends, not segments and not any(path for _, path in lines))


def _said(name: str, value: float, unit: str) -> str:
    digits = 0 if value >= _WHOLE or value == int(value) else 1
    return f"{name} {value:,.{digits}f} {unit}".rstrip()
