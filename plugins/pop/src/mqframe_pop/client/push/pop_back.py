"""What becomes of popped messages that a listener failed at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.listener import ListenerContext
from mqframe.client.consuming.push.plan import ConsumerPlan
from mqframe.client.consuming.push.send_back import SendBack
from mqframe.core.errors import MqframeError
from mqframe.core.messages.log_fields import log_fields
from mqframe.core.messages.message import ReceivedMessage
from mqframe.log import get_logger
from mqframe_pop.client.in_hand import MessagesInHand
from mqframe_pop.client.push.retry_times import RetryTimes
from mqframe_pop.rules.popped import PoppedMessage

log = get_logger("client")


class PopBack(SendBack):
    """Has them hidden until they are to come again; brokers count.

    Dead letters are those that a listener gives up, and those that failed as often as consumer or group
    allow. Our brokers make them of what came too often, too; Apache's hand that out for ever
    (PopReviveService.java). What is handed back is not in hand any more, so nobody acknowledges it; dead
    letters are.
    """

    def __init__(
        self, plan: ConsumerPlan, instance: ClientInstance, in_hand: MessagesInHand, times: RetryTimes
    ) -> None:
        super().__init__(plan.group, instance, plan.clock, plan.settings.returns_max)
        self._in_hand = in_hand
        self._times = times

    def failed(self, messages: list[ReceivedMessage], context: ListenerContext) -> None:
        """Their listener may have said for how long their queue is to pause."""
        for message in messages:
            if isinstance(message, PoppedMessage):
                message.pause_ms = context.suspend_current_queue_time_millis

    async def send_back(self, message: ReceivedMessage, delay_level: int = 0) -> None:
        """Hide it for as long as `delay_level` or the group says; a negative one makes it a dead letter."""
        if delay_level < 0 or self._is_last(message):
            await self.give_up(message, "")
            return
        await self._hand_back(message, delay_level)

    async def give_up(self, message: ReceivedMessage, reason: str) -> None:
        """Make it a dead letter, with the `reason`. Where that fails it comes again, as any that failed."""
        try:
            await super().give_up(message, reason)
        except MqframeError as problem:
            log.error(
                "message could not be made a dead letter; it comes again",
                reason=str(problem),
                **log_fields([message], self._group),
            )
            await self._hand_back(message)

    def give_up_old(
        self, popped: Sequence[PoppedMessage], gone: Callable[[PoppedMessage, bool], None]
    ) -> list[PoppedMessage]:
        """Make dead letters of those of `popped` that failed too often, and return the others.

        Nobody gave these up when they failed: they ended their process, or no broker could be reached.
        `gone` is called with each that is settled.
        """
        most = self._times.returns_max
        if most is None:
            return list(popped)
        old = [each for each in popped if each.reconsume_times > most]
        self._in_hand.take(old, gone)
        for message in old:
            self._instance.spawn(self._bury(message))
        return [each for each in popped if each.reconsume_times <= most]

    async def _bury(self, message: PoppedMessage) -> None:
        try:
            await self.give_up(message, f"it came again {message.reconsume_times} times")
        except Exception:  # whatever it is, nobody works at the message, and others are to have it
            await self._hand_back(message)
            raise
        self._in_hand.settle([message])

    async def _hand_back(self, message: ReceivedMessage, level: int = 0) -> None:
        pause = message.pause_ms if isinstance(message, PoppedMessage) else None
        await self._in_hand.hand_back(message, self._times.seconds(message.reconsume_times, level, pause))

    def _is_last(self, message: ReceivedMessage) -> bool:
        most = self._times.returns_max
        return most is not None and message.reconsume_times >= most
