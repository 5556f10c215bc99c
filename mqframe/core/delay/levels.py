"""Delay levels: their text form and the delivery time that a level stands for (store.md §6)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from mqframe.core.errors import SettingError

DEFAULT_LEVELS: Final = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
_UNIT_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@lru_cache(maxsize=64)
def parse_levels(text: str) -> tuple[int, ...]:
    """The delays of levels 1, 2, … in milliseconds. Raises `SettingError` naming the bad word."""
    delays = []
    for word in text.split():
        number, unit = word[:-1], word[-1]
        if unit not in _UNIT_MS or not (number.isascii() and number.isdecimal()):
            raise SettingError(f"delay level {word!r}: write a number and s, m, h or d, for example 30s")
        delays.append(int(number) * _UNIT_MS[unit])
    return tuple(delays)


USUAL_DELAYS: Final = parse_levels(DEFAULT_LEVELS)


def delivery_time(store_timestamp: int, level: int, levels: tuple[int, ...]) -> int:
    """When a message of `level` (1 is the first; above the last counts as the last) is due, in ms."""
    return store_timestamp + levels[min(level, len(levels)) - 1]
