"""The servers of a day: small files, clean-up by age, stops, kills and jumps of the clock."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mqframe_delay.settings import DelaySettings
from mqframe_index.settings import IndexSettings
from mqframe_testing.simulation import SimulatedLoop
from mqframe_testing.simulation.clock import START_MS, SimulatedClock
from mqframe_transactions.settings import TransactionSettings
from soak.timeline import Timeline

from mqframe.broker.broker import Broker
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.nameserver.server import NameServer
from mqframe.nameserver.settings import NameServerSettings
from mqframe.store.settings import StoreSettings

NAMESERVER = "127.0.0.1:9876"
BROKER = "127.0.0.1:10911"
SERVICES = (
    DelaySettings(timer_log_file_bytes=64 << 10, timer_window_slots=3600),
    IndexSettings(slots=500, entries=2000),
    TransactionSettings(check_interval_ms=10_000),
)
STORE: dict[str, Any] = {
    "commit_log_file_bytes": 256 << 10,
    "queue_file_bytes": 20 * 200,
    "keep_hours": 6,
    "delete_when": ";".join(str(hour) for hour in range(24)),
    "cleanup_interval_ms": 60_000,
    "flush_interval_ms": 1000,
    "queue_descriptors_max": 32,
    "disk_limits": False,
}


class Servers:
    """One of each. `quiet_since`: monotonic time from which on nothing was done to them."""

    def __init__(self, folder: Path, loop: SimulatedLoop, clock: SimulatedClock) -> None:
        self._folder = folder
        self._loop = loop
        self._clock = clock
        self._stamped: dict[Path, int] = {}
        self.timeline = Timeline(START_MS)
        self.quiet_since = 0.0
        self.up = False
        self.restarts = 0
        self.events: list[str] = []
        self.nameserver: NameServer
        self.broker: Broker

    async def start(self) -> None:
        self.nameserver = NameServer(NameServerSettings(port=9876), self._clock)
        await self.nameserver.start()
        await self.start_broker()

    async def start_broker(self) -> None:
        settings = BrokerSettings(
            port=10911,
            nameservers=(NAMESERVER,),
            auto_create_topics=False,
        )
        store = StoreSettings(directory=self._folder / "store", **STORE)
        self.broker = Broker(BrokerSections(settings, store, services=SERVICES), self._clock)
        await self.broker.start()
        self.up = True
        self.quiet_since = self._clock.monotonic()
        self._note("broker starts")
        self.timeline.restarted(self._clock.monotonic())

    async def end_broker(self, *, kill: bool) -> None:
        self.restarts += 1
        self._note("broker is killed" if kill else "broker stops")
        self.up = False
        self.quiet_since = float("inf")
        await (self.broker.abandon() if kill else self.broker.stop())
        await self._loop.settle()

    async def stop(self) -> None:
        if self.up:
            await self.broker.stop()
        await self.nameserver.stop()

    def jump(self, seconds: float) -> None:
        self._note(f"clock is set by {seconds:.3f} s")
        self._clock.jump(seconds)
        now = self._clock.monotonic()
        self.timeline.jumped(now, self._clock.now_ms() - round(now * 1000))
        self.quiet_since = now if self.up else self.quiet_since

    def _note(self, what: str) -> None:
        self.events.append(f"{self._clock.monotonic():.0f} s: {what}")

    def stamp_files(self) -> None:
        """Give files that were written since the last call the simulated time: clean-up goes by it."""
        now = self._clock.now_ms()
        for path in (self._folder / "store" / "commitlog").glob("*"):
            modified = path.stat().st_mtime_ns
            if modified != self._stamped.get(path):
                os.utime(path, ns=(now * 1_000_000, now * 1_000_000))
                self._stamped[path] = path.stat().st_mtime_ns
        self._stamped = {path: at for path, at in self._stamped.items() if path.exists()}

    def is_quiet(self, since: float, seconds: float = 60.0) -> bool:
        """Whether nothing was done to the servers from `seconds` before `since` until now."""
        return self.up and self.quiet_since <= since - seconds
