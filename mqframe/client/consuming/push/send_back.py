"""Sends failed messages back to the broker, which retries them later or keeps them as dead letters.

Source: DefaultMQPushConsumerImpl.sendMessageBack.
"""

from __future__ import annotations

import random
from typing import Final, NamedTuple

from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.push.listener import ListenerContext
from mqframe.core.cluster.route import MASTER_ID
from mqframe.core.codes import SysFlag
from mqframe.core.errors import MqframeError, RetryError, RouteError, answer_error
from mqframe.core.messages.checks import INT_MAX
from mqframe.core.messages.log_fields import log_fields
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.core.messages.names import DEFAULT_TOPIC, retry_topic
from mqframe.core.messages.properties import encode_properties, plain_text
from mqframe.core.requests.messages import ConsumerSendMsgBack, SendMessageV2
from mqframe.core.retry.policy import DEAD_LETTER_REASON, RETRIES_MAX, resent_properties
from mqframe.core.sending.request_reply import is_request
from mqframe.core.sending.retries import STORED_CODES
from mqframe.log import get_logger
from mqframe.net.clock import LoopClock

log = get_logger("client")

ANSWER_SECONDS: Final = 5.0
"""Longest wait for the answer of a message that is sent back."""
RESEND_TRIES: Final = 3
PRODUCER_GROUP: Final = "CLIENT_INNER_PRODUCER"
"""The producer group of what a consumer itself sends (MixAll.CLIENT_INNER_PRODUCER_GROUP)."""
DEAD_LEVEL: Final = -1
"""The delay level that makes a message a dead letter at once."""
REASON_CHARACTERS_MAX: Final = 500
_COMPRESSION: Final = SysFlag.COMPRESSED | SysFlag.COMPRESSION_MASK


class _Copy(NamedTuple):
    """What a copy has of its own: properties, count of returns and their maximum, birth in ms."""

    properties: str
    times: int
    limit: int | None
    born: int


class SendBack:
    """Sends failed messages of `group` back. `max_reconsume_times`: beyond it brokers take a message as dead.

    Where that is `None` no request names one, and brokers go by the group's own maximum.

    Messages may carry their original topic already (`mqframe.core.retry.policy.restore_topic`). All methods
    belong to the loop.
    """

    def __init__(
        self, group: str, instance: ClientInstance, clock: LoopClock, max_reconsume_times: int | None
    ) -> None:
        self._group = group
        self._instance = instance
        self._clock = clock
        self._max = max_reconsume_times
        self._retry_topic = retry_topic(group)

    def failed(self, messages: list[ReceivedMessage], context: ListenerContext) -> None:
        """A listener failed at `messages`, which are sent back next, and left its wishes in `context`."""

    async def send_back(self, message: ReceivedMessage, delay_level: int = 0) -> None:
        """Have the broker that holds `message` deliver it again later; else send a copy to another one.

        `delay_level`: when; 0 leaves that to the broker, a negative one makes it a dead letter at once.
        Raises the `MqframeError` of the second way when both failed; the message is then still ours.
        """
        try:
            await self._send_back(message, delay_level)
        except MqframeError as problem:
            log.warning(
                "message could not be sent back; a copy is sent to the retry topic",
                reason=str(problem),
                **log_fields([message], self._group),
            )
            await self.resend(message, delay_level)

    async def give_up(self, message: ReceivedMessage, reason: str) -> None:
        """Make `message` a dead letter that says why in its property `MQFRAME_REASON`.

        Brokers copy what is handed back as it is. So this sends a copy that has come back too often, which
        every broker puts among the dead letters; where that fails, the message goes back without the reason.
        Raises the `MqframeError` of the second way.
        """
        try:
            await self.resend(message, DEAD_LEVEL, reason)
        except MqframeError as problem:
            log.warning(
                "dead letter could not be sent with its reason; it goes without",
                reason=str(problem),
                **log_fields([message], self._group),
            )
            await self._send_back(message, DEAD_LEVEL)

    async def resend(self, message: ReceivedMessage, delay_level: int = 0, reason: str = "") -> None:
        """Send a copy of `message` to the retry topic of the group, by any broker; `delay_level` as above.

        The broker makes it a dead letter when it came back more often than the maximum then, and
        always while the group holds queue locks, that is: consumes in order. `reason`: what its property
        `MQFRAME_REASON` says. Raises `MqframeError`.
        """
        times, limit = message.reconsume_times + 1, self._max
        if delay_level < 0:
            # Only a maximum that is named is exceeded for certain.
            limit = min(RETRIES_MAX if limit is None else limit, INT_MAX - 1)
            times = max(times, limit + 1)
        copied = resent_properties(message, delay_level, times, limit)
        if reason:
            copied[DEAD_LETTER_REASON] = plain_text(reason, REASON_CHARACTERS_MAX)
        # Who reads the reason looks for when it was sent, too, and requests get no older than they say; any
        # other copy that comes again is as Java's is.
        kept = bool(reason) or is_request(message)
        born = message.born_timestamp if kept else self._clock.now_ms()
        copy = _Copy(encode_properties(copied), times, limit, born)
        problem: MqframeError | None = None
        for queue in await self._queues(message.broker_name):
            try:
                await self._send(message, queue, copy)
                return
            except RetryError as failure:
                problem = failure
        raise problem or RouteError(f"retry topic {self._retry_topic} has no queue that can be written")

    async def _send_back(self, message: ReceivedMessage, delay_level: int) -> None:
        name = message.broker_name
        address = self._instance.routes.brokers().get(name, {}).get(MASTER_ID)
        if address is None:
            raise RouteError(f"broker {name} has no master at the moment")
        request = ConsumerSendMsgBack(
            message.commit_log_offset,
            self._group,
            delay_level,
            message.message_id,
            message.topic,
            False,
            self._max,
            name,
        )
        answer = await self._instance.remoting.invoke(address, request, timeout=ANSWER_SECONDS)
        if answer.code not in STORED_CODES:
            raise answer_error(answer.code, answer.remark, address)
        await self._know_retry_route(name)

    async def _know_retry_route(self, broker_name: str) -> None:
        # The broker may have made the retry topic just now; without its route the copy would wait for the
        # next poll of routes.
        known = self._instance.routes.known(self._retry_topic)
        if known is None or broker_name not in known.addresses():
            try:
                await self._instance.route(self._retry_topic, refresh=True)
            except MqframeError as problem:
                log.info("the retry topic has no route yet", group=self._group, reason=str(problem))

    async def _queues(self, failed_broker: str) -> list[MessageQueue]:
        route = await self._instance.route(self._retry_topic)
        queues = list(route.write_queues())
        random.shuffle(queues)
        # The broker that has just failed comes last.
        queues.sort(key=lambda queue: queue.broker_name == failed_broker)
        return (queues * RESEND_TRIES)[:RESEND_TRIES]

    async def _send(self, message: ReceivedMessage, queue: MessageQueue, copy: _Copy) -> None:
        route = await self._instance.route(self._retry_topic)
        address = route.master_address(queue.broker_name)
        if address is None:
            raise RouteError(f"broker {queue.broker_name} has no master at the moment")
        request = SendMessageV2(
            PRODUCER_GROUP,
            queue.topic,
            DEFAULT_TOPIC,
            1,
            queue.queue_id,
            message.sys_flag & _COMPRESSION if message.sys_flag & SysFlag.COMPRESSED else 0,
            copy.born,
            message.flag,
            copy.properties,
            copy.times,
            False,
            copy.limit,
            False,
            queue.broker_name,
        )
        answer = await self._instance.remoting.invoke(
            address, request, message.stored_body, timeout=ANSWER_SECONDS
        )
        if answer.code not in STORED_CODES:
            raise answer_error(answer.code, answer.remark, address)
