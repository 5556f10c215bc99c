"""What conformance asks of consume hooks that have something else called in place of a listener."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

import pytest

from mqframe.client.consuming.push.listener import ListenerContext
from mqframe.core.consuming.consume_result import ConsumeResult
from mqframe.core.messages.message import MessageQueue, ReceivedMessage
from mqframe.hooks.interfaces import ConsumeHook
from mqframe_testing.consuming import received
from mqframe_testing.manual_clock import ManualClock


class InPlaceConformance:
    """What is called in place of a listener answers as one; by default it is the listener."""

    def make(self) -> ConsumeHook:
        """A fresh hook."""
        raise NotImplementedError

    @pytest.mark.parametrize("is_async", [True, False])
    def test_what_it_has_called_in_place_of_a_listener_answers_as_one(self, is_async: bool) -> None:
        """A plain function in place of a plain one, something to await in place of an `async def`."""

        def listen(messages: Sequence[ReceivedMessage], context: ListenerContext) -> ConsumeResult:
            return ConsumeResult.SUCCESS

        async def listen_async(
            messages: Sequence[ReceivedMessage], context: ListenerContext
        ) -> ConsumeResult:
            return listen(messages, context)

        async def awaited(coming: Awaitable[object]) -> object:
            return await coming

        hook, clock = self.make(), ManualClock()
        call = hook.wrap(listen_async if is_async else listen, "orders", clock, is_async, 1)
        answer = call([received(0)], ListenerContext(MessageQueue("orders", "broker-a", 0), "billing"))
        assert isinstance(asyncio.run(awaited(answer)) if is_async else answer, ConsumeResult)
