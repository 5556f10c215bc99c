"""Runs servers until a signal comes: the event loop, the signals, the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Sequence
from typing import Final, Protocol

YOUNG_OBJECTS_MAX: Final = 50_000
"""Allocations between two looks at young objects. A broker makes many that live for one request."""


class Service(Protocol):
    """Something that can be started and stopped."""

    async def start(self) -> object:
        """Begin to serve."""
        ...

    async def stop(self) -> object:
        """Finish in good order."""
        ...


def serve(make: Callable[[], Sequence[Service]], ready: Callable[[], str]) -> None:
    """Start what `make` returns, in its order, print `ready()`, and stop all in reverse on SIGTERM or SIGINT.

    `make` is called on the running loop. A start that fails stops what was started and raises its error.
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(make, ready))


async def _serve(make: Callable[[], Sequence[Service]], ready: Callable[[], str]) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    started: list[Service] = []
    try:
        for service in make():
            await service.start()
            started.append(service)
        print(ready(), flush=True)
        _tune_garbage_collector()
        await asked.wait()
    finally:
        for service in reversed(started):
            await service.stop()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _tune_garbage_collector() -> None:
    # What is there now stays for good: no later collection has to walk through it.
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS_MAX, 20, 20)
