"""Pulls: 11 and 361 (wire.md §7; source: PullMessageProcessor.java)."""

from __future__ import annotations

from collections.abc import Awaitable, Collection

from mqframe.broker.filters import Filters, Wanted
from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.long_polling import Held, LongPolling
from mqframe.broker.part import Part, Periodic
from mqframe.broker.statistics import Statistics
from mqframe.core.bodies import SubscriptionGroupConfig, TopicConfig
from mqframe.core.client_registry import ClientRegistry
from mqframe.core.clock import Clock
from mqframe.core.codes import PERM_READ, PullFlag, ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.group_table import GroupTable
from mqframe.core.offset_table import OffsetTable
from mqframe.core.pull_rules import OFFSET_RESET, pull_caps, pull_code
from mqframe.core.requests.fields import decode_fields
from mqframe.core.requests.messages import PullFields, PullMessage
from mqframe.core.topic_table import TopicTable
from mqframe.log import get_logger
from mqframe.net.call import Call, Handler, Reply, failure_reply
from mqframe.net.peer import Peer
from mqframe.store.incoming import Found
from mqframe.store.message_store import MessageStore

log = get_logger("broker")

SWEEP_SECONDS = 5.0


class PullProcessor(Part):
    """Gives stored messages out, holds pulls that find none."""

    def __init__(
        self,
        store: MessageStore,
        topics: TopicTable,
        groups: GroupTable,
        clients: ClientRegistry[Peer],
        offsets: OffsetTable,
        filters: Filters,
        polling: LongPolling,
        live: LiveSettings,
        clock: Clock,
        statistics: Statistics,
    ) -> None:
        self._store = store
        self._topics = topics
        self._groups = groups
        self._clients = clients
        self._offsets = offsets
        self._filters = filters
        self._polling = polling
        self._live = live
        self._clock = clock
        self._statistics = statistics
        polling.wake = self._wake
        polling.has_wanted = self._has_wanted

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {11: self.pull, 361: self.pull}

    def periodic(self) -> list[Periodic]:
        """Looks after the pulls that wait."""
        return [Periodic(SWEEP_SECONDS, self._polling.sweep, "long polling")]

    def arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        """Wakes the pulls that wait for this."""
        self._polling.arrived(topic, queue_id, max_offset, codes)

    def connection_closed(self, peer: Peer) -> None:
        """Nobody waits there any more."""
        self._polling.forget(peer)

    def pull(self, call: Call) -> Reply | Awaitable[Reply] | None:
        """Serve a pull: at once, later when it is held, or from a thread when it reads far behind."""
        settings = self._live.current
        began = self._clock.monotonic()
        late = began - call.received
        if late * 1000 > settings.pull_wait_ms:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"[TIMEOUT_CLEAN_QUEUE] broker busy: the pull waited {late * 1000:.0f} ms; pull again later",
            )
        self._statistics.get_requests.total += 1
        fields: PullFields = decode_fields(call.frame.ext, PullMessage)
        group, topic = self._admit(fields)
        wanted = self._wanted(fields, group)
        reset = self._offsets.take_reset(fields.consumer_group, fields.topic, fields.queue_id)
        if reset is not None:
            return self._moved_by_reset(fields, group, topic, reset)
        if fields.sys_flag & PullFlag.COMMIT_OFFSET:
            self._offsets.commit(fields.consumer_group, fields.topic, fields.queue_id, fields.commit_offset)
        count, size = self._caps(fields)
        found = self._store.get_now(
            fields.topic,
            fields.queue_id,
            fields.queue_offset,
            count,
            codes=wanted.codes,
            records=wanted.records,
            bytes_max=size,
        )
        if found is None:
            return self._pull_cold(fields, group, topic, wanted)
        reply = self._reply(fields, group, topic, found, self._clock.monotonic() - began)
        if reply.code == ResponseCode.PULL_NOT_FOUND and fields.sys_flag & PullFlag.SUSPEND:
            wait_ms = fields.suspend_timeout_millis if settings.long_polling else settings.short_polling_ms
            deadline = self._clock.monotonic() + wait_ms / 1000
            self._polling.hold(Held(call, fields, group, wanted.codes, deadline, wanted.records))
            return None
        return reply

    def _admit(self, fields: PullFields) -> tuple[SubscriptionGroupConfig, TopicConfig]:
        settings = self._live.current
        if not settings.permission & PERM_READ:
            raise Refusal(ResponseCode.NO_PERMISSION, f"broker {settings.name} may not be read from")
        name = fields.consumer_group
        group = self._groups.find_or_create(name, settings.auto_create_groups)
        if group is None:
            raise Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"consumer group {name} does not exist")
        if not group.consume_enable:
            raise Refusal(ResponseCode.NO_PERMISSION, f"consumer group {name} may not consume")
        topic = self._topics.find(fields.topic)
        if topic is None:
            raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic {fields.topic} does not exist on this broker")
        if not topic.perm & PERM_READ:
            raise Refusal(ResponseCode.NO_PERMISSION, f"topic {fields.topic} may not be read from")
        if not 0 <= fields.queue_id < topic.read_queue_nums:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"queue id {fields.queue_id} of topic {fields.topic} does not exist: "
                f"it has {topic.read_queue_nums} read queues",
            )
        return group, topic

    def _wanted(self, fields: PullFields, group: SubscriptionGroupConfig) -> Wanted:
        if fields.sys_flag & PullFlag.SUBSCRIPTION:
            return self._filters.own(fields.expression_type, fields.subscription)
        consumers = self._clients.consumers.get(fields.consumer_group)
        if consumers is None:
            raise Refusal(
                ResponseCode.SUBSCRIPTION_NOT_EXIST,
                f"group {fields.consumer_group} has no member here",
            )
        if consumers.broadcasting and not group.consume_broadcast_enable:
            raise Refusal(ResponseCode.NO_PERMISSION, f"group {fields.consumer_group} may not broadcast")
        if not self._groups.may_read(fields.consumer_group, fields.topic):
            raise Refusal(
                ResponseCode.NO_PERMISSION, f"group {fields.consumer_group} may not read topic {fields.topic}"
            )
        subscription = consumers.subscriptions.get(fields.topic)
        if subscription is None:
            raise Refusal(
                ResponseCode.SUBSCRIPTION_NOT_EXIST,
                f"group {fields.consumer_group} does not subscribe to {fields.topic}; "
                "all members must have the same subscriptions",
            )
        if subscription.version < fields.sub_version:
            raise Refusal(
                ResponseCode.SUBSCRIPTION_NOT_LATEST,
                f"the subscription of {fields.topic} here has version {subscription.version}, "
                f"the pull is for {fields.sub_version}; a heartbeat must come first",
            )
        return self._filters.of_group(fields.consumer_group, subscription, fields.sub_version)

    def _caps(self, fields: PullFields) -> tuple[int, int]:
        """How many messages and bytes the pull gets at most; less from far behind the end of the log.

        Many for readers in bulk. They say so themselves, whatever the name of their group, which is theirs to
        choose; what a reader that nobody waits for may take at once is for the broker's settings to say.
        """
        settings = self._live.current
        if fields.mqframe_bulk:
            caps = settings.bulk_pull_messages_max, settings.bulk_pull_bytes_max
        elif self._store.is_cold(fields.topic, fields.queue_id, fields.queue_offset):
            caps = settings.cold_pull_messages_max, settings.cold_pull_bytes_max
        else:
            caps = settings.pull_messages_max, settings.pull_bytes_max
        return pull_caps(fields.max_msg_nums, fields.max_msg_bytes, *caps)

    async def _pull_cold(
        self,
        fields: PullFields,
        group: SubscriptionGroupConfig,
        topic: TopicConfig,
        wanted: Wanted,
    ) -> Reply:
        count, size = self._caps(fields)
        began = self._clock.monotonic()
        found = await self._store.get_cold(
            fields.topic,
            fields.queue_id,
            fields.queue_offset,
            count,
            codes=wanted.codes,
            records=wanted.records,
            bytes_max=size,
        )
        return self._reply(fields, group, topic, found, self._clock.monotonic() - began)

    def _moved_by_reset(
        self, fields: PullFields, group: SubscriptionGroupConfig, topic: TopicConfig, offset: int
    ) -> Reply:
        low = self._store.queue_min(fields.topic, fields.queue_id)
        high = self._store.queue_max(fields.topic, fields.queue_id)
        self._offsets.pulled(fields.consumer_group, fields.topic, fields.queue_id, offset)
        return Reply(
            ResponseCode.PULL_OFFSET_MOVED,
            ext=_where(offset, low, high, group, topic),
            remark=OFFSET_RESET,
        )

    def _reply(
        self,
        fields: PullFields,
        group: SubscriptionGroupConfig,
        topic: TopicConfig,
        found: Found,
        seconds: float = 0.0,
    ) -> Reply:
        """The answer for what was `found` within `seconds`."""
        status = found.status.value
        code = pull_code(status, fields.queue_offset)
        self._offsets.pulled(fields.consumer_group, fields.topic, fields.queue_id, found.next_offset)
        if found.count:
            self._statistics.got(fields.consumer_group, fields.topic, found.count, found.size_bytes, seconds)
        elif code == ResponseCode.PULL_OFFSET_MOVED:
            log.warning(
                "pull moved",
                group=fields.consumer_group,
                topic=fields.topic,
                queue=fields.queue_id,
                offset=fields.queue_offset,
                to=found.next_offset,
            )
        ext = _where(found.next_offset, found.min_offset, found.max_offset, group, topic)
        return Reply(code, ext=ext, remark=status, body=list(found.parts))

    def _has_wanted(self, held: Held, max_offset: int) -> bool:
        """Whether a pull with a filter of records has something to learn; what it passed over is noted.

        A read looks at a bounded number of messages: one that does not reach the end is to be answered, too.
        """
        fields = held.fields
        found = self._store.get(fields.topic, fields.queue_id, held.looked, 1, records=held.records)
        if found.count:
            return True
        held.looked = max(held.looked, found.next_offset)
        return held.looked < max_offset

    def _wake(self, held: Held) -> None:
        """Answer a pull that waited, whatever there is for it now."""
        fields = held.fields
        try:
            topic = self._topics.find(fields.topic)
            if topic is None:
                raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic {fields.topic} was deleted")
            reset = self._offsets.take_reset(fields.consumer_group, fields.topic, fields.queue_id)
            if reset is not None:
                reply = self._moved_by_reset(fields, held.group, topic, reset)
            else:
                count, size = self._caps(fields)
                found = self._store.get(
                    fields.topic,
                    fields.queue_id,
                    held.looked,
                    count,
                    codes=held.codes,
                    records=held.records,
                    bytes_max=size,
                )
                reply = self._reply(fields, held.group, topic, found)
        except Exception as problem:  # one pull's error must not stop the others from being woken
            failed = failure_reply(problem)
            if failed is None:
                log.exception("waiting pull failed", group=fields.consumer_group, topic=fields.topic)
                failed = Reply(ResponseCode.SYSTEM_ERROR, remark=f"{type(problem).__name__}: {problem}")
            reply = failed
        held.call.reply(reply)


def _where(
    next_offset: int, low: int, high: int, group: SubscriptionGroupConfig, topic: TopicConfig
) -> dict[str, str]:
    return {
        "suggestWhichBrokerId": "0",  # there is no other member to suggest
        "nextBeginOffset": str(next_offset),
        "minOffset": str(low),
        "maxOffset": str(high),
        "topicSysFlag": str(topic.topic_sys_flag),
        "groupSysFlag": str(group.group_sys_flag),
    }
