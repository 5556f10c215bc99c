"""Pops of consumers (POP_MESSAGE; source: PopMessageProcessor.java)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.filtering.record_choice import RecordChoice
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.hooks.interfaces import BrokerPort, Periodic
from mqframe.log import get_logger
from mqframe_pop.broker.admission import PopAdmission
from mqframe_pop.broker.long_polling import SWEEP_MS, HeldPop, PopLongPolling, PopWaitProcessor
from mqframe_pop.broker.ordered import OrderedPops
from mqframe_pop.broker.reader import PopBatch, PopReader
from mqframe_pop.requests import PopMessage
from mqframe_pop.rules.bodies import MESSAGES_MAX

log = get_logger("broker")

LATE_MS: Final = 500
"""A pop that waited here so long after the time that its sender gave it is not served any more."""
_CLEAN_SECONDS: Final = 600.0


class PopProcessor(PopWaitProcessor[PopMessage]):
    """Pops messages, hidden from others until they are acknowledged or their time is over."""

    def __init__(
        self,
        port: BrokerPort,
        reader: PopReader,
        admission: PopAdmission,
        order: OrderedPops,
        waiting: PopLongPolling[PopMessage],
    ) -> None:
        super().__init__(port, admission, waiting)
        self._reader = reader
        self._order = order
        self._counts = port.counts
        self._block_ends = port.due_task(self._wake_freed, "ordered pops")

    def periodic(self) -> list[Periodic]:
        """Forgets for whom nobody waits, and queues that nobody pops in order any more."""
        return [*super().periodic(), Periodic(_CLEAN_SECONDS, self._order.clean, "ordered pops")]

    def offset_reset(self, group: str, topic: str, queue_id: int) -> None:
        """What the group popped may be there again."""
        self.wake(topic, group, queue_id)

    async def start(self) -> None:
        """Blocks of queues from before the broker stopped go on."""
        self._order.resume()
        self._block_ends.ring_in(0)

    async def stop(self) -> None:
        """Answer all that wait."""
        await super().stop()
        await self._block_ends.stop()

    def abandon(self) -> None:
        """Let go of timers."""
        super().abandon()
        self._block_ends.cancel()

    def blocked_for(self, wait_ms: int) -> None:
        """The block of a queue ends in `wait_ms`: whoever waits there is served then."""
        self._block_ends.ring_in(wait_ms)

    async def _wake_freed(self) -> int | None:
        freed, following = self._order.freed()
        for topic, group, queue_id in freed:
            self.wake(topic, group, queue_id)
        return None if following is None else max(following - self._order.now_ms(), SWEEP_MS)

    @serves(PopMessage)
    def pop(self, fields: PopMessage, call: Call) -> Reply | Awaitable[Reply] | None:
        """Serve a pop: at once, later when it waits, or from a thread when it reads far behind."""
        if call.peer.closed:
            raise Refusal(ResponseCode.POLLING_TIMEOUT, "the connection of the pop is closed")
        late_ms = round((self._clock.monotonic() - call.received) * 1000) - fields.poll_time
        if late_ms > LATE_MS:
            raise Refusal(
                ResponseCode.POLLING_TIMEOUT,
                f"the pop was served {late_ms} ms after its poll time of {fields.poll_time} ms was over",
            )
        if not 0 < fields.max_msg_nums <= MESSAGES_MAX:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"maxMsgNums is {fields.max_msg_nums}: 1 to {MESSAGES_MAX} messages can be popped at once",
            )
        if fields.invisible_time <= 0:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"invisibleTime is {fields.invisible_time} ms: it must be more than 0",
            )
        topic, _ = self._admission.admit(fields.topic, fields.consumer_group, fields.queue_id)
        filter = self._admission.filter(fields.exp, fields.exp_type)
        batch = self._read(fields, topic, filter)
        if batch.cold is not None:
            return self._pop_cold(fields, filter, batch)
        if batch.count:
            return _reply(fields, batch)
        if self.wait_seconds(fields, call) <= 0:
            return _empty(fields, batch, ResponseCode.POLLING_TIMEOUT)
        if self.full(fields):
            return _empty(fields, batch, ResponseCode.POLLING_FULL)
        self.hold(call, fields, topic, filter, _empty(fields, batch, ResponseCode.POLLING_TIMEOUT))
        if batch.more:
            self._go_on(fields)
        return None

    def serve_held(self, held: HeldPop[PopMessage], queue_id: int) -> int | None:
        """Answer a pop that waited, if there is something for it; returns how much is left."""
        fields, call = held.fields, held.call
        topic, _ = self._admission.admit(fields.topic, fields.consumer_group, fields.queue_id)
        batch = self._read(fields, topic, held.filter, queue_id)
        if batch.cold is not None:
            self._serve_cold(call, fields, held.filter, batch)
            return 0
        if not batch.count:
            if batch.more:
                self._go_on(fields)
            return None
        call.reply(_reply(fields, batch))
        return batch.rest

    def _read(
        self, fields: PopMessage, topic: TopicConfig, filter: RecordChoice, first_queue: int = -1
    ) -> PopBatch:
        batch = self._reader.read(fields, topic, filter, first_queue)
        if not batch.count and batch.cold is None:
            self._counts.found_nothing()
        if fields.order and batch.count:
            self.blocked_for(fields.invisible_time)
        return batch

    async def _pop_cold(self, fields: PopMessage, filter: RecordChoice, batch: PopBatch) -> Reply:
        await self._reader.read_cold(fields, filter, batch)
        if fields.order and batch.count:
            self.blocked_for(fields.invisible_time)
        if batch.count:
            return _reply(fields, batch)
        self._counts.found_nothing()
        return _empty(fields, batch, ResponseCode.POLLING_TIMEOUT)

    def _go_on(self, fields: PopMessage) -> None:
        """More is there than one turn of the loop should look through: the next one goes on."""
        loop = asyncio.get_running_loop()
        loop.call_soon(self.wake, fields.topic, fields.consumer_group, fields.queue_id)

    def _serve_cold(self, call: Call, fields: PopMessage, filter: RecordChoice, batch: PopBatch) -> None:
        task = asyncio.ensure_future(self._pop_cold(fields, filter, batch))

        def answer(done: asyncio.Future[Reply]) -> None:
            if not done.cancelled() and done.exception() is None:
                call.reply(done.result())
            elif not done.cancelled():
                log.error("waiting pop failed", exc_info=done.exception())
                call.reply(Reply(ResponseCode.SYSTEM_ERROR, remark=str(done.exception())))

        task.add_done_callback(answer)


def _reply(fields: PopMessage, batch: PopBatch) -> Reply:
    return Reply(ResponseCode.SUCCESS, ext=_ext(fields, batch), remark="FOUND", body=batch.parts)


def _empty(fields: PopMessage, batch: PopBatch, code: ResponseCode) -> Reply:
    return Reply(code, ext=_ext(fields, batch), remark="NO_MESSAGE_IN_QUEUE")


def _ext(fields: PopMessage, batch: PopBatch) -> dict[str, str]:
    ext = {
        "popTime": str(batch.pop_time),
        "invisibleTime": str(fields.invisible_time),
        "reviveQid": str(batch.revive_queue),
        "restNum": str(batch.rest),
        "startOffsetInfo": ";".join(batch.starts),
        "msgOffsetInfo": ";".join(batch.offsets),
    }
    if fields.order:
        ext["orderCountInfo"] = ";".join(batch.counts)
    return ext
