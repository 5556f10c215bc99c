"""One pull of a queue: the request that fits the consumer and its broker, and the answer taken apart.

Source: PullAPIWrapper.java.
"""

from __future__ import annotations

from mqframe.client.configuration.fetch_options import FetchOptions
from mqframe.client.connection.instance import ClientInstance
from mqframe.client.consuming.group.offsets import reading_place
from mqframe.client.consuming.group.subscriptions import TopicSubscription
from mqframe.core.codes import ResponseCode
from mqframe.core.consuming.pull import MESSAGES_MAX, PullResult, pull_request, read_answer
from mqframe.core.messages.many import guard_bodies
from mqframe.core.messages.message import MessageQueue
from mqframe.core.storage.record import decode_records
from mqframe.hooks.client_parts import part_or


class QueuePulls:
    """Pulls as `options` say. Lite pulls go as plain ones to brokers that do not know them (before 5.0.0)."""

    def __init__(self, instance: ClientInstance, options: FetchOptions) -> None:
        self._instance = instance
        self._options = options
        self._only_plain: set[str] = set()
        self._decode = part_or("records", decode_records)

    async def pull(
        self,
        queue: MessageQueue,
        offset: int,
        subscription: TopicSubscription,
        broker_id: int,
        commit_offset: int | None,
    ) -> PullResult:
        """The messages of `queue` from `offset` on that `subscription` chooses.

        `broker_id`: which broker of that name to read from, or from another while it is not in the route;
        `commit_offset`: stored on the way, at masters only. Raises what a call raises, `AnswerError`,
        `BadAnswer`.
        """
        options, choice = self._options, subscription.filter
        address, is_master = await reading_place(self._instance, queue, broker_id)
        lite = sent = options.lite
        while True:
            request = pull_request(
                options.group,
                queue,
                offset,
                messages_max=options.messages_max,
                bytes_max=options.bytes_max,
                expression=choice.expression if sent else None,
                expression_type=choice.expression_type,
                version=0 if sent and choice.expression_type == "TAG" else subscription.version,
                wait_seconds=options.wait_seconds,
                commit_offset=commit_offset if is_master else None,
                lite=lite and address not in self._only_plain,
                bulk=options.messages_max > MESSAGES_MAX,
            )
            answer = await self._instance.remoting.invoke(address, request, timeout=options.timeout_seconds)
            if not lite or answer.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                break
            self._only_plain.add(address)
            lite = False
        result = read_answer(answer, queue, choice, address, offset, self._decode)
        settings = self._instance.settings
        guard_bodies(result.messages, settings.unpacked_bytes_max, settings.check_body_crc)
        return result
