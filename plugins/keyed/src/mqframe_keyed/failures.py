"""What becomes of a call that failed while its key waits: another try, or dead letters."""

from __future__ import annotations

import attrs

from mqframe.client.consuming.push.answering.answers import Answers
from mqframe.client.consuming.push.listener import ListenedTopic
from mqframe.client.consuming.push.listener_parts import ListenerParts
from mqframe.client.consuming.push.ordered_queue import OrderedCall
from mqframe.client.consuming.push.send_back import DEAD_LEVEL, SendBack
from mqframe.core.consuming.consume_rules import MessageModel, OnDecodeError
from mqframe.core.errors import MqframeError
from mqframe.core.messages.log_fields import log_fields
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.retry.backoff import suspend_seconds
from mqframe.log import get_logger
from mqframe_keyed.lanes import Lane

log = get_logger("client")


@attrs.frozen
class Judgement:
    """What becomes of the messages of a call that failed; what is in none of these is tried again.

    `dead`: they become dead letters; `dropped`: they count as consumed; `asked`: requests whose senders are
    told, and which are done then. `seconds`: how long their key waits.
    """

    dead: list[ReceivedMessage]
    dropped: list[ReceivedMessage]
    asked: list[ReceivedMessage]
    seconds: float

    @property
    def only_waits(self) -> bool:
        """Whether all are tried again."""
        return not (self.dead or self.dropped or self.asked)

    @property
    def words(self) -> str:
        """What a line of the log says of it."""
        if self.dead:
            return "kept as a dead letter"
        if self.dropped:
            return "dropped"
        return "who waits is told, what is no request waits" if self.asked else "their key waits"


class FailedCalls:
    """Judges failed calls as consumption in order does, one key instead of the queue. Belongs to the loop.

    `dead_letters`: sends messages on that failed `consumer.max_reconsume_times` times (-1: no limit), and
    those that nobody can ever consume. In broadcasting nobody keeps dead letters, and such are dropped.
    """

    def __init__(self, parts: ListenerParts, dead_letters: SendBack, answers: Answers) -> None:
        settings = parts.plan.settings
        self._group = parts.plan.group
        self._parts = parts
        self._dead_letters = dead_letters
        self._answers = answers
        self._limit = settings.max_reconsume_times
        self._keeps_dead = parts.plan.model is MessageModel.CLUSTERING
        self.suspend_millis: float = settings.suspend_current_queue_time_millis
        """For how long a key waits after a failure, ms, unless its listener says otherwise."""

    def judge(self, call: OrderedCall, lane: Lane, meant: ListenedTopic) -> Judgement:
        """What becomes of the messages of `call`, which `meant` failed at."""
        context, wrong = call.context, call.undecodable
        assert context is not None
        # What cannot be read, or has no place in any order, never will: to wait for it would be for ever.
        lost = set(call.unreadable)
        if context.delay_level_when_next_consume < 0 or lane.problem is not None:
            lost.update(call.messages)
        dropped = []
        if wrong is not None and meant.on_decode_error is OnDecodeError.DROP:
            dropped.append(wrong)
        elif wrong is not None and meant.on_decode_error is OnDecodeError.DEAD_LETTER:
            lost.add(wrong)
        dead = [
            each
            for each in call.messages
            if each not in dropped and (each in lost or 0 <= self._limit <= each.reconsume_times)
        ]
        if not self._keeps_dead:
            dropped, dead = [each for each in call.messages if each in dropped or each in dead], []
        asked = self._answers.asked(call)
        seconds = suspend_seconds(context.suspend_current_queue_time_millis, self.suspend_millis)
        judgement = Judgement(dead, dropped, asked, seconds)
        self._parts.failures.note(call, self._parts.caller.outcome(call), meant, judgement.words)
        return judgement

    async def carry_out(self, call: OrderedCall, lane: Lane, what: Judgement) -> bool:
        """Send dead letters, tell who waits. Settles what is done then; whether anything is left to try."""
        gone = list(what.dropped)
        for message in what.asked:
            assert call.error is not None
            if await self._answers.failed(message, call.error) and message not in what.dead:
                gone.append(message)
        for message in what.dead:
            try:
                await self._dead_letters.resend(message, DEAD_LEVEL, self._reason(call, lane, message))
            except MqframeError as problem:
                log.error(
                    "dead letter could not be sent; it is consumed again",
                    reason=str(problem),
                    **log_fields([message], self._group),
                )
            else:
                gone.append(message)
        lane.finish(gone)
        self._parts.settle(call.held, gone)
        left = [message for message in call.messages if message.queue_offset in lane.unfinished]
        tried_again(left)
        return bool(left)

    def _reason(self, call: OrderedCall, lane: Lane, message: ReceivedMessage) -> str:
        if lane.problem is None:
            return call.reason(message)
        return f"its key could not be told: {type(lane.problem).__name__}: {lane.problem}"


def tried_again(messages: list[ReceivedMessage]) -> None:
    """Count that `messages` come again."""
    for message in messages:
        message.reconsume_times += 1
