"""When a process that ended is started again.

|ended|after|then|
|-|-|-|
|a worker, by itself, code 0|any time|finished: not started again|
|a worker, code 2: wrong target, setting or code|it never ran|give up; with a watch for changes, wait for one|
|a server, in whatever way|it was never ready|give up|
|anything else|`STEADY_SECONDS` or more|started again at once|
|anything else|less|started again after 0.5 s, 1 s, 2 s … `WAIT_SECONDS_MAX`|
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

FIRST_WAIT_SECONDS: Final = 0.5
WAIT_SECONDS_MAX: Final = 30.0
STEADY_SECONDS: Final = 10.0
"""A process that ran so long was in order."""
WRONG: Final = 2
"""The exit code of a worker that cannot be run as it stands."""


class Next(Enum):
    """What becomes of a process that ended."""

    FINISHED = "finished"
    AGAIN = "again"
    GIVE_UP = "give up"
    WAIT_FOR_CHANGE = "wait for change"


class RestartVerdict(NamedTuple):
    """What to do, after how many seconds."""

    next: Next
    seconds: float = 0.0


class _Waits:
    """How long the next start waits: longer after each short life."""

    def __init__(self) -> None:
        self._wait = FIRST_WAIT_SECONDS

    def again(self, lived_seconds: float) -> RestartVerdict:
        if lived_seconds >= STEADY_SECONDS:
            self._wait = FIRST_WAIT_SECONDS
            return RestartVerdict(Next.AGAIN)
        wait = self._wait
        self._wait = min(2 * wait, WAIT_SECONDS_MAX)
        return RestartVerdict(Next.AGAIN, wait)


class WorkerRestarts:
    """The rule for one worker. `watched`: whether changes of its files start it again."""

    def __init__(self, *, watched: bool) -> None:
        self._watched = watched
        self._ran = False
        self._waits = _Waits()

    def ended(self, code: int, lived_seconds: float) -> RestartVerdict:
        """The worker ended with exit code `code` (negative: by that signal)."""
        if code == 0:
            return RestartVerdict(Next.FINISHED)
        if code == WRONG and self._watched:
            return RestartVerdict(Next.WAIT_FOR_CHANGE)
        if code == WRONG and not self._ran:
            return RestartVerdict(Next.GIVE_UP)
        self._ran = True
        return self._waits.again(lived_seconds)


class ServerRestarts:
    """The rule for one server, which is to serve for as long as its supervisor lives."""

    def __init__(self) -> None:
        self._was_ready = False
        self._waits = _Waits()

    def ready(self) -> None:
        """The server serves: from now on it is started again whenever it ends."""
        self._was_ready = True

    def ended(self, code: int, lived_seconds: float) -> RestartVerdict:
        """The server ended with exit code `code` (negative: by that signal)."""
        return self._waits.again(lived_seconds) if self._was_ready else RestartVerdict(Next.GIVE_UP)
