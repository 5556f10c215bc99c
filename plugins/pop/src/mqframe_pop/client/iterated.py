"""What the simple consumer for plain threads has by hand: `for message in consumer`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mqframe.client.connection.sync_api import SyncClient
from mqframe.core.errors import ClosedError
from mqframe_pop.client.consumer import AsyncSimpleConsumer
from mqframe_pop.rules.popped import PoppedMessage


class IteratedSimpleConsumer(SyncClient[AsyncSimpleConsumer]):
    """A simple consumer whose messages are those of an asyncio one, awaited on its loop."""

    def __iter__(self) -> Iterator[PoppedMessage]:
        return self.messages()

    def messages(
        self, *, max_messages: int = 16, invisible_duration: float = 30.0, auto_ack: bool = True
    ) -> Iterator[PoppedMessage]:
        """Message by message, until the consumer is stopped; `for message in consumer` is this with defaults.

        Up to `max_messages` (32 at most) are fetched at a time. Each is hidden from all others of the group
        for `invisible_duration` seconds; what waits for its turn gets more in time. With `auto_ack` the one
        that the body of the loop is at does so, too, and is acknowledged when the next one is asked for;
        without, call `ack`, or have it come again when its time is over. The message at which a loop is left
        is not acknowledged, and those behind it go back at once. Servers that do not answer are waited for.
        Raises `FixError` and `AccessError` as `receive` does.
        """
        looped = self._client.messages(
            max_messages=max_messages, invisible_duration=invisible_duration, auto_ack=auto_ack
        )
        try:
            while True:
                try:
                    message = self._call(looped.__anext__)
                except StopAsyncIteration:
                    return
                except ClosedError:
                    if self._stopped:
                        return
                    raise
                yield message
        finally:
            if self._loop is not None:
                with contextlib.suppress(ClosedError):  # stopped meanwhile, which ended the loop
                    self._call(looped.aclose)
