"""Pops: 200050 (source: PopMessageProcessor.java)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection
from typing import Final

from mqframe.broker.filters import Wanted
from mqframe.broker.live_settings import LiveSettings
from mqframe.broker.part import Part, Periodic
from mqframe.broker.pop_admission import PopAdmission
from mqframe.broker.pop_take import Taken, Taker
from mqframe.broker.pop_waiting import Held, WaitingPops
from mqframe.broker.statistics import Statistics
from mqframe.core.bodies import TopicConfig
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.pop_check_point import MESSAGES_MAX
from mqframe.core.requests.pop import PopMessage
from mqframe.log import get_logger
from mqframe.net.call import Call, Handler, Reply, failure_reply
from mqframe.net.clock import LoopClock
from mqframe.net.peer import Peer

log = get_logger("broker")

LATE_MS: Final = 500
"""A pop that comes so long after the time that its sender gave it is not served any more."""
_CLEAN_SECONDS: Final = 60.0


class PopProcessor(Part):
    """Gives messages out, hidden from others until they are acknowledged or their time is over."""

    def __init__(
        self,
        taker: Taker,
        admission: PopAdmission,
        waiting: WaitingPops,
        live: LiveSettings,
        statistics: Statistics,
        clock: LoopClock,
    ) -> None:
        self._taker = taker
        self._admission = admission
        self._waiting = waiting
        self._live = live
        self._statistics = statistics
        self._clock = clock

    def handlers(self) -> dict[int, Handler]:
        """The code served here."""
        return {PopMessage.CODE: self.pop}

    def periodic(self) -> list[Periodic]:
        """Forgets for whom nobody waits."""
        return [Periodic(_CLEAN_SECONDS, self._waiting.clean, "waiting pops")]

    def arrived(self, topic: str, queue_id: int, max_offset: int, codes: Collection[int]) -> None:
        """Serves the pops that wait for this."""
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

    def pop(self, call: Call) -> Reply | Awaitable[Reply] | None:
        """Serve a pop: at once, later when it waits, or from a thread when it reads far behind."""
        fields = call.fields(PopMessage)
        now = self._clock.now_ms()
        born = fields.born_time or now
        if now - born - fields.poll_time > LATE_MS:
            raise Refusal(
                ResponseCode.POLLING_TIMEOUT,
                f"the pop came {now - born} ms after it was made, more than its poll time of "
                f"{fields.poll_time} ms; are the clocks of client and broker alike?",
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
        wish = self._admission.wish(fields.exp, fields.exp_type)
        self._statistics.get_requests.total += 1
        taken = self._taker.take(fields, topic, wish)
        if taken.cold is not None:
            return self._pop_cold(call, fields, topic, wish, taken)
        if taken.count:
            return _reply(fields, taken)
        return self._hold(call, fields, topic, wish, taken, born)

    async def _pop_cold(
        self, call: Call, fields: PopMessage, topic: TopicConfig, wish: Wanted, taken: Taken
    ) -> Reply:
        await self._taker.take_cold(fields, wish, taken)
        if taken.count:
            return _reply(fields, taken)
        return _empty(fields, taken, ResponseCode.POLLING_TIMEOUT)

    def _hold(
        self, call: Call, fields: PopMessage, topic: TopicConfig, wish: Wanted, taken: Taken, born: int
    ) -> Reply | None:
        settings = self._live.current
        # The sender's clock may run ahead.
        seconds = min(born + fields.poll_time - self._clock.now_ms(), fields.poll_time) / 1000
        if fields.poll_time <= 0 or seconds <= 0:
            return _empty(fields, taken, ResponseCode.POLLING_TIMEOUT)
        if (
            len(self._waiting) >= settings.pop_waiting_max
            or self._waiting.at(fields.topic, fields.consumer_group, fields.queue_id)
            >= settings.pop_waiting_queue_max
        ):
            return _empty(fields, taken, ResponseCode.POLLING_FULL)
        held = Held(
            call,
            fields.topic,
            fields.consumer_group,
            fields.queue_id,
            self._clock.monotonic() + seconds,
            wish.codes,
            lambda queue_id: self._serve(call, fields, wish, queue_id),
            lambda: call.reply(_empty(fields, taken, ResponseCode.POLLING_TIMEOUT)),
        )
        self._waiting.hold(held)
        if taken.more:
            self._go_on(fields)
        return None

    def _go_on(self, fields: PopMessage) -> None:
        """More is there than one turn of the loop should look through: the next one goes on."""
        loop = asyncio.get_running_loop()
        loop.call_soon(self._waiting.wake, fields.topic, fields.consumer_group, fields.queue_id)

    def _serve(self, call: Call, fields: PopMessage, wish: Wanted, queue_id: int) -> int | None:
        """Answer a pop that waited, if there is something for it; gives how much is left."""
        try:
            topic, _ = self._admission.admit(fields.topic, fields.consumer_group, fields.queue_id)
            taken = self._taker.take(fields, topic, wish, queue_id)
            if taken.cold is not None:
                self._serve_cold(call, fields, topic, wish, taken)
                return 0
            if not taken.count:
                if taken.more:
                    self._go_on(fields)
                return None
            call.reply(_reply(fields, taken))
            return taken.rest
        except Exception as problem:  # one pop's error must not stop the others from being served
            failed = failure_reply(problem)
            if failed is None:
                log.exception("waiting pop failed", group=fields.consumer_group, topic=fields.topic)
                failed = Reply(ResponseCode.SYSTEM_ERROR, remark=f"{type(problem).__name__}: {problem}")
            call.reply(failed)
            return 0

    def _serve_cold(
        self, call: Call, fields: PopMessage, topic: TopicConfig, wish: Wanted, taken: Taken
    ) -> None:
        task = asyncio.ensure_future(self._pop_cold(call, fields, topic, wish, taken))

        def answer(done: asyncio.Future[Reply]) -> None:
            if not done.cancelled() and done.exception() is None:
                call.reply(done.result())
            elif not done.cancelled():
                log.error("waiting pop failed", exc_info=done.exception())
                call.reply(Reply(ResponseCode.SYSTEM_ERROR, remark=str(done.exception())))

        task.add_done_callback(answer)


def _reply(fields: PopMessage, taken: Taken) -> Reply:
    return Reply(ResponseCode.SUCCESS, ext=_ext(fields, taken), remark="FOUND", body=taken.parts)


def _empty(fields: PopMessage, taken: Taken, code: ResponseCode) -> Reply:
    return Reply(code, ext=_ext(fields, taken), remark="NO_MESSAGE_IN_QUEUE")


def _ext(fields: PopMessage, taken: Taken) -> dict[str, str]:
    ext = {
        "popTime": str(taken.pop_time),
        "invisibleTime": str(fields.invisible_time),
        "reviveQid": str(taken.revive_queue),
        "restNum": str(taken.rest),
        "startOffsetInfo": ";".join(taken.starts),
        "msgOffsetInfo": ";".join(taken.offsets),
    }
    if fields.order:
        ext["orderCountInfo"] = ";".join(taken.counts)
    return ext
