"""Administration of consumer offsets: resets, clones, corrections; and the entries of consume queues."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import Final

from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.bodies import ConsumeStats, OffsetTableBody
from mqframe.core.consuming.group_config import SubscriptionGroupTable
from mqframe.core.errors import AnswerError, FixError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.moments import moment_ms
from mqframe.core.parameters import understands
from mqframe.core.requests import decode_fields
from mqframe.core.requests.admin import GetAllSubscriptionGroupConfig, GetConsumeStats
from mqframe.core.requests.consumers import (
    GetMaxOffset,
    GetMinOffset,
    OffsetAnswer,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)
from mqframe.core.versions import version_number, version_text
from mqframe_admin.bodies import ConsumeTimeSpans, CorrectionOffsets, QueueTimeSpan
from mqframe_admin.client.calls import AdminCalls, ServerNotes, unless
from mqframe_admin.requests import (
    CloneGroupOffset,
    GetConsumerConnectionList,
    GetEarliestMsgStoretime,
    InvokeBrokerToResetOffset,
    QueryConsumeTimeSpan,
    QueryCorrectionOffset,
    TimestampAnswer,
)
from mqframe_admin.rules.offset_rules import reset_target

TO_THE_END = -1
"""A time that stands for the end of each queue."""
KEPT_SINCE: Final = "5.2.0"
"""From which version on brokers of Apache RocketMQ keep resets, unless their settings say otherwise."""


class AsyncOffsetAdmin:
    """Offsets of consumer groups. Offsets count messages, times are milliseconds since 1970."""

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    async def reset(
        self, group: str, topic: str, timestamp_ms: int | datetime = -1, *, force: bool = True
    ) -> dict[MessageQueue, int]:
        """Set the offsets of `group` to the first messages stored at or after a time; -1: to the end.

        `timestamp_ms`: since 1970, or a datetime with its zone. Members that run go on from there at once; a
        group that is offline will. Without `force` an offset is only moved back. Returns the new offsets.
        Raises `FixError` for a time that is none of these.
        """
        at = moment_ms(timestamp_ms, "timestamp_ms")
        request = InvokeBrokerToResetOffset(topic, group, at, force, -1)
        reset = self._reset if force else self._reset_back
        offsets: dict[MessageQueue, int] = {}
        for name, address in (await self._calls.topic_masters(topic)).items():
            for queue, offset in (await reset(address, request)).items():
                # Brokers leave their own name out in some versions.
                offsets[MessageQueue(queue.topic, queue.broker_name or name, queue.queue_id)] = offset
        return dict(sorted(offsets.items()))

    async def skip(self, group: str, topic: str) -> dict[MessageQueue, int]:
        """Have `group` go on at the end of each queue of `topic`, whatever lies before. The new offsets."""
        return await self.reset(group, topic, TO_THE_END)

    async def reset_queue(self, group: str, queue: MessageQueue, offset: int) -> int:
        """Set the offset of `group` in one queue, and no other. Returns the new one.

        Apache RocketMQ resets one queue from 5.2.0 on (BrokerConfig.java, `useServerSideResetOffset`); a
        broker before it would reset them all. There the offset is committed in place of the group, which must
        have no member online. Raises `FixError` where one is, `AnswerError` or `FixError` for an offset
        outside of the queue and for a group that the broker does not know.
        """
        if offset < 0:
            raise FixError(f"offset {offset} of {queue}: offsets begin at 0")
        masters = await self._calls.topic_masters(queue.topic)
        if queue.broker_name not in masters:
            raise FixError(f"{queue}: no broker of that name holds the topic")
        address = masters[queue.broker_name]
        server = await self._calls.server(address)
        request = _of_one_queue(queue, group, offset, ours=server.is_ours)
        if not server.is_ours and not understands(server.version, request):
            await self._check_offline(address, group, queue, server)
            return await self._commit(address, group, queue, offset)
        try:
            done = await self._reset_one(address, request)
        except AnswerError as problem:
            if problem.code != ResponseCode.CONSUMER_NOT_ONLINE:
                raise
            return await self._commit(address, group, queue, offset)
        if not done:
            raise FixError(
                f"{address} does not reset one queue alone: set useServerSideResetOffset=true there, or stop "
                f"the members of {group} first; no offset was changed"
            )
        return offset

    async def clone(
        self, source: str, target: str, topic: str | None = None, *, offline: bool = False
    ) -> None:
        """Give the group `target` the offsets of `source`, of all its topics or of `topic`.

        `offline`: also of topics that the members of `source` do not subscribe any more. Raises `AnswerError`
        when no broker has offsets of `source`.
        """
        request = CloneGroupOffset(source, target, topic, offline)
        masters = await self._calls.topic_masters(topic) if topic else await self._calls.masters()
        done, refused = False, None
        for address in masters.values():
            try:
                await self._calls.call(address, request)
                done = True
            except AnswerError as problem:
                if problem.code != ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST:
                    raise
                refused = problem  # it may have consumed from other brokers only
        if not done and refused is not None:
            raise refused

    async def correction(
        self, topic: str, compared: str, without: Sequence[str] = ()
    ) -> dict[MessageQueue, int]:
        """The smallest offset in each queue of any group but those in `without`.

        Where the group `compared` is behind it, the largest 64-bit number.
        """
        request = QueryCorrectionOffset(compared, topic, ",".join(without))
        found: dict[MessageQueue, int] = {}
        for name, each in (await self._calls.ask_topic(topic, request, CorrectionOffsets)).items():
            for queue_id, offset in each.correction_offsets.items():
                found[MessageQueue(topic, name, queue_id)] = offset
        return dict(sorted(found.items()))

    async def time_spans(self, group: str, topic: str) -> list[QueueTimeSpan]:
        """For each queue: when its oldest, its newest and the last consumed message were stored."""
        found = await self._calls.ask_topic(topic, QueryConsumeTimeSpan(topic, group), ConsumeTimeSpans)
        spans = chain.from_iterable(each.consume_time_span_set for each in found.values())
        return sorted(spans, key=lambda each: each.message_queue.queue)

    async def min(self, queue: MessageQueue) -> int:
        """The oldest offset of `queue` that can still be read."""
        request = GetMinOffset(queue.topic, queue.queue_id, bname=queue.broker_name)
        return (await self._calls.ask_queue(queue, request, OffsetAnswer)).offset

    async def max(self, queue: MessageQueue) -> int:
        """The offset that the next message of `queue` will get."""
        request = GetMaxOffset(queue.topic, queue.queue_id, bname=queue.broker_name)
        return (await self._calls.ask_queue(queue, request, OffsetAnswer)).offset

    async def search(self, queue: MessageQueue, timestamp_ms: int | datetime, *, upper: bool = False) -> int:
        """The offset of the first (`upper`: last) message of `queue` stored at a time, or next to it.

        `timestamp_ms`: since 1970, or a datetime with its zone. Raises `FixError` for another one.
        """
        at = moment_ms(timestamp_ms, "timestamp_ms")
        which = "UPPER" if upper else "LOWER"
        request = SearchOffsetByTimestamp(queue.topic, queue.queue_id, at, which, queue.broker_name)
        return (await self._calls.ask_queue(queue, request, OffsetAnswer)).offset

    async def earliest_store_time(self, queue: MessageQueue) -> int:
        """When the oldest message of `queue` was stored, ms."""
        request = GetEarliestMsgStoretime(queue.topic, queue.queue_id, bname=queue.broker_name)
        return (await self._calls.ask_queue(queue, request, TimestampAnswer)).timestamp

    async def _reset(self, address: str, request: InvokeBrokerToResetOffset) -> dict[MessageQueue, int]:
        """Have a broker reset all queues; the new offsets."""
        try:
            return (await self._calls.ask(address, request, OffsetTableBody)).offset_table
        except AnswerError as problem:
            if problem.code != ResponseCode.CONSUMER_NOT_ONLINE:
                raise
            return await self._store_offsets(address, request)

    async def _reset_back(self, address: str, request: InvokeBrokerToResetOffset) -> dict[MessageQueue, int]:
        """As `_reset`, of a request without force.

        Brokers of Apache RocketMQ that keep resets themselves, as they do from 5.2.0 on, move a queue forward
        all the same (AdminBrokerProcessor.java, `resetOffsetInner`). So there each queue is reset alone.
        """
        server = await self._calls.server(address)
        if server.is_ours or server.version < version_number(KEPT_SINCE):
            return await self._reset(address, request)
        table: dict[MessageQueue, int] = {}
        for queue, (stored, target) in (await self._targets(address, request, exact=True)).items():
            table[queue] = target
            one = _of_one_queue(queue, request.group, target, ours=False)
            try:
                if target != stored and not await self._reset_one(address, one):
                    return await self._reset(address, request)  # which looks at force, as it notifies members
            except AnswerError as problem:
                if problem.code != ResponseCode.CONSUMER_NOT_ONLINE:
                    raise
                return await self._store_offsets(address, request)
        return table

    async def _reset_one(self, address: str, request: InvokeBrokerToResetOffset) -> bool:
        """Have a broker reset one queue. Whether it did that, and no more."""
        table = (await self._calls.ask(address, request, OffsetTableBody)).offset_table
        return {queue.queue_id: offset for queue, offset in table.items()} == {
            request.queue_id: request.offset
        }

    async def _check_offline(
        self, address: str, group: str, queue: MessageQueue, server: ServerNotes
    ) -> None:
        """Raise `FixError` where the broker has members of `group` online, or does not know it."""
        asked = self._calls.call(address, GetConsumerConnectionList(group))
        if await unless((ResponseCode.CONSUMER_NOT_ONLINE,), asked) is not None:
            raise FixError(
                f"one queue of a group with members online is reset from Apache RocketMQ {KEPT_SINCE} "
                f"on, and {address} is {version_text(server.version)}: stop the members of {group} first, or "
                f"reset the whole of topic {queue.topic}; no offset was changed"
            )
        table = await self._calls.ask(address, GetAllSubscriptionGroupConfig(), SubscriptionGroupTable)
        if group not in table.subscription_group_table:
            raise FixError(f"{address} does not know consumer group {group}")

    async def _commit(self, address: str, group: str, queue: MessageQueue, offset: int) -> int:
        """Commit `offset` for a group that is offline. Raises `FixError` for one outside of `queue`."""
        stats = await self._calls.ask(address, GetConsumeStats(group, queue.topic), ConsumeStats)
        ends = {each.queue_id: found.broker_offset for each, found in stats.offset_table.items()}
        if queue.queue_id not in ends:
            raise FixError(f"{queue}: the topic has no such queue there")
        begin = await self._calls.call(address, GetMinOffset(queue.topic, queue.queue_id))
        low, high = decode_fields(begin.ext, OffsetAnswer).offset, ends[queue.queue_id]
        if not low <= offset <= high:
            raise FixError(f"offset {offset} of {queue} is not within {low}..{high}")
        await self._calls.call(address, UpdateConsumerOffset(group, queue.topic, queue.queue_id, offset))
        return offset

    async def _store_offsets(self, address: str, reset: InvokeBrokerToResetOffset) -> dict[MessageQueue, int]:
        """What a broker that only notifies members leaves to the operator when none is there."""
        targets = await self._targets(address, reset)
        for queue, (_, offset) in targets.items():
            request = UpdateConsumerOffset(reset.group, queue.topic, queue.queue_id, offset)
            await self._calls.call(address, request)
        return {queue: offset for queue, (_, offset) in targets.items()}

    async def _targets(
        self, address: str, reset: InvokeBrokerToResetOffset, *, exact: bool = False
    ) -> dict[MessageQueue, tuple[int | None, int]]:
        """Each queue's stored offset, and the one to which `reset` would have it go.

        `exact`: `None` where none is stored, which brokers of 5.x tell, and which progress has as 0.
        """
        known = await self._calls.ask(address, GetConsumeStats(reset.group, reset.topic), ConsumeStats)
        targets: dict[MessageQueue, tuple[int | None, int]] = {}
        for queue, stats in known.offset_table.items():
            stored: int | None = stats.consumer_offset
            if exact and stored == 0:
                stored = await self._stored(address, reset.group, queue)
            offset = stats.broker_offset
            if reset.timestamp >= 0:
                search = SearchOffsetByTimestamp(queue.topic, queue.queue_id, reset.timestamp)
                offset = decode_fields((await self._calls.call(address, search)).ext, OffsetAnswer).offset
            targets[queue] = (stored, reset_target(stored, offset, force=reset.is_force))
        return targets

    async def _stored(self, address: str, group: str, queue: MessageQueue) -> int | None:
        request = QueryConsumerOffset(group, queue.topic, queue.queue_id, set_zero_if_not_found=False)
        answer = await unless((ResponseCode.QUERY_NOT_FOUND,), self._calls.call(address, request))
        return None if answer is None else decode_fields(answer.ext, OffsetAnswer).offset


def _of_one_queue(queue: MessageQueue, group: str, offset: int, *, ours: bool) -> InvokeBrokerToResetOffset:
    """The reset of one queue. Where a broker's settings have it pass over the last two fields, what is left
    asks for nothing: no queue moves back to its end. Ours do not, and look at force."""
    at = 0 if ours else TO_THE_END
    return InvokeBrokerToResetOffset(queue.topic, group, at, ours, queue.queue_id, offset)
