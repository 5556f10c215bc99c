"""Requests of simple consumers to brokers: pop, acknowledge, change the invisible time.

Source: MQClientAPIImpl.java (popMessageAsync, ackMessageAsync, batchAckMessageAsync,
changeInvisibleTimeAsync).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.offsets import master_address
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, ConnectionLost, FixError, ReceiptError
from mqframe.core.filtering.filter_expression import MessageChoice
from mqframe.core.messages.many import guard_bodies
from mqframe.core.messages.message import MessageQueue
from mqframe.core.requests.fields import Request, decode_fields
from mqframe.core.requests.refusals import refusal
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame
from mqframe.net.clock import LoopClock
from mqframe_pop.requests import (
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleTime,
    ChangeInvisibleTimeAnswer,
    PopMessage,
)
from mqframe_pop.rules.bodies import BatchAck, BatchAckBody, bits_of
from mqframe_pop.rules.popped import PoppedMessage, PopResult, read_pop
from mqframe_pop.rules.receipt_handle import ReceiptHandle

ANSWER_SECONDS = 10.0
"""What the answer of a pop may take beyond the time that the broker was allowed to wait."""
ANY_QUEUE = -1


class PopCalls:
    """For `group`. `init_mode`: where a new group begins, 0 at the oldest message, 1 at the newest;
    `ordered`: in the order of queues, each blocked until what was popped of it is done."""

    def __init__(
        self,
        group: str,
        instance: ClientInstance,
        clock: LoopClock,
        *,
        init_mode: int = 1,
        ordered: bool = False,
    ) -> None:
        self._group = group
        self._instance = instance
        self._clock = clock
        self._init_mode = init_mode
        self._ordered = ordered
        self.outages = instance.outages
        self._seconds = instance.settings.request_timeout_seconds
        self._patience = instance.patience

    async def pop(
        self,
        topic: str,
        broker_name: str,
        choice: MessageChoice,
        *,
        count_max: int,
        invisible_seconds: float,
        wait_seconds: float,
        attempt_id: str | None = None,
    ) -> PopResult:
        """Messages of `topic` from any queue of a broker, hidden from others for `invisible_seconds`.

        Messages that share no more than a tag's hash with what `choice` names are acknowledged here and left
        out. Raises what a call raises, and `AnswerError`.
        """
        queue = MessageQueue(topic, broker_name, ANY_QUEUE)
        address = await master_address(self._instance, queue)
        request = PopMessage(
            consumer_group=self._group,
            topic=topic,
            queue_id=ANY_QUEUE,
            max_msg_nums=count_max,
            invisible_time=_ms(invisible_seconds),
            poll_time=_ms(wait_seconds),
            # The broker counts from its own clock then, so that clocks need not be alike.
            born_time=0,
            init_mode=self._init_mode,
            exp_type=choice.expression_type,
            exp=choice.expression,
            order=self._ordered,
            attempt_id=attempt_id,
            bname=broker_name,
        )
        answer = await self._instance.remoting.invoke(address, request, timeout=wait_seconds + ANSWER_SECONDS)
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            raise refusal(request, answer, address)
        deadline = self._clock.monotonic() + invisible_seconds
        result = read_pop(answer, broker_name, topic, address, deadline)
        settings = self._instance.settings
        guard_bodies(result.messages, settings.unpacked_bytes_max, settings.check_body_crc)
        messages = list(choice.choose(result.messages))
        if len(messages) == len(result.messages):
            return result
        chosen = set(map(id, messages))
        await self.acknowledge_all([each for each in result.messages if id(each) not in chosen])
        return result._replace(messages=[each for each in result.messages if id(each) in chosen])

    async def acknowledge(self, message: PoppedMessage) -> None:
        """It is done. Raises `ReceiptError` when it is not ours any more."""
        handle = self._mine(message)
        request = AckMessage(
            consumer_group=self._group,
            topic=handle.real_topic(message.topic, self._group),
            queue_id=handle.queue_id,
            extra_info=handle.text,
            offset=handle.offset,
            bname=handle.broker_name,
        )
        await self._acknowledge(message.topic, handle, request)
        message.acknowledged = True

    async def acknowledge_all(self, messages: Sequence[PoppedMessage]) -> None:
        """They are done: one request for each broker.

        Raises `ReceiptError` that names those that are not ours any more, after the others were acknowledged.
        """
        late: list[ReceiptError] = []
        by_broker: dict[tuple[str, str], list[tuple[PoppedMessage, ReceiptHandle]]] = {}
        for message in dict.fromkeys(messages):
            try:
                handle = self._mine(message)
            except ReceiptError as problem:
                late.append(problem)
                continue
            by_broker.setdefault((message.topic, handle.broker_name), []).append((message, handle))
        outcomes = await asyncio.gather(
            *[self._acknowledge_some(*key, pairs) for key, pairs in by_broker.items()],
            return_exceptions=True,
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        if late:
            first = late[0]
            more = "" if len(late) == 1 else f" (and {len(late) - 1} more)"
            raise ReceiptError(
                first.code, f"{first.remark}{more}; the others were acknowledged", first.address
            )

    async def change_invisible_time(self, message: PoppedMessage, seconds: float) -> str:
        """Hide it for `seconds` from now on; its new handle. Raises `ReceiptError` when it is not ours."""
        handle = self._mine(message)
        topic = handle.real_topic(message.topic, self._group)
        request = ChangeInvisibleTime(
            consumer_group=self._group,
            topic=topic,
            queue_id=handle.queue_id,
            extra_info=handle.text,
            offset=handle.offset,
            invisible_time=_ms(seconds),
            bname=handle.broker_name,
        )
        answer = await self._call(message.topic, handle, request)
        fields = decode_fields(answer.ext, ChangeInvisibleTimeAnswer)
        renewed = ReceiptHandle(
            handle.offset,
            fields.pop_time,
            fields.invisible_time,
            fields.revive_qid,
            handle.mark,
            handle.broker_name,
            handle.queue_id,
            handle.offset,
        )
        message.hidden_anew(renewed.text, self._clock.monotonic() + seconds)
        return renewed.text

    async def _acknowledge_some(
        self, topic: str, broker_name: str, pairs: Sequence[tuple[PoppedMessage, ReceiptHandle]]
    ) -> None:
        body = BatchAckBody(list(self._batches(topic, [handle for _, handle in pairs])), broker_name)
        await self._acknowledge(topic, pairs[0][1], BatchAckMessage(), loose_json.dumps(body))
        for message, _ in pairs:
            message.acknowledged = True

    def _batches(self, topic: str, handles: Iterable[ReceiptHandle]) -> Iterable[BatchAck]:
        pops: dict[tuple[object, ...], list[ReceiptHandle]] = {}
        for handle in handles:
            key = (handle.mark, handle.queue_id, handle.start_offset, handle.pop_time)
            pops.setdefault(key, []).append(handle)
        for same in pops.values():
            one = same[0]
            yield BatchAck(
                consumer_group=self._group,
                topic=topic,
                start_offset=one.start_offset,
                queue_id=one.queue_id,
                revive_queue_id=one.revive_queue,
                pop_time=one.pop_time,
                invisible_time=one.invisible_time,
                retry=one.mark,
                bits=bits_of(handle.offset - one.start_offset for handle in same),
            )

    def _mine(self, message: PoppedMessage) -> ReceiptHandle:
        """The handle of a message that is, as far as is known here, still ours."""
        if not isinstance(message, PoppedMessage):
            raise FixError(f"{message!r} was not received by a simple consumer; it has no receipt handle")
        handle = ReceiptHandle.parse(message.receipt_handle)
        why = ""
        if message.acknowledged:
            why = "was acknowledged before"
        elif self._clock.monotonic() > message.deadline:
            why = "was hidden for too short a time: it is delivered again"
        if why:
            raise ReceiptError(
                ResponseCode.NO_MESSAGE, f"message {message.message_id} {why}", handle.broker_name
            )
        return handle

    async def _acknowledge(
        self, topic: str, handle: ReceiptHandle, request: Request, body: bytes = b""
    ) -> None:
        """Have the broker of `handle` acknowledge; again, too, where the connection ended before the answer,
        and nothing that it has acknowledged by then is an error."""
        lost = False

        async def once_more(seconds: float) -> None:
            nonlocal lost
            try:
                await self._call_once(topic, handle, request, body, seconds)
            except ConnectionLost as problem:
                lost = lost or problem.maybe_stored
                raise
            except ReceiptError:
                if not lost:
                    raise

        await self._patience.over(once_more, self._seconds, repeatable=True)

    async def _call(self, topic: str, handle: ReceiptHandle, request: Request) -> Frame:
        return await self._patience.over(
            lambda seconds: self._call_once(topic, handle, request, b"", seconds), self._seconds
        )

    async def _call_once(
        self, topic: str, handle: ReceiptHandle, request: Request, body: bytes, seconds: float
    ) -> Frame:
        queue = MessageQueue(topic, handle.broker_name, handle.queue_id)
        address = await master_address(self._instance, queue)
        try:
            return await self._instance.call(address, request, body, timeout=seconds)
        except AnswerError as refused:
            if refused.code == ResponseCode.NO_MESSAGE:
                raise ReceiptError(refused.code, refused.remark, address) from refused
            raise


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))
