"""Which planned time comes next, and what happens to those that were missed.

A time is missed when it could not be kept for longer than a grace: the broker was down, or its store full.

| policy | missed times |
|-|-|
| `skip` | are passed over |
| `one` | give one message, for the latest of them |
| `all` | give a message each, the oldest first |
"""

from __future__ import annotations

from typing import Final, Protocol

SKIP: Final = "skip"
ONE: Final = "one"
ALL: Final = "all"
POLICIES: Final = (SKIP, ONE, ALL)
_FIRST_LOOK_MS: Final = 60_000


class Times(Protocol):
    """Planned times."""

    def next_after(self, after_ms: int) -> int | None:
        """The first one after `after_ms`; `None` when there is none."""
        ...


def next_time(times: Times, settled_ms: int, now_ms: int, policy: str, grace_ms: int) -> int | None:
    """The planned time to send for next, due when it is not after `now_ms`; `None` when there is none.

    `settled_ms`: the latest time that was sent for, or before which nothing is wanted. Nothing else is
    needed, so a broker that starts again decides as the one before.
    """
    missed_before = now_ms - grace_ms
    if policy == SKIP:
        return times.next_after(max(settled_ms, missed_before - 1))
    if policy == ONE:
        latest = _latest_before(times, settled_ms, missed_before)
        if latest is not None:
            return latest
    return times.next_after(settled_ms)


def _latest_before(times: Times, after_ms: int, before_ms: int) -> int | None:
    """The latest time after `after_ms` and before `before_ms`, looked for in ever longer stretches back."""
    look_ms = _FIRST_LOOK_MS
    while after_ms < before_ms - 1:
        found = None
        time = times.next_after(max(after_ms, before_ms - 1 - look_ms))
        while time is not None and time < before_ms:
            found, time = time, times.next_after(time)
        if found is not None or before_ms - 1 - look_ms <= after_ms:
            return found
        look_ms *= 8
    return None
