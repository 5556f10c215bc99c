"""Calls that wait while a server is busy or restarts, for both APIs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

import attrs

from mqframe.client.connection.route_cache import is_unknown_topic
from mqframe.core.errors import ConnectionLost, MqframeError, RouteError
from mqframe.core.retry.backoff import Pauses
from mqframe.core.retry.passing import is_passing, told_seconds

T = TypeVar("T")


@attrs.frozen
class Patience:
    """How calls wait: by which clock, and with which `randomness` (numbers in [0, 1)) in their pauses.

    `seconds`: longest time that trouble may last before it is raised; 0: none.
    """

    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    randomness: Callable[[], float]
    seconds: float = inf

    async def over(
        self, work: Callable[[float], Awaitable[T]], seconds: float, *, repeatable: bool = False
    ) -> T:
        """What `work` returns, which is told how many of the `seconds` are left.

        It is tried again, with pauses, while what it raises is certain to have done nothing and may pass;
        `repeatable` work, which may be done twice, after a lost connection, too. Raises the last one.
        """
        began = self.monotonic()
        pauses: Pauses | None = None
        while True:
            try:
                return await work(began + seconds - self.monotonic())
            except MqframeError as problem:
                if not (_may_pass(problem) or (repeatable and isinstance(problem, ConnectionLost))):
                    raise
                pauses = pauses or Pauses(self.randomness)
                left = began + min(seconds, self.seconds) - self.monotonic()
                delay = pauses.next_pause(left, told_seconds(problem))
                if delay is None:
                    raise
            await self.sleep(delay)

    async def through(self, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` returns, which may take any time and be done twice; tried again as `over` does.

        Trouble begins anew with a connection that is lost after it was there for a while.
        """
        pauses: Pauses | None = None
        until = 0.0
        while True:
            began = self.monotonic()
            try:
                return await work()
            except MqframeError as problem:
                lost = isinstance(problem, ConnectionLost)
                if not (_may_pass(problem) or lost):
                    raise
                now = self.monotonic()
                if pauses is None or (lost and now - began >= self.seconds):
                    pauses, until = Pauses(self.randomness), now + self.seconds
                delay = pauses.next_pause(until - now)
                if delay is None:
                    raise
            await self.sleep(delay)


def _may_pass(problem: MqframeError) -> bool:
    # Who looks for a topic has looked again for a while already: it may have been made just now.
    return is_passing(problem) and not (isinstance(problem, RouteError) and is_unknown_topic(problem))
