"""A master and its slaves in this process, on a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self, TypeVar

from mqframe_metrics import BrokerSource
from mqframe_replication.broker.role_by_operator import RoleByOperator
from mqframe_replication.settings import ReplicationSettings
from mqframe_testing.at_once import AtOnce
from mqframe_testing.cluster import SMALL_STORE
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.thread_pools import at_rest

from mqframe.broker.broker import Broker
from mqframe.broker.host import BrokerHost, MakeBroker
from mqframe.broker.roles.group_role import GroupRole
from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.core.codes import PullFlag
from mqframe.core.measuring.family import Family
from mqframe.core.requests import Request
from mqframe.core.requests.admin import (
    GetBrokerRuntimeInfo,
)
from mqframe.core.requests.messages import PullMessage, SendMessageV2
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import loads
from mqframe.hooks.manager import PluginManager
from mqframe.nameserver.server import NameServer
from mqframe.nameserver.settings import NameServerSettings
from mqframe.net.access.access import Access
from mqframe.net.access.settings import AccessSettings
from mqframe.net.client import Client
from mqframe.net.settings import NetSettings
from mqframe.store.settings import StoreSettings

FILE_BYTES = 64 << 10
T = TypeVar("T")


class Held:
    """A broker whose role operators may change; it is started by whoever makes it."""

    def __init__(self, sections: BrokerSections, make: MakeBroker, clock: ManualClock) -> None:
        self.roles = RoleByOperator(sections, clock)
        self.host = BrokerHost(make, self.roles)

    @property
    def broker(self) -> Broker:
        return self.host.broker

    @property
    def address(self) -> str:
        return self.host.address

    @property
    def sections(self) -> BrokerSections:
        return self.roles.sections

    async def stop(self) -> None:
        await self.host.stop()


class Pair:
    """A name server, a master and slaves below `directory`, each started by the test, and stopped in the end.

    `settings`, `services`: of brokers that are started from now on, besides where they are.

    `net`: how all of them connect. `access`: what is asked of those who do, by brokers that are started from
    now on, each of which has users of its own.
    """

    def __init__(self, directory: Path, net: NetSettings | None = None) -> None:
        self.clock = ManualClock()
        self.net = net or NetSettings()
        self.access: AccessSettings | None = None
        self.client = Client(self.clock, self.net)
        self.directory = directory
        self.names = NameServer(NameServerSettings(port=0), self.clock, self.net)
        self.running: list[Broker] = []
        self.settings: dict[str, Any] = {}
        self.services: tuple[Any, ...] = ()
        self.held: list[Held] = []

    async def __aenter__(self) -> Self:
        await self.names.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for each in (*reversed(self.held), *reversed(self.running)):
            await each.stop()
        await self.client.close()
        await self.names.stop()

    def sections(self, folder: str, role: str, store: dict[str, Any], **replication: Any) -> BrokerSections:
        fields = {**SMALL_STORE, "commit_log_file_bytes": FILE_BYTES, **store}
        number = {"id": 1} if role == "SLAVE" else {}
        return BrokerSections(
            BrokerSettings(port=0, nameservers=(self.names.address,), **self.settings),
            StoreSettings(directory=self.directory / folder, **fields),
            self.net,
            replication=ReplicationSettings(**({"role": role, **number} | replication)),
            services=self.services,
        )

    async def start(
        self, folder: str, role: str, store: dict[str, Any] | None = None, **replication: Any
    ) -> Broker:
        broker = Broker(self.sections(folder, role, store or {}, **replication), self.clock)
        broker.save_by(AtOnce())
        if self.access is not None:
            broker.enforce(Access(self.access, self.clock, PluginManager(), cluster="DefaultCluster"))
        await broker.start()
        self.running.append(broker)
        return broker

    async def hold(
        self, folder: str, role: str, store: dict[str, Any] | None = None, **replication: Any
    ) -> Held:
        """A broker whose role operators may change."""
        held = Held(self.sections(folder, role, store or {}, **replication), self.make, self.clock)
        await held.host.start()
        self.held.append(held)
        return held

    def make(self, sections: BrokerSections, role: GroupRole | None = None) -> Broker:
        broker = Broker(sections, self.clock, role=role)
        broker.save_by(AtOnce())
        return broker

    async def meanwhile(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, while time passes."""
        task = asyncio.ensure_future(work)
        for _ in range(2000):
            if task.done():
                return task.result()
            await self.settle(0.1)
        raise AssertionError("it takes too long")

    async def stop(self, broker: Broker, *, kill: bool = False) -> None:
        self.running.remove(broker)
        await (broker.abandon() if kill else broker.stop())

    def invoke(self, broker: Broker, request: Request, body: bytes = b"") -> Coroutine[Any, Any, Frame]:
        return self.client.invoke(broker.address, request, body, timeout=3600)

    def send(
        self, broker: Broker, body: bytes, queue: int = 0, properties: str = ""
    ) -> Coroutine[Any, Any, Frame]:
        request = SendMessageV2(
            topic="t",
            producer_group="p",
            default_topic="TBW102",
            default_topic_queue_nums=4,
            queue_id=queue,
            sys_flag=0,
            born_timestamp=1_700_000_000_000,
            flag=0,
            properties=f"UNIQ_KEY\x01{body[:8].hex()}\x02{properties}",
        )
        return self.invoke(broker, request, body)

    async def sent(self, broker: Broker, *bodies: bytes) -> None:
        for body in bodies:
            assert (await self.send(broker, body)).code == 0

    async def bodies(self, broker: Broker, queue: int = 0) -> list[bytes]:
        """All of a queue, pulled."""
        found: list[bytes] = []
        while True:
            answer = await self.invoke(
                broker,
                PullMessage(
                    topic="t", consumer_group="g", queue_id=queue, max_msg_nums=32, queue_offset=len(found),
                    sys_flag=PullFlag.SUBSCRIPTION, commit_offset=0, suspend_timeout_millis=0, sub_version=0,
                    subscription="*",
                ),
            )  # fmt: skip
            if answer.code:
                assert answer.code == 19, f"{answer.code} {answer.remark}"
                return found
            found += [message.body for message in decode_records(answer.body)]

    async def settle(self, seconds: float = 0) -> None:
        await self.clock.aadvance(seconds)
        for _ in range(5):
            await self.clock.aadvance(0)
            await at_rest()

    async def follows(self, master: Broker, slave: Broker) -> None:
        """Wait until the slave has what the master has."""
        for _ in range(100):
            if slave.store.log.max_offset == master.store.log.max_offset and not slave.store.dispatch.is_due:
                return
            await self.settle(0.5)
        raise AssertionError(await self.counters(slave))

    async def counters(self, broker: Broker) -> dict[str, str]:
        answer = await self.invoke(broker, GetBrokerRuntimeInfo())
        table: dict[str, str] = loads(bytes(answer.body))["table"]
        return table

    def log(self, broker_folder: str) -> bytes:
        files = sorted((self.directory / broker_folder / "commitlog").iterdir())
        return b"".join(file.read_bytes() for file in files)


Scenario = Callable[[Pair], Coroutine[Any, Any, None]]


def play(directory: Path, scenario: Scenario, net: NetSettings | None = None) -> None:
    """Run `scenario` with stores below `directory`; what still runs is stopped in the end."""

    async def whole() -> None:
        async with Pair(directory, net) as pair:
            await scenario(pair)

    asyncio.run(whole())


def texts(start: int, count: int) -> list[bytes]:
    return [b"%06d" % number * 200 for number in range(start, start + count)]


async def port_of(pair: Pair, master: Broker) -> int:
    return int((await pair.counters(master))["replicationPort"])


async def replication_metrics(broker: Broker) -> dict[str, dict[tuple[str, ...], float]]:
    found = {}
    async for each in BrokerSource(broker).families():
        if isinstance(each, Family) and each.name.startswith("mqframe_replication") and each.series:
            found[each.name] = dict(each.series)
    return found


def spoil(pair: Pair, folder: str, body: bytes, by: int = 10) -> None:
    """Turn bits of the one record with `body` in the log below `folder`, `by` bytes behind its begin."""
    for path in sorted((pair.directory / folder / "commitlog").iterdir()):
        raw = bytearray(path.read_bytes())
        at = raw.find(body)
        if at >= 0:
            raw[at + by : at + by + 4] = b"\xff\x00\xff\x00"
            with open(path, "r+b") as file:  # in place: a running broker has it mapped
                file.write(raw)
            return
    raise AssertionError(f"{body[:20]!r} is not in the log")
