"""A broker and a name server in one process, without sockets and threads, and all that is looked at there."""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from fuzz.facts import Facts
from fuzz.frames import FrameMaker
from fuzz.line import Line
from fuzz.sentinel import Sentinel
from fuzz.steps import Step
from fuzz.stored import HOST
from mqframe_delay.settings import DelaySettings
from mqframe_index.settings import IndexSettings
from mqframe_testing.simulation import SimulatedLoop
from mqframe_transactions.settings import TransactionSettings

from mqframe.broker.broker import Broker
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.errors import MqframeError
from mqframe.log import get_logger
from mqframe.nameserver.server import NameServer
from mqframe.nameserver.settings import NameServerSettings
from mqframe.store.incoming import Incoming
from mqframe.store.settings import StoreSettings

BROKER_PORT, NAMESERVER_PORT = 10911, 9876
PORTS = {"broker": BROKER_PORT, "nameserver": NAMESERVER_PORT}
LINES = 3
"""Connections of strangers to each server."""
STORE: dict[str, Any] = {
    "commit_log_file_bytes": 8 << 20,
    "queue_file_bytes": 20 * 512,
    "queue_descriptors_max": 16,
    "flush_interval_ms": 2000,
    "disk_limits": False,
}
SERVICES = (
    DelaySettings(timer_log_file_bytes=1 << 20, timer_window_slots=7200),
    IndexSettings(slots=500, entries=2000),
    TransactionSettings(timeout_ms=3000, check_interval_ms=4000),
)
TOP = {
    "abort", "checkpoint", "commitlog", "config", "consumequeue", "dispatched", "index", "lock", "queue-ends",
    "timerlog", "timerwheel",
}  # fmt: skip
"""What a store may have at its top."""
QUEUE_FILE = re.compile(r"consumequeue/[^/]+/-?\d+/\d{20}")
ESCAPES = (Path("/tmp/mqframe-fuzz-escape"), Path("/mqframe-fuzz-escape"))
DESCRIPTORS_MAX = 60
"""More than before the start that the servers may hold: files of the log, queues, index, timer."""


class Told(logging.Handler):
    """Keeps the errors that the servers log with a traceback: what nobody had expected."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.exc_info or record.exc_info[1] is None:
            return
        problem, at = record.exc_info[1], record.exc_info[2]
        if isinstance(problem, MqframeError):
            return  # told in words of ours: somebody thought of it
        places = []
        while at is not None:
            code = at.tb_frame.f_code
            places.append(f"{Path(code.co_filename).name}:{at.tb_lineno} {code.co_name}")
            at = at.tb_next
        where = " < ".join(reversed(places[-6:]))
        self.errors.append(
            f"{record.getMessage()} | {type(problem).__name__}: {str(problem)[:300]} | {where}"
        )


class World:
    """Both servers, strangers' connections to them, and the sentinel.

    `folder`: an empty one; the store lies deep in it, so that what leaves it is seen.
    """

    def __init__(self, folder: Path, loop: SimulatedLoop) -> None:
        self.loop = loop
        self.clock = loop.clock
        self.folder = folder
        self.directory = folder / "a" / "b" / "store"
        for canary in (folder / "empty", folder / "a" / "empty", folder / "a" / "b" / "empty"):
            canary.mkdir(parents=True)
        self.told = Told()
        self.facts = Facts()
        self.maker = FrameMaker(self.facts)
        self.lines: dict[tuple[str, int], Line] = {}
        self.sentinel = Sentinel(self.clock, self.facts)
        self.descriptors = _descriptors()
        self.nameserver: NameServer
        self.broker: Broker

    async def start(self) -> None:
        get_logger("fuzz").error("the first line of a log, which costs an import")
        settings = NameServerSettings(port=NAMESERVER_PORT, directory=self.folder / "a" / "b" / "kv")
        self.nameserver = NameServer(settings, self.clock)
        await self.nameserver.start()
        await self._start_broker()
        await self.sentinel.start()
        await self.loop.settle()

    async def _start_broker(self) -> None:
        address = f"127.0.0.1:{NAMESERVER_PORT}"
        broker = BrokerSettings(port=BROKER_PORT, nameservers=(address,))
        store = StoreSettings(directory=self.directory, **STORE)
        self.broker = Broker(BrokerSections(broker, store, services=SERVICES), self.clock)
        await self.broker.start()

    async def stop(self) -> None:
        for line in self.lines.values():
            line.close()
        await self.sentinel.stop()
        await self.broker.stop()
        await self.nameserver.stop()
        await self.loop.settle()

    # Steps

    def next_step(self, chance: Random) -> Step:
        """A step that follows from `chance` and from what was learned so far."""
        which = chance.random()
        line = chance.randrange(LINES)
        server = chance.choice(("broker", "broker", "broker", "nameserver"))
        now_ms = self.clock.now_ms()
        if which < 0.72:
            kind = self.maker.kind(server, chance)
            return Step("frame", server, line, self.maker.frame(kind, chance, now_ms))
        if which < 0.76:
            return Step("frame", server, line, self.maker.recorded(chance))
        if which < 0.79:
            return Step("frame", server, line, self.maker.broken(chance))
        if which < 0.80:
            return Step("close", server, line)
        if which < 0.81:
            return Step(chance.choice(("deaf", "hear")), server, line)
        if which < 0.93:
            return Step("put", message=self.maker.stored(chance, now_ms))
        return Step("time", seconds=chance.choice((0.001, 0.1, 0.5, 1.0, 1.0, 3.0, 10.0)))

    async def play(self, step: Step) -> None:
        """Do one step, and whatever follows from it without time passing."""
        match step.kind:
            case "frame":
                line = self._line(step)
                line.send(step.data)
                await self.loop.settle()
                for answer in line.answers():
                    self.facts.learn(answer)
            case "close":
                self._line(step).close()
            case "deaf":
                self._line(step).deaf(True)
            case "hear":
                self._line(step).deaf(False)
            case "put":
                self._put(step.message)
            case "time":
                await self.clock.advance(step.seconds)
            case "stop" | "kill":
                await self.restart(step.kind)
            case _:
                raise ValueError(step.kind)
        await self.loop.settle()

    def _line(self, step: Step) -> Line:
        key = step.server, step.line
        line = self.lines.get(key)
        if line is None or line.closed:
            line = self.lines[key] = Line(self.loop, PORTS[step.server])
        return line

    def _put(self, message: dict[str, Any]) -> None:
        fields = message | {
            "body": message["body"].encode("latin-1", "replace"),
            "born_host": HOST,
            "store_host": HOST,
        }
        try:
            self.broker.store.writes.put(Incoming(**fields))
        except MqframeError:
            return  # refused, which is an answer too
        self.broker.store.dispatch.now()

    async def restart(self, how: str) -> None:
        """End the broker, in good order or as if killed, and start it again on its files."""
        await (self.broker.stop() if how == "stop" else self.broker.abandon())
        await self.loop.settle()
        await self._start_broker()
        await self.loop.settle()

    # What is looked at

    def troubles(self) -> list[str]:
        """What went wrong since the last look, whoever saw it."""
        found = [f"error in the log: {text}" for text in self.told.errors]
        found += [f"error in the loop: {text}" for text in self.loop.problems]
        found += [f"stall: {stall.seconds * 1000:.0f} ms in {stall.what}" for stall in self.loop.stalls]
        self.told.errors.clear()
        self.loop.problems.clear()
        self.loop.stalls.clear()
        return found

    def strays(self) -> list[str]:
        """Files where none should be, and canaries that are gone."""
        wanted = {"empty", "a", "a/empty", "a/b", "a/b/empty", "a/b/store"}
        outside, inside = set(), []
        for path, folders, files in os.walk(self.folder):
            place = Path(path)
            for name in folders + files:
                relative = (place / name).relative_to(self.folder).as_posix()
                if relative.startswith("a/b/store/"):
                    inside.append(relative.removeprefix("a/b/store/"))
                elif not relative.startswith("a/b/kv"):
                    outside.add(relative)
        found = [f"outside of the store: {name}" for name in sorted(outside ^ wanted)]
        found += [f"outside of the store: {path}" for path in ESCAPES if path.exists()]
        for name in inside:
            top, _, rest = name.partition("/")
            wrong = top not in TOP or (top == "config" and "/" in rest)
            wrong = wrong or (
                top == "consumequeue" and name.count("/") > 2 and not QUEUE_FILE.fullmatch(name)
            )
            if wrong:
                found.append(f"a stray in the store: {name[:200]!r}")
        return found

    def leaks(self) -> list[str]:
        """Descriptors beyond what the servers may hold."""
        more = _descriptors() - self.descriptors
        if more <= DESCRIPTORS_MAX:
            return []
        held = Counter(Path(os.readlink(f"/proc/self/fd/{number}")).parent for number in _open_descriptors())
        return [f"{more} descriptors more than before the start: {held.most_common(3)}"]


def _descriptors() -> int:
    return len(_open_descriptors())


def _open_descriptors() -> list[str]:
    return [name for name in os.listdir("/proc/self/fd") if Path(f"/proc/self/fd/{name}").is_symlink()]
