"""Receiving: what a member of a group is handed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from mqframe_pop.requests import PopMessage
from mqframe_pop.rules.popped import PopResult, read_pop

from mqframe.core.clock import Clock
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.errors import AnswerError, BodyUnreadable, MqframeError
from mqframe.core.filtering.tag_filter import TagFilter
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.requests.serving import Reply
from mqframe.hooks.interfaces import answered_meanwhile
from mqframe.log import get_logger
from mqframe_grpc.backend import Backend
from mqframe_grpc.calls.answers import frame_of, status_of
from mqframe_grpc.calls.held import HeldCalls
from mqframe_grpc.calls.leftovers import Leftovers, Rest, handle_of
from mqframe_grpc.calls.renewing import Renewing
from mqframe_grpc.calls.translated import Delivery, Translation
from mqframe_grpc.clients import DoorClient, DoorClients
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected, rejected, status
from mqframe_grpc.rules.handles import DoorHandle
from mqframe_grpc.rules.membership import choice_of
from mqframe_grpc.rules.names import group_name, topic_name
from mqframe_grpc.rules.receives import (
    ReceiveLimits,
    invisible_ms,
    message_of,
    polling_ms,
)
from mqframe_grpc.rules.settings import attempts_max, request_timeout_ms, retry_delay_ms
from mqframe_grpc.rules.times import timestamp
from mqframe_grpc.transport.call import GrpcCall
from mqframe_grpc.transport.messages import framed, together

log = get_logger("grpc")

_ANY_QUEUE: Final = -1
_NEWEST: Final = 1
_FOUND: Final = m.ReceiveMessageResponse(status=status(m.Code.OK))
_FOUND_FRAMED: Final = framed(_FOUND.SerializeToString())


class ReceiveCalls:
    """ReceiveMessage. `held`: the calls that wait; `translation`: `None` where Python does all of it."""

    def __init__(
        self,
        backend: Backend,
        clients: DoorClients,
        clock: Clock,
        limits: ReceiveLimits,
        renewing: Renewing,
    ) -> None:
        self.held = HeldCalls()
        self.translation: Translation | None = None
        self._backend = backend
        self._clients = clients
        self._clock = clock
        self._limits = limits
        self._renewing = renewing
        self._leftovers = Leftovers(renewing)

    async def receive(self, call: GrpcCall, request: m.ReceiveMessageRequest) -> None:
        """Serve ReceiveMessage: a status, the messages, and when they were delivered."""
        try:
            client = self._clients.of(call)
            group = group_name(request.group)
            topic = topic_name(request.message_queue.topic)
            found = await self._pop(call, client, group, topic, request)
        except Exception as problem:  # isolation boundary: of this call
            await call.send(m.ReceiveMessageResponse(status=status_of(problem, call)))
            call.pass_on(self._delivered())
        else:
            await self._hand_over(call, client, group, topic, found, renewed=request.auto_renew)

    async def _pop(
        self, call: GrpcCall, client: DoorClient, group: str, topic: str, request: m.ReceiveMessageRequest
    ) -> list[Delivery]:
        asked = self._asked(call, client, group, topic, request)
        choice = choice_of(request.filter_expression)
        broker = self._backend.broker_of(request.message_queue.broker.name)
        config = await self._backend.group(group)
        asked.exp_type, asked.exp, asked.bname = choice.expression_type, choice.expression, broker
        asked.order = config is not None and config.consume_message_orderly
        deadline = self._clock.monotonic() + asked.invisible_time / 1000
        try:
            reply = await self.held.over(call, self._backend.ask(client, broker, asked))
        except asyncio.CancelledError as given_up:
            if (late := answered_meanwhile(given_up)) is not None:
                with contextlib.suppress(Rejected):
                    popped = read(late, broker, topic, deadline).messages
                    pairs = ((each.message_id, handle_of(each)) for each in popped)
                    self._leftovers.give_back(client, group, topic, pairs)
            raise
        translation, all_wanted = self.translation, isinstance(choice, TagFilter) and not choice.tags
        if translation is not None and all_wanted and not asked.order:
            translated = translation.of(reply, request.message_queue.topic, broker)
            if translated:
                return translated
        result = read(reply, broker, topic, deadline)
        if result.full:
            raise Rejected(m.Code.TOO_MANY_REQUESTS, "polling full: too many receives wait at the broker")
        if not result.messages:
            raise Rejected(m.Code.MESSAGE_NOT_FOUND, "no new message")
        chosen = choice.choose(result.messages)
        found, rest = self._made(group, request.message_queue.topic, config, chosen)
        if len(chosen) < len(result.messages):
            wanted = set(map(id, chosen))
            rest.done += [handle_of(each) for each in result.messages if id(each) not in wanted]
        if rest.any:
            try:
                await self._leftovers.put_away(group, topic, rest)
            except BaseException:
                self._leftovers.give_back(client, group, topic, map(_pair, found))
                raise
        if not found:
            raise Rejected(m.Code.MESSAGE_NOT_FOUND, "no match message")
        return found

    def _asked(
        self, call: GrpcCall, client: DoorClient, group: str, topic: str, request: m.ReceiveMessageRequest
    ) -> PopMessage:
        limits = self._limits
        remaining_ms = None
        if call.deadline is not None:
            remaining_ms = round((call.deadline - self._clock.monotonic()) * 1000)
        wait_ms = polling_ms(
            request, remaining_ms, request_timeout_ms(client.settings), limits, client.version_text
        )
        return PopMessage(
            consumer_group=group,
            topic=topic,
            queue_id=_ANY_QUEUE,
            max_msg_nums=max(1, min(request.batch_size, limits.batch_max)),
            invisible_time=invisible_ms(request, limits),
            poll_time=wait_ms,
            # The broker counts from its own clock then.
            born_time=0,
            init_mode=_NEWEST,
            attempt_id=request.attempt_id or None,
        )

    def _made(
        self,
        group: str,
        topic: m.Resource,
        config: SubscriptionGroupConfig | None,
        messages: Sequence[ReceivedMessage],
    ) -> tuple[list[Delivery], Rest]:
        """What of `messages` can be handed over, and what is to be done with the others."""
        found, rest = [], Rest()
        most = attempts_max(config)
        for message in messages:
            handle = handle_of(message)
            if message.reconsume_times >= most:
                rest.dead.append((handle, message.message_id))
                continue
            try:
                made = message_of(message, topic, handle.text)
                answer = framed(m.ReceiveMessageResponse(message=made).SerializeToString())
            except BodyUnreadable as problem:
                # As push consumers of the remoting protocol do it: it never gets better.
                log.error("message cannot be unpacked", topic=topic.name, group=group, problem=str(problem))
                rest.dead.append((handle, message.message_id))
            except Exception as problem:  # isolation boundary: of this message
                # It comes again as one that its consumer failed at: the package may be installed by then.
                known = isinstance(problem, MqframeError)
                log.error(
                    "message cannot be read here",
                    topic=topic.name,
                    group=group,
                    problem=str(problem),
                    exc_info=None if known else problem,
                )
                rest.later.append((handle, retry_delay_ms(config, message.reconsume_times)))
            else:
                found.append(Delivery(handle, message.message_id, answer, message.reconsume_times))
        return found, rest

    async def _hand_over(
        self,
        call: GrpcCall,
        client: DoorClient,
        group: str,
        topic: str,
        found: Sequence[Delivery],
        *,
        renewed: bool,
    ) -> None:
        renewing = self._renewing
        if renewed:
            now_ms, name = renewing.now_ms(), client.name
            for each in found:
                renewing.renewals.deliver(
                    name, group, topic, each.message_id, each.handle, now_ms, each.reconsume_times
                )
        call.first, sent = _FOUND, 0
        try:
            for count, data in together(self._answers(found)):
                call.pass_on(data)
                if call.ended or call.is_full:
                    await call.room()
                sent = count - 1  # a status came before them
        except BaseException:
            self._leftovers.give_back(client, group, topic, map(_pair, found[sent:]))
            raise

    def _answers(self, found: Sequence[Delivery]) -> Iterator[bytes]:
        yield _FOUND_FRAMED
        for each in found:
            yield each.answer
        yield self._delivered()

    def _delivered(self) -> bytes:
        """The answer that says when those before it were handed over."""
        at = timestamp(self._clock.now_ms())
        return framed(m.ReceiveMessageResponse(delivery_timestamp=at).SerializeToString())


def _pair(delivery: Delivery) -> tuple[str, DoorHandle]:
    return delivery.message_id, delivery.handle


def read(reply: Reply, broker: str, topic: str, deadline: float) -> PopResult:
    """What a pop found. Raises `Rejected`."""
    try:
        return read_pop(frame_of(reply), broker, topic, broker, deadline)
    except AnswerError as problem:
        raise rejected(problem.code, problem.remark) from None
