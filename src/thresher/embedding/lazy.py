"""A value that is loaded on first use.

Invariant: `load` never runs twice at the same time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from thresher.core import EncoderError

T = TypeVar("T")

RETRY_SECONDS = 10.0
"""How long a failed load is remembered, so that a broken model costs a search nothing and a repaired one is noticed."""


class Lazy(Generic[T]):
    """Loads a value on first use, once for all threads; a failure is not repeated at every call. Blocking; thread-safe.

    Args:
        load: Returns the value, or raises EncoderError.
        clock: Monotonic time in seconds.
    """

    def __init__(self, load: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._value: T | None = None
        self._failure: tuple[float, EncoderError] | None = None

    @property
    def loaded(self) -> bool:
        """Whether `get` returns without loading."""
        return self._value is not None

    def get(self) -> T:
        """The value.

        Raises:
            EncoderError: It cannot be loaded, or could not a moment ago.
        """
        if self._value is not None:
            return self._value
        with self._lock:
            if self._value is None:
                self._value = self._try()
            return self._value

    def _try(self) -> T:
        if self._failure is not None and self._clock() < self._failure[0]:
            failure = self._failure[1]
            raise EncoderError(failure.message, hint=failure.hint) from failure.__cause__
        try:
            return self._load()
        except EncoderError as error:
            self._failure = (self._clock() + RETRY_SECONDS, error)
            raise
