"""A life of a broker by a seed: topics, sends of all kinds, progress, pops, transactions; its promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup
from mqframe_delay.broker import timer
from mqframe_delay.settings import DelaySettings
from mqframe_testing.at_once import AtOnce
from mqframe_testing.cluster import AsyncCluster
from mqframe_testing.manual_clock import ManualClock
from mqframe_transactions.settings import TransactionSettings
from popping import Popped, pop_request, popped
from trust.threads import LoopThreads

from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.requests import Request
from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.core.requests.consumers import UpdateConsumerOffset
from mqframe.core.requests.messages import EndTransaction, SendMessageV2
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import dumps
from mqframe.net.client import Client
from mqframe.store import recovered_store

QUEUES: Final = 2
GROUP: Final = "g"
POPPING: Final = "popping"
COMMIT, ROLLBACK = 8, 12
FOREVER: Final = 3600.0


class Sent(NamedTuple):
    """A promise: this message is where the answer said, before log offset `end`."""

    topic: str
    queue_id: int
    queue_offset: int
    body: bytes


class Comes(NamedTuple):
    """A promise: this message comes to the topic, perhaps later, perhaps twice."""

    topic: str
    body: bytes


class TopicMade(NamedTuple):
    """A promise: this topic is there."""

    topic: str


class GroupMade(NamedTuple):
    """A promise: this consumer group is there."""

    group: str


class Popping(NamedTuple):
    """No promise any more: an acknowledgement of this popped message is on its way."""

    body: bytes


class Now(NamedTuple):
    """What time it is, ms."""

    ms: int


class MayCommit(NamedTuple):
    """How far the group may say that it is."""

    topic: str
    queue_id: int
    offset: int


@contextmanager
def one_thread() -> Iterator[None]:
    """Brokers that are made meanwhile do everything in their loop."""
    with (
        patch.object(recovered_store, "Threads", LoopThreads),
        patch.object(timer, "ThreadPoolExecutor", lambda *args, **more: AtOnce()),
    ):
        yield


SERVICES: Final = (
    DelaySettings(timer_log_file_bytes=8192),
    TransactionSettings(check_interval_ms=5000, timeout_ms=3000),
)


def small_broker(seed: int) -> dict[str, Any]:
    """Settings of a broker's store with which files end and go often."""
    chance = Random(f"broker settings {seed}")
    return {
        "commit_log_file_bytes": chance.choice((16384, 65536)),
        "queue_file_bytes": chance.choice((400, 2000)),
        "index_slots": 100,
        "index_entries": 400,
        "flush": chance.choice(("SYNC_FLUSH", "SYNC_FLUSH", "ASYNC_FLUSH")),
        "flush_pages_min": 0,
        "queue_flush_pages_min": 0,
        "queue_flush_thorough_ms": 3000,
        "flush_thorough_ms": 3000,
    }


def cluster_at(directory: Path, seed: int, clock: ManualClock) -> AsyncCluster:
    """A broker whose store lies below `directory`, and its name server."""
    broker = {"offsets_save_interval_ms": 2000}
    store = small_broker(seed)
    return AsyncCluster(clock=clock, directory=directory, store=store, broker=broker, sections=SERVICES)


class BrokerLife:
    """One broker from its first start on. `note` is told each promise."""

    def __init__(self, cluster: AsyncCluster, seed: int, note: Callable[[Any], None]) -> None:
        self.cluster = cluster
        self.note = note
        self.chance = Random(f"broker life {seed}")
        self._sync = small_broker(seed)["flush"] == "SYNC_FLUSH"
        self._client = Client(cluster.clock)
        self._topics: list[str] = []
        self._number = 0
        self._read: dict[tuple[str, int], int] = {}
        self._popped: list[Popped] = []
        self._halves: list[tuple[Frame, bytes]] = []

    async def run(self, steps: int) -> None:
        """Live on for so many steps, the cluster has started."""
        await self._make_topic()
        await self._make_topic("pops")
        for group in (GROUP, POPPING):
            config = SubscriptionGroupConfig(group_name=group)
            await self._ok(UpdateAndCreateSubscriptionGroup(), dumps(config))
            self.note(GroupMade(group))
        actions = (
            (self._send, 30),
            (self._send_delayed, 8),
            (self._send_timed, 8),
            (self._send_half, 6),
            (self._end_half, 8),
            (self._commit, 15),
            (self._send_to_pop, 8),
            (self._pop, 6),
            (self._ack, 8),
            (self._time_passes, 25),
            (self._make_topic, 2),
            (self._restart, 1),
            (self._kill, 1),
        )
        for _ in range(steps):
            (action,) = self.chance.choices([each for each, _ in actions], [often for _, often in actions])
            await action()  # type: ignore[operator]
            self.note(Now(self.cluster.clock.now_ms()))
        await self._client.close()

    async def _ask(self, request: Request, body: bytes = b"") -> Frame:
        return await self._client.invoke(self.cluster.broker.address, request, body, timeout=FOREVER)

    async def _ok(self, request: Request, body: bytes = b"") -> Frame:
        answer = await self._ask(request, body)
        assert answer.code == 0, f"{type(request).__name__}: {answer.code} {answer.remark}"
        return answer

    async def _make_topic(self, name: str = "") -> None:
        name = name or f"topic{len(self._topics)}"
        await self._ok(
            UpdateAndCreateTopic(topic=name, read_queue_nums=QUEUES, write_queue_nums=QUEUES, perm=6)
        )
        self.note(TopicMade(name))
        if name != "pops":
            self._topics.append(name)

    async def _send_with(self, topic: str, properties: str, **fields: Any) -> tuple[bytes, int, Frame]:
        self._number += 1
        body = b"%d " % self._number + b"." * self.chance.choice((10, 300, 2000))
        queue_id = self.chance.randrange(QUEUES)
        values: dict[str, Any] = {
            "producer_group": "p",
            "default_topic": "TBW102",
            "default_topic_queue_nums": 4,
            "queue_id": queue_id,
            "sys_flag": 0,
            "born_timestamp": self.cluster.clock.now_ms(),
            "flag": 0,
            "properties": f"UNIQ_KEY\x01FD{self._number:030d}\x02{properties}",
        }
        answer = await self._ok(SendMessageV2(topic=topic, **(values | fields)), body)
        return body, queue_id, answer

    async def _send(self) -> None:
        topic = self.chance.choice(self._topics)
        body, queue_id, answer = await self._send_with(topic, "")
        self.note(Sent(topic, queue_id, int((answer.ext or {})["queueOffset"]), body))

    async def _send_delayed(self) -> None:
        topic = self.chance.choice(self._topics)
        body, _, _ = await self._send_with(topic, f"DELAY\x01{self.chance.randint(1, 3)}\x02")
        self.note(Comes(topic, body))

    async def _send_timed(self) -> None:
        topic = self.chance.choice(self._topics)
        body, _, _ = await self._send_with(topic, f"TIMER_DELAY_MS\x01{self.chance.randint(1, 20_000)}\x02")
        self.note(Comes(topic, body))

    async def _send_half(self) -> None:
        topic = self._topics[0]
        body, _, answer = await self._send_with(topic, "TRAN_MSG\x01true\x02PGROUP\x01p\x02", sys_flag=4)
        self._halves.append((answer, body))

    async def _end_half(self) -> None:
        if not self._halves:
            return
        answer, body = self._halves.pop(self.chance.randrange(len(self._halves)))
        outcome = self.chance.choice((COMMIT, COMMIT, ROLLBACK))
        ext = answer.ext or {}
        ended = await self._ask(
            EndTransaction(
                producer_group="p",
                tran_state_table_offset=int(ext["queueOffset"]),
                commit_log_offset=int(ext["msgId"][-16:], 16),
                commit_or_rollback=outcome,
                msg_id=ext["transactionId"],
                transaction_id=ext["transactionId"],
            )
        )
        if ended.code == 0 and outcome == COMMIT:
            self.note(Comes(self._topics[0], body))

    async def _commit(self) -> None:
        """The group reads what there is in a queue, and commits some of it."""
        topic, queue_id = self.chance.choice(self._topics), self.chance.randrange(QUEUES)
        place = (topic, queue_id)
        end = self.cluster.broker.store.queues.max_offset(topic, queue_id)
        offset = self.chance.randint(min(self._read.get(place, 0), end), end)
        self._read[place] = offset
        self.note(MayCommit(topic, queue_id, offset))
        await self._ok(
            UpdateConsumerOffset(consumer_group=GROUP, topic=topic, queue_id=queue_id, commit_offset=offset)
        )

    async def _send_to_pop(self) -> None:
        body, _, _ = await self._send_with("pops", "")
        self.note(Comes("pops", body))

    async def _pop(self) -> None:
        request = pop_request("pops", consumer_group=POPPING, max_msg_nums=4, invisible_time=10_000)
        self._popped += popped(await self._ask(request), "pops", POPPING)

    async def _ack(self) -> None:
        if self._popped:
            one = self._popped.pop(self.chance.randrange(len(self._popped)))
            self.note(Popping(one.body))
            await self._ask(one.ack())

    async def _time_passes(self) -> None:
        clock: Any = self.cluster.clock
        await clock.aadvance(self.chance.choice((0.1, 0.6, 1.1, 3, 7)))

    async def _restart(self) -> None:
        await self.cluster.restart_broker()

    async def _kill(self) -> None:
        await self.cluster.kill_broker()
        await self.cluster.start_broker()
