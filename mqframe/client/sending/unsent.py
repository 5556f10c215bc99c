"""What was submitted and has no result when a process or a loop ends: sent where that can be, else told."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import time
import warnings
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import Final

from mqframe.client.connection.identity import SameProcess
from mqframe.core.errors import ClosedError
from mqframe.core.sending.in_flight import InFlightCount
from mqframe.log import get_logger

log = get_logger("client")


def tell(group: str, count: int) -> None:
    """One log line and a `ResourceWarning` for `count` messages, if any, whose storing nobody knows of."""
    if not count:
        return
    log.error("submitted messages were not sent before the end, or nobody knows", group=group, messages=count)
    warnings.warn(
        f"{count} messages that the producer of group {group} was given by submit have no result at the end; "
        "use a with block, or call flush or stop before",
        ResourceWarning,
        stacklevel=2,
    )


class CutOff:
    """Of one producer on a loop: what has no result when its loop is gone.

    `waiting`: what was submitted and is not done; `interrupted`: those that were given up because the loop
    ended under them.
    """

    def __init__(self, group: str, waiting: InFlightCount) -> None:
        self._group = group
        self._waiting = waiting
        self._process = SameProcess("producer")
        self.interrupted = 0

    def tell(self) -> None:
        """Tell of them, unless this process only forked from the producer's."""
        if is_own(self._process):
            tell(self._group, self.interrupted + self._waiting.count)


def is_own(process: SameProcess) -> bool:
    """Whether this is the process that `process` remembers."""
    try:
        process.check()
    except ClosedError:
        return False
    return True


class Unfinished(ABC):
    """A producer that runs and sends from a thread of its own, as the end of the process sees it."""

    @abstractmethod
    def begin_rest(self) -> tuple[Future[None], float] | None:
        """Begin to send what was submitted; returns its end, and for how long to wait for it, s.

        `None` where there is nothing to do: in a process that forked, or once it was stopped.
        Raises `ClosedError` when it is being stopped.
        """

    @abstractmethod
    def tell_rest(self) -> None:
        """Tell of what `begin_rest` did not get sent."""


# Strong references: a producer that nobody holds any more may have messages in its thread, which lives on.
_running: Final[set[Unfinished]] = set()


_ended_by_multiprocessing: Final[set[int]] = set()


def keep(producer: Unfinished) -> None:
    """Have `producer` send what it was given before this process ends, until `forget`."""
    _running.add(producer)
    process = os.getpid()
    if multiprocessing.parent_process() is None or process in _ended_by_multiprocessing:
        return
    from multiprocessing.util import Finalize

    _ended_by_multiprocessing.add(process)
    Finalize(None, _send_rest, exitpriority=0)  # such a child ends without what atexit holds


def forget(producer: Unfinished) -> None:
    """`producer` was stopped."""
    _running.discard(producer)


def _send_rest() -> None:
    began = time.monotonic()
    ends = []
    for producer in list(_running):
        forget(producer)
        try:
            end = producer.begin_rest()
        except ClosedError:  # another thread stops it, which sends the rest
            continue
        if end is not None:
            ends.append((producer, *end))
    for producer, future, seconds in ends:
        try:
            future.result(max(0.0, began + seconds - time.monotonic()))
        except TimeoutError:
            future.cancel()  # what it leaves is told
        except Exception:
            log.exception("submitted messages could not be flushed")
        producer.tell_rest()


atexit.register(_send_rest)
