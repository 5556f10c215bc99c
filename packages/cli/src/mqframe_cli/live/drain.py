"""Forwards what a group has still to consume to another topic, as a member of the group."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from mqframe.core.cluster.route import TopicRoute
from mqframe.core.errors import FixError
from mqframe_cli.access import access
from mqframe_cli.sending.forwarding import Forwarding, Together

if TYPE_CHECKING:
    from mqframe import AsyncAdmin, AsyncLitePullConsumer, AsyncProducer

PRODUCER_GROUP: Final = "mqframe-drain"
POLL_MESSAGES_MAX: Final = 1024
BATCH_BYTES_MAX: Final = 1 << 20
POLL_SECONDS: Final = 2.0
"""A poll that waited so long in vain is a reason to look whether anything is left."""


class Drain:
    """One run of `mqframe topic drain`. `forwarded`: messages that were sent on, and committed."""

    def __init__(self, topic: str, group: str, to: str, tag: str, together: Together) -> None:
        self._topic = topic
        self._group = group
        self._to = to
        self._tag = tag
        self._together = together
        self.forwarded = 0

    async def run(self, nameserver: str, *, follow: bool) -> None:
        """Forward until nothing is left for the group, or, to `follow`, for ever.

        What was forwarded is committed after the broker has it: a run that is cut off repeats some messages,
        with their ids, and loses none. Raises what a send raises.
        """
        from mqframe import AsyncAdmin, AsyncLitePullConsumer, AsyncProducer, LitePullSettings

        reaching = {"nameserver": nameserver, **access()}
        async with AsyncAdmin(**reaching) as admin, AsyncProducer(PRODUCER_GROUP, **reaching) as producer:
            queues = TopicRoute(self._to, await admin.topics.route(self._to)).write_queues()
            if not queues:
                raise FixError(f"topic {self._to} has no queue that may be written; name another one")
            consumer = AsyncLitePullConsumer(
                self._group,
                consume_from="first",
                auto_commit=False,
                settings=LitePullSettings(poll_messages_max=POLL_MESSAGES_MAX),
                **reaching,
            )
            consumer.subscribe(self._topic, self._tag)
            async with consumer:
                forwarding = Forwarding(queues, BATCH_BYTES_MAX, self._together)
                while (
                    await self._forward(consumer, producer, forwarding) or follow or await self._left(admin)
                ):
                    pass

    async def _forward(
        self, consumer: AsyncLitePullConsumer, producer: AsyncProducer, forwarding: Forwarding
    ) -> bool:
        """Forward what one poll brings; whether that was something."""
        messages = await consumer.poll(POLL_SECONDS)
        # One after the other: batches of one queue keep their order.
        for queue, batch in forwarding.batches(messages):
            await producer.send_encoded(self._to, batch, queue=queue)
        await consumer.commit()
        self.forwarded += len(messages)
        return bool(messages)

    async def _left(self, admin: AsyncAdmin) -> bool:
        return await admin.groups.lag(self._group, self._topic) > 0


def drain(run: Drain, nameserver: str, *, follow: bool) -> None:
    """`run.run`; Ctrl-C ends it."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run.run(nameserver, follow=follow))
