"""Administration of dead letters: read them, and send them again."""

from __future__ import annotations

import builtins
import random
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from functools import partial
from typing import Final

import attrs
from msgspec.structs import replace

from mqframe.client.connection.route_cache import is_unknown_topic
from mqframe.client.consuming.group.offsets import AskedQueueOffsets, broker_address
from mqframe.client.settings import PULL_ANSWER_SECONDS
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PERM_READ, SysFlag
from mqframe.core.consuming.pull import BYTES_MAX, PullResult, pull_request, read_answer
from mqframe.core.errors import AnswerError, FixError, MqframeError, RouteError
from mqframe.core.filtering.filter_expression import filter_of
from mqframe.core.messages.java_hash import java_hash
from mqframe.core.messages.many import guard_bodies
from mqframe.core.messages.message import MessageQueue, ReceivedMessage, SendResult
from mqframe.core.messages.names import (
    DEFAULT_TOPIC,
    DLQ_PREFIX,
    TOOLS_GROUP,
    check_group,
    dead_letter_topic,
    retry_topic,
)
from mqframe.core.messages.properties import SHARDING_KEY, encode_properties
from mqframe.core.moments import moment_ms
from mqframe.core.requests.messages import SendMessageV2
from mqframe.core.sending.answer import read_send_answer
from mqframe_admin.client.calls import AdminCalls
from mqframe_admin.client.messages import AsyncMessageAdmin, find_by_key
from mqframe_admin.client.topics import AsyncTopicAdmin, topic_request
from mqframe_admin.rules.dead_letters import (
    END_OF_TIME,
    DeadLetter,
    DeadLetterFilter,
    ResendTo,
    copy_properties,
    dead_letter,
    resend_to,
    target,
    was_sent_again,
)

PRODUCER_GROUP: Final = "mqframe-dead-letters"
READ_AT_ONCE_MAX: Final = 32
COPIES_MAX: Final = 32
"""Copies of one message that are looked at, the newest."""
_COMPRESSION: Final = SysFlag.COMPRESSED | SysFlag.COMPRESSION_MASK


@attrs.frozen
class Resent:
    """What became of a dead letter that was to be sent again.

    `topic`: where it went; `result`: `None` when it had been sent again before, and was left alone.
    """

    letter: DeadLetter
    topic: str
    result: SendResult | None


class AsyncDeadLetterAdmin:
    """Dead letters. A group's topic of them is write-only until somebody opens it."""

    def __init__(self, calls: AdminCalls, topics: AsyncTopicAdmin, messages: AsyncMessageAdmin) -> None:
        self._calls = calls
        self._topics = topics
        self._messages = messages

    async def open(self, group: str) -> builtins.list[str]:
        """Let the dead letters of `group` be read: permission 6. The brokers on which that was a change."""
        return await self._set_readable(group, PERM_READ)

    async def close(self, group: str) -> builtins.list[str]:
        """Have the dead letters of `group` only written again. The brokers on which that was a change."""
        return await self._set_readable(group, 0)

    async def list(
        self,
        group: str,
        *,
        key: str | None = None,
        tag: str | None = None,
        topic: str | None = None,
        begin_ms: int | datetime = 0,
        end_ms: int | datetime = END_OF_TIME,
        max_count: int = 1000,
    ) -> builtins.list[DeadLetter]:
        """The dead letters of `group`, the oldest first, `max_count` at most.

        `key`: one of the keys, the sender's or the broker's id; `topic`: the original one; `begin_ms`,
        `end_ms`: when they were given up, ms since 1970 or datetimes with their zones, both included. Empty
        where the group never gave a message up. Raises `FixError` while the topic may not be read, and for
        times that are none of these.
        """
        begin, end = moment_ms(begin_ms, "begin_ms"), moment_ms(end_ms, "end_ms")
        which = DeadLetterFilter(key=key, tag=tag, topic=topic, begin_ms=begin, end_ms=end)
        found: list[DeadLetter] = []
        for queue in await self._dead_letter_queues(group):
            count = 0
            async for letter in self._read(group, queue, which):
                found.append(letter)
                count += 1
                if count >= max_count:
                    break
        found.sort(key=lambda letter: (letter.message.store_timestamp, letter.place, letter.id))
        return found[:max_count]

    async def get(self, group: str, message_id: str) -> DeadLetter | None:
        """The dead letter of `group` with a sender's id, the newest where there are several, or with a
        broker's id; `None` when there is none. Whether the topic may be read makes no difference."""
        check_group(group)
        topic = dead_letter_topic(group)
        try:
            found = await self._messages.by_unique_key(topic, message_id)
        except RouteError as problem:
            if not is_unknown_topic(problem):
                raise
            return None
        if found is None:
            found = await self._by_offset_id(topic, message_id)
        return None if found is None else dead_letter(group, found)

    async def resend(
        self, letters: Iterable[DeadLetter], *, to: ResendTo | str = ResendTo.GROUP, again: bool = False
    ) -> builtins.list[Resent]:
        """Send copies of `letters`, one after the other, with the count of their returns at 0 again.

        `to`: "group" (only the group that gave them up gets them) or "topic" (whoever subscribes their
        original topic does). The dead letters stay where they are. One of which a copy was sent before is
        left out unless `again`: copies carry a mark, and are looked for by the unique key. That holds over
        restarts and between operators, but not for two who send the same one in the same moment.

        Raises what a send raises; whatever was sent until then is found by the next call and left out. Raises
        `FixError` for "group" when the group consumes in order: brokers take such copies for failures.
        """
        to = resend_to(to)
        done = []
        proven: set[str] = set()
        for letter in letters:
            topic = target(letter, to)
            if not again and await self._was_sent(letter):
                done.append(Resent(letter, topic, None))
                continue
            result = await self._send_copy(letter, topic, to)
            done.append(Resent(letter, topic, result))
            if to is ResendTo.GROUP and letter.group not in proven:
                await self._prove(letter, result)
                proven.add(letter.group)
        return done

    async def _set_readable(self, group: str, readable: int) -> builtins.list[str]:
        topic, configs = await self._dead_letter_configs(group)
        masters = await self._calls.topic_masters(topic) if configs else {}
        changed = []
        for broker, config in configs.items():
            perm = config.perm & ~PERM_READ | readable
            if perm != config.perm:
                request = topic_request(replace(config, topic_name=topic, perm=perm))
                await self._calls.call(masters[broker], request)
                changed.append(broker)
        return sorted(changed)

    async def _dead_letter_configs(self, group: str) -> tuple[str, dict[str, TopicConfig]]:
        """The dead letter topic of `group`, and its configuration by broker; none when it does not exist."""
        check_group(group)
        topic = dead_letter_topic(group)
        try:
            return topic, await self._topics.config(topic)
        except RouteError as problem:
            if not is_unknown_topic(problem):
                raise
            return topic, {}

    async def _dead_letter_queues(self, group: str) -> builtins.list[MessageQueue]:
        topic, configs = await self._dead_letter_configs(group)
        closed = [broker for broker, config in configs.items() if not config.perm & PERM_READ]
        if closed:
            raise FixError(
                f"topic {topic} may only be written on {', '.join(closed)}; "
                f"call admin.dead_letters.open({group!r}) or run: mqframe dlq open {group}"
            )
        return [
            MessageQueue(topic, broker, number)
            for broker, config in configs.items()
            for number in range(config.read_queue_nums)
        ]

    async def _read(
        self, group: str, queue: MessageQueue, which: DeadLetterFilter
    ) -> AsyncIterator[DeadLetter]:
        offsets, through = AskedQueueOffsets(self._calls.instance), self._calls.instance.patience.through
        end = await through(partial(offsets.max_offset, queue))
        offset = await through(partial(offsets.min_offset, queue))
        if which.begin_ms > 0:
            offset = max(offset, await through(partial(offsets.offset_at, queue, which.begin_ms)))
        while offset < end:
            result = await self._pull(queue, offset)
            for message in result.messages:
                if message.store_timestamp > which.end_ms:
                    return
                letter = dead_letter(group, message)
                if which.matches(letter):
                    yield letter
            offset = max(result.next_offset, offset + 1)

    async def _pull(self, queue: MessageQueue, offset: int) -> PullResult:
        """All that `queue` holds from `offset` on, as far as one answer has it; restarts are waited for."""
        instance, everything = self._calls.instance, filter_of()
        address = await broker_address(instance, queue)
        request = pull_request(
            TOOLS_GROUP,
            queue,
            offset,
            messages_max=READ_AT_ONCE_MAX,
            bytes_max=BYTES_MAX,
            expression=everything.expression,
            expression_type=everything.expression_type,
        )
        ask = partial(instance.remoting.invoke, address, request, timeout=PULL_ANSWER_SECONDS)
        answer = await instance.patience.through(ask)
        result = read_answer(answer, queue, everything, address, offset)
        guard_bodies(result.messages, instance.settings.unpacked_bytes_max, instance.settings.check_body_crc)
        return result

    async def _by_offset_id(self, topic: str, message_id: str) -> ReceivedMessage | None:
        try:
            found = await self._messages.by_id(message_id, topic)
        except (FixError, AnswerError):
            return None  # no broker's id, or nothing there
        if found.topic != topic:
            return None
        for name, members in (await self._calls.instance.route(topic)).addresses().items():
            if found.store_host in members.values():
                found.broker_name = name
        return found

    async def _was_sent(self, letter: DeadLetter) -> bool:
        for topic in {retry_topic(letter.group), letter.topic}:
            try:
                copies = await self._copies(topic, letter.unique_key)
            except RouteError as problem:
                if not is_unknown_topic(problem):
                    raise
                continue
            if was_sent_again(letter, copies):
                return True
        return False

    async def _copies(self, topic: str, unique_key: str) -> builtins.list[ReceivedMessage]:
        return await find_by_key(self._calls, topic, unique_key, COPIES_MAX, 0, END_OF_TIME, unique=True)

    async def _send_copy(self, letter: DeadLetter, topic: str, to: ResendTo) -> SendResult:
        message = letter.message
        queues = (await self._calls.instance.route(topic, refresh=True)).write_queues()
        if not queues:
            raise RouteError(f"topic {topic} has no queue that can be written at the moment")
        key = message.properties.get(SHARDING_KEY)
        # What was sent by a sharding key goes where the key belongs, as a hash selector finds it.
        queue = queues[abs(java_hash(key)) % len(queues)] if key else random.choice(queues)
        address = await self._calls.queue_address(queue)
        request = SendMessageV2(
            PRODUCER_GROUP,
            topic,
            DEFAULT_TOPIC,
            len(queues),
            queue.queue_id,
            message.sys_flag & _COMPRESSION if message.sys_flag & SysFlag.COMPRESSED else 0,
            message.born_timestamp,
            message.flag,
            encode_properties(copy_properties(letter, to)),
            0,
            False,
            None,
            False,
            queue.broker_name,
        )
        timeout = self._calls.instance.settings.request_timeout_seconds
        answer = await self._calls.instance.remoting.invoke(
            address, request, message.stored_body, timeout=timeout
        )
        return read_send_answer(answer, queue, letter.unique_key, address)

    async def _prove(self, letter: DeadLetter, result: SendResult) -> None:
        """Look where the first copy came to lie: a group that holds queue locks gets nothing through here."""
        try:
            stored = await self._messages.by_id(result.offset_message_id)
        except MqframeError:
            return  # it cannot be looked up; the send itself was a success
        if stored.topic.startswith(DLQ_PREFIX):
            raise FixError(
                f"group {letter.group} consumes in order, so its broker made the copy a dead letter again "
                f'({result.offset_message_id}); send to the original topic: to="topic", or --to topic'
            )
