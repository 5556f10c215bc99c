"""Runs a mirror in a process of its own, until it is told to end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any, Final

from mqframe.core.errors import RetryError
from mqframe.log import get_logger
from mqframe_mirror.mirror import Mirror
from mqframe_mirror.settings import MirrorSettings

log = get_logger("mirror")

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
AGAIN_SECONDS: Final = 3.0
"""Before a start is tried again that found a cluster away."""
LOOK_SECONDS: Final = 0.1
"""Between two looks whether all is copied."""


async def run_mirror(
    settings: MirrorSettings,
    arguments: dict[str, Any],
    *,
    once: bool = False,
    started: Callable[[Mirror], object] | None = None,
) -> None:
    """Copy until SIGTERM or SIGINT; with `once`, until all that was there is copied.

    `started`: called with each mirror that has begun. A cluster that is away is waited for, but with `once`.
    Raises what `Mirror.start` does else.
    """
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, ended.set)
    try:
        await _run(settings, arguments, ended, once, started)
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def _run(
    settings: MirrorSettings,
    arguments: dict[str, Any],
    ended: asyncio.Event,
    once: bool,
    started: Callable[[Mirror], object] | None,
) -> None:
    while not ended.is_set():
        try:
            async with Mirror(settings, arguments=arguments) as mirror:
                log.info("mirror runs", source=mirror.source.name, target=mirror.target.name)
                if started is not None:
                    started(mirror)
                if once:
                    await _until_copied(mirror, ended)
                else:
                    await _until_ended(mirror, ended)
            return
        except RetryError as problem:
            if once:
                raise
            log.warning("mirror cannot start yet", problem=str(problem))
            await _either(ended, AGAIN_SECONDS)


async def _until_ended(mirror: Mirror, ended: asyncio.Event) -> None:
    """Until `ended`; raises what the mirror fails by."""
    both = [asyncio.ensure_future(work) for work in (ended.wait(), mirror.run())]
    try:
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        for each in both:
            each.cancel()


async def _until_copied(mirror: Mirror, ended: asyncio.Event) -> None:
    while not mirror.caught_up and not ended.is_set():
        if mirror.held_up is not None:
            raise mirror.held_up
        problem = next(iter(mirror.problems.values()), "")
        if problem:
            raise RetryError(f"not all is copied: {problem}")
        await _either(ended, LOOK_SECONDS)
    if mirror.settings.groups:
        await mirror.move_groups()


async def _either(ended: asyncio.Event, seconds: float) -> None:
    """Until `ended`, or `seconds` are over."""
    try:
        await asyncio.wait_for(ended.wait(), seconds)
    except TimeoutError:
        return
