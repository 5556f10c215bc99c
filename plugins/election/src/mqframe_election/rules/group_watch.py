"""The watch for changes of a group.

What was not read yet has changed still: to ask again before that would be to ask without an end.

    state     event                       next      then
    off       begins                      watching  watch
    watching  changed                     unread    look
    watching  no answer                   failed    until `RETRY_SECONDS` later
    failed    due                         unread    look
    unread    a look ended, answered      watching  watch
    unread    a look ended, no answer     unsure    until `RETRY_SECONDS` later
    unsure    due                         watching  watch
    any       ends                        off
"""

from __future__ import annotations

from enum import Enum
from math import inf

from mqframe_election.rules.limits import RETRY_SECONDS


class WatchState(Enum):
    """What a watch waits for."""

    OFF = "off"
    WATCHING = "watching"
    FAILED = "failed"
    UNREAD = "unread"
    UNSURE = "unsure"


class GroupWatch:
    """`due`: when it goes on by itself, seconds. Looks and calls are the caller's to make."""

    def __init__(self) -> None:
        self.state = WatchState.OFF
        self.due = inf

    def watches(self) -> None:
        """A call that waits for a change is under way from now on."""
        self.state, self.due = WatchState.WATCHING, inf

    def changed(self) -> None:
        """Something changed: a look is wanted."""
        self.state, self.due = WatchState.UNREAD, inf

    def failed(self, now: float) -> None:
        """The call failed at `now`."""
        self.state, self.due = WatchState.FAILED, now + RETRY_SECONDS

    def looked(self, now: float, *, is_answered: bool) -> bool:
        """A look has ended at `now`. Whether to watch again."""
        if self.state is not WatchState.UNREAD:
            return False
        if not is_answered:
            self.state, self.due = WatchState.UNSURE, now + RETRY_SECONDS
        return is_answered

    def end(self) -> None:
        """Watch no more."""
        self.state, self.due = WatchState.OFF, inf
