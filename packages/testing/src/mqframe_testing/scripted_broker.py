"""A remoting without sockets: one broker and name server in memory, whose answers a test can script.

Stands where a `net.Client` would, so that client code runs unchanged, on a `ManualClock` if wanted:

    broker = ScriptedBroker(clock, {"orders": 4})
    instance = ClientInstance(ClientSettings(nameserver=broker.nameserver), clock, broker)
    broker.put("orders", 0, b"hello", tag="paid")
    broker.script(PullMessage, AnswerError(24, "who are you", broker.address))
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from mqframe.core.cluster.client_bodies import ConsumerList, HeartbeatData
from mqframe.core.cluster.route_bodies import BrokerData, QueueData, TopicRouteData
from mqframe.core.codes import PullFlag, ResponseCode
from mqframe.core.consuming.bodies import LockAnswerBody, LockBody
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import AnswerError, MqframeError
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.message import MessageQueue
from mqframe.core.messages.properties import TAGS, encode_properties
from mqframe.core.requests.admin import GetSubscriptionGroupConfig
from mqframe.core.requests.consumers import (
    GetConsumerListByGroup,
    GetMaxOffset,
    GetMinOffset,
    HeartBeat,
    LockBatchMq,
    OffsetAnswer,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
    UnlockBatchMq,
    UpdateConsumerOffset,
)
from mqframe.core.requests.fields import Header, Request, encode_fields
from mqframe.core.requests.messages import PullAnswer, PullFields
from mqframe.core.requests.nameserver import GetRouteinfoByTopic
from mqframe.core.requests.serving import Handler, handlers_of
from mqframe.core.storage.record import HEAD, encode_record
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Body, Frame
from mqframe.net.clock import LoopClock

HOST: Final = encode_host("10.0.0.1:10911")
Scripted = MqframeError | Callable[[Request], Awaitable[Frame] | Frame]


class ScriptedBroker:
    """Answers pulls, offsets, heartbeats, member lists and routes; anything else with success.

    `topics`: queues of each topic. `members`: ids of a group's members, filled by heartbeats. `offsets`: what
    groups committed, `locks`: the client that has the lock, by (group, queue). `requests`: all requests, in
    order. `held_back`: pulls that wait for messages. `on_open`: call it with `address`, and the client takes
    its connection for a new one.
    """

    nameserver: Final = "10.0.0.1:9876"
    address: Final = "10.0.0.1:10911"

    def __init__(self, clock: LoopClock, topics: dict[str, int], broker_name: str = "broker-a") -> None:
        self.broker_name = broker_name
        self.topics = dict(topics)
        self.members: dict[str, list[str]] = defaultdict(list)
        self.offsets: dict[tuple[str, MessageQueue], int] = {}
        self.first: dict[MessageQueue, int] = defaultdict(int)
        self.locks: dict[tuple[str, MessageQueue], str] = {}
        self.requests: list[Request] = []
        self.heartbeats: list[HeartbeatData] = []
        self._clock = clock
        self._log: dict[MessageQueue, list[tuple[str, bytes]]] = defaultdict(list)
        self._scripts: dict[int, deque[Scripted]] = defaultdict(deque)
        self._waiting: list[tuple[PullFields, asyncio.Future[Frame]]] = []
        self.on_open: Callable[[str], object] = lambda address: None
        self.handlers: dict[int, Handler] = {}
        """What the client serves, by request code."""

    @property
    def held_back(self) -> list[PullFields]:
        """The pulls that wait for messages."""
        return [request for request, answer in self._waiting if not answer.done()]

    def queue(self, topic: str, queue_id: int) -> MessageQueue:
        """The queue `queue_id` of `topic` here."""
        return MessageQueue(topic, self.broker_name, queue_id)

    def script(self, kind: type[Request], *answers: Scripted) -> None:
        """Answer the next requests of `kind` by `answers`: an error to raise or to answer, or a function."""
        self._scripts[kind.CODE].extend(answers)

    def unscript(self, kind: type[Request]) -> None:
        """Answer requests of `kind` as usual from now on."""
        self._scripts[kind.CODE].clear()

    def sent(self, kind: type[Request]) -> list[Any]:
        """The requests of `kind` so far."""
        return [request for request in self.requests if type(request) is kind]

    def put(
        self,
        topic: str,
        queue_id: int,
        *bodies: bytes,
        tag: str = "",
        sys_flag: int = 0,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Store messages; pulls that wait for them are answered.

        `sys_flag`, as stored, and `properties`: of all of them.
        """
        said = {**({TAGS: tag} if tag else {}), **(properties or {})}
        queue = self.queue(topic, queue_id)
        log = self._log[queue]
        for body in bodies:
            offset = self.first[queue] + len(log)
            record = encode_record(
                topic=topic,
                queue_id=queue_id,
                queue_offset=offset,
                physical_offset=offset * 1000,
                body=body,
                properties=encode_properties(said).encode(),
                born_timestamp=self._clock.now_ms(),
                born_host=HOST,
                store_timestamp=self._clock.now_ms(),
                store_host=HOST,
                sys_flag=sys_flag,
            )
            log.append((tag, record))
        waiting, self._waiting = self._waiting, []
        for request, answer in waiting:
            if answer.done():
                continue
            found = self._pull(request)
            if found is None:
                self._waiting.append((request, answer))
            else:
                answer.set_result(found)

    def damage(self, topic: str, queue_id: int, offset: int) -> None:
        """Change a bit in the stored body of one message; its record stays as long as it was."""
        queue = self.queue(topic, queue_id)
        tag, record = self._log[queue][offset - self.first[queue]]
        changed = bytearray(record)
        changed[HEAD.size] ^= 1
        self._log[queue][offset - self.first[queue]] = tag, bytes(changed)

    def cut(self, topic: str, queue_id: int, first: int) -> None:
        """Forget the messages of a queue before the offset `first`, which may lie beyond its end."""
        queue = self.queue(topic, queue_id)
        del self._log[queue][: max(0, first - self.first[queue])]
        self.first[queue] = first

    # What a remoting offers

    def serve(self, owner: object) -> None:
        """Note what the client serves."""
        self.handlers |= handlers_of(owner)

    def serve_late(self, make: Callable[[], object]) -> None:
        """As `Client.serve_late`, but made at once."""
        self.serve(make())

    def check_loop(self) -> None:
        """Every loop may use it."""

    def check_usable(self) -> None:
        """It always is."""

    async def invoke(
        self, address: str, request: Request, body: Body = b"", *, timeout: float = 3.0
    ) -> Frame:
        """The answer, by script or from memory."""
        self.requests.append(request)
        script = self._scripts[request.CODE]
        if script:
            step = script.popleft()
            if isinstance(step, AnswerError):
                return Frame(step.code, flag=1, remark=step.remark)
            if isinstance(step, MqframeError):
                raise step
            answer = step(request)
            return await answer if isinstance(answer, Awaitable) else answer
        if isinstance(request, PullFields):
            return await self._pull_or_wait(request)
        return self._answer(request, body)

    async def oneway(self, address: str, request: Request, body: Body = b"", *, timeout: float = 3.0) -> None:
        """As `invoke`, without an answer."""
        await self.invoke(address, request, body, timeout=timeout)

    async def close(self) -> None:
        """Let waiting pulls go."""
        for _, answer in self._waiting:
            answer.cancel()

    def _answer(self, request: Request, body: Body) -> Frame:
        match request:
            case GetRouteinfoByTopic():
                return self._route(request.topic)
            case HeartBeat():
                self._take_heartbeat(loose_json.decode(bytes(body), HeartbeatData))
            case GetConsumerListByGroup():
                ids = self.members[request.consumer_group]
                return _frame(body=loose_json.dumps(ConsumerList(list(ids))))
            case QueryConsumerOffset():
                key = (request.consumer_group, self.queue(request.topic, request.queue_id))
                if key not in self.offsets:
                    return Frame(ResponseCode.QUERY_NOT_FOUND, flag=1, remark="no offset")
                return _frame(OffsetAnswer(self.offsets[key]))
            case UpdateConsumerOffset():
                queue = self.queue(request.topic, request.queue_id)
                self.offsets[request.consumer_group, queue] = request.commit_offset
            case GetSubscriptionGroupConfig():
                return _frame(body=loose_json.dumps(SubscriptionGroupConfig(request.group)))
            case LockBatchMq():
                return self._lock(loose_json.decode(bytes(body), LockBody))
            case UnlockBatchMq():
                self._unlock(loose_json.decode(bytes(body), LockBody))
            case GetMaxOffset():
                return _frame(OffsetAnswer(self._max(self.queue(request.topic, request.queue_id))))
            case GetMinOffset() | SearchOffsetByTimestamp():
                return _frame(OffsetAnswer(self.first[self.queue(request.topic, request.queue_id)]))
        return _frame()

    def _lock(self, body: LockBody) -> Frame:
        ours = [
            each
            for each in body.mq_set
            if self.locks.setdefault((body.consumer_group, each.queue), body.client_id) == body.client_id
        ]
        return _frame(body=loose_json.dumps(LockAnswerBody(lock_ok_mq_set=ours)))

    def _unlock(self, body: LockBody) -> None:
        for each in body.mq_set:
            key = (body.consumer_group, each.queue)
            if self.locks.get(key) == body.client_id:
                del self.locks[key]

    def _route(self, topic: str) -> Frame:
        count = self.topics.get(topic)
        if count is None:
            return Frame(ResponseCode.TOPIC_NOT_EXIST, flag=1, remark=f"No topic route info for {topic}")
        data = TopicRouteData(
            broker_datas=[BrokerData(self.broker_name, {0: self.address}, "DefaultCluster")],
            queue_datas=[QueueData(self.broker_name, 6, count, count)],
        )
        return _frame(body=loose_json.dumps(data))

    def _take_heartbeat(self, data: HeartbeatData) -> None:
        self.heartbeats.append(data)
        for group in data.consumer_data_set:
            ids = self.members[group.group_name]
            if data.client_id not in ids:
                ids.append(data.client_id)

    async def _pull_or_wait(self, request: PullFields) -> Frame:
        if request.sys_flag & PullFlag.COMMIT_OFFSET:
            queue = self.queue(request.topic, request.queue_id)
            self.offsets[request.consumer_group, queue] = request.commit_offset
        found = self._pull(request)
        if found is not None:
            return found
        if not request.sys_flag & PullFlag.SUSPEND:
            return self._nothing(request, ResponseCode.PULL_NOT_FOUND, request.queue_offset)
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))

        def give_up() -> None:
            if not answer.done():
                answer.set_result(self._nothing(request, ResponseCode.PULL_NOT_FOUND, request.queue_offset))

        timer = self._clock.call_later(request.suspend_timeout_millis / 1000, give_up)
        try:
            return await answer
        finally:
            timer.cancel()
            self._waiting = [pair for pair in self._waiting if pair[1] is not answer]

    def _pull(self, request: PullFields) -> Frame | None:
        queue = self.queue(request.topic, request.queue_id)
        first, end, offset = self.first[queue], self._max(queue), request.queue_offset
        if offset < first:
            return self._nothing(request, ResponseCode.PULL_OFFSET_MOVED, first)
        if offset > end:
            return self._nothing(request, ResponseCode.PULL_OFFSET_MOVED, end)
        if offset == end:
            return None
        codes = self._codes(request)
        chosen = self._log[queue][offset - first : offset - first + request.max_msg_nums]
        records = [record for tag, record in chosen if not codes or java_hash(tag) in codes]
        after = offset + len(chosen)
        if not records:
            return self._nothing(request, ResponseCode.PULL_RETRY_IMMEDIATELY, after)
        return _frame(self._header(queue, after), body=b"".join(records))

    def _codes(self, request: PullFields) -> list[int]:
        if request.sys_flag & PullFlag.SUBSCRIPTION:
            return TagFilter(request.subscription).codes
        for heartbeat in reversed(self.heartbeats):
            for group in heartbeat.consumer_data_set:
                for wanted in group.subscription_data_set:
                    if (group.group_name, wanted.topic) == (request.consumer_group, request.topic):
                        return wanted.code_set
        return []

    def _nothing(self, request: PullFields, code: int, after: int) -> Frame:
        queue = self.queue(request.topic, request.queue_id)
        return msgspec.structs.replace(_frame(self._header(queue, after)), code=int(code))

    def _header(self, queue: MessageQueue, after: int) -> PullAnswer:
        return PullAnswer(0, after, self.first[queue], self._max(queue))

    def _max(self, queue: MessageQueue) -> int:
        return self.first[queue] + len(self._log[queue])


def _frame(header: Header | None = None, body: bytes = b"") -> Frame:
    return Frame(0, flag=1, ext=encode_fields(header) if header is not None else {}, body=body)
