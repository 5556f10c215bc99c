"""How clients that are run wait for name servers: quietly said, and ended at once when they are to end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from mqframe.client.connection.route_cache import is_unknown_topic
from mqframe.core.errors import RouteError
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock

log = get_logger("client")

TRY_SECONDS: Final = 1.0
"""Between two tries."""
LINE_SECONDS: Final = 5.0
"""Between two lines of the log."""


async def start_or_end(
    start: Callable[[], Awaitable[None]],
    ended: asyncio.Event,
    clock: LoopClock,
    group: str,
    *,
    fail_fast: bool = False,
) -> None:
    """Run `start`, again and again while no name server answers; returns early once `ended` is set.

    `group`: named in the log. With `fail_fast` raises a `RouteError` when none answers, else whatever
    `start` raises for another reason.
    """
    starting = asyncio.ensure_future(_start(start, clock, group, fail_fast))
    ending = asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait((starting, ending), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
    finally:
        for task in (starting, ending):
            task.cancel()
        await asyncio.gather(starting, ending, return_exceptions=True)


async def _start(start: Callable[[], Awaitable[None]], clock: LoopClock, group: str, fail_fast: bool) -> None:
    began = clock.monotonic()
    said: float | None = None
    while True:
        try:
            await start()
        except RouteError as problem:
            if is_unknown_topic(problem):
                raise
            reason = str(problem)
        else:
            if said is not None:
                log.warning("name servers answer; the consumer has started", group=group)
            return
        if fail_fast:
            # The chain of what was tried tells an operator nothing more.
            raise RouteError(f"{reason}; the consumer of group {group} was not started")
        now = clock.monotonic()
        if said is None or now - said >= LINE_SECONDS:
            said = now
            log.warning("waiting for name servers", group=group, seconds=round(now - began), reason=reason)
        await clock.sleep(TRY_SECONDS)
