"""Failed sign-ins: a limit for each address and for all together, so that secrets cannot be guessed."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Final

ADDRESS_MAX: Final = 5
TOTAL_MAX: Final = 50
"""Failures of all addresses together: whoever guesses may have many."""
SECONDS: Final = 300.0
"""How long a failure counts."""


class Attempts:
    """Counts sign-ins that are under way or failed. `now`: monotonic seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._counted: deque[tuple[float, str]] = deque()

    def begin(self, address: str) -> int:
        """Count a try of `address`: 0, or how many seconds it has to wait before it may try at all."""
        now = self._now()
        while self._counted and now - self._counted[0][0] >= SECONDS:
            self._counted.popleft()
        own = [at for at, each in self._counted if each == address]
        if len(own) >= ADDRESS_MAX:
            return math.ceil(own[0] + SECONDS - now)
        if len(self._counted) >= TOTAL_MAX:
            return math.ceil(self._counted[0][0] + SECONDS - now)
        self._counted.append((now, address))
        return 0

    def forgive(self, address: str) -> None:
        """The last try of `address` was none: it succeeded, or nobody could say."""
        for at in range(len(self._counted) - 1, -1, -1):
            if self._counted[at][1] == address:
                del self._counted[at]
                return
