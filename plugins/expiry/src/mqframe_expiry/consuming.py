"""The consume hook `expiry`: listeners do not get what has expired when its turn comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import attrs

from mqframe.core.clock import Clock, TimerClock
from mqframe.core.consuming.consume_result import ACKNOWLEDGE_ALL, ConsumeResult
from mqframe.core.errors import FixError
from mqframe.core.messages.message import ReceivedMessage
from mqframe.hooks.interfaces import ConsumeHook
from mqframe_expiry.counting import ExpiredCount
from mqframe_expiry.moment import expires_ms, is_expired

SKIP: Final = "skip"
DEAD_LETTER: Final = "dead_letter"


@attrs.frozen
class ExpiredOptions:
    """What becomes of messages that have expired."""

    then: Literal["skip", "dead_letter"] = attrs.field(
        default="skip",
        metadata={
            "doc": "skip: they count as consumed; dead_letter: they go to the dead letters of the group"
        },
    )


class SkipsExpired(ConsumeHook):
    """Keeps expired messages from listeners of push consumers; the clock of the consumer says what is.

    `expired` counts them. `meter_provider`: of OpenTelemetry, by default the global one. One object may serve
    several consumers.
    """

    name = "expiry"
    Options = ExpiredOptions

    def __init__(self, options: ExpiredOptions | None = None, meter_provider: Any = None) -> None:
        self.options = options or ExpiredOptions()
        self.expired = ExpiredCount(meter_provider)

    def wrap(
        self, call: Callable[..., Any], topic: str, clock: TimerClock, is_async: bool, batch_max: int
    ) -> Callable[..., Any]:
        """The same listener, but for what has expired.

        Raises `FixError` for dead letters of a listener that gets several messages at once: it says of all of
        them together what became of them.
        """
        if self.options.then == DEAD_LETTER and batch_max > 1:
            raise FixError(
                f'the hook expiry is to make dead letters (then = "dead_letter"), and the listener of {topic}'
                f" gets up to {batch_max} messages at once: give it one at a time (batch_max=1), or skip them"
            )

        def before(messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
            now = clock.now_ms()
            return [message for message in messages if not is_expired(message, now)]

        async def listen_async(messages: Sequence[ReceivedMessage], context: Any) -> Any:
            fresh = before(messages)
            if len(fresh) == len(messages):
                return await call(messages, context)
            result = await call(fresh, context) if fresh else self._result(messages, context, clock)
            return self._leave_out(messages, fresh, context, result, clock)

        def listen(messages: Sequence[ReceivedMessage], context: Any) -> Any:
            fresh = before(messages)
            if len(fresh) == len(messages):
                return call(messages, context)
            result = call(fresh, context) if fresh else self._result(messages, context, clock)
            return self._leave_out(messages, fresh, context, result, clock)

        return listen_async if is_async else listen

    def _result(self, messages: Sequence[ReceivedMessage], context: Any, clock: Clock) -> ConsumeResult:
        """What is answered for `messages`, all of which have expired."""
        if self.options.then == SKIP:
            return ConsumeResult.SUCCESS
        late = (clock.now_ms() - (expires_ms(messages[0]) or 0)) / 1000
        context.reason = f"it had expired {late:.1f} s before its turn"
        context.delay_level_when_next_consume = -1
        return ConsumeResult.RECONSUME_LATER

    def _leave_out(
        self,
        messages: Sequence[ReceivedMessage],
        fresh: Sequence[ReceivedMessage],
        context: Any,
        result: Any,
        clock: Clock,
    ) -> Any:
        """The result of a listener that got what is `fresh` of `messages`, as one about all of them."""
        if fresh and result is not ConsumeResult.SUCCESS:
            return result  # all come again, and those that have expired are counted then
        kept = set(fresh)
        if fresh and context.ack_index < len(fresh) - 1:
            places = [place for place, message in enumerate(messages) if message in kept]
            # Up to the first that is not acknowledged: what has expired before it is done, too.
            context.ack_index = places[max(-1, context.ack_index) + 1] - 1
            messages = messages[: context.ack_index + 1]
        else:
            context.ack_index = ACKNOWLEDGE_ALL
        gone = [message for message in messages if message not in kept]
        if gone:
            self.expired.note(gone, context.group, self.options.then, clock)
        return result
