"""Charts as numbers that templates draw as SVG.

Invariant: pure. Coordinates are units of the drawing's view box, rounded to a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Line:
    """Values over equal steps, such as days.

    Attributes:
        path: The line, as an SVG path; gaps where there is no value.
        area: The area below it.
        points: Place and value of each step, for titles: (x, y, name, value).
        top: The value at the upper edge, a round number.
        names: The first and the last step.
    """

    path: str
    area: str
    points: Sequence[tuple[float, float, str, float]]
    top: float
    names: tuple[str, str]


def bars_of(values: Sequence[tuple[str, float]]) -> Bars:
    """Bars of named values."""
    most = max((abs(value) for _, value in values), default=0.0) or 1.0
    return Bars([Bar(name, value, round(value / most, 4)) for name, value in values], _LINE * len(values))


def line_of(values: Sequence[tuple[str, float | None]], width: float = WIDTH, height: float = HEIGHT) -> Line:
    """A line through named values; None leaves a gap.

    Args:
        values: Name and value of each step.
        width: Of the drawing.
        height: Of the drawing.
    """
    top = _round_up(max((value for _, value in values if value is not None), default=0.0))
    step = width / max(1, len(values) - 1)
    points = [
        (round(at * step, 1), round(height - height * value / top, 1), name, value)
        for at, (name, value) in enumerate(values)
        if value is not None
    ]
    path, before = "", None
    for at, (_, value) in enumerate(values):
        if value is None:
            before = None
            continue
        x, y = round(at * step, 1), round(height - height * value / top, 1)
        path += f"{'M' if before is None else 'L'}{x} {y}"
        before = at
    area = f"{path}L{points[-1][0]} {height}L{points[0][0]} {height}Z" if points and path.count("M") == 1 else ""
    return Line(path, area, points, top, (values[0][0], values[-1][0]) if values else ("", ""))


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20 ..., so that the axis ends at a round number."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value - 1e-12 * value)
