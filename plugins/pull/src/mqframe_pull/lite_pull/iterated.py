"""What the lite pull consumer for plain threads has by hand: `for message in consumer`."""

from __future__ import annotations

from collections.abc import Iterator

from mqframe.client.connection.sync_api import SyncClient
from mqframe.core.errors import ClosedError
from mqframe.core.messages.message import ReceivedMessage
from mqframe_pull.lite_pull.consumer import AsyncLitePullConsumer


class IteratedLitePullConsumer(SyncClient[AsyncLitePullConsumer]):
    """A lite pull consumer whose messages are those of an asyncio one, awaited on its loop."""

    def __iter__(self) -> Iterator[ReceivedMessage]:
        """Message by message, until the consumer is stopped: asking for the next is a poll of one message.

        So a message counts as done with when the next is asked for, or at `stop`; it does not when the loop
        ends with an error that the `with` block around it lets through.
        """
        looped = aiter(self._client)
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
