"""When queues and index are built of what is confirmed: once a turn of the loop, or at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from mqframe.core.clock import Timer
from mqframe.net.clock import LoopClock
from mqframe.store.appending.appender import Appender, Placed
from mqframe.store.appending.inline_dispatch import InlineDispatch, OnFailure
from mqframe.store.log.log_offsets import LogOffsets

GATHERED_SECONDS: Final = 0.005
Later = Callable[[Callable[[], None]], Timer]
"""Has work done a little later, once; what it returns cancels that."""


def in_next_turn(work: Callable[[], None]) -> Timer:
    """Have `work` done in the next turn of the running loop."""
    return asyncio.get_running_loop().call_soon(work)


def gathered(clock: LoopClock) -> Later:
    """Have work done within `GATHERED_SECONDS`: many records cost a dispatch little more than one."""
    return lambda work: clock.call_later(GATHERED_SECONDS, work)


class Dispatching:
    """Brings queues and index up to what is confirmed.

    `later`: when that is done which is asked for `soon`. `on_dispatched`: called when there may be something
    new to see; `on_soon`: called behind a dispatch that was asked for `soon`.
    """

    def __init__(
        self, appender: Appender, inline: InlineDispatch, log: LogOffsets, later: Later = in_next_turn
    ) -> None:
        self._waiting = appender.waiting
        self._inline = inline
        self._log = log
        self._later = later
        self._soon: Timer | None = None
        self._ended = False
        self.on_dispatched: Callable[[], object] = lambda: None
        self.on_soon: Callable[[], object] = lambda: None

    @property
    def listed_offset(self) -> int:
        """Log offset up to which queues list messages, bytes."""
        return self._inline.done

    @property
    def is_due(self) -> bool:
        """Whether something was appended that queues and index do not list yet."""
        return bool(self._waiting)

    def now(self) -> None:
        """Bring queues and index up to the confirmed offset; announce arrivals. Once a turn of the loop."""
        if self._waiting:
            self._log.shown = shown = self._log.confirmed()
            self._inline.run(shown)
            self.on_dispatched()

    def soon(self) -> None:
        """Have `now` called a little later, once however often it is asked for; needs a running loop."""
        if self._soon is None and not self._ended:
            self._soon = self._later(self._gathered)

    def _gathered(self) -> None:
        self._soon = None
        self.now()
        self.on_soon()

    def hold(self, held: Sequence[Placed]) -> None:
        """Let these records, the last ones of the log, which queues do not list, wait for a dispatch."""
        if held:
            self._waiting.extend(held)
            self._inline.done = self._log.shown = held[0].physical
            self._inline.done_timestamp = held[0].timestamp

    def watch(self, on_failure: OnFailure) -> None:
        """Have `on_failure` told of messages that cannot be dispatched whole."""
        self._inline.on_failure = on_failure

    def end(self) -> None:
        """Do nothing more of what was asked for `soon`."""
        self._ended = True
        if self._soon is not None:
            self._soon.cancel()
