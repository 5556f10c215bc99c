"""A day in simulated time: mixed load, stops and kills of the broker, clean-up, and a clock that jumps."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import NamedTuple

from mqframe_admin.requests import DeleteTopicInBroker, UpdateAndCreateSubscriptionGroup
from mqframe_testing.simulation import SimulatedLoop
from silence import logs_kept_to
from soak.customers import TOPICS, Customers
from soak.ledger import Ledger
from soak.servers import BROKER, Servers
from weight import weight

from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.requests import Request
from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps
from mqframe.net.client import Client

BUSY_MAX = 60
"""Sends under way at once."""
DRAIN_SECONDS_MAX = 4 * 3600.0
STEP_SECONDS = 4.0
"""The mean of the time between two things that happen."""
DEAD_LETTERS = "%DLQ%c"


class Result(NamedTuple):
    """What a day was like. `events`: what was done to the broker; `weights`: blocks of memory, each hour."""

    findings: list[str]
    events: list[str]
    sent: dict[str, int]
    came: dict[str, int]
    again: dict[str, int]
    restarts: int
    jumps: int
    replies: int
    dead: int
    files_gone: int
    weights: list[int]


class Day:
    """Runs `hours` that follow from `seed`, with the store in `folder`."""

    def __init__(self, folder: Path, seed: int, hours: float) -> None:
        self._folder = folder
        self._chance = Random(seed)
        self._seconds = hours * 3600
        self._loop = SimulatedLoop()
        self._clock = self._loop.clock
        self._servers = Servers(folder, self._loop, self._clock)
        self._ledger = Ledger(self._clock, self._servers.timeline)
        self._dead_next = 0
        self._dead: set[int] = set()
        self._poisoned: set[int] = set()
        self._jumps = 0
        self._back = 0.0
        self._back_at = float("inf")
        self._up_at = float("inf")
        self._topics = 0
        self._weights: list[int] = []

    def run(self) -> Result:
        """The whole day; what is wrong is in the result."""
        asyncio.set_event_loop(self._loop)
        try:
            with logs_kept_to():
                self._loop.run_until_complete(self._whole())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()
        ledger = self._ledger
        return Result(
            ledger.findings + self._loop.problems,
            self._servers.events,
            dict(ledger.sent), dict(ledger.came), dict(ledger.again),
            self._servers.restarts, self._jumps, self._customers.replies, len(self._dead),
            self._first_file() // (256 << 10), self._weights,
        )  # fmt: skip

    async def _whole(self) -> None:
        await self._servers.start()
        self._client = Client(self._clock)
        for topic, queues in TOPICS.items():
            await self._create(topic, queues)
        group = SubscriptionGroupConfig("c", retry_max_times=2)
        await self._invoke(UpdateAndCreateSubscriptionGroup(), dumps(group))
        self._customers = Customers(self._servers, self._ledger, self._clock, Random(self._chance.random()))
        await self._customers.start()
        hour = 0
        while self._clock.monotonic() < self._seconds:
            await self._step()
            if self._clock.monotonic() >= hour * 3600:
                hour += 1
                self._weights.append(weight())
        await self._drain()
        await self._client.close()
        await self._customers.stop()
        await self._servers.stop()

    # What happens

    async def _step(self) -> None:
        chance, servers = self._chance, self._servers
        now = self._clock.monotonic()
        if now >= self._up_at:
            self._up_at = float("inf")
            await servers.start_broker()
        if now >= self._back_at:
            self._jump(-self._back, 0.0)
        what = chance.random()
        if what < 0.0025 and servers.up:
            await servers.end_broker(kill=chance.random() < 0.6)
            self._up_at = now + chance.choice((0.0, 1.0, chance.uniform(0, 45)))
        elif what < 0.0032 and self._back_at == float("inf"):
            self._jump(chance.choice((-3, 3)) * 3600.0, chance.uniform(2, 120))
        elif what < 0.0045:
            self._jump(chance.uniform(-2, 2), None)
        elif what < 0.0065 and servers.up and servers.is_quiet(now):
            await self._topic_comes_and_goes()
        elif what < 0.03 and servers.up:
            await self._read_dead_letters()
            servers.stamp_files()
        elif self._customers.busy < BUSY_MAX:
            for _ in range(chance.choice((1, 1, 1, 3))):
                self._customers.act()
        await self._clock.advance(chance.expovariate(1 / STEP_SECONDS))

    def _jump(self, seconds: float, lasts: float | None) -> None:
        """Set the wall clock; `lasts`: after how many seconds it is set right again, 0: it is that now."""
        self._jumps += 1
        self._servers.jump(seconds)
        if lasts is None:
            return
        self._back = seconds if lasts else 0.0
        self._back_at = self._clock.monotonic() + lasts if lasts else float("inf")

    async def _topic_comes_and_goes(self) -> None:
        self._topics += 1
        name = f"temporary-{self._topics}"
        await self._create(name, 2)
        send = SendMessageV2("shop", name, "TBW102", 4, 1, 0, self._clock.now_ms(), 0, "KEYS\x01k\x02")
        for number in range(3):
            await self._invoke(send, b"%d" % number)
        await self._loop.settle()
        found = self._servers.broker.store.reads.get(name, 1, 0, 32)
        bodies = [message.body for part in found.parts for message in decode_records(part)]
        if bodies != [b"0", b"1", b"2"]:
            self._ledger.find(f"topic {name} holds {bodies}")
        await self._invoke(DeleteTopicInBroker(name))
        answer = await self._client.invoke(BROKER, send, b"x")
        if answer.code != 17 or (self._folder / "store" / "consumequeue" / name).exists():
            self._ledger.find(f"topic {name} was deleted, and is there: {answer.code} {answer.remark}")

    async def _create(self, topic: str, queues: int) -> None:
        await self._invoke(
            UpdateAndCreateTopic(topic=topic, read_queue_nums=queues, write_queue_nums=queues, perm=6)
        )

    async def _invoke(self, request: Request, body: bytes = b"") -> Frame:
        answer = await self._client.invoke(BROKER, request, body)
        assert answer.code == 0, f"{request} was answered {answer.code} {answer.remark}"
        return answer

    async def _read_dead_letters(self) -> None:
        while True:
            found = self._servers.broker.store.reads.get(DEAD_LETTERS, 0, self._dead_next, 32)
            if found.status is not GetStatus.FOUND:
                return
            for message in (each for part in found.parts for each in decode_records(part)):
                words = message.body.split(b"|")
                self._dead.add(int(words[0]))
                if words[1] != b"poison" and message.reconsume_times < 2:
                    self._ledger.find(
                        f"message {words[:2]} is a dead letter after {message.reconsume_times} tries"
                    )
            self._dead_next = found.next_offset

    async def _drain(self) -> None:
        """Until everything that was promised has come, and what was popped is done with."""
        if self._back_at != float("inf"):
            self._jump(-self._back, 0.0)
        if not self._servers.up:
            await self._servers.start_broker()
        end = self._clock.monotonic() + DRAIN_SECONDS_MAX
        while self._clock.monotonic() < end:
            await self._clock.advance(30.0)
            await self._read_dead_letters()
            if not self._ledger.open and not self._customers.popped and self._customers.busy <= 1:
                break
        for missing in self._ledger.missing():
            self._ledger.find(missing)
        if self._customers.popped:
            self._ledger.find(f"{len(self._customers.popped)} popped messages are not done with")
        await self._clock.advance(300.0)
        await self._read_dead_letters()

    def _first_file(self) -> int:
        return min((int(path.name) for path in (self._folder / "store" / "commitlog").glob("*")), default=0)
