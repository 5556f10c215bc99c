"""Looking at what a pop would give, without taking it: 200052, 200054 and 200055.

Sources: PeekMessageProcessor.java, NotificationProcessor.java, PollingInfoProcessor.java.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection

from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.part import Part
from mqframe.broker.pop_admission import PopAdmission
from mqframe.broker.pop_order import OrderKeeper
from mqframe.broker.pop_take import Taker
from mqframe.broker.pop_waiting import Held, WaitingPops
from mqframe.core.bodies import TopicConfig
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.frame import Body
from mqframe.core.pop_check_point import MESSAGES_MAX
from mqframe.core.requests.pop import (
    Notification,
    NotificationAnswer,
    PeekMessage,
    PollingInfo,
    PollingInfoAnswer,
    PopAnswer,
)
from mqframe.net.call import Call, Handler, Reply
from mqframe.net.clock import LoopClock
from mqframe.net.peer import Peer
from mqframe.store.incoming import GetStatus
from mqframe.store.message_store import MessageStore


class LookProcessor(Part):
    """Tells what there is to pop, at once or as soon as something comes."""

    def __init__(
        self,
        taker: Taker,
        admission: PopAdmission,
        order: OrderKeeper,
        pops: WaitingPops,
        store: MessageStore,
        live: LiveSettings,
        clock: LoopClock,
    ) -> None:
        self._taker = taker
        self._admission = admission
        self._order = order
        self._pops = pops
        self._store = store
        self._live = live
        self._clock = clock
        self._waiting = WaitingPops(clock)

    def handlers(self) -> dict[int, Handler]:
        """The codes served here."""
        return {
            PeekMessage.CODE: self._peek,
            Notification.CODE: self._notify,
            PollingInfo.CODE: self._count,
        }

    def arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        """Tells those that wait for this."""
        self._waiting.arrived(topic, queue_id, codes)

    def connection_closed(self, peer: Peer) -> None:
        """Nobody waits there any more."""
        self._waiting.forget(peer)

    async def stop(self) -> None:
        """Answer all that wait."""
        self._waiting.end_all()

    def abandon(self) -> None:
        """Let go of the timer."""
        self._waiting.close()

    def _peek(self, call: Call) -> Reply | Awaitable[Reply]:
        fields = call.fields(PeekMessage)
        topic, _ = self._admission.admit(fields.topic, fields.consumer_group, fields.queue_id)
        if not 0 < fields.max_msg_nums <= MESSAGES_MAX:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"maxMsgNums is {fields.max_msg_nums}: 1 to {MESSAGES_MAX} messages can be looked at",
            )
        return self._look(fields, topic)

    async def _look(self, fields: PeekMessage, topic: TopicConfig) -> Reply:
        parts: list[Body] = []
        count = rest = 0
        for name, queue_id in self._taker.queues(topic, fields.consumer_group, fields.queue_id):
            offset = self._taker.position(fields.consumer_group, name, queue_id)
            rest += max(self._store.queue_max(name, queue_id) - offset, 0)
            if count >= fields.max_msg_nums:
                continue
            wanted = fields.max_msg_nums - count
            found = self._store.get_now(name, queue_id, offset, wanted)
            if found is None:
                found = await self._store.get_cold(name, queue_id, offset, wanted)
            if found.status is GetStatus.FOUND:
                # Copies, because a view of the log's map may not outlive a wait for the disk.
                parts += [bytes(part) for part in found.parts]
                count += found.count
        answer = PopAnswer(pop_time=0, invisible_time=0, revive_qid=0, rest_num=rest)
        if not count:
            return Reply(ResponseCode.PULL_NOT_FOUND, answer, remark="NO_MESSAGE_IN_QUEUE")
        return Reply(header=answer, remark="FOUND", body=parts)

    def _notify(self, call: Call) -> Reply | None:
        fields = call.fields(Notification)
        topic, _ = self._admission.admit(fields.topic, fields.consumer_group, fields.queue_id)
        if self._has_message(fields, topic):
            return Reply(header=NotificationAnswer(has_msg=True, polling_full=False))
        settings = self._live.current
        born = fields.born_time or self._clock.now_ms()
        seconds = min(born + fields.poll_time - self._clock.now_ms(), fields.poll_time) / 1000
        full = (
            len(self._waiting) >= settings.pop_waiting_max
            or self._waiting.at(fields.topic, fields.consumer_group, fields.queue_id)
            >= settings.pop_waiting_queue_max
        )
        if full or fields.poll_time <= 0 or seconds <= 0:
            return Reply(header=NotificationAnswer(has_msg=False, polling_full=full))

        def serve(queue_id: int) -> int | None:
            if not self._has_message(fields, topic):
                return None
            call.reply(Reply(header=NotificationAnswer(has_msg=True, polling_full=False)))
            return 1  # it took nothing: the next one is told, too

        def expire() -> None:
            call.reply(Reply(header=NotificationAnswer(has_msg=False, polling_full=False)))

        deadline = self._clock.monotonic() + seconds
        self._waiting.hold(
            Held(call, fields.topic, fields.consumer_group, fields.queue_id, deadline, None, serve, expire)
        )
        return None

    def _has_message(self, fields: Notification, topic: TopicConfig) -> bool:
        group = fields.consumer_group
        for name, queue_id in self._taker.queues(topic, group, fields.queue_id):
            if fields.order and self._order.blocks((name, group, queue_id), fields.attempt_id, 0):
                continue
            if self._store.queue_max(name, queue_id) > self._taker.position(group, name, queue_id):
                return True
        return False

    def _count(self, call: Call) -> Reply:
        fields = call.fields(PollingInfo)
        self._admission.admit(fields.topic, fields.consumer_group, fields.queue_id)
        number = self._pops.at(fields.topic, fields.consumer_group, fields.queue_id)
        return Reply(header=PollingInfoAnswer(polling_num=number))
