"""Pulls of consumers (PULL_MESSAGE, LITE_PULL_MESSAGE; wire.md §7; source: PullMessageProcessor.java)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from mqframe.broker.consuming.admission import BrokerReadAdmission
from mqframe.broker.consuming.filters import Filters
from mqframe.broker.consuming.long_polling import HeldPull, PullLongPolling, weight_of_pull
from mqframe.broker.role_settings import SLAVE
from mqframe.broker.service import Processor
from mqframe.broker.tables.budgets import Budgets
from mqframe.broker.tables.shared import Shared
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import PullFlag, ResponseCode
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.consuming.offset_rules import commit_problem
from mqframe.core.consuming.pull import OFFSET_RESET, pull_caps, pull_code
from mqframe.core.consuming.slave_reads import suggested_broker
from mqframe.core.errors import Refusal
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.requests.messages import LitePullMessage, PullFields, PullMessage
from mqframe.core.requests.peer import Peer
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.storage.found import Found
from mqframe.hooks.failed_requests import failure_reply
from mqframe.hooks.interfaces import EVERY_TOPIC, OnArrival, Periodic
from mqframe.log import get_logger

T = TypeVar("T")
log = get_logger("broker")

SWEEP_SECONDS = 5.0
TURN_PULLS: Final = 64
"""Pulls that waited and are answered in one turn of the loop."""


class PullProcessor(Processor):
    """Serves pulls, and holds those that find no message."""

    def __init__(
        self, shared: Shared, admission: BrokerReadAdmission, filters: Filters, budgets: Budgets
    ) -> None:
        super().__init__(shared)
        self._admission = admission
        self._filters = filters
        self._polling = polling = PullLongPolling(self._clock, self._store.queues.max_offset)
        self.at_slave = self._identity.role == SLAVE
        self._budget = budgets.add("waiting pulls", "pull_waiting_max", lambda: polling.weight)
        self._due: deque[tuple[HeldPull, bool]] = deque()  # and whether it has to have a match

    def periodic(self) -> Sequence[Periodic]:
        """Looks after the pulls that wait."""
        return (Periodic(SWEEP_SECONDS, self.answer_due, "long polling"),)

    def arrivals(self) -> Mapping[str, OnArrival]:
        """Pulls name their topic when they come: any may be waited for."""
        return {EVERY_TOPIC: self._arrived}

    def connection_closed(self, peer: Peer) -> None:
        """Nobody waits there any more."""
        self._polling.forget(peer)

    def offset_reset(self, group: str, topic: str, queue_id: int) -> None:
        """Pulls of the group learn of its new offset."""
        self._answer(self._polling.release_group(group, topic, queue_id))

    def topic_deleted(self, topic: str) -> None:
        """Pulls that wait there learn of it before the topic can be made anew."""
        self._answer(self._polling.release_topic(topic))

    def answer_due(self) -> None:
        """Answer the pulls whose time is over, and those whose offset can move on."""
        self._answer(self._polling.release_due())

    def answer_waiting(self) -> None:
        """Answer all that wait."""
        for held, _ in self._due:
            self._answer_held(held)
        self._due.clear()
        for held in self._polling.release_all():
            self._answer_held(held)

    def _arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        arrived = self._polling.arrived(topic, queue_id, max_offset, codes)
        if arrived:
            self._answer(arrived, if_matching=True)

    def _answer(self, due: Sequence[HeldPull], *, if_matching: bool = False) -> None:
        """Answer `due`, the first of them now, the others in later turns of the loop."""
        began = bool(self._due)
        self._due.extend((held, if_matching) for held in due)
        if not began:
            self._answer_some()

    def _answer_some(self) -> None:
        due = self._due
        for _ in range(min(TURN_PULLS, len(due))):
            held, if_matching = due.popleft()
            if held.records is None or not if_matching or self._is_due(held):
                self._answer_held(held)
            else:
                self._polling.hold(held)
        if due:
            asyncio.get_running_loop().call_soon(self._answer_some)

    @serves(PullMessage, LitePullMessage)
    def pull(self, fields: PullFields, call: Call) -> Reply | Awaitable[Reply] | None:
        """Serve a pull: at once, later when it is held, or from a thread when it reads far behind."""
        settings = self._live.current
        if call.queued * 1000 > settings.pull_wait_ms:
            raise Refusal(
                ResponseCode.SYSTEM_BUSY,
                f"[TIMEOUT_CLEAN_QUEUE] broker busy: the pull waited while others were served for "
                f"{call.queued * 1000:.0f} ms; pull again later",
            )
        began = self._clock.monotonic()
        group, topic, filter = self.admit(fields, fields.queue_id)
        # Before the commit that the pull brings along, which is of before the reset and would undo it.
        reset = self._offsets.take_reset(fields.consumer_group, fields.topic, fields.queue_id)
        if reset is not None:
            return self._moved_by_reset(fields, group, topic, reset)
        if fields.sys_flag & PullFlag.COMMIT_OFFSET:
            self._commit(fields)
        found = self._read(self._store.reads.get_now, fields, filter, fields.queue_offset)
        if found is None:
            return self._pull_cold(fields, group, topic, filter)
        reply = self._reply(fields, group, topic, found, self._clock.monotonic() - began)
        # Who stays would ask again at once; until its client knows the master, in vain.
        stays = self._stays(fields, pull_code(found.status.value, fields.queue_offset))
        if stays or (reply.code == ResponseCode.PULL_NOT_FOUND and fields.sys_flag & PullFlag.SUSPEND):
            self.hold(call, fields, group, filter, shortly=stays)
            return None
        return reply

    def admit(
        self, fields: PullFields, queue_id: int | None = None
    ) -> tuple[SubscriptionGroupConfig, TopicConfig, RecordChoice]:
        """Who pulls what, by which choice; of any queue where none is given. Raises `Refusal`."""
        group = self._admission.group(fields.consumer_group)
        topic = self._admission.topic(fields.topic, queue_id)
        return group, topic, self._filter(fields, group)

    def _stays(self, fields: PullFields, code: ResponseCode) -> bool:
        """Whether a consumer stays at an offset that this slave does not have.

        The master may have it: moving back would repeat what was consumed, moving on would pass over what was
        not. Who does not wait for messages is no consumer, and is told what there is.
        """
        return (
            self.at_slave
            and code == ResponseCode.PULL_OFFSET_MOVED
            and not self._live.replication.offset_check
            and bool(fields.sys_flag & PullFlag.SUSPEND)
        )

    def _commit(self, fields: PullFields) -> None:
        """Store the offset that a pull brings along; a wrong one is passed over, for the pull is right."""
        group, topic, queue_id = fields.consumer_group, fields.topic, fields.queue_id
        problem = commit_problem(fields.commit_offset, self._store.queues.max_offset(topic, queue_id))
        if problem:
            log.warning("offset in a pull refused", group=group, topic=topic, queue=queue_id, reason=problem)
        else:
            self._offsets.commit(group, topic, queue_id, fields.commit_offset)

    def hold(
        self,
        call: Call,
        fields: PullFields,
        group: SubscriptionGroupConfig,
        filter: RecordChoice,
        shorter: Callable[[HeldPull], bool] | None = None,
        *,
        shortly: bool = False,
    ) -> None:
        """Let a pull wait as long as it wants, or `shortly`. `shorter`: as of `HeldPull`.

        Raises `Refusal` SYSTEM_BUSY when too many wait.
        """
        settings = self._live.current
        long = settings.long_polling and not shortly
        wait_ms = fields.suspend_timeout_millis if long else settings.short_polling_ms
        weight = weight_of_pull(fields.subscription)
        self._budget.admit(weight)
        deadline = self._clock.monotonic() + wait_ms / 1000
        call.let_go()
        held = HeldPull(
            call, fields, group, filter.codes, deadline, filter.records, fields.queue_offset, weight, shorter
        )
        call.on_cancel = partial(self._polling.drop, held)
        self._polling.hold(held)

    def _filter(self, fields: PullFields, group: SubscriptionGroupConfig) -> RecordChoice:
        if fields.sys_flag & PullFlag.SUBSCRIPTION:
            return self._filters.own(fields.expression_type, fields.subscription)
        consumers = self._clients.consumers.get(fields.consumer_group)
        if consumers is None:
            raise Refusal(
                ResponseCode.SUBSCRIPTION_NOT_EXIST, f"group {fields.consumer_group} has no member here"
            )
        if consumers.broadcasting and not group.consume_broadcast_enable:
            raise Refusal(ResponseCode.NO_PERMISSION, f"group {fields.consumer_group} may not broadcast")
        self._admission.check_allowed(fields.consumer_group, fields.topic)
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
        elif self._store.reads.is_cold(fields.topic, fields.queue_id, fields.queue_offset):
            caps = settings.cold_pull_messages_max, settings.cold_pull_bytes_max
        else:
            caps = settings.pull_messages_max, settings.pull_bytes_max
        return pull_caps(fields.max_msg_nums, fields.max_msg_bytes, *caps)

    def _read(self, read: Callable[..., T], fields: PullFields, choice: RecordChoice, offset: int) -> T:
        count, size = self._caps(fields)
        return read(
            fields.topic, fields.queue_id, offset, count,
            codes=choice.codes, records=choice.records, bytes_max=size,
        )  # fmt: skip

    async def _pull_cold(
        self, fields: PullFields, group: SubscriptionGroupConfig, topic: TopicConfig, filter: RecordChoice
    ) -> Reply:
        began = self._clock.monotonic()
        found = await self._read(self._store.reads.get_cold, fields, filter, fields.queue_offset)
        return self._reply(fields, group, topic, found, self._clock.monotonic() - began)

    def _moved_by_reset(
        self, fields: PullFields, group: SubscriptionGroupConfig, topic: TopicConfig, offset: int
    ) -> Reply:
        low, high = self._store.queues.bounds(fields.topic, fields.queue_id)
        self._offsets.pulled(fields.consumer_group, fields.topic, fields.queue_id, offset)
        ext = self.where(fields, group, topic, (offset, low, high))
        return Reply(ResponseCode.PULL_OFFSET_MOVED, ext=ext, remark=OFFSET_RESET)

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
        going_on = found.next_offset
        if self._stays(fields, code):
            code, going_on = ResponseCode.PULL_RETRY_IMMEDIATELY, fields.queue_offset
        self._offsets.pulled(fields.consumer_group, fields.topic, fields.queue_id, going_on)
        if found.count:
            self._statistics.got(fields.consumer_group, fields.topic, found.count, found.size_bytes, seconds)
        else:
            self._statistics.missed.total += 1
        if code == ResponseCode.PULL_OFFSET_MOVED:
            log.warning(
                "pull moved", group=fields.consumer_group, topic=fields.topic, queue=fields.queue_id,
                offset=fields.queue_offset, to=found.next_offset,
            )  # fmt: skip
        places = going_on, found.min_offset, found.max_offset
        ext = self.where(fields, group, topic, places, found if found.count else None)
        return Reply(code, ext=ext, remark=status, body=list(found.parts))

    def where(
        self,
        fields: PullFields,
        group: SubscriptionGroupConfig,
        topic: TopicConfig,
        places: tuple[int, int, int],
        found: Found | None = None,
    ) -> dict[str, str]:
        """The fields of an answer: the broker to pull from next, after what was `found`, and the flags.

        `places`: the offset to go on at, the lowest and the highest of the queue.
        """
        slave_reads = self._live.replication.slave_reads
        behind = 0
        if slave_reads and found is not None:
            last = self._store.reads.entries(fields.topic, fields.queue_id, found.next_offset - 1, 1)
            behind = self._store.log.max_offset - last[0][0] if last else 0
        suggested = suggested_broker(
            group, behind, self._store.settings.hot_bytes, at_slave=self.at_slave, slave_reads=slave_reads
        )
        next_offset, low, high = places
        return {
            "suggestWhichBrokerId": str(suggested),
            "nextBeginOffset": str(next_offset),
            "minOffset": str(low),
            "maxOffset": str(high),
            "topicSysFlag": str(topic.topic_sys_flag),
            "groupSysFlag": str(group.group_sys_flag),
        }

    def _is_due(self, held: HeldPull) -> bool:
        try:
            return self._has_match(held)
        except Exception:  # isolation boundary: others wait, too; whoever asked is told with the answer
            return True

    def _has_match(self, held: HeldPull) -> bool:
        """Whether a pull with a filter of records has something to learn; what it passed over is noted.

        A read looks at a bounded number of messages: one that does not reach the end is to be answered, too.
        """
        fields = held.fields
        if self._clock.monotonic() >= held.deadline:
            return True
        found = self._store.reads.get(fields.topic, fields.queue_id, held.looked, 1, records=held.records)
        if found.count:
            return True
        held.looked = max(held.looked, found.next_offset)
        return held.looked < found.max_offset

    def _answer_held(self, held: HeldPull) -> None:
        """Answer a pull that waited, whatever there is for it now."""
        if held.shorter is not None and held.shorter(held):
            return
        fields = held.fields
        try:
            topic = self._topics.find(fields.topic)
            if topic is None:
                raise Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic {fields.topic} was deleted")
            reset = self._offsets.take_reset(fields.consumer_group, fields.topic, fields.queue_id)
            if reset is not None:
                reply = self._moved_by_reset(fields, held.group, topic, reset)
            else:
                choice = RecordChoice(held.codes, held.records)
                found = self._read(self._store.reads.get, fields, choice, held.looked)
                reply = self._reply(fields, held.group, topic, found)
        except Exception as problem:  # one pull's error must not stop the others from being woken
            reply = failure_reply(problem, held.call)
        held.call.reply(reply)
