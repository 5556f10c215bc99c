"""What goes wrong for a while: told when it begins, once a minute while it lasts, and when it is over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final

from mqframe.log import Logger

AGAIN_SECONDS: Final = 60.0
"""So often at most the same trouble is told."""
QUIET_SECONDS: Final = 10.0
"""For so long somebody may be away before that is told: the time of a restart, or of a slow first contact."""
KINDS_MAX: Final = 5
"""So many different ones of one trouble are told within that time."""
KEYS_MAX: Final = 1024
"""So many are kept apart: strangers may come from anywhere. Those beyond are one."""

_OF_THE_TROUBLE: Final = frozenset({"reason", "problem", "away_seconds"})
"""Values that say nothing once it is over."""


class Trouble:
    """One thing that goes wrong for a while, or that strangers do again and again.

    The first time is told at once, the others in a line a minute with their `count`. That it is over is told
    at the level of its beginning: who reads warnings alone learns of both. What ends before it was told began
    and ends at INFO. `log`: where it is told; `now`: the monotonic clock, seconds; `level`: of `logging`;
    `rest`: the level of what is counted only. Belongs to one thread.
    """

    __slots__ = (
        "_event", "_kinds", "_level", "_log", "_now", "_rest", "_since", "_told", "_untold", "_values",
    )  # fmt: skip

    def __init__(
        self,
        log: Logger,
        now: Callable[[], float],
        *,
        level: int = logging.WARNING,
        rest: int = logging.DEBUG,
    ) -> None:
        self._log = log
        self._now = now
        self._level = level
        self._rest = rest
        self._since: float | None = None
        self._kinds: dict[Hashable, float] = {}
        self._untold = 0
        self._event = ""
        self._values: dict[str, Any] = {}
        self._told = False

    @property
    def seconds(self) -> float:
        """For how long it lasts; 0 when there is none."""
        return 0.0 if self._since is None else self._now() - self._since

    def note(self, event: str, *, kind: Hashable = None, may_pass: bool = False, **values: Any) -> None:
        """It is so: `event`, with keys and `values`.

        `kind`: what is told at once when it is another one than was told within the minute. `may_pass`: it
        often ends by itself, and is not told for `QUIET_SECONDS` after its beginning.
        """
        now = self._now()
        self._since = now if self._since is None else self._since
        self._untold += 1
        self._event, self._values = event, values
        if (may_pass and now - self._since < QUIET_SECONDS) or not self._may_tell(kind, now):
            begins = self._untold == 1 and not self._told
            self._log.log(logging.INFO if begins else self._rest, event, **values)
            return
        self._kinds[kind] = now
        self._tell()

    def tell(self, *, last: bool = False) -> None:
        """Tell what was not told yet once its minute is over, with `last` now: for who ticks, or stops."""
        if self._told and self._untold and (last or self._is_due()):
            self._kinds[None] = self._now()
            self._tell()

    def over(self, event: str = "", **values: Any) -> bool:
        """It is not so any more: `event` with `values`. Whether that was told as loud as its beginning."""
        if self._since is None:
            return False
        told, seconds = self._told, round(self.seconds)
        if not event:
            event = f"{self._event}; that is over"
            values = {key: value for key, value in self._values.items() if key not in _OF_THE_TROUBLE}
        self._log.log(self._level if told else logging.INFO, event, **values, after_seconds=seconds)
        self._since = None
        self._kinds.clear()
        self._untold, self._told = 0, False
        self._values = {}
        return told

    def _may_tell(self, kind: Hashable, now: float) -> bool:
        for each in [each for each, at in self._kinds.items() if now - at >= AGAIN_SECONDS]:
            del self._kinds[each]
        return not self._kinds or (kind not in self._kinds and len(self._kinds) < KINDS_MAX)

    def _is_due(self) -> bool:
        return self._now() - max(self._kinds.values(), default=float("-inf")) >= AGAIN_SECONDS

    def _tell(self) -> None:
        counted = {"count": self._untold} if self._untold > 1 else {}
        self._untold, self._told = 0, True
        self._log.log(self._level, self._event, **counted, **self._values)


class Troubles:
    """The troubles with several, each by its key. Belongs to one thread."""

    __slots__ = ("_make", "_open")

    def __init__(
        self,
        log: Logger,
        now: Callable[[], float],
        *,
        level: int = logging.WARNING,
        rest: int = logging.DEBUG,
    ) -> None:
        self._make = partial(Trouble, log, now, level=level, rest=rest)
        self._open: dict[Hashable, Trouble] = {}

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._open)

    def __contains__(self, key: Hashable) -> bool:
        """Whether there is one with `key`."""
        return key in self._open

    def of(self, key: Hashable) -> Trouble:
        """The trouble with `key`, to note something."""
        if key not in self._open and len(self._open) >= KEYS_MAX:
            key = None
        trouble = self._open.get(key)
        if trouble is None:
            trouble = self._open[key] = self._make()
        return trouble

    def over(self, key: Hashable, event: str = "", **values: Any) -> bool:
        """As of `Trouble`; cheap where there is none."""
        trouble = self._open.pop(key, None) if self._open else None
        return trouble is not None and trouble.over(event, **values)

    def leave(self, key: Hashable) -> None:
        """Nobody is interested in `key` any more."""
        self._open.pop(key, None)
