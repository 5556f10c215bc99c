"""What was given back and is on its way into its queue again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from mqframe import ReceivedMessage

BACK_SECONDS: Final = 10.0
"""How long a broker needs at most; some look but once a second (PopReviveService.java)."""
LOOK_SECONDS: Final = 0.01
"""Between two looks whether something is there again."""
LOOKS_MAX: Final = 32
"""Messages that are looked for at once."""


class Returning:
    """Messages that were given back here and that are not known to be there again.

    A broker says at once that it takes a message back, and stores it for another try a moment later. In
    between, the offset of the group is past the message, and no queue holds it: nobody can get or count it.

    `newest`: the newest copy that was stored for another try, by topic and the sender's id. `monotonic`:
    seconds. All of it runs on one loop.
    """

    def __init__(
        self,
        newest: Callable[[str, str], Awaitable[ReceivedMessage | None]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._newest = newest
        self._monotonic = monotonic
        self._left: dict[str, dict[str, tuple[int, float]]] = {}

    def add(self, topic: str, message: ReceivedMessage) -> None:
        """A broker took `message` of `topic` back."""
        left = self._left.setdefault(topic, {})
        # The last one added is the last to be over, and a message that comes again is added again.
        left.pop(message.message_id, None)
        left[message.message_id] = message.reconsume_times + 1, self._monotonic() + BACK_SECONDS
        self._leave_out_late(topic)

    def forget(self, topic: str) -> None:
        """What comes back to `topic` is of no interest any more."""
        self._left.pop(topic, None)

    async def until_back(self, topic: str) -> bool:
        """Wait until all of `topic` is there again, `BACK_SECONDS` at most. Whether there was anything.

        Raises what `newest` raises.
        """
        self._leave_out_late(topic)
        waited = topic in self._left
        while topic in self._left:
            await self._look(topic)
            if topic in self._left:
                await asyncio.sleep(LOOK_SECONDS)
                self._leave_out_late(topic)
        return waited

    async def _look(self, topic: str) -> None:
        some = list(self._left[topic].items())[:LOOKS_MAX]
        copies = await asyncio.gather(*[self._newest(topic, message_id) for message_id, _ in some])
        left = self._left.get(topic, {})
        for (message_id, expected), copy in zip(some, copies, strict=True):
            # One that was given back again meanwhile is waited for anew.
            if copy is not None and copy.reconsume_times >= expected[0] and left.get(message_id) == expected:
                del left[message_id]
        self._leave_out_late(topic)

    def _leave_out_late(self, topic: str) -> None:
        """A message that is not there by now became a dead letter, or is none of ours to wait for."""
        left, now = self._left.get(topic, {}), self._monotonic()
        while left and next(iter(left.values()))[1] <= now:
            del left[next(iter(left))]
        if not left:
            self._left.pop(topic, None)
