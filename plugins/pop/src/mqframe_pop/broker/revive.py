"""Revival of popped messages that were not acknowledged in time: stored again, or as dead letters.

They go to the group's pop retry topic with one more attempt to their name, and beyond the group's maximum to
its dead-letter topic, as failed messages that a consumer hands back do. Source: PopReviveService.java, which
leaves the second to proxies.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import Refusal
from mqframe.core.measuring.family import Labels, key_in
from mqframe.core.messages import properties as p
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import RETRY_PREFIX, normal_topic
from mqframe.core.messages.sent_properties import OF_RETURNS, takes_returns
from mqframe.core.requests.failures import may_pass
from mqframe.core.storage.found import GetStatus
from mqframe.core.storage.left_out import MessagePlace
from mqframe.core.storage.record import decode_record
from mqframe.hooks.interfaces import BrokerPort
from mqframe.log import get_logger
from mqframe.trouble import Trouble
from mqframe_pop.rules.check_point import CheckPoint, Key
from mqframe_pop.rules.retry_topics import pop_retry_topic
from mqframe_pop.settings import PopSettings

log = get_logger("broker")

TURN_CHECK_POINTS: Final = 64
"""Check points brought back before others get their turn of the loop."""
TASK: Final = "revival of popped messages"
_INT_MAX: Final = (1 << 31) - 1


Revived = Callable[[CheckPoint, list[int]], object]
"""Called with a check point and the messages of it that are stored again; the others are tried later."""


class ReviveService:
    """Brings messages back, one check point after the other.

    New topics are saved before messages go there; otherwise a broker that is killed would not know afterwards
    where to look. One that is made for the dead letter of an ordered pop is saved right behind it, and made
    again where that letter comes again. A message that cannot be brought back is left out.
    """

    def __init__(self, port: BrokerPort) -> None:
        self._store, self._writer, self._left_out = port.store, port.writer, port.left_out
        self._topics, self._groups, self._offsets = port.topics, port.groups, port.offsets
        self._settings, self._counts = port.settings(PopSettings), port.counts
        self._save_topics = port.save_tables
        self._unrevived = Trouble(log, port.clock.monotonic)
        self._waiting: deque[tuple[CheckPoint, Revived]] = deque()
        self._task: asyncio.Task[None] | None = None
        self.retried: Counter[Labels | None] = Counter()
        """Messages brought back for another try since the start, by group and topic."""

    def take(self, points: list[CheckPoint], done: Revived) -> None:
        """Bring back what is in flight of these, and call `done` for each."""
        self._waiting.extend((point, done) for point in points)
        if self._waiting and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Finish the check point that is under way; the others are brought back after the next start."""
        self._waiting.clear()
        if self._task is not None:
            await asyncio.wait([self._task])

    def abandon(self) -> None:
        """Do nothing further."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        served = 0
        try:
            while self._waiting:
                point, done = self._waiting.popleft()
                try:
                    await self._revive(point, done)
                except Exception:  # one pop's error must not keep the others' messages hidden
                    log.exception("messages could not be brought back", key=tuple(point.key))
                    done(point, [])
                served += 1
                if served % TURN_CHECK_POINTS == 0:
                    await asyncio.sleep(0)
        finally:
            self._task = None

    async def _revive(self, point: CheckPoint, done: Revived) -> None:
        offsets = list(point.begin_revival())
        key = point.key
        group = self._groups.find(key.group)
        if group is None or normal_topic(key.topic, key.group) not in self._topics:
            log.warning("nobody is left to bring messages back for", key=tuple(key))
            done(point, offsets)
            return
        end = 0
        stored: list[int] = []
        for offset in offsets:
            try:
                message = await self._message(key, offset)
                if message is not None:
                    end = await self._give_back(key, group, message)
                    self._unrevived.over("messages are brought back again")
            except Exception as problem:
                if may_pass(problem):
                    words = str(problem)
                    event = "messages could not be brought back"
                    self._unrevived.note(event, kind=words, key=tuple(key), problem=words)
                    break
                # It stays where it was popped from. What was stored again is not stored twice for its sake.
                self._left_out.note(TASK, MessagePlace(key.topic, key.queue_id, offset, -1), problem)
            stored.append(offset)
        self._store.confirming.when_confirmed(end, lambda durable: done(point, stored if durable else []))

    def move_to_dlq(self, topic: str, queue_id: int, offset: int, group: str) -> None:
        """Store one message as a dead letter, or leave it out. Raises `Refusal`: the store takes nothing."""

        def move() -> None:
            found = self._store.reads.get(topic, queue_id, offset, 1)
            if found.status is GetStatus.FOUND:
                self._move_to_dlq(topic, group, decode_record(bytes(found.parts[0])))

        self._left_out.attempt(TASK, MessagePlace(topic, queue_id, offset, -1), move)

    async def _message(self, key: Key, offset: int) -> ReceivedMessage | None:
        found = self._store.reads.get_now(key.topic, key.queue_id, offset, 1)
        if found is None:
            found = await self._store.reads.get_cold(key.topic, key.queue_id, offset, 1)
        if found.status is GetStatus.FOUND and not found.parts:
            raise Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, "the store has stopped")
        if found.status is not GetStatus.FOUND:
            log.warning(
                "a message that was popped is not kept any more",
                topic=key.topic,
                queue=key.queue_id,
                offset=offset,
            )
            return None
        return decode_record(bytes(found.parts[0]))

    async def _give_back(self, key: Key, group: SubscriptionGroupConfig, message: ReceivedMessage) -> int:
        """Store one message for another try, or as a dead letter; returns the log offset behind it."""
        if message.reconsume_times >= group.retry_max_times:
            await self._need_saved(self._topics.dead_letters(key.group))
            return self._move_to_dlq(key.topic, key.group, message)
        first = {p.FIRST_POP_TIME: str(key.pop_time)}
        retry = self._retry_topic(key.topic, key.group)
        await self._need_saved(retry)
        end = self._store_again(retry, message, first)
        labels = key.group, normal_topic(key.topic, key.group)
        self.retried[key_in(self.retried, labels)] += 1
        return end

    def _move_to_dlq(self, topic: str, group: str, message: ReceivedMessage) -> int:
        # What names the first copy, for operators who send dead letters back.
        origin = {
            p.RETRY_TOPIC: normal_topic(topic, group),
            p.ORIGIN_MESSAGE_ID: message.offset_message_id,
        }
        return self._store_again(self._dead_letters(topic, group), message, origin)

    def _dead_letters(self, topic: str, group: str) -> str:
        self._counts.given_up(group, normal_topic(topic, group))
        return self._topics.dead_letters(group)

    async def _need_saved(self, topic: str) -> None:
        if not await self._save_topics():
            raise Refusal(ResponseCode.SERVICE_NOT_AVAILABLE, f"topic {topic} cannot be saved")

    def _store_again(self, topic: str, message: ReceivedMessage, more: dict[str, str]) -> int:
        """Store one message in queue 0 of `topic`; returns the log offset behind it.

        `more` names its first copy, and gives way to what a message says that came back before. It goes
        without that where there is no room for that in its properties.
        """
        properties = message.properties
        if not takes_returns(message.topic):  # what a sender brought along is not about this message
            properties = {name: value for name, value in properties.items() if name not in OF_RETURNS}
        try:
            stored = self._writer.put(
                topic,
                0,
                message.stored_body,
                {**more, **properties},
                born_timestamp=message.born_timestamp,
                flag=message.flag,
                sys_flag=message.sys_flag,
                reconsume_times=min(message.reconsume_times + 1, _INT_MAX),
                heed_delay=False,
            )
        except Refusal as refusal:
            if refusal.code != ResponseCode.MESSAGE_ILLEGAL or not more:
                raise
            return self._store_again(topic, message, {})
        return stored.end_offset

    def _retry_topic(self, topic: str, group: str) -> str:
        if not topic.startswith(RETRY_PREFIX):
            topic = pop_retry_topic(topic, group, v2=self._settings.current.retry_topic_v2)
        if topic not in self._topics:
            self._topics.ensure(topic, 1)
            if self._offsets.query(group, topic, 0) is None:
                self._offsets.commit(group, topic, 0, 0)
        return topic
