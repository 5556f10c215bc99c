"""Runs servers until a signal comes: the event loop, the signals, the garbage collector."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import signal
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, runtime_checkable

from mqframe.core.errors import GiveUpError, MqframeError, SettingError
from mqframe.core.os_errors import told
from mqframe.log import get_logger
from mqframe.net.clock import SystemClock
from mqframe_cli.processes.descriptors import DescriptorWatch, lacks_descriptors

log: Final = get_logger("cli")
FILES_MAX: Final = 1 << 17
"""Files that servers want to be allowed to have open."""
YOUNG_OBJECTS_MAX: Final = 50_000
"""Allocations between two looks at young objects. A broker makes many that live for one request."""


class Service(Protocol):
    """Something that can be started and stopped."""

    @property
    def address(self) -> str:
        """Where it can be reached, "host:port", once started."""

    async def start(self) -> object:
        """Begin to serve."""

    async def stop(self) -> object:
        """Finish in good order."""


@runtime_checkable
class Services(Protocol):
    """Several that are started and stopped as one."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """Where each can be reached, "host:port", by its name, once started."""

    async def start(self) -> object:
        """Begin to serve."""

    async def stop(self) -> object:
        """Finish in good order."""


def print_ready(addresses: Mapping[str, str]) -> None:
    """Write `ready name=address …` to standard output."""
    print("ready", *(f"{name}={address}" for name, address in addresses.items()), flush=True)


def serve(
    services: Mapping[str, Callable[[], Service | Services]],
    ready: Callable[[Mapping[str, str]], object] = print_ready,
    on_started: Callable[[str, Service | Services], object] = lambda name, service: None,
) -> None:
    """Start `services` in their order, tell `ready` their addresses, and stop them in reverse on a signal.

    `on_started`: called with the name of each that serves, and itself. Each is made on the running loop when
    those before it are started. SIGTERM and SIGINT are the signals; a second one does not wait. A start that
    fails stops what was started and raises its error: always one of mqframe's.
    """
    _raise_files_limit()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(services, ready, on_started))


async def _serve(
    services: Mapping[str, Callable[[], Service | Services]],
    ready: Callable[[Mapping[str, str]], object],
    on_started: Callable[[str, Service | Services], object],
) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    watch = DescriptorWatch(SystemClock())
    loop.set_exception_handler(partial(_tell, watch))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    addresses: dict[str, str] = {}
    async with contextlib.AsyncExitStack() as started:
        try:
            for name, make in services.items():
                service = await _started(name, make)
                started.push_async_callback(service.stop)
                on_started(name, service)
                addresses |= service.addresses if isinstance(service, Services) else {name: service.address}
            ready(addresses)
            _tune_garbage_collector()
            await asked.wait()
        finally:
            watch.stop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)


def end_process() -> None:
    """Have this process end in good order, as a signal would: what it is for is not there any more."""
    os.kill(os.getpid(), signal.SIGTERM)


async def _started(name: str, make: Callable[[], Service | Services]) -> Service | Services:
    try:
        service = make()
        await service.start()
    except MqframeError:
        raise
    except OSError as problem:
        raise SettingError(f"{name} cannot start: {told(problem)}") from problem
    except Exception as problem:  # whoever starts a server gets words; the rest is for --log-level debug
        log.debug("start failed", service=name, exc_info=True)
        raise GiveUpError(f"{name} cannot start: {type(problem).__name__}: {problem}") from problem
    return service


def _raise_files_limit() -> None:
    """Let this process have as many files open as it may: by default it is often 1,024."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if most == resource.RLIM_INFINITY else min(most, FILES_MAX)
    if now != resource.RLIM_INFINITY and now < wanted:
        with contextlib.suppress(ValueError, OSError):  # some systems take less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _tell(watch: DescriptorWatch, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What the loop could not do: that nothing can be opened any more is told in words."""
    problem = context.get("exception")
    if isinstance(problem, OSError) and lacks_descriptors(problem):
        watch.note(problem)
    else:
        loop.default_exception_handler(context)


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
