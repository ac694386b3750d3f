"""Programs that a model writes: the sandbox that runs them, and tools written as Python functions.

Uses: confinement, core.
"""

from thresher.programs.sandbox import MOST_CODE, Function, Outcome, Sandbox, Start, Stop, clock_stopped, names_in
from thresher.programs.shapes import merged, shape_of
from thresher.programs.stubs import parameters, python_name, stub, unwrapped

__all__ = [
    "MOST_CODE",
    "Function",
    "Outcome",
    "Sandbox",
    "Start",
    "Stop",
    "clock_stopped",
    "merged",
    "names_in",
    "parameters",
    "python_name",
    "shape_of",
    "stub",
    "unwrapped",
]
