"""How requests are served in one asyncio loop, where a handler may also answer later."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import cast

from msgspec import Struct

from mqframe.core.requests.serving import Answer, Call, Reply, as_reply
from mqframe.hooks.failed_requests import failure_reply
from mqframe.net.peer_group import PeerGroup
from mqframe.net.serving import RequestServing


class AsyncServing(RequestServing):
    """Serves the requests of one peer of `group`, which holds what asynchronous handlers do."""

    __slots__ = ("_group",)

    def __init__(self, group: PeerGroup) -> None:
        super().__init__(group.endpoint)
        self._group = group

    def take(self, call: Call) -> None:
        """Serve a request: `call.peer.answer` is called now or later."""
        result = self.serve(call)
        if not call.answered:
            if result.__class__ is Reply:
                call.answered = True
                call.peer.answer(call, result)
                return
            if isinstance(result, Struct):
                call.reply(as_reply(result))
                return
            self.hold(call)
            if result is not None:
                serving = self._group.spawn(_finish(call, cast("Awaitable[Answer]", result)))
                if inspect.iscoroutine(result):
                    # Where the task is cancelled before it begins, nobody else ends what it was to wait for.
                    end = result.close
                    serving.add_done_callback(lambda _: end())
        elif inspect.iscoroutine(result):
            result.close()


async def _finish(call: Call, awaitable: Awaitable[Answer]) -> None:
    try:
        reply = as_reply(await awaitable)
    except Exception as problem:  # a handler's error is its request's, not the connection's
        reply = failure_reply(problem, call)
    if not call.answered:
        call.reply(reply)
