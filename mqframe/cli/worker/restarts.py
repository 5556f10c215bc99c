"""When a worker that ended is started again.

|ended|after|then|
|-|-|-|
|by itself, code 0|any time|finished: not started again|
|code 2: wrong target, setting or code|it never ran|give up; with a watch for changes, wait for one|
|anything else|`STEADY_SECONDS` or more|started again at once|
|anything else|less|started again after 0.5 s, 1 s, 2 s … `WAIT_SECONDS_MAX`|
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

FIRST_WAIT_SECONDS: Final = 0.5
WAIT_SECONDS_MAX: Final = 30.0
STEADY_SECONDS: Final = 10.0
"""A worker that ran so long was in order."""
WRONG: Final = 2
"""The exit code of a worker that cannot be run as it stands."""


class Next(Enum):
    """What becomes of a worker that ended."""

    FINISHED = "finished"
    AGAIN = "again"
    GIVE_UP = "give up"
    WAIT_FOR_CHANGE = "wait for change"


class Verdict(NamedTuple):
    """What to do, after how many seconds."""

    next: Next
    seconds: float = 0.0


class Restarts:
    """The rule for one worker. `watched`: whether changes of its files start it again."""

    def __init__(self, *, watched: bool) -> None:
        self._watched = watched
        self._ran = False
        self._wait = FIRST_WAIT_SECONDS

    def ended(self, code: int, lived_seconds: float) -> Verdict:
        """The worker ended with exit code `code` (negative: by that signal)."""
        if code == 0:
            return Verdict(Next.FINISHED)
        if code == WRONG and self._watched:
            return Verdict(Next.WAIT_FOR_CHANGE)
        if code == WRONG and not self._ran:
            return Verdict(Next.GIVE_UP)
        self._ran = True
        if lived_seconds >= STEADY_SECONDS:
            self._wait = FIRST_WAIT_SECONDS
            return Verdict(Next.AGAIN)
        wait = self._wait
        self._wait = min(2 * wait, WAIT_SECONDS_MAX)
        return Verdict(Next.AGAIN, wait)
