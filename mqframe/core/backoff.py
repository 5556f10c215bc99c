"""How long a sender waits after a flow-control answer: 1 s, each time 1.6 times as long, at most 120 s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

FIRST_SECONDS: Final = 1.0
FACTOR: Final = 1.6
JITTER: Final = 0.2
CAP_SECONDS: Final = 120.0
_STEPS_TO_CAP: Final = 11
"""1.6 ** 11 passes the cap; larger powers need not be computed, and would overflow in the end."""


def backoff_seconds(tries: int, randomness: Callable[[], float]) -> float:
    """The wait after the `tries`-th refusal (1, 2, …), s. `randomness` gives numbers in [0, 1)."""
    plain = FIRST_SECONDS * FACTOR ** min(tries - 1, _STEPS_TO_CAP)
    jitter = 1 + JITTER * (2 * randomness() - 1)
    return min(plain * jitter, CAP_SECONDS)
