"""How clients that are run wait for name servers: quietly said, and ended at once when they are to end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from mqframe.client.connection.route_cache import is_unknown_topic
from mqframe.core.errors import RouteError
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock
from mqframe.trouble import Trouble

log = get_logger("client")

TRY_SECONDS: Final = 1.0
"""Between two tries."""


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
    waiting = Trouble(log, clock.monotonic)
    while True:
        try:
            await start()
        except RouteError as problem:
            if is_unknown_topic(problem):
                raise
            reason = str(problem)
        else:
            waiting.over("name servers answer; the consumer has started", group=group)
            return
        if fail_fast:
            # The chain of what was tried tells an operator nothing more.
            raise RouteError(f"{reason}; the consumer of group {group} was not started")
        seconds = round(clock.monotonic() - began)
        waiting.note("waiting for name servers", group=group, seconds=seconds, reason=reason)
        await clock.sleep(TRY_SECONDS)
